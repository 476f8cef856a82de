/// Where facts and their readings lie: two blocks that grow together, with numbers that are reused.
struct FactMemory {
    private(set) var facts: UnsafeMutablePointer<ProximityFact>
    private var readings: SignalHistory.Memory
    private var capacity = 16
    private var used = 0
    private var free: [UInt32] = []

    init() {
        facts = .allocate(capacity: capacity)
        readings = .allocate(capacity: capacity * SignalHistory.capacity)
    }

    func deallocate() {
        facts.deallocate()
        readings.deallocate()
    }

    var bytes: Int {
        capacity * (MemoryLayout<ProximityFact>.stride + SignalHistory.capacity * MemoryLayout<SignalHistory.Reading>.stride)
            + free.capacity * 4
    }

    func readings(of fact: UInt32) -> SignalHistory.Memory { readings + Int(fact) * SignalHistory.capacity }

    mutating func take(_ fact: ProximityFact) -> UInt32 {
        if let number = free.popLast() {
            facts[Int(number)] = fact
            return number
        }
        if used == capacity { grow() }
        facts[used] = fact
        used += 1
        return UInt32(truncatingIfNeeded: used - 1)
    }

    mutating func release(_ fact: UInt32) { free.append(fact) }

    /// By a quarter: at a hundred thousand facts half a block that stands empty is twenty megabytes.
    private mutating func grow() {
        let larger = capacity + max(16, capacity / 4)
        let newFacts = UnsafeMutablePointer<ProximityFact>.allocate(capacity: larger)
        newFacts.update(from: facts, count: used)
        let newReadings = SignalHistory.Memory.allocate(capacity: larger * SignalHistory.capacity)
        newReadings.update(from: readings, count: used * SignalHistory.capacity)
        deallocate()
        (facts, readings, capacity) = (newFacts, newReadings, larger)
    }
}
