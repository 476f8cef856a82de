import EngineMemory

/// An array whose first element begins a line of the cache, in large pages where it is large.
///
/// Copies share memory until one of them is written to. Elements are plain values.
struct LineArray<Element> {
    private final class Memory {
        let start: UnsafeMutablePointer<Element>

        init(capacity: Int) {
            start = BigMemory.allocate(bytes: capacity * MemoryLayout<Element>.stride)
                .bindMemory(to: Element.self, capacity: capacity)
        }

        deinit { BigMemory.release(start) }
    }

    private var memory: Memory?
    /// The memory's.
    private(set) var start: UnsafeMutablePointer<Element>
    private var capacity = 0
    private(set) var count = 0

    init() { start = UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment)! }

    @inline(__always)
    subscript(index: Int) -> Element {
        get {
            assert(index >= 0 && index < count)
            return start[index]
        }
        set {
            assert(index >= 0 && index < count)
            reserve(count)
            start[index] = newValue
        }
    }

    mutating func append(_ element: Element) {
        reserve(count + 1)
        start[count] = element
        count += 1
    }

    private mutating func reserve(_ needed: Int) {
        guard needed > capacity || !isKnownUniquelyReferenced(&memory) else { return }
        if needed > capacity { capacity = max(needed, BigMemory.grown(capacity, stride: MemoryLayout<Element>.stride)) }
        let next = Memory(capacity: capacity)
        next.start.update(from: start, count: count)
        (memory, start) = (next, next.start)
    }
}
