/// A list that keeps its memory between uses and does not count references.
struct Scratch<Element: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var capacity = 64
    private(set) var count = 0

    init() { base = .allocate(capacity: 64) }

    func deallocate() { base.deallocate() }

    var bytes: Int { capacity * MemoryLayout<Element>.stride }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow() }
        (base + count).initialize(to: element)
        count += 1
    }

    @inline(__always)
    subscript(index: Int) -> Element { base[index] }

    @inline(__always)
    func replace(_ index: Int, with element: Element) { base[index] = element }

    @inline(__always)
    mutating func truncate(to count: Int) { self.count = count }

    func sort(from start: Int) where Element: Comparable {
        var elements = UnsafeMutableBufferPointer(start: base + start, count: count - start)
        elements.sort()
    }

    @inline(never)
    private mutating func grow() {
        let next = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        next.update(from: base, count: count)
        base.deallocate()
        base = next
        capacity *= 2
    }
}
