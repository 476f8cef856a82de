/// Finds facts by observer and beacon. Open addressing with linear probing, three quarters full at most; a slot holds a number and one.
struct FactIndex {
    private var slots = [UInt32](repeating: 0, count: 16)
    private(set) var count = 0

    var bytes: Int { slots.capacity * 4 }

    private static func hash(_ observer: UInt32, _ beacon: UInt32) -> Int {
        // Numbers are dense: a multiplication spreads them (Steele, Lea, Flood, OOPSLA 2014).
        var mixed = UInt64(observer) << 32 | UInt64(beacon)
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int(truncatingIfNeeded: mixed >> 20)
    }

    func find(_ observer: UInt32, _ beacon: UInt32, in facts: FactBlocks) -> UInt32? {
        let mask = slots.count - 1
        var place = Self.hash(observer, beacon) & mask
        while slots[place] != 0 {
            let fact = slots[place] - 1
            if facts[Int(fact)].observer == observer, facts[Int(fact)].beacon == beacon { return fact }
            place = (place + 1) & mask
        }
        return nil
    }

    mutating func insert(_ fact: UInt32, in facts: FactBlocks) {
        count += 1
        if count * 4 > slots.count * 3 {
            let known = slots
            slots = [UInt32](repeating: 0, count: known.count * 2)
            for slot in known where slot != 0 { occupy(slot - 1, in: facts) }
        }
        occupy(fact, in: facts)
    }

    private mutating func occupy(_ fact: UInt32, in facts: FactBlocks) {
        let mask = slots.count - 1
        var place = Self.home(fact, in: facts) & mask
        while slots[place] != 0 { place = (place + 1) & mask }
        slots[place] = fact + 1
    }

    private static func home(_ fact: UInt32, in facts: FactBlocks) -> Int {
        hash(facts[Int(fact)].observer, facts[Int(fact)].beacon)
    }

    /// Takes a fact out and moves up what was pushed on by it.
    mutating func remove(_ fact: UInt32, in facts: FactBlocks) {
        let mask = slots.count - 1
        var free = Self.home(fact, in: facts) & mask
        while slots[free] != fact + 1 {
            guard slots[free] != 0 else { return }
            free = (free + 1) & mask
        }
        count -= 1
        slots[free] = 0
        var place = (free + 1) & mask
        while slots[place] != 0 {
            let home = Self.home(slots[place] - 1, in: facts) & mask
            if (place - home) & mask >= (place - free) & mask {
                slots[free] = slots[place]
                slots[place] = 0
                free = place
            }
            place = (place + 1) & mask
        }
    }
}
