import DequeModule

/// Matches on their way to the broker: durable, numbered, sent in order, at most so many unacknowledged at a time.
struct Outbox {
    struct Entry {
        var dataset: Dataset
        /// Whose delivery it counts for; that may be gone by now.
        var subscription: Subscription?
        var topic: String
        var body: [UInt8]
        var isSent = false
    }

    private(set) var entries: [Int64: Entry] = [:]
    /// Not yet sent, in order.
    private var waiting = Deque<Int64>()
    private(set) var inflight = 0
    /// Matches up to here are durable and may go out.
    private var durableThrough: Int64 = 0
    /// Nothing goes out while the broker is away.
    var isOpen = false

    mutating func append(_ number: Int64, _ entry: Entry) {
        entries[number] = entry
        waiting.append(number)
    }

    mutating func durable(through number: Int64) { durableThrough = max(durableThrough, number) }

    /// The next match to send, if one may be sent now.
    mutating func next(inflightMaximum: Int) -> (number: Int64, entry: Entry)? {
        guard isOpen, inflight < inflightMaximum else { return nil }
        while let number = waiting.first, number <= durableThrough {
            waiting.removeFirst()
            guard let entry = entries[number] else { continue }
            entries[number]?.isSent = true
            inflight += 1
            return (number, entry)
        }
        return nil
    }

    /// Takes out what the broker has acknowledged, or what will never be sent.
    mutating func remove(_ number: Int64) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if entry.isSent { inflight -= 1 }
        return entry
    }

    /// Takes back what could not be sent after all.
    mutating func takeBack(_ number: Int64) {
        guard entries[number]?.isSent == true else { return }
        entries[number]?.isSent = false
        inflight -= 1
        waiting.insert(number, at: waiting.firstIndex { $0 > number } ?? waiting.endIndex)
    }

    /// Takes back everything sent and not acknowledged.
    ///
    /// - Returns: Their numbers, in order.
    mutating func takeBackAll() -> [Int64] {
        let sent = entries.filter(\.value.isSent).map(\.key).sorted()
        for number in sent { entries[number]?.isSent = false }
        inflight = 0
        waiting = Deque((sent + waiting).sorted())
        return sent
    }

    /// The same subscription is another object after the store gave it back.
    mutating func relink(_ number: Int64, to subscription: Subscription?) { entries[number]?.subscription = subscription }

    /// - Returns: The numbers of those removed.
    mutating func removeAll(where isGone: (Entry) -> Bool) -> [Int64] {
        let gone = entries.filter { isGone($0.value) }.map(\.key)
        for number in gone { _ = remove(number) }
        return gone
    }
}
