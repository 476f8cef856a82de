import LiveTopics
import Wire
import Records

/// The last known state of a live topic, or that it was cleared.
final class LiveState {
    let dataset: Dataset
    /// The seven levels, encoded and normalised.
    let topic: String
    let domain: String
    let itemID: String
    /// It is the position of what its `location` level names: of a device, where there is one of this id.
    let namesDevice: Bool
    /// Its topic has a `location` level.
    let hasLocation: Bool
    /// Its number among the topics of its dataset, while it is known.
    var topicNumber: UInt32 = 0
    /// Whose criteria want its topic, as last looked up.
    var subscribers = CriteriaMemo()
    /// What it said before it was cleared while the broker was away.
    var lastPayload: [UInt8]?
    /// When it was true; of a cleared state from when on it was not.
    var timestamp: Int64 = .min
    var receivedAt: Int64 = .min
    /// The number of the `live/…` message that told it; 0 while nothing is known.
    var number: Int64 = 0
    /// The `live/…` message; nil when cleared.
    var payload: [UInt8]?
    /// The daemon worked it out itself.
    var isDerived = false
    /// As of which of its dataset's declarations its topic was found to be declared.
    var declaredAsOf: UInt32 = 0
    /// Changed since it was last made durable.
    var dirty = false
    /// The floor its topic names, once that was asked for.
    var floor: Floors.Place?
    /// The device that stands where this says; nil where it stands elsewhere, or is none.
    var device: Device?
    /// Where it stands in the table, and the hash it is found by.
    fileprivate(set) var place = -1
    fileprivate var hash: UInt32 = 0

    init(dataset: Dataset, live: LiveTopic, topic: String) {
        self.dataset = dataset
        self.topic = topic
        domain = live.domain
        itemID = live.itemID
        hasLocation = live.location != LiveTopic.notApplicable
        namesDevice = live.domain == "position" && hasLocation
    }

    /// It says which beacons an observer sees.
    var tellsSightings: Bool { domain == KnownDomain.proximity.rawValue }

    /// When it was true, if it was sent: what the daemon worked out makes nothing that is sent late.
    var sentAt: Int64 { isDerived ? .min : timestamp }

    /// It is in the table: something is known of its topic, be it that it was cleared.
    var isKnown: Bool { place >= 0 }
}

/// The known live states of all datasets, found by the bytes of their topic.
///
/// An update of a known topic is found without a string being made of it. Iterates in an order that only depends on
/// what was put in and taken out.
struct LiveStates {
    private(set) var all: [LiveState] = []
    /// Linear probing: the hash in the upper half, the place and one in the lower; 0 is free. A power of two, half full at most.
    private var slots: [UInt64] = Array(repeating: 0, count: 16)

    var count: Int { all.count }

    subscript(topic: UnsafeRawBufferPointer) -> LiveState? {
        let hash = Self.hash(topic)
        let mask = slots.count - 1
        var index = Int(hash) & mask
        while slots[index] != 0 {
            if UInt32(truncatingIfNeeded: slots[index] >> 32) == hash {
                let state = all[Self.place(slots[index])]
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
    mutating func insert(_ state: LiveState, _ levels: LevelKeys? = nil) {
        if let levels = levels ?? (try? LiveTopic(encoded: state.topic)).map(LevelKeys.init) {
            state.dataset.liveTopics.insert(state, levels)
        }
        state.hash = state.topic.withBytes(Self.hash)
        state.place = all.count
        all.append(state)
        if all.count * 2 > slots.count { grow() } else { occupy(state) }
    }

    mutating func remove(_ state: LiveState) {
        guard state.isKnown else { return }
        state.dataset.liveTopics.remove(state)
        state.subscribers = CriteriaMemo()
        free(slot(of: state))
        let last = all.removeLast()
        if last !== state {
            let slot = slot(of: last)
            last.place = state.place
            all[last.place] = last
            slots[slot] = Self.entry(last)
        }
        state.place = -1
    }

    mutating func removeAll(where isGone: (LiveState) -> Bool) {
        for place in all.indices.reversed() where isGone(all[place]) { remove(all[place]) }
    }

    // MARK: Slots

    private static func hash(_ topic: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private static func entry(_ state: LiveState) -> UInt64 { UInt64(state.hash) << 32 | UInt64(state.place + 1) }

    private static func place(_ entry: UInt64) -> Int { Int(entry & 0xFFFF_FFFF) - 1 }

    private mutating func occupy(_ state: LiveState) {
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
    private mutating func free(_ slot: Int) {
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

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for state in all { occupy(state) }
    }
}
