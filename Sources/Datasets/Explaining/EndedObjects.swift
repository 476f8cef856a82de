import DequeModule
import Records

/// Publications and subscriptions that ended within a day, so that one can still ask why they did not match.
struct EndedObjects {
    var publications = EndedMemory<PublicationRecord>()
    var subscriptions = EndedMemory<SubscriptionRecord>()

    mutating func expire(at now: Int64) {
        publications.expire(at: now)
        subscriptions.expire(at: now)
    }
}

/// What ended, by id: the newest 10,000, 16 MiB and 24 hours at most, the oldest going first.
struct EndedMemory<Record> {
    static var countMaximum: Int { 10_000 }
    static var bytesMaximum: Int { 16 << 20 }
    static var lifetimeMilliseconds: Int64 { 86_400_000 }

    struct Entry {
        var record: Record
        /// Milliseconds since 1970 UTC.
        var at: Int64
        fileprivate var bytes: Int
        fileprivate var serial: UInt64
    }

    private var entries = ByteKeyed<Entry>()
    /// Oldest first; stale where the entry has another serial by now.
    private var order = Deque<(id: String, serial: UInt64)>()
    private var bytes = 0
    private var serial: UInt64 = 0

    var count: Int { entries.count }

    subscript(id: String) -> Entry? { entries[id] }

    /// - Parameter bytes: About what the record takes in memory.
    mutating func note(_ record: Record, id: String, bytes recordBytes: Int, at now: Int64) {
        forget(id)
        serial += 1
        entries[id] = Entry(record: record, at: now, bytes: recordBytes, serial: serial)
        bytes += recordBytes
        order.append((id, serial))
        while entries.count > Self.countMaximum || bytes > Self.bytesMaximum, let oldest = order.popFirst() { drop(oldest) }
        if order.count > 2 * Self.countMaximum { order.removeAll { entries[$0.id]?.serial != $0.serial } }
    }

    mutating func expire(at now: Int64) {
        while let oldest = order.first {
            if let entry = entries[oldest.id], entry.serial == oldest.serial, now - entry.at < Self.lifetimeMilliseconds {
                return
            }
            order.removeFirst()
            drop(oldest)
        }
    }

    private mutating func drop(_ oldest: (id: String, serial: UInt64)) {
        if entries[oldest.id]?.serial == oldest.serial { forget(oldest.id) }
    }

    private mutating func forget(_ id: String) {
        if let entry = entries.removeValue(forKey: id) { bytes -= entry.bytes }
    }
}
