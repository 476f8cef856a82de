import Records

/// What waits for the store, first in, first out. Belongs to the journal's thread.
struct Backlog {
    enum Entry {
        /// Kept until it is durable. Several tokens where batches were merged.
        case changes([DurableChange], tokens: [UInt64])
        /// Written now or refused.
        case demand([DurableChange], Demand)
        case read(UInt64, @Sendable (Store) throws -> StoreAnswer)
    }

    /// The entries at the front that are written in one transaction.
    struct Group {
        var changes: [DurableChange] = []
        var tokens: [UInt64] = []
        /// How many of the changes wait whatever happens: those before the demand.
        var patientCount = 0
        var entryCount = 0
        /// The demand that ends the group.
        var demand: Demand?
    }

    /// Beyond this a transaction ends. Large enough that syncing costs little, small enough that a demand behind a long backlog waits
    /// for no giant.
    static let groupMax = 10_000

    private var entries: [Entry] = []
    private var head = 0
    /// How many changes wait, without those of demands.
    private(set) var changesCount = 0
    private var mergeAt = 2 * groupMax

    var isEmpty: Bool { head == entries.count }

    var first: Entry? { isEmpty ? nil : entries[head] }

    mutating func append(_ entry: Entry) {
        if case .changes(let changes, _) = entry { changesCount += changes.count }
        entries.append(entry)
    }

    mutating func removeFirst(_ count: Int = 1) {
        for entry in entries[head..<(head + count)] {
            if case .changes(let changes, _) = entry { changesCount -= changes.count }
        }
        head += count
        // Moving the rest forward now and then, instead of each time, keeps the removal cheap behind a long outage.
        if head > 1024 || head == entries.count, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Takes out one entry that is no change, counted from the front.
    mutating func remove(at index: Int) -> Entry? {
        let position = head + index
        guard entries.indices.contains(position) else { return nil }
        if case .changes = entries[position] { return nil }
        return entries.remove(at: position)
    }

    /// The changes at the front up to the maximum, or up to and with the first demand; never past a read, which must see what came
    /// before it and nothing after.
    func group() -> Group {
        var group = Group()
        for entry in entries[head...] {
            switch entry {
            case .read:
                return group
            case .changes(let changes, let tokens):
                if group.entryCount > 0, group.changes.count + changes.count > Self.groupMax { return group }
                if group.changes.isEmpty { group.changes = changes } else { group.changes += changes }
                group.tokens += tokens
                group.patientCount += changes.count
                group.entryCount += 1
            case .demand(let changes, let demand):
                group.changes += changes
                group.demand = demand
                group.entryCount += 1
                return group
            }
        }
        return group
    }

    /// Takes out everything that does not wait while the store refuses: reads and demands.
    mutating func takeImpatient() -> [Entry] {
        var impatient: [Entry] = []
        var patient: [Entry] = []
        for entry in entries[head...] {
            if case .changes = entry { patient.append(entry) } else { impatient.append(entry) }
        }
        guard !impatient.isEmpty else { return [] }
        entries = patient
        head = 0
        return impatient
    }

    /// Bounds what an unwritable store costs in memory: live states go on, and only the newest of each topic must be written.
    ///
    /// Only where nothing but changes waits. What was merged is written in one transaction, however large: a part of it would
    /// miss the states that were left out.
    ///
    /// - Returns: How many changes were left out.
    mutating func mergeWhenLong() -> Int {
        guard changesCount >= mergeAt else { return 0 }
        var all: [DurableChange] = []
        all.reserveCapacity(changesCount)
        var tokens: [UInt64] = []
        for case .changes(let changes, let known) in entries[head...] {
            all += changes
            tokens += known
        }
        let merged = all.coalesced()
        entries = [.changes(merged, tokens: tokens)]
        head = 0
        changesCount = merged.count
        mergeAt = max(2 * merged.count, 2 * Self.groupMax)
        return all.count - merged.count
    }
}

/// A caller that waits until its changes are durable or refused.
///
/// `@unchecked Sendable`: the result is read and written only while the journal's gate is locked.
final class Demand: @unchecked Sendable {
    var result: Result<Void, StoreError>?
}
