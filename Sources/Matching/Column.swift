import CPrefetch
import EngineMemory

/// A value for each number of a slab, apart from its records: what seldom matters does not lengthen them.
struct Column<Value: BitwiseCopyable> {
    private var base: UnsafeMutablePointer<Value>
    private var capacity = 16

    init() { base = Column.memory(nil, used: 0, capacity: 16) }

    func deallocate() { BigMemory.release(base) }

    var bytes: Int { capacity * MemoryLayout<Value>.stride }

    /// Makes room for a number, whose value is yet to be written.
    mutating func reach(_ index: UInt32) {
        guard Int(index) >= capacity else { return }
        let former = capacity
        while Int(index) >= capacity { capacity = BigMemory.grown(capacity, stride: MemoryLayout<Value>.stride) }
        base = Column.memory(base, used: former, capacity: capacity)
    }

    /// Gives the memory back: no number is in use.
    mutating func reset() {
        guard capacity > 4096 else { return }
        BigMemory.release(base)
        capacity = 16
        base = Column.memory(nil, used: 0, capacity: 16)
    }

    @inline(__always)
    func prefetch(_ index: UInt32) { geomatch_prefetch(base + Int(index)) }

    @inline(__always)
    subscript(index: UInt32) -> Value {
        @inline(__always) unsafeAddress { UnsafePointer(base + Int(index)) }
        @inline(__always) nonmutating unsafeMutableAddress { base + Int(index) }
    }

    private static func memory(
        _ old: UnsafeMutablePointer<Value>?, used: Int, capacity: Int
    ) -> UnsafeMutablePointer<Value> {
        let stride = MemoryLayout<Value>.stride
        return BigMemory.resize(old, used: used * stride, bytes: capacity * stride).bindMemory(to: Value.self, capacity: capacity)
    }
}
