import EngineMemory

/// Records of a trivial type in one block of memory, named by dense numbers that are reused.
///
/// A free record's first four bytes name the next free one, so that freeing costs no memory of its own.
struct Slab<Record: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Record>
    private(set) var capacity = 0
    /// Numbers ever used since the slab was last empty.
    private(set) var used = 0
    private(set) var count = 0
    private var firstFree = UInt32.max

    init() {
        precondition(MemoryLayout<Record>.stride >= 4, "A record must have room for the free list")
        base = Slab.memory(nil, used: 0, capacity: 16)
        capacity = 16
    }

    var bytes: Int { capacity * MemoryLayout<Record>.stride }

    /// A number whose record is yet to be written.
    mutating func take() -> UInt32 {
        count += 1
        if firstFree != .max {
            let index = firstFree
            firstFree = UnsafeRawPointer(base + Int(index)).loadUnaligned(as: UInt32.self)
            return index
        }
        if used == capacity {
            capacity = BigMemory.grown(capacity, stride: MemoryLayout<Record>.stride)
            base = Slab.memory(base, used: used, capacity: capacity)
        }
        used += 1
        return UInt32(truncatingIfNeeded: used - 1)
    }

    mutating func release(_ index: UInt32) {
        count -= 1
        if count == 0 {
            used = 0
            firstFree = .max
            guard capacity > 4096 else { return }
            BigMemory.release(base)
            base = Slab.memory(nil, used: 0, capacity: 16)
            capacity = 16
            return
        }
        UnsafeMutableRawPointer(base + Int(index)).storeBytes(of: firstFree, as: UInt32.self)
        firstFree = index
    }

    @inline(__always)
    subscript(index: UInt32) -> Record {
        @inline(__always) unsafeAddress { UnsafePointer(base + Int(index)) }
        @inline(__always) nonmutating unsafeMutableAddress { base + Int(index) }
    }

    func deallocate() { BigMemory.release(base) }

    private static func memory(
        _ old: UnsafeMutablePointer<Record>?, used: Int, capacity: Int
    ) -> UnsafeMutablePointer<Record> {
        let stride = MemoryLayout<Record>.stride
        return BigMemory.resize(old, used: used * stride, bytes: capacity * stride).bindMemory(
            to: Record.self, capacity: capacity)
    }
}
