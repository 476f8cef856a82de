import DequeModule
import HeapModule
import Records
import Wire

/// The first replies to `requestId`s, given again for 24 hours: the newest 10,000 of each client, bounded in bytes.
///
/// Beyond the bytes of a dataset the replies to reads make room first, the oldest before others: a read that is carried out again
/// has no second effect. Then the client whose changes take up most loses its oldest reply, so that no client makes another
/// one's change be carried out twice.
struct ReplyMemory {
    static let lifetimeMilliseconds: Int64 = 86_400_000
    /// A larger reply is not remembered across a restart.
    static let durableBytesMax = 64 << 10

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
        /// The request changed nothing: carried out anew it does no harm.
        var isOfReading: Bool
    }

    /// A place in an order; stale where its entry has another serial by now, or is gone.
    private struct Mention {
        var key: Key
        var serial: UInt64
    }

    private struct Client {
        var order = Deque<Mention>()
        var count = 0
        /// What the replies to its changes cost.
        var changeBytes = 0
    }

    /// What the changes of a client cost; stale where they cost something else by now.
    private struct Holding: Comparable {
        var bytes: Int
        var serial: UInt64
        var client: String

        /// Among equals the oldest is the largest.
        static func < (left: Holding, right: Holding) -> Bool {
            left.bytes == right.bytes ? left.serial > right.serial : left.bytes < right.bytes
        }
    }

    private var entries: [Key: Entry] = [:]
    /// Oldest first.
    private var reads = Deque<Mention>()
    /// Oldest first.
    private var changes = Deque<Mention>()
    private var clients: [String: Client] = [:]
    /// Of each client with changes what they cost now, among stale ones.
    private var holdings = Heap<Holding>()
    /// In all orders.
    private var mentionCount = 0
    private var byteCount = 0
    private var serial: UInt64 = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    /// What it holds in tables, remembered or stale.
    var footprint: Int { entries.count + mentionCount + clients.count + holdings.count }

    func reply(to requestId: String, of client: String, at now: Int64) -> [UInt8]? {
        guard !entries.isEmpty, let entry = entries[Key(client, requestId)], now - entry.at < Self.lifetimeMilliseconds else {
            return nil
        }
        return entry.body
    }

    /// - Parameters:
    ///   - outlivesDataset: It says that the dataset was deleted, and is given again afterwards.
    ///   - isOfReading: The request changed nothing.
    mutating func remember(
        _ body: [UInt8], to requestId: String, of client: String, at now: Int64, outlivesDataset: Bool = false,
        isOfReading: Bool = false, limits: HubLimits
    ) {
        let key = Key(client, requestId)
        forget(key)
        serial += 1
        entries[key] = Entry(at: now, serial: serial, body: body, outlivesDataset: outlivesDataset, isOfReading: isOfReading)
        let mention = Mention(key: key, serial: serial)
        if isOfReading { reads.append(mention) } else { changes.append(mention) }
        clients[client, default: Client()].order.append(mention)
        clients[client]?.count += 1
        mentionCount += 2
        addCost(cost(key, body), of: client, isOfReading: isOfReading)
        while let count = clients[client]?.count, count > limits.rememberedReplies, let oldest = clients[client]?.order.popFirst()
        {
            mentionCount -= 1
            forget(oldest)
        }
        while byteCount > limits.rememberedReplyBytes, let oldest = reads.popFirst() ?? popOldestOfLargest() {
            mentionCount -= 1
            forget(oldest)
        }
        if mentionCount > 4 * entries.count + 1024 { dropStaleMentions() }
    }

    mutating func forget(requestId: String, of client: String) { forget(Key(client, requestId)) }

    /// Has no reply say where a device was: those to changes lose its `location`, so that none is carried out again, and the others are
    /// forgotten.
    ///
    /// - Returns: The replies that are others by now, in order.
    mutating func forget(device id: String) -> [(client: String, requestId: String, at: Int64, body: [UInt8])] {
        let name = Array(JSONWriter.object { $0.member("id", id) }.dropFirst().dropLast())
        var changed: [(key: Key, entry: Entry)] = []
        for (key, var entry) in entries {
            if entry.isOfReading {
                forget(key)
            } else if entry.body.indices.contains(where: { entry.body[$0] == name[0] && entry.body[$0...].starts(with: name) }),
                let reply = try? JSONValue.parse(entry.body), case let less = reply.withoutLocation(of: id), less != reply
            {
                let body = less.serialised()
                addCost(body.count - entry.body.count, of: key.client, isOfReading: false)
                entry.body = body
                entries[key] = entry
                changed.append((key, entry))
            }
        }
        changed.sort { $0.entry.serial < $1.entry.serial }
        return changed.map { ($0.key.client, $0.key.requestId.text, $0.entry.at, $0.entry.body) }
    }

    /// Forgets what is older than a day.
    mutating func expire(at now: Int64) {
        expire(\.reads, at: now)
        expire(\.changes, at: now)
    }

    private mutating func expire(_ order: WritableKeyPath<ReplyMemory, Deque<Mention>>, at now: Int64) {
        while let oldest = self[keyPath: order].first {
            let entry = entries[oldest.key]
            let isStale = entry?.serial != oldest.serial
            guard isStale || now - (entry?.at ?? 0) >= Self.lifetimeMilliseconds else { return }
            self[keyPath: order].removeFirst()
            mentionCount -= 1
            forget(oldest)
        }
    }

    /// What is left of the memory of a dataset that was deleted.
    func afterDeletion() -> ReplyMemory {
        var left = ReplyMemory()
        for mention in changes {
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
        addCost(-cost(key, entry.body), of: key.client, isOfReading: entry.isOfReading)
        clients[key.client]?.count -= 1
        if let client = clients[key.client], client.count == 0 {
            mentionCount -= client.order.count
            clients[key.client] = nil
            if clients.isEmpty { holdings = Heap() }
        }
    }

    private mutating func addCost(_ bytes: Int, of client: String, isOfReading: Bool) {
        byteCount += bytes
        guard !isOfReading, let former = clients[client]?.changeBytes else { return }
        clients[client]?.changeBytes = former + bytes
        if former + bytes > 0 { holdings.insert(Holding(bytes: former + bytes, serial: serial, client: client)) }
        if holdings.count > 2 * clients.count + 64 { dropStaleHoldings() }
    }

    /// The oldest mention of the client whose changes cost most, out of its order. Only where no read is remembered.
    private mutating func popOldestOfLargest() -> Mention? {
        while let largest = holdings.max {
            if clients[largest.client]?.changeBytes == largest.bytes { return clients[largest.client]?.order.popFirst() }
            holdings.removeMax()
        }
        return nil
    }

    private mutating func dropStaleHoldings() {
        var isKept: Set<String> = []
        holdings = Heap(
            holdings.unordered.filter {
                clients[$0.client]?.changeBytes == $0.bytes && isKept.insert($0.client).inserted
            })
    }

    private mutating func dropStaleMentions() {
        reads.removeAll { entries[$0.key]?.serial != $0.serial }
        changes.removeAll { entries[$0.key]?.serial != $0.serial }
        mentionCount = reads.count + changes.count
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

extension JSONValue {
    /// Without the `location` of what has an id.
    fileprivate func withoutLocation(of id: String) -> JSONValue {
        switch self {
        case .array(let elements): return .array(elements.map { $0.withoutLocation(of: id) })
        case .object(var object):
            for member in object.members { object[member.key] = member.value.withoutLocation(of: id) }
            if object["id"]?.asString?.hasSameBytes(as: id) == true { object["location"] = nil }
            return .object(object)
        default: return self
        }
    }
}
