import DequeModule
import Geodesy
import LiveTopics
import Matching
import Records
import Wire

/// What moved since requests were handled that are not yet durable: where they are refused, it is shown to the engines again.
struct RecentMoves {
    struct Move {
        /// Where the device is by now; its position before, nil for nowhere.
        var state: LiveState
        var former: Position?
        /// nil: it is nowhere.
        var update: LiveUpdate?
        var found: Whereabouts?
        /// When it was there, and when that was handled.
        var instant: Int64
        var now: Int64
        /// When an earlier life that forgot it showed the same; `Int64.max`: it is new.
        var knownSince: Int64
    }

    private enum Entry {
        case request(dataset: String, now: Int64)
        case move(Move)
        case removal(Subscription, dataset: String)
    }

    private var entries = Deque<(token: UInt64, entry: Entry)>()
    /// Under which changes of the next batch become durable.
    var token: UInt64 = 1
    /// A request waits for its changes.
    var isAwaited = false

    var isEmpty: Bool { entries.isEmpty }

    /// A request of a dataset is about to change something.
    mutating func note(requestOf dataset: String, at now: Int64) {
        entries.append((token, .request(dataset: dataset, now: now)))
    }

    /// While a store cannot be reached, nothing becomes durable for long: moves beyond this are not shown again where a request is refused.
    private static let entriesMax = 200_000

    mutating func note(_ move: Move) {
        if isAwaited || !entries.isEmpty, entries.count < Self.entriesMax { entries.append((token, .move(move))) }
    }

    /// A subscription was removed by a request: what becomes of its matches is still counted.
    mutating func note(removed subscription: Subscription, of dataset: String) {
        entries.append((token, .removal(subscription, dataset: dataset)))
    }

    /// The subscriptions of a dataset that requests removed.
    func removed(of dataset: String) -> [Subscription] {
        entries.compactMap { if case .removal(let subscription, dataset) = $0.entry { subscription } else { nil } }
    }

    /// No request waits: those there were have been refused.
    mutating func removeAll() { entries.removeAll() }

    /// Changes up to a token are durable.
    mutating func forget(through token: UInt64) {
        while let first = entries.first, first.token <= token { entries.removeFirst() }
    }

    /// What the devices of a dataset did since a request, and when that was.
    struct Since {
        var moves: [Move] = []
        var from: Int64?
    }

    /// What a dataset's devices did since the first request of it from a token on.
    func since(_ token: UInt64, of dataset: String) -> Since {
        var moves: [Move] = []
        var from: Int64?
        for (at, entry) in entries where at >= token {
            switch entry {
            case .request(let name, let now): if name == dataset, from == nil { from = now }
            case .move(let move): if from != nil, move.state.dataset.id == dataset { moves.append(move) }
            case .removal: continue
            }
        }
        return Since(moves: moves, from: from)
    }
}

extension Hub {
    /// What is kept from now on becomes durable under this token, and whether requests wait for what was kept before.
    public func begin(token: UInt64, isAwaited: Bool) {
        recentMoves.token = token
        recentMoves.isAwaited = isAwaited
    }

    /// Places the devices of a dataset that was loaded again: where they are, or were before what is repeated.
    func placeDevices(of dataset: Dataset, before since: RecentMoves.Since) {
        var former = ByteKeyed<Position?>()
        for move in since.moves where former[move.state.itemID] == nil {
            former[move.state.itemID] = .some(move.former)
        }
        for state in liveStates.all where state.dataset === dataset {
            let isRepeated = state.namesDevice && former[state.itemID] != nil
            settle(state, places: !isRepeated)
        }
        for id in former.keys {
            guard let device = dataset.devices[id], let position = former[id] ?? nil else { continue }
            dataset.geomatching.engine.place(device.reference, at: position, heardAt: device.positionTopic?.receivedAt ?? 0)
        }
    }

    /// Shows the engines of a dataset that was loaded again what moved meanwhile, each when it did.
    func repeatMoves(_ since: RecentMoves.Since, of dataset: Dataset, _ turn: inout Turn) {
        let now = turn.now
        turn.now = since.from ?? now
        dataset.resume(&turn)
        resumeGeofences(of: dataset, &turn)
        for move in since.moves {
            turn.now = move.now
            repeatMove(move, &turn)
        }
        turn.now = now
    }

    private func repeatMove(_ move: RecentMoves.Move, _ turn: inout Turn) {
        let state = move.state
        let dataset = state.dataset
        guard let device = (try? device(state.itemID, movedIn: dataset, &turn)) ?? nil else { return }
        dataset.geomatching.advance(&turn)
        if let update = move.update {
            dataset.circumstances.move(device, update, at: move.instant, &turn)
        } else {
            dataset.circumstances.clear(device, &turn)
            clearGeofences(device, in: dataset, &turn)
        }
        var floor = FloorRef.unknown
        if let update = move.update {
            floor = dataset.structure.floor(of: state, index: update.floorIndex, found: move.found, &turn)
            showGeofences(device, update, floor: floor, at: move.instant, in: dataset, &turn)
        }
        if let position = move.update?.position {
            _ = dataset.geomatching.note(Move(device: device.reference, position: position, floor: floor))
            dataset.geomatching.showMoves(knownSince: move.knownSince, &turn)
        } else {
            dataset.geomatching.move(device, to: nil, &turn)
        }
    }
}
