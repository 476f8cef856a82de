/// Some of the levels of the grid, from the finest on.
struct CellLevels: Sequence, IteratorProtocol {
    private var bits: UInt16 = 0

    mutating func insert(_ level: Int) { bits |= 1 << UInt16(level) }
    mutating func remove(_ level: Int) { bits &= ~(1 << UInt16(level)) }

    /// Those of outlines: all but the first level, which is that of points.
    @inline(__always)
    var ofOutlines: CellLevels {
        var levels = self
        levels.remove(0)
        return levels
    }

    @inline(__always)
    mutating func next() -> Int? {
        guard bits != 0 else { return nil }
        let level = bits.trailingZeroBitCount
        bits &= bits - 1
        return level
    }
}
