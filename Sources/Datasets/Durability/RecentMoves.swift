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
