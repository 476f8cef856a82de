import BitCollections
import LiveTopics
import Records

/// The known live states of all datasets, found by the bytes of their topic.
///
/// Owns their numbers and which of them are to be made durable. An update of a known topic is found without a string being made of it. Iterates in an order that only depends on
/// what was put in and taken out.
final class LiveStates {
    private(set) var all: [LiveState] = []
    /// The last number given to a message of a live state.
    private(set) var lastNumber: Int64 = 0
    /// Where those are that changed since they were last made durable. What came first lies together on the disk: written in this order, a
    /// portion changes a few pages of it, and not one with each state.
    private var dirty = BitSet.Counted()
    /// Those of them that are to be made durable now, and where the writing goes on.
    private var due = BitSet.Counted()
    private var writtenTo = 0
    /// Linear probing: the hash in the upper half, the index and one in the lower; 0 is free. A power of two, half full at most.
    private var slots: [UInt64] = Array(repeating: 0, count: 16)

    var count: Int { all.count }

    subscript(topic: UnsafeRawBufferPointer) -> LiveState? {
        let hash = Self.hash(topic)
        let mask = slots.count - 1
        var index = Int(hash) & mask
        while slots[index] != 0 {
            if UInt32(truncatingIfNeeded: slots[index] >> 32) == hash {
                let state = all[Self.index(slots[index])]
                if state.topic.withBytes({ $0.isEqual(to: topic) }) { return state }
            }
            index = (index + 1) & mask
        }
        return nil
    }

    subscript(topic: String) -> LiveState? { topic.withBytes { self[$0] } }

    /// Takes in the first state of a topic.
    ///
    /// - Parameter levels: Those of its topic, where the caller has them at hand.
    func insert(_ state: LiveState, _ levels: LevelKeys? = nil) {
        if let levels = levels ?? (try? LiveTopic(encoded: state.topic)).map(LevelKeys.init) {
            state.dataset.liveTopics.insert(state, levels)
        }
        state.hash = state.topic.withBytes(Self.hash)
        state.slot = all.count
        all.append(state)
        if all.count * 2 > slots.count { grow() } else { occupy(state) }
    }

    func remove(_ state: LiveState) {
        guard state.isKnown else { return }
        state.dataset.liveTopics.remove(state)
        state.subscribers = CriteriaMemo()
        free(slot(of: state))
        let last = all.removeLast()
        take(state.slot)
        if last !== state {
            let slot = slot(of: last)
            let (isDirty, isDue) = (dirty.contains(last.slot), due.contains(last.slot))
            take(last.slot)
            last.slot = state.slot
            all[last.slot] = last
            slots[slot] = Self.entry(last)
            if isDirty { markDirty(last) }
            if isDue { due.insert(last.slot) }
        }
        state.slot = -1
    }

    /// Removes all of a dataset that was deleted.
    ///
    /// - Parameter visit: Called with each.
    func removeAll(of dataset: Dataset, _ visit: (LiveState) -> Void) {
        for index in all.indices.reversed() where all[index].dataset === dataset {
            let state = all[index]
            remove(state)
            visit(state)
        }
    }

    // MARK: Numbers

    /// The number of the next message.
    @inline(__always)
    func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    /// Numbers go on behind this one.
    func noteNumber(_ number: Int64) { lastNumber = max(lastNumber, number) }

    // MARK: Writing behind

    /// A known state is to be made durable when there is time.
    @inline(__always)
    func markDirty(_ state: LiveState) {
        if state.isKnown { dirty.insert(state.slot) }
    }

    var dirtyCount: Int { dirty.count }

    /// What is dirty by now is to be made durable.
    func noteDue() { due = dirty }

    /// How many of them are to be made durable now.
    var dueCount: Int { due.count }

    /// The next of them that is to be made durable now; it is dirty no longer.
    func nextDue() -> LiveState? {
        while let slot = due[members: writtenTo...].first ?? due.first {
            writtenTo = slot + 1
            guard !all[slot].dataset.isHalted else {
                due.remove(slot)
                continue
            }
            take(slot)
            return all[slot]
        }
        return nil
    }

    /// What is there is neither dirty nor due any more.
    private func take(_ slot: Int) {
        due.remove(slot)
        dirty.remove(slot)
    }

    // MARK: Slots

    private static func hash(_ topic: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private static func entry(_ state: LiveState) -> UInt64 { UInt64(state.hash) << 32 | UInt64(state.slot + 1) }

    private static func index(_ entry: UInt64) -> Int { Int(entry & 0xFFFF_FFFF) - 1 }

    private func occupy(_ state: LiveState) {
        let mask = slots.count - 1
        var index = Int(state.hash) & mask
        while slots[index] != 0 { index = (index + 1) & mask }
        slots[index] = Self.entry(state)
    }

    private func slot(of state: LiveState) -> Int {
        let mask = slots.count - 1
        var index = Int(state.hash) & mask
        while slots[index] != Self.entry(state) { index = (index + 1) & mask }
        return index
    }

    /// Frees a slot and moves up what was pushed on by it.
    private func free(_ slot: Int) {
        let mask = slots.count - 1
        var free = slot
        var index = (slot + 1) & mask
        while slots[index] != 0 {
            let home = Int(slots[index] >> 32) & mask
            // It may only move up to a slot that is not before its own.
            if (index - home) & mask >= (index - free) & mask {
                slots[free] = slots[index]
                free = index
            }
            index = (index + 1) & mask
        }
        slots[free] = 0
    }

    private func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for state in all { occupy(state) }
    }
}
