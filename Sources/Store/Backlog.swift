import Records

/// What waits for the store, first in, first out. Belongs to the journal's thread.
struct Backlog {
    struct Entry {
        var changes: [DurableChange]
        /// The token of its batch, or of the last one where batches were merged.
        var token: UInt64
        /// False: a request waits for it, and it is given back rather than kept waiting.
        var mayWait: Bool
    }

    /// The entries at the front that are written in one transaction.
    struct Group {
        var changes: [DurableChange] = []
        var entryCount = 0
        /// The last token of it.
        var through: UInt64 = 0
    }

    /// Beyond this a transaction ends. Large enough that syncing costs little, small enough that a request behind a long backlog waits
    /// for no giant.
    static let groupMax = 10_000

    private var entries: [Entry] = []
    private var head = 0
    /// How many changes wait.
    private(set) var changesCount = 0
    private var mergeAt = 2 * groupMax

    var isEmpty: Bool { head == entries.count }

    var first: Entry? { isEmpty ? nil : entries[head] }

    mutating func append(_ entry: Entry) {
        changesCount += entry.changes.count
        entries.append(entry)
    }

    mutating func removeFirst(_ count: Int) {
        for entry in entries[head..<(head + count)] { changesCount -= entry.changes.count }
        head += count
        // Moving the rest forward now and then, instead of each time, keeps the removal cheap behind a long outage.
        if head > 1024 || head == entries.count, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// The changes at the front up to the maximum, and of so many entries at most.
    func group(entriesMax: Int) -> Group {
        var group = Group()
        for entry in entries[head...].prefix(entriesMax) {
            if group.entryCount > 0, group.changes.count + entry.changes.count > Self.groupMax { return group }
            if group.changes.isEmpty { group.changes = entry.changes } else { group.changes += entry.changes }
            group.entryCount += 1
            group.through = entry.token
        }
        return group
    }

    /// Forgets the first entry that may not wait, with everything behind it.
    ///
    /// - Returns: The token of that entry, nil where there is none, and how many changes were forgotten.
    mutating func giveBack() -> (from: UInt64?, changes: Int) {
        guard let index = entries[head...].firstIndex(where: { !$0.mayWait }) else { return (nil, 0) }
        let from = entries[index].token
        let count = entries[index...].reduce(0) { $0 + $1.changes.count }
        entries.removeSubrange(index...)
        changesCount -= count
        return (from, count)
    }

    /// Bounds what an unwritable store costs in memory: live states go on, and only the newest of each topic must be written.
    ///
    /// Only where everything may wait. What was merged is written in one transaction, however large: a part of it would
    /// miss the states that were left out.
    ///
    /// - Returns: How many changes were left out.
    mutating func mergeWhenLong() -> Int {
        guard changesCount >= mergeAt, let last = entries.last else { return 0 }
        var all: [DurableChange] = []
        all.reserveCapacity(changesCount)
        for entry in entries[head...] { all += entry.changes }
        let merged = all.coalesced()
        entries = [Entry(changes: merged, token: last.token, mayWait: true)]
        head = 0
        changesCount = merged.count
        mergeAt = max(2 * merged.count, 2 * Self.groupMax)
        return all.count - merged.count
    }
}
