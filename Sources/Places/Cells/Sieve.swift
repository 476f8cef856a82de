import Geodesy

/// Lets through what may be within a straight distance of a point, and little else: single precision, four entries at a time.
struct Sieve {
    private let middle: GridPoint
    private let limit: Float

    /// - Parameter reach: Metres.
    init(_ query: Query, reach: Double) {
        middle = GridPoint(query.point)
        // Both points are rounded, and single precision keeps seven digits.
        let units = Float(reach * GridPoint.unitsPerMetre) * 1.000_01 + 8
        limit = units * units
    }

    /// How many entries are sifted at a time: they lie together, the first at a multiple of so many.
    static let width: UInt32 = 4

    /// Writes the places of those among four entries that pass and belong to a row, behind so many others, and returns how many
    /// there are then.
    ///
    /// Without a branch for each: a fifth passes, at random, and a branch that is guessed wrong costs more than the rest.
    ///
    /// - Parameters:
    ///   - entries: The four; of another's row, or never written, where they do not belong to this one.
    ///   - place: The number of the first of them.
    @inline(__always)
    func sift(
        _ entries: UnsafePointer<PlaceCells.Entry>, at place: UInt32, of row: PlaceCells.Cell,
        into passed: UnsafeMutableBufferPointer<UInt32>, behind count: Int
    ) -> Int {
        let (first, second) = (
            SIMD8(lowHalf: entries[0].lanes, highHalf: entries[1].lanes),
            SIMD8(lowHalf: entries[2].lanes, highHalf: entries[3].lanes)
        )
        let even = SIMD8(lowHalf: first.evenHalf, highHalf: second.evenHalf)
        let x = square(even.evenHalf, middle.x)
        let y = square(SIMD8(lowHalf: first.oddHalf, highHalf: second.oddHalf).evenHalf, middle.y)
        let z = square(even.oddHalf, middle.z)
        // All bits of a lane are set where it is near enough, and where it belongs to the row.
        let near = unsafeBitCast(x + y + z .<= limit, to: SIMD4<Int32>.self)
        // Negative lanes do not: integers compared with each other would be compared one by one.
        let offset = SIMD4(repeating: Int32(bitPattern: place &- row.run)) &+ SIMD4(0, 1, 2, 3)
        let outside = (offset | (SIMD4(repeating: Int32(bitPattern: row.count &- 1)) &- offset)) &>> SIMD4(repeating: 31)
        let passes = near & ~outside
        var count = count
        for lane in 0..<4 {
            passed[count] = place &+ UInt32(truncatingIfNeeded: lane)
            count &-= Int(passes[lane])
        }
        return count
    }

    /// A difference of 4,000 km or more may wrap round, and then is long still (``GridPoint``).
    @inline(__always)
    private func square(_ lanes: SIMD4<Int32>, _ middle: Int32) -> SIMD4<Float> {
        let step = SIMD4<Float>(lanes &- SIMD4(repeating: middle))
        return step * step
    }
}
