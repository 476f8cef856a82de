import Datasets

/// Replies that were sent and the broker has not acknowledged, in bytes of each client's queue.
struct PendingReplies {
    private var replies: [UInt64: (queue: UInt32, bytes: Int)] = [:]
    private var bytes: [UInt32: Int] = [:]
    private var lastNumber: UInt64 = 0

    /// Whether a token is a reply's; those of notifications have other highest bits.
    static func isToken(_ token: UInt64) -> Bool { token >> 61 == 1 }

    func bytes(of queue: UInt32) -> Int { bytes[queue] ?? 0 }

    /// - Returns: What the acknowledgement of the reply is known by; 0 where nobody's queue is concerned.
    mutating func add(queue: UInt32, bytes count: Int) -> UInt64 {
        guard queue != 0 else { return 0 }
        lastNumber = (lastNumber + 1) & (1 << 61 - 1)
        let token = 1 << 61 | lastNumber
        replies[token] = (queue, count)
        bytes[queue, default: 0] += count
        return token
    }

    mutating func remove(_ token: UInt64) {
        guard let reply = replies.removeValue(forKey: token), let former = bytes[reply.queue] else { return }
        bytes[reply.queue] = former > reply.bytes ? former - reply.bytes : nil
    }
}
