import DequeModule
import LiveTopics
import NIOCore
import Synchronization

/// Why a stream ends.
enum StreamEnd: Sendable {
    /// The daemon ends.
    case goingAway
    /// Too much waits: the reader is too slow.
    case tooSlow
    /// Its client may not have it, or no longer.
    case notAllowed
    /// Its connection is gone.
    case gone
}

/// What waits for one reader: filled on the core's thread, emptied by a connection.
final class EventStream: Sendable {
    enum Item: Sendable {
        case message(StreamMessage)
        /// A reply to a request that came on the same socket.
        case reply(HTTPDoor.Reply)
        /// Nothing but a sign of life.
        case signOfLife
        /// Live updates that others are sent, too.
        case frames(SharedFrames, head: [UInt8])

        /// What counts towards ``EventStream/bytesMax``: what is resumed is kept by the daemon anyway.
        var weight: Int {
            if case .message(let message) = self, message.isResumed { return 64 }
            return bytes
        }

        var bytes: Int {
            switch self {
            case .message(let message): message.payload.count + message.path.utf8.count + 64
            case .reply(let reply): reply.bytes.count
            case .signOfLife: 2
            case .frames(let frames, let head): frames.bytes(under: head)
            }
        }
    }

    private struct State {
        var items = Deque<Item>()
        var bytes = 0
        /// Where the newest of a live topic waits, by its token, counted from the stream's first item.
        var places: [UInt64: Int] = [:]
        var removedCount = 0
        var end: StreamEnd?
        var reader: StreamReader?
        var isNotified = false
    }

    /// What may wait for one reader.
    static let bytesMax = 8 << 20
    /// From here on a newer message of a live topic takes the place of the one that waits.
    private static let slowBytes = 256 << 10

    let dataset: String
    let caller: Caller
    let isSocket: Bool
    var client: String { caller.client }
    /// Empty: everything.
    private let filters: [TopicFilter]
    /// Called with each reply that nobody will read.
    private let dropped: @Sendable (HTTPDoor.Reply) -> Void
    private let state = Mutex(State())

    init(
        dataset: String, caller: Caller, filters: [TopicFilter] = [], isSocket: Bool = false,
        dropped: @escaping @Sendable (HTTPDoor.Reply) -> Void = { _ in }
    ) {
        self.dataset = dataset
        self.caller = caller
        self.isSocket = isSocket
        self.filters = filters
        self.dropped = dropped
    }

    func wants(_ path: String) -> Bool { filters.isEmpty || names(path) }

    /// Whether a filter lets it through, as replies need.
    func names(_ path: String) -> Bool { filters.contains { $0.matches(path) } }

    /// Has `notify` called, from any thread, whenever something waits and was not taken yet.
    ///
    /// - Parameter loop: Where it is called; nil: anywhere.
    func onWaiting(on loop: (any EventLoop)? = nil, _ notify: @escaping @Sendable () -> Void) {
        let reader = StreamReader(loop: loop, notify: notify)
        let isDue = state.withLock { state in
            state.reader = reader
            state.isNotified = !state.items.isEmpty || state.end != nil
            return state.isNotified
        }
        if isDue { reader.wake() }
    }

    /// Where its reader is notified.
    var loop: (any EventLoop)? { state.withLock { $0.reader?.loop } }

    /// The connection is gone, and what was kept to notify it.
    func forgetReader() { state.withLock { $0.reader = nil } }

    enum Appended {
        case waits, conflated, ended
    }

    @discardableResult
    func append(_ item: Item, replacing token: UInt64 = 0) -> Appended {
        let (appended, reader, lost) = state.withLock { state -> (Appended, StreamReader?, Deque<Item>) in
            guard state.end == nil else { return (.ended, nil, []) }
            if token != 0, state.bytes >= Self.slowBytes, let place = state.places[token], place >= state.removedCount {
                let index = place - state.removedCount
                state.bytes += item.weight - state.items[index].weight
                state.items[index] = item
                return (.conflated, nil, [])
            }
            state.items.append(item)
            state.bytes += item.weight
            if token != 0, state.bytes >= Self.slowBytes {
                state.places[token] = state.removedCount + state.items.count - 1
            }
            let lost = state.bytes > Self.bytesMax ? Self.end(&state, .tooSlow) : []
            return (.waits, Self.due(&state), lost)
        }
        drop(lost)
        reader?.wake()
        return appended
    }

    enum AppendedFrames {
        /// Who is to be woken, if that is due.
        case waits(StreamReader?)
        /// So much waits that newer updates are to take the place of those that wait, one by one.
        case isSlow
    }

    /// Appends live updates that others are sent, too.
    func append(_ frames: SharedFrames, under head: [UInt8]) -> AppendedFrames {
        state.withLock { state in
            guard state.end == nil else { return .waits(nil) }
            guard state.bytes < Self.slowBytes else { return .isSlow }
            let item = Item.frames(frames, head: head)
            state.items.append(item)
            state.bytes += item.weight
            return .waits(Self.due(&state))
        }
    }

    func end(_ end: StreamEnd) {
        let (reader, lost) = state.withLock { state -> (StreamReader?, Deque<Item>) in
            guard state.end == nil else { return (nil, []) }
            let lost = Self.end(&state, end)
            return (Self.due(&state), lost)
        }
        drop(lost)
        reader?.wake()
    }

    /// - Returns: What waited and goes nowhere.
    private static func end(_ state: inout State, _ end: StreamEnd) -> Deque<Item> {
        state.end = end
        guard end != .goingAway else { return [] }
        defer {
            state.items = []
            state.places = [:]
            state.bytes = 0
        }
        return state.items
    }

    private func drop(_ items: Deque<Item>) {
        for case .reply(let reply) in items { dropped(reply) }
    }

    private static func due(_ state: inout State) -> StreamReader? {
        // An end is notified also to a connection that has not read what waits.
        guard !state.isNotified || state.end != nil, let reader = state.reader else { return nil }
        state.isNotified = true
        return reader
    }

    /// What waits, up to so many bytes; none: wait for the next call of `notify`.
    func take(bytes limit: Int) -> (items: [Item], end: StreamEnd?) {
        state.withLock { state in
            var items: [Item] = []
            var bytes = 0
            while bytes < limit, let item = state.items.popFirst() {
                items.append(item)
                bytes += item.bytes
                state.bytes -= item.weight
                state.removedCount += 1
            }
            if state.items.isEmpty {
                state.isNotified = false
                state.places = [:]
            }
            return (items, state.items.isEmpty ? state.end : nil)
        }
    }

    var isTooSlow: Bool { state.withLock { $0.end == .tooSlow } }

    var isEnded: Bool { state.withLock { $0.end != nil } }
}

/// Who reads a stream.
struct StreamReader: Sendable {
    /// Where it is to be notified; nil: anywhere.
    var loop: (any EventLoop)?
    var notify: @Sendable () -> Void

    func wake() {
        if let loop { loop.execute(notify) } else { notify() }
    }
}

/// A message for a client, below all that is the client's.
struct StreamMessage: Sendable {
    var path: String
    var payload: [UInt8]
    /// Of what can be resumed from here.
    var cursor: Int64?
    /// It is sent again to somebody who missed it.
    var isResumed = false
    /// How its frame on a socket begins, where many begin so.
    var frameHead: [UInt8]?
}
