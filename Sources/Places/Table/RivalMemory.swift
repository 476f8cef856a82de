/// Of which places it is known whether another one is near them: true of one generation of the table only.
///
/// To find out takes a search of its own, and is asked for each place a device is close to, at every position. Each place has one
/// slot, shared with others: a town has room, and what falls out of it is found again.
struct RivalMemory {
    /// Of place, generation and answer; 0: vacant. The first change of a table makes the first generation.
    private var slots: [UInt64] = []
    /// What of the generation does not fit into a slot.
    private var epoch: UInt64 = 0

    /// Half a megabyte.
    private static let slotsMax = 1 << 16
    private static let generationBits: UInt64 = 31

    @inline(__always)
    private static func key(_ handle: UInt32, _ generation: UInt64) -> UInt64 {
        UInt64(handle) << generationBits | generation & (1 << generationBits - 1)
    }

    @inline(__always)
    private func slot(_ handle: UInt32) -> Int {
        // The number of slots is a power of two.
        Int(truncatingIfNeeded: handle &* 0x9E37_79B1 >> 8) & (slots.count - 1)
    }

    @inline(__always)
    func answer(_ handle: UInt32, _ generation: UInt64) -> Bool? {
        guard !slots.isEmpty, generation >> Self.generationBits == epoch else { return nil }
        let found = slots[slot(handle)]
        return found >> 1 == Self.key(handle, generation) ? found & 1 == 1 : nil
    }

    /// - Parameter count: How many places there are.
    mutating func remember(_ answer: Bool, of handle: UInt32, _ generation: UInt64, count: Int) {
        let isSmall = slots.count < Self.slotsMax && slots.count < 2 * count
        if isSmall || generation >> Self.generationBits != epoch {
            let wanted = min(Self.slotsMax, max(16, 4 * count))
            slots = Array(repeating: 0, count: 1 << (Int.bitWidth - (wanted - 1).leadingZeroBitCount))
            epoch = generation >> Self.generationBits
        }
        slots[slot(handle)] = Self.key(handle, generation) << 1 | (answer ? 1 : 0)
    }

    var bytes: Int { slots.count * 8 }
}
