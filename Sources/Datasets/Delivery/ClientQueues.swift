import DequeModule

/// Deliveries that wait for a door: a queue for each client, in order of the matches' numbers, served in turn, so that a client
/// with a long queue delays nobody else. At most so many are on their way at a time.
struct ClientQueues {
    private var queues: [String: Deque<DeliveryToken>] = [:]
    /// The clients whose queues are not empty, whose turn it is first.
    private var turns = Deque<String>()
    /// Sent, and not known to have arrived, with the client it is for.
    private var sent: [DeliveryToken: String] = [:]
    /// Nothing goes out while the door is closed.
    var isOpen = false

    var inflight: Int { sent.count }

    mutating func append(_ token: DeliveryToken, of client: String) {
        var queue = queues.removeValue(forKey: client) ?? []
        if queue.isEmpty { turns.append(client) }
        if let last = queue.last, last > token {
            queue.insert(token, at: queue.firstIndex { $0 > token } ?? queue.endIndex)
        } else {
            queue.append(token)
        }
        queues[client] = queue
    }

    /// The next to send, if one may be sent now; it counts as sent.
    mutating func next(maximum: Int) -> DeliveryToken? {
        guard isOpen, sent.count < maximum, let client = turns.popFirst(), var queue = queues.removeValue(forKey: client),
            let token = queue.popFirst()
        else { return nil }
        if !queue.isEmpty {
            queues[client] = queue
            turns.append(client)
        }
        sent[token] = client
        return token
    }

    /// It arrived or was refused, or it is not for sending any more.
    mutating func end(_ token: DeliveryToken) { sent[token] = nil }

    /// Queues again what could not be sent after all.
    mutating func restore(_ token: DeliveryToken) {
        guard let client = sent.removeValue(forKey: token) else { return }
        append(token, of: client)
    }

    /// Queues again everything that was sent and may not have arrived.
    ///
    /// - Returns: What was sent, in order.
    mutating func restoreAll() -> [DeliveryToken] {
        let tokens = sent.keys.sorted()
        // From behind, each goes to the front of its queue.
        for token in tokens.reversed() { restore(token) }
        return tokens
    }
}
