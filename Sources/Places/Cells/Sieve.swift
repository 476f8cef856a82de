import Geodesy

/// Lets through what may be within a straight distance of a point, and little else: single precision, four entries at a time.
struct Sieve {
    private let middle: SIMD4<Int32>
    private let limit: Float

    /// - Parameter reach: Metres.
    init(_ query: Query, reach: Double) {
        let point = GridPoint(query.point)
        middle = SIMD4(point.x, point.y, point.z, 0)
        // Both points are rounded, and single precision keeps seven digits.
        let units = Float(reach * GridPoint.unitsPerMetre) * 1.000_01 + 8
        limit = units * units
    }

    @inline(__always)
    func passes(_ entry: PlaceCells.Entry) -> Bool { squares(entry).sum() <= limit }

    /// A difference of 4,000 km or more may wrap round, and then is long still (``GridPoint``).
    @inline(__always)
    private func squares(_ entry: PlaceCells.Entry) -> SIMD4<Float> {
        let step = SIMD4<Float>((entry.lanes &- middle) & SIMD4(-1, -1, -1, 0))
        return step * step
    }

    /// How many entries are sifted at a time.
    static let most = 64

    /// Writes the places of those that pass, and returns how many they are.
    ///
    /// Without a branch for each: a fifth passes, at random, and a branch that is guessed wrong costs more than the rest.
    @inline(__always)
    func sift(
        _ entries: UnsafeBufferPointer<PlaceCells.Entry>, _ range: Range<Int>, into passed: UnsafeMutableBufferPointer<UInt32>
    ) -> Int {
        var count = 0
        var place = range.lowerBound
        while place + 4 <= range.upperBound {
            let left = Self.pairs(squares(entries[place]), squares(entries[place + 1]))
            let right = Self.pairs(squares(entries[place + 2]), squares(entries[place + 3]))
            // All bits of a lane are set where it is near enough.
            let near = unsafeBitCast(Self.pairs(left, right) .<= limit, to: SIMD4<Int32>.self)
            for lane in 0..<4 {
                passed[count] = UInt32(truncatingIfNeeded: place + lane)
                count &-= Int(near[lane])
            }
            place += 4
        }
        while place < range.upperBound {
            passed[count] = UInt32(truncatingIfNeeded: place)
            count += passes(entries[place]) ? 1 : 0
            place += 1
        }
        return count
    }

    /// The sums of neighbours: two of the first, then two of the second.
    @inline(__always)
    private static func pairs(_ left: SIMD4<Float>, _ right: SIMD4<Float>) -> SIMD4<Float> {
        let both = SIMD8(lowHalf: left, highHalf: right)
        return both.evenHalf + both.oddHalf
    }
}
