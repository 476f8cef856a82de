import Geodesy

/// Where the lanes lie that a probe can find something new in: no further than reach, and no nearer than what was surely in range
/// before and after.
///
/// Distances are split exactly: with ρ the distances from the earth's axis, the square of the chord between two points is that of
/// the chord between their latitudes on one meridian, plus 4·ρ₁·ρ₂·sin²(Δλ/2).
struct Ring {
    /// The columns of a row between which its cells are touched, but for those between the inner two, which lie wholly inside.
    struct Span: BitwiseCopyable {
        var from, to: Int32
        var innerFrom, innerTo: Int32
    }

    private var latitude, longitude: Double
    /// Squares of metres; single precision is made up for.
    private var outer, inner: Float
    /// Degrees of longitude in a metre, at most and at least, anywhere within reach.
    private var most, least: Double

    /// - Parameter axis: The position's distance from the earth's axis in metres.
    /// - Parameter reach: Metres beyond which nothing is in range.
    /// - Parameter inside: Metres within which everything was in range and still is; negative: nothing.
    /// - Returns: nil where the ring is so near to a pole that its columns say little, and beyond 20 km, where the chord under a
    ///   meridian is no longer as good as its arc.
    init?(latitude: Double, longitude: Double, axis: Double, reach: Double, inside: Double) {
        guard reach <= 20_000 && axis > 20 * (reach + 1) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        // Slack for the rounding of grid points, and a relative one for single precision: it matters where the difference of two
        // squares is small.
        let (far, near) = (reach + 0.1, inside - 0.1)
        outer = Float(far * far * 1.00001)
        inner = near > 0 ? Float(near * near * 0.99999) : -1
        let degree = 180 / Double.pi
        // arcsin(x) ≤ 1.002·x up to 0.1.
        most = 1.002 * degree / (axis - far)
        least = 0.9999 * degree / (axis + far)
    }

    /// Fills the spans of the eight rows of a tile.
    ///
    /// - Parameter height: Degrees a row is high.
    /// - Parameter south: Degrees of latitude of the lowest row's southern edge.
    @inline(__always)
    func span(rowsFrom south: Double, height: Double, columns: Int, into spans: UnsafeMutablePointer<Span>) {
        // A degree of latitude is between 110,574.27 m and 111,693.98 m long.
        let number = SIMD8<Float>(0, 1, 2, 3, 4, 5, 6, 7)
        let low = number * Float(height) + Float(south - latitude)
        let high = low + Float(height)
        var nearest = low
        nearest.replace(with: -high, where: -high .> low)
        nearest.replace(with: 0, where: nearest .< 0)
        nearest *= 110_574
        var farthest = high
        farthest.replace(with: -low, where: -low .> high)
        farthest *= 111_695
        let beyond = outer - nearest * nearest
        let within = inner - farthest * farthest
        var zero = beyond
        zero.replace(with: 0, where: beyond .< 0)
        let outerWidth = zero.squareRoot()
        zero = within
        zero.replace(with: 0, where: within .< 0)
        let innerWidth = zero.squareRoot()
        let perDegree = Double(columns) / 360
        let centre = (longitude + 180) * perDegree
        for row in 0..<8 {
            guard beyond[row] > 0 else {
                spans[row] = Span(from: 1, to: 0, innerFrom: 1, innerTo: 0)
                continue
            }
            // A thousandth of a column is centimetres at least.
            let half = Double(outerWidth[row]) * most * perDegree + 0.001
            let core = Double(innerWidth[row]) * least * perDegree - 0.001
            let from = max(0, Int32((centre - half).rounded(.down)))
            let to = min(Int32(columns - 1), Int32((centre + half).rounded(.down)))
            guard within[row] > 0 && core > 0.5 else {
                spans[row] = Span(from: from, to: to, innerFrom: 1, innerTo: 0)
                continue
            }
            spans[row] = Span(
                from: from, to: to, innerFrom: Int32((centre - core).rounded(.up)),
                innerTo: Int32((centre + core).rounded(.down)) - 1)
        }
    }
}

extension Ring.Span {
    /// The cells of a row of a tile that are touched, as a bit for each of its eight columns.
    @inline(__always)
    func cells(ofColumnsFrom first: Int32) -> UInt64 {
        let from = max(self.from - first, 0)
        let to = min(self.to - first, 7)
        guard from <= to else { return 0 }
        let cells = (UInt64(0xFF) &>> UInt64(truncatingIfNeeded: 7 - to)) & (UInt64(0xFF) &<< UInt64(truncatingIfNeeded: from))
        let innerFrom = max(self.innerFrom - first, 0)
        let innerTo = min(self.innerTo - first, 7)
        guard innerFrom <= innerTo else { return cells }
        return cells
            & ~((UInt64(0xFF) &>> UInt64(truncatingIfNeeded: 7 - innerTo))
            & (UInt64(0xFF) &<< UInt64(truncatingIfNeeded: innerFrom)))
    }
}
