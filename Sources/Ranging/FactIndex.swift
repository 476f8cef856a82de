import EngineMemory

/// Finds facts by observer and beacon.
struct FactIndex: ~Copyable {
    private var numbers = OpenTable<NumberSlot>()

    init() {}

    deinit { numbers.deallocate() }

    var count: Int { numbers.count }
    var bytes: Int { numbers.bytes }

    func find(_ observer: UInt32, _ beacon: UInt32, in facts: FactBlocks) -> UInt32? {
        numbers.find(PairHash.of(observer, beacon)) { facts[Int($0)].observer == observer && facts[Int($0)].beacon == beacon }?
            .pointee.number
    }

    mutating func insert(_ fact: UInt32, in facts: FactBlocks) {
        numbers.insert(NumberSlot(fact, hash: Self.hash(of: fact, in: facts)))
    }

    mutating func remove(_ fact: UInt32, in facts: FactBlocks) {
        if let slot = numbers.find(Self.hash(of: fact, in: facts), where: { $0 == fact }) { numbers.remove(slot) }
    }

    private static func hash(of fact: UInt32, in facts: FactBlocks) -> UInt32 {
        PairHash.of(facts[Int(fact)].observer, facts[Int(fact)].beacon)
    }
}
