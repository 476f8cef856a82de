import EngineMemory

/// A growing row of plain values, one after the other.
struct Pool<Element: BitwiseCopyable>: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int

    init() {
        capacity = 4
        base = Pool.memory(4)
    }

    deinit { BigMemory.release(base) }

    /// Bytes in use.
    var bytes: Int { count * MemoryLayout<Element>.stride }

    /// Makes room for more values at the end, which are yet to be written, and returns the number of the first.
    mutating func extend(by more: Int) -> Int {
        let first = count
        if count + more > capacity { grow(to: count + more) }
        count += more
        return first
    }

    mutating func append(_ element: Element) {
        if count == capacity { grow(to: count + 1) }
        base[count] = element
        count += 1
    }

    /// What is not written to takes no memory, and a copy costs as much as to clear its pages: large rows grow to four times.
    private mutating func grow(to needed: Int) {
        let isLarge = capacity * MemoryLayout<Element>.stride >= 16 << 20
        capacity = max(needed, capacity * (isLarge ? 4 : 2))
        let next = Pool.memory(capacity)
        next.update(from: base, count: count)
        BigMemory.release(base)
        base = next
    }

    private static func memory(_ capacity: Int) -> UnsafeMutablePointer<Element> {
        BigMemory.allocate(bytes: capacity * MemoryLayout<Element>.stride).bindMemory(to: Element.self, capacity: capacity)
    }

    subscript(index: Int) -> Element {
        @inline(__always) unsafeAddress { UnsafePointer(base + index) }
        @inline(__always) unsafeMutableAddress { base + index }
    }

    subscript(index: UInt32) -> Element {
        @inline(__always) unsafeAddress { UnsafePointer(base + Int(index)) }
        @inline(__always) unsafeMutableAddress { base + Int(index) }
    }
}
