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
        // The few of most inputs are in order sooner than a sort of any number has its room.
        guard elements.count <= 40 else { return elements.sort() }
        for place in 1..<max(1, elements.count) {
            let element = elements[place]
            var hole = place
            while hole > 0 && element < elements[hole - 1] {
                elements[hole] = elements[hole - 1]
                hole -= 1
            }
            elements[hole] = element
        }
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
