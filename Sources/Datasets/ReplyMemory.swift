import DequeModule
import Records

/// The first replies to `requestId`s, given again for 24 hours: the newest 10,000 of each client, bounded in bytes.
struct ReplyMemory {
    static let lifetimeMilliseconds: Int64 = 86_400_000

    private struct Key: Hashable {
        var client: String
        var requestId: ByteKey

        init(_ client: String, _ requestId: String) {
            self.client = client
            self.requestId = ByteKey(requestId)
        }
    }

    private struct Entry {
        var at: Int64
        var serial: UInt64
        var body: [UInt8]
        var outlivesDataset: Bool
    }

    /// A place in an order; stale where its entry has another serial by now, or is gone.
    private struct Mention {
        var key: Key
        var serial: UInt64
    }

    private struct Client {
        var order = Deque<Mention>()
        var count = 0
    }

    private var entries: [Key: Entry] = [:]
    /// Oldest first.
    private var order = Deque<Mention>()
    private var clients: [String: Client] = [:]
    /// In both orders.
    private var mentionCount = 0
    private var byteCount = 0
    private var serial: UInt64 = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    /// What it holds in tables, remembered or stale.
    var footprint: Int { entries.count + mentionCount + clients.count }

    func reply(to requestId: String, of client: String, at now: Int64) -> [UInt8]? {
        guard !entries.isEmpty, let entry = entries[Key(client, requestId)], now - entry.at < Self.lifetimeMilliseconds else {
            return nil
        }
        return entry.body
    }

    /// - Parameter outlivesDataset: It says that the dataset was deleted, and is given again afterwards.
    mutating func remember(
        _ body: [UInt8], to requestId: String, of client: String, at now: Int64, outlivesDataset: Bool = false, limits: HubLimits
    ) {
        let key = Key(client, requestId)
        forget(key)
        serial += 1
        entries[key] = Entry(at: now, serial: serial, body: body, outlivesDataset: outlivesDataset)
        byteCount += cost(key, body)
        let mention = Mention(key: key, serial: serial)
        order.append(mention)
        clients[client, default: Client()].order.append(mention)
        clients[client]?.count += 1
        mentionCount += 2
        while let count = clients[client]?.count, count > limits.rememberedReplies, let oldest = clients[client]?.order.popFirst()
        {
            mentionCount -= 1
            forget(oldest)
        }
        while byteCount > limits.rememberedReplyBytes, let oldest = order.popFirst() {
            mentionCount -= 1
            forget(oldest)
        }
        if mentionCount > 4 * entries.count + 1024 { dropStaleMentions() }
    }

    mutating func forget(requestId: String, of client: String) { forget(Key(client, requestId)) }

    /// Forgets what is older than a day.
    mutating func expire(at now: Int64) {
        while let oldest = order.first {
            let entry = entries[oldest.key]
            let isStale = entry?.serial != oldest.serial
            guard isStale || now - (entry?.at ?? 0) >= Self.lifetimeMilliseconds else { return }
            order.removeFirst()
            mentionCount -= 1
            forget(oldest)
        }
    }

    /// What is left of the memory of a dataset that was deleted.
    func afterDeletion() -> ReplyMemory {
        var left = ReplyMemory()
        for mention in order {
            guard let entry = entries[mention.key], entry.serial == mention.serial, entry.outlivesDataset else { continue }
            left.remember(
                entry.body, to: mention.key.requestId.text, of: mention.key.client, at: entry.at, limits: HubLimits())
        }
        return left
    }

    private mutating func forget(_ mention: Mention) {
        if entries[mention.key]?.serial == mention.serial { forget(mention.key) }
    }

    private mutating func forget(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        byteCount -= cost(key, entry.body)
        clients[key.client]?.count -= 1
        if let client = clients[key.client], client.count == 0 {
            mentionCount -= client.order.count
            clients[key.client] = nil
        }
    }

    private mutating func dropStaleMentions() {
        order.removeAll { entries[$0.key]?.serial != $0.serial }
        mentionCount = order.count
        for name in clients.keys {
            clients[name]?.order.removeAll { entries[$0.key]?.serial != $0.serial }
            mentionCount += clients[name]?.order.count ?? 0
        }
    }

    /// What an entry costs, its places in the tables included.
    private func cost(_ key: Key, _ body: [UInt8]) -> Int {
        body.count + key.client.utf8.count + key.requestId.text.utf8.count + 256
    }
}
