import DequeModule

/// What waits for the broker: a lane for each client, in order of the matches' numbers, served in turn, so that a client with a
/// long lane delays nobody else. At most so many are unacknowledged at a time.
struct BrokerLanes {
    private var lanes: [String: Deque<ParcelToken>] = [:]
    /// The clients whose lanes are not empty, whose turn it is first.
    private var turns = Deque<String>()
    /// Sent and not yet acknowledged, with the client it is for.
    private var sent: [ParcelToken: String] = [:]
    /// Nothing goes out while the broker is away.
    var isOpen = false

    var inflight: Int { sent.count }

    mutating func append(_ token: ParcelToken, of client: String) {
        var lane = lanes.removeValue(forKey: client) ?? []
        if lane.isEmpty { turns.append(client) }
        if let last = lane.last, last > token {
            lane.insert(token, at: lane.firstIndex { $0 > token } ?? lane.endIndex)
        } else {
            lane.append(token)
        }
        lanes[client] = lane
    }

    /// The next to send, if one may be sent now; it counts as sent.
    mutating func next(maximum: Int) -> ParcelToken? {
        guard isOpen, sent.count < maximum, let client = turns.popFirst(), var lane = lanes.removeValue(forKey: client),
            let token = lane.popFirst()
        else { return nil }
        if !lane.isEmpty {
            lanes[client] = lane
            turns.append(client)
        }
        sent[token] = client
        return token
    }

    /// The broker has an answer to it, or it is not for sending any more.
    mutating func end(_ token: ParcelToken) { sent[token] = nil }

    /// Takes back what could not be sent after all.
    mutating func takeBack(_ token: ParcelToken) {
        guard let client = sent.removeValue(forKey: token) else { return }
        append(token, of: client)
    }

    /// Takes back everything sent and not acknowledged.
    ///
    /// - Returns: What was sent, in order.
    mutating func takeBackAll() -> [ParcelToken] {
        let tokens = sent.keys.sorted()
        // From behind, each goes to the front of its lane.
        for token in tokens.reversed() { takeBack(token) }
        return tokens
    }
}
