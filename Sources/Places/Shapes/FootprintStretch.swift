import Geodesy

/// Edges of a ring that follow each other, looked at one by one only where their box does not decide.
struct FootprintStretch {
    /// The vertex at which the first edge begins.
    var former: Int
    /// The vertices at which the edges end.
    var places: Range<Int>

    private static let edges = 16

    /// How many stretches a ring of so many edges has.
    static func count(ofEdges count: Int) -> Int { (count + edges - 1) / edges }

    /// The stretches of a ring.
    ///
    /// - Parameter ring: The numbers of its vertices; the edge that ends at the first one comes from the last.
    @inline(__always)
    static func all(of ring: Range<Int>) -> some Sequence<FootprintStretch> {
        stride(from: ring.lowerBound, to: ring.upperBound, by: edges).lazy.map { first in
            FootprintStretch(
                former: first == ring.lowerBound ? ring.upperBound - 1 : first - 1,
                places: first..<min(first + edges, ring.upperBound))
        }
    }
}

extension Footprint.Bounds {
    /// No point of the box is nearer than this to a point, in metres, straight.
    ///
    /// Points beyond a meridian are beyond the plane through it and the axis, so as far as the point is from that plane; a
    /// latitude further is at least the smallest radius of curvature further.
    func leastDistance(latitude: Double, longitude: Double, axis: Double) -> Double {
        let radians = Double.pi / 180
        let rise = max(0, max(south - latitude, latitude - north)) * radians
        let turn = 360 * ((west + east - 2 * longitude) / 720).rounded()
        let x = longitude + turn
        // Beyond a tenth a sine is not much less than a tenth for long; round the other side it may be nearer.
        let gap = max(0, max(west - x, x - east)) * radians
        let beside = min(gap, 2 * Double.pi - (east - west) * radians - gap)
        return 0.998 * max(min(rise, 0.1) * 6_335_439, max(0, min(beside, 0.1)) * axis)
    }
}
