import DequeModule

/// The first replies to `requestId`s, given again for 24 hours: the newest 10,000 of each client, bounded in bytes.
struct ReplyMemory {
    static let lifetimeMilliseconds: Int64 = 86_400_000

    private struct Key: Hashable {
        var client: String
        var requestId: String
    }

    private struct Entry {
        var at: Int64
        var body: [UInt8]
    }

    private var entries: [Key: Entry] = [:]
    /// Oldest first; a key that was forgotten meanwhile is passed over.
    private var order = Deque<(key: Key, at: Int64)>()
    private var clients: [String: Deque<(key: Key, at: Int64)>] = [:]
    private var byteCount = 0

    func reply(to requestId: String, of client: String, at now: Int64) -> [UInt8]? {
        guard let entry = entries[Key(client: client, requestId: requestId)], now - entry.at < Self.lifetimeMilliseconds else {
            return nil
        }
        return entry.body
    }

    mutating func remember(
        _ body: [UInt8], to requestId: String, of client: String, at now: Int64, limits: HubLimits
    ) {
        let key = Key(client: client, requestId: requestId)
        forget(key)
        entries[key] = Entry(at: now, body: body)
        byteCount += cost(key, body)
        order.append((key, now))
        clients[client, default: []].append((key, now))
        while let count = clients[client]?.count, count > limits.rememberedReplies,
            let oldest = clients[client]?.popFirst()
        {
            forget(oldest.key, rememberedAt: oldest.at)
        }
        while byteCount > limits.rememberedReplyBytes, let oldest = order.popFirst() {
            forget(oldest.key, rememberedAt: oldest.at)
        }
    }

    mutating func forget(requestId: String, of client: String) {
        forget(Key(client: client, requestId: requestId))
    }

    /// Forgets what is older than a day.
    mutating func expire(at now: Int64) {
        while let oldest = order.first, now - oldest.at >= Self.lifetimeMilliseconds {
            order.removeFirst()
            forget(oldest.key, rememberedAt: oldest.at)
        }
        for (client, keys) in clients where keys.first.map({ entries[$0.key] == nil }) ?? true {
            let kept = Deque(keys.drop { entries[$0.key] == nil })
            clients[client] = kept.isEmpty ? nil : kept
        }
    }

    /// Passes over a key that was forgotten and remembered again meanwhile.
    private mutating func forget(_ key: Key, rememberedAt at: Int64) {
        if entries[key]?.at == at { forget(key) }
    }

    private mutating func forget(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        byteCount -= cost(key, entry.body)
    }

    /// What an entry costs, its places in the tables included.
    private func cost(_ key: Key, _ body: [UInt8]) -> Int {
        body.count + key.client.utf8.count + key.requestId.utf8.count + 256
    }
}
