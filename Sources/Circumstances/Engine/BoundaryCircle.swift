import Geodesy

/// A circle round a place that is a point. As long as a device does not cross it, nothing about the place changes for it.
struct BoundaryCircle: BitwiseCopyable, Equatable {
    /// The place (x, y, z of its ``GridPoint``) and the radius in steps of the grid: of one the device is outside of, or negative of
    /// one it is inside of.
    var lanes: SIMD4<Int32>

    /// Around nothing: it cannot be crossed.
    static let none = BoundaryCircle(lanes: SIMD4(0, 0, 0, .min))

    /// Rounding of both points, of the radius, and that a distance is an arc and this a chord.
    private static let blur = 0.05 * GridPoint.unitsPerMetre

    init(lanes: SIMD4<Int32>) { self.lanes = lanes }

    /// - Parameter radius: Metres, at most some kilometres.
    init(_ point: GridPoint, radius: Double, isInside: Bool) {
        let steps = Int32(radius * GridPoint.unitsPerMetre)
        lanes = SIMD4(point.x, point.y, point.z, isInside ? -steps : steps)
    }

    /// The place.
    var point: GridPoint { GridPoint(x: lanes.x, y: lanes.y, z: lanes.z) }

    /// Whether a device is surely still on the same side.
    ///
    /// - Parameter margin: Metres by which the radius may have changed.
    @inline(__always)
    func holds(at point: GridPoint, margin: Double) -> Bool {
        let away = Self.blur + margin * GridPoint.unitsPerMetre
        let chord = self.point.squaredChord(to: point)
        let limit = Double(lanes.w)
        if limit >= 0 { return chord > (limit + away) * (limit + away) }
        let inner = -limit - away
        return inner > 0 && chord < inner * inner
    }
}

/// The circles that a device may not cross unseen.
struct BoundaryCircles: BitwiseCopyable {
    static let max = 5

    private var circles = InlineArray<5, BoundaryCircle>(repeating: .none)

    subscript(index: Int) -> BoundaryCircle {
        @inline(__always) get { circles[index] }
        @inline(__always) set { circles[index] = newValue }
    }

    /// Whether a device has crossed none of them.
    @inline(__always)
    func hold(at point: GridPoint, margin: Double) -> Bool {
        for index in 0..<Self.max where !circles[index].holds(at: point, margin: margin) { return false }
        return true
    }
}
