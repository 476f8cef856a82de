/// Where facts and their readings lie: in blocks that never move, with numbers that are reused.
///
/// A table that grew by copying would hold an empty part and, for a moment, everything twice.
struct FactMemory {
    private(set) var facts: FactBlocks
    /// Blocks there is room for in the list of them.
    private var listed = 16
    private var blocks = 0
    private var used = 0
    private var free: [UInt32] = []

    init() { facts = FactBlocks(list: .allocate(capacity: listed)) }

    func deallocate() {
        for block in 0..<blocks { facts.list[block].deallocate() }
        facts.list.deallocate()
    }

    var bytes: Int { blocks * FactBlocks.bytes + listed * 8 + free.capacity * 4 }

    func readings(of fact: UInt32) -> SignalHistory.Memory { facts.readings(of: Int(fact)) }

    mutating func take(_ fact: ProximityFact) -> UInt32 {
        if let number = free.popLast() {
            facts[Int(number)] = fact
            return number
        }
        if used == blocks * FactBlocks.count { grow() }
        facts.pointer(used).initialize(to: fact)
        used += 1
        return UInt32(truncatingIfNeeded: used - 1)
    }

    mutating func release(_ fact: UInt32) { free.append(fact) }

    private mutating func grow() {
        if blocks == listed {
            let longer = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: listed * 2)
            longer.update(from: facts.list, count: blocks)
            facts.list.deallocate()
            facts = FactBlocks(list: longer)
            listed *= 2
        }
        facts.list[blocks] = .allocate(byteCount: FactBlocks.bytes, alignment: 16)
        blocks += 1
    }
}

/// Facts by their numbers: each block holds so many, and behind them their readings.
struct FactBlocks {
    static let count = 256
    static let bytes = count * (MemoryLayout<ProximityFact>.stride + SignalHistory.bytes)

    fileprivate let list: UnsafeMutablePointer<UnsafeMutableRawPointer>

    @inline(__always)
    func pointer(_ number: Int) -> UnsafeMutablePointer<ProximityFact> {
        list[number / Self.count].assumingMemoryBound(to: ProximityFact.self) + number % Self.count
    }

    @inline(__always)
    fileprivate func readings(of number: Int) -> SignalHistory.Memory {
        SignalHistory.Memory(
            list[number / Self.count] + Self.count * MemoryLayout<ProximityFact>.stride + number % Self.count
                * SignalHistory.bytes)
    }

    subscript(number: Int) -> ProximityFact {
        @inline(__always) unsafeAddress { UnsafePointer(pointer(number)) }
        @inline(__always) nonmutating unsafeMutableAddress { pointer(number) }
    }
}
