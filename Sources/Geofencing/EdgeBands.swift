import Geodesy

/// Which edges of a polygon may touch a box: runs of edges that follow each other, as bits for each of sixteen bands of latitude and of
/// longitude.
struct EdgeBands {
    private static let runs = 32
    private static let bands = 16

    private let origin: SIMD2<Double>
    /// Bands a degree.
    private let scale: SIMD2<Double>
    /// Edges of a run.
    private let length: Int
    private var columns = SIMD16<UInt32>(repeating: 0)
    private var rows = SIMD16<UInt32>(repeating: 0)

    /// - Parameter points: Those of all rings; between two of them is a run's edge that is none.
    init(_ points: [SIMD2<Double>]) {
        let low = points.reduce(SIMD2(repeating: Double.infinity)) { pointwiseMin($0, $1) }
        let high = points.reduce(SIMD2(repeating: -Double.infinity)) { pointwiseMax($0, $1) }
        origin = low
        // What has no height or width is in one band.
        scale = Double(Self.bands) / pointwiseMax(high - low, SIMD2(repeating: 1e-12))
        length = max(1, (points.count + Self.runs - 1) / Self.runs)
        for run in 0..<Self.runs {
            let range = edges(of: run, points.count)
            guard !range.isEmpty else { break }
            let ends = points[range.lowerBound...range.upperBound]
            let low = band(ends.reduce(ends[range.lowerBound]) { pointwiseMin($0, $1) })
            let high = band(ends.reduce(ends[range.lowerBound]) { pointwiseMax($0, $1) })
            for column in low.x...high.x { columns[column] |= 1 << UInt32(run) }
            for row in low.y...high.y { rows[row] |= 1 << UInt32(run) }
        }
    }

    /// The points that the edges of a run begin with.
    @inline(__always)
    func edges(of run: Int, _ count: Int) -> Range<Int> {
        let start = min(run * length, count - 1)
        return start..<min(start + length, count - 1)
    }

    /// What is larger in degrees is in no lower band, so that a run is in the bands of all its points.
    @inline(__always)
    private func band(_ point: SIMD2<Double>) -> (x: Int, y: Int) {
        let place = ((point - origin) * scale).clamped(
            lowerBound: SIMD2(repeating: 0), upperBound: SIMD2(repeating: Double(Self.bands - 1)))
        return (Int(place.x), Int(place.y))
    }

    /// Runs with edges that a line from a point to the east may meet.
    @inline(__always)
    func runs(eastOf point: SIMD2<Double>) -> UInt32 {
        let (x, y) = band(point)
        var east: UInt32 = 0
        for column in x..<Self.bands { east |= columns[column] }
        return east & rows[y]
    }

    /// Runs with edges that may reach into a box of degrees around a point.
    @inline(__always)
    func runs(around point: SIMD2<Double>, _ half: SIMD2<Double>) -> UInt32 {
        let (low, high) = (band(point - half), band(point + half))
        var (wide, tall): (UInt32, UInt32) = (0, 0)
        for column in low.x...high.x { wide |= columns[column] }
        for row in low.y...high.y { tall |= rows[row] }
        return wide & tall
    }
}
