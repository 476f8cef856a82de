/// Rows of plain values in sizes of powers of two; what is given back is used again for the same size.
struct RunPool<Element: BitwiseCopyable>: ~Copyable {
    private(set) var elements = Pool<Element>()
    /// By the logarithm of the size: rows not in use.
    private var free: [[UInt32]] = Array(repeating: [], count: 33)

    /// Sizes below this are cut from a row of it, so that larger rows begin at a cache line.
    private static var smallest: Int { 4 }

    var bytes: Int { elements.bytes + free.reduce(0) { $0 + $1.count * 4 } }

    /// The size class that holds so many.
    @inline(__always)
    static func sizeClass(of count: UInt32) -> Int { count <= 1 ? 0 : 32 - (count - 1).leadingZeroBitCount }

    mutating func take(_ sizeClass: Int) -> UInt32 {
        if let run = free[sizeClass].popLast() { return run }
        let size = 1 << sizeClass
        let first = elements.extend(by: max(size, Self.smallest))
        var next = first + size
        while next < first + Self.smallest {
            free[sizeClass].append(UInt32(truncatingIfNeeded: next))
            next += size
        }
        return UInt32(truncatingIfNeeded: first)
    }

    mutating func give(_ run: UInt32, _ sizeClass: Int) { free[sizeClass].append(run) }

    /// Adds a value to a row of `count`, which may move, and returns where the row then is.
    mutating func append(_ element: Element, to run: UInt32, count: UInt32) -> UInt32 {
        var run = run
        if count == 0 {
            run = take(0)
        } else if count.nonzeroBitCount == 1 {
            let sizeClass = Self.sizeClass(of: count)
            let next = take(sizeClass + 1)
            (elements.base + Int(next)).update(from: elements.base + Int(run), count: Int(count))
            give(run, sizeClass)
            run = next
        }
        elements[run + count] = element
        return run
    }

    /// Takes out the value at `place` of a row of `count`, the last one moving there, and returns where the row then is.
    mutating func remove(at place: UInt32, of run: UInt32, count: UInt32) -> UInt32 {
        elements[run + place] = elements[run + count - 1]
        let left = count - 1
        let before = Self.sizeClass(of: count)
        guard left > 0 else {
            give(run, before)
            return 0
        }
        let after = Self.sizeClass(of: left)
        guard after < before else { return run }
        let next = take(after)
        (elements.base + Int(next)).update(from: elements.base + Int(run), count: Int(left))
        give(run, before)
        return next
    }

    mutating func set(_ element: Element, at place: UInt32) { elements[place] = element }

    /// Puts a value in at `place` of a row of `count`, those behind it moving on, and returns where the row then is.
    mutating func insert(_ element: Element, at place: UInt32, of run: UInt32, count: UInt32) -> UInt32 {
        let run = append(element, to: run, count: count)
        let base = elements.base + Int(run)
        (base + Int(place) + 1).update(from: base + Int(place), count: Int(count - place))
        base[Int(place)] = element
        return run
    }

    /// Takes out the value at `place` of a row of `count`, those behind it moving up, and returns where the row then is.
    mutating func remove(keepingOrderAt place: UInt32, of run: UInt32, count: UInt32) -> UInt32 {
        let base = elements.base + Int(run)
        (base + Int(place)).update(from: base + Int(place) + 1, count: Int(count - place - 1))
        return remove(at: count - 1, of: run, count: count)
    }
}
