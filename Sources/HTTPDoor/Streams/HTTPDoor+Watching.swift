import Datasets
import Wire

// match/watch · circumstance/watch · dataset/watch: sockets that hear more of a dataset than what is their client's.

/// A socket that hears of all clients of its dataset.
struct Watcher {
    var stream: EventStream
    /// The first levels of what it hears.
    var kinds: Set<String>
}

extension HTTPDoor {
    /// What each request that streams brings, by the first level.
    private static let watched: [String: Set<String>] = [
        "match/watch": ["match"], "circumstance/watch": ["circumstance"], "dataset/watch": ["diagnostics", "status"],
    ]

    /// A request of a socket was answered; what it streams comes behind the reply.
    ///
    /// The first reply to a `requestId` is given to whatever has it next, before rights are checked: only what the reply itself
    /// answers was granted.
    func answered(_ request: String, _ reply: [UInt8], on stream: EventStream) {
        guard request == "live/subscribe" || Self.watched[request] != nil, ReplyStatus.isResult(reply, of: request) else {
            return
        }
        guard let kinds = Self.watched[request] else { return subscribed(reply, on: stream) }
        guard !stream.isEnded else { return }
        let index = watchers[stream.dataset, default: []].firstIndex { $0.stream === stream }
        if let index {
            watchers[stream.dataset]?[index].kinds.formUnion(kinds)
        } else {
            watchers[stream.dataset, default: []].append(Watcher(stream: stream, kinds: kinds))
        }
    }

    func endWatching(_ stream: EventStream) {
        watchers[stream.dataset]?.removeAll { $0.stream === stream }
        if watchers[stream.dataset]?.isEmpty == true { watchers[stream.dataset] = nil }
    }

    /// A message of a client, for those that watch all; the client's own sockets have it already.
    func tellWatchers(_ message: StreamMessage, of key: StreamKey) {
        guard let watchers = watchers[key.dataset] else { return }
        let kind = String(message.path.prefix { $0 != "/" })
        for watcher in watchers where watcher.stream.client != key.client && watcher.kinds.contains(kind) {
            watcher.stream.append(.message(message))
        }
    }

    /// Something of a whole dataset.
    func tell(_ dataset: String, _ path: String, _ payload: ArraySlice<UInt8>) {
        guard let watchers = watchers[dataset] else { return }
        let kind = String(path.prefix { $0 != "/" })
        let message = StreamMessage(path: path, payload: Array(payload))
        for watcher in watchers where watcher.kinds.contains(kind) { watcher.stream.append(.message(message)) }
    }
}

extension OutputBatch {
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
