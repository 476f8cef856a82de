import Geodesy

/// A circle round a place that is a point. As long as a device does not cross it, nothing about the place changes for it.
struct BoundaryCircle: BitwiseCopyable, Equatable {
    /// The place (x, y, z of its ``GridPoint``) and the radius in steps of the grid: of one the device is outside of, or negative of
    /// one it is inside of.
    var lanes: SIMD4<Int32>

    /// Around nothing: it cannot be crossed.
    static let none = BoundaryCircle(lanes: SIMD4(0, 0, 0, .min))

    init(lanes: SIMD4<Int32>) { self.lanes = lanes }

    /// - Parameter radius: Metres, at most some kilometres.
    init(_ point: GridPoint, radius: Double, isInside: Bool) {
        let steps = Int32(radius * GridPoint.unitsPerMetre)
        lanes = SIMD4(point.x, point.y, point.z, isInside ? -steps : steps)
    }

    /// Metres within which a circle may be wrong: rounding of both points, of the radius, and that a distance is an arc and this a chord.
    fileprivate static let blur = 0.05
}

/// The circles that a device may not cross unseen: x, y, z and radius of each as ``BoundaryCircle`` has them.
struct BoundaryCircles: BitwiseCopyable {
    static let max = 4

    private var x = SIMD4<Int32>(repeating: 0)
    private var y = SIMD4<Int32>(repeating: 0)
    private var z = SIMD4<Int32>(repeating: 0)
    private var radius = SIMD4<Int32>(repeating: .min)

    init() {}

    init(_ circles: InlineArray<4, BoundaryCircle>) {
        for index in 0..<Self.max {
            let lanes = circles[index].lanes
            (x[index], y[index], z[index], radius[index]) = (lanes.x, lanes.y, lanes.z, lanes.w)
        }
    }

    /// Whether a device is surely still on the same side of each.
    ///
    /// - Parameter margin: Metres by which the radii may have changed.
    @inline(__always)
    func hold(at point: GridPoint, margin: Double) -> Bool {
        let away = (BoundaryCircle.blur + margin) * GridPoint.unitsPerMetre
        let chord = squares(x, point.x) + squares(y, point.y) + squares(z, point.z)
        let radius = SIMD4<Double>(radius)
        // Outside of it the radius is positive and becomes larger, inside of it smaller, but not positive.
        let limit = radius + away
        return all(((radius .>= 0) .& (chord .> limit * limit)) .| ((limit .< 0) .& (chord .< limit * limit)))
    }

    /// A difference of 4,000 km or more may wrap round, and then is long still (``GridPoint``).
    @inline(__always)
    private func squares(_ lanes: SIMD4<Int32>, _ value: Int32) -> SIMD4<Double> {
        let step = SIMD4<Double>(lanes &- SIMD4(repeating: value))
        return step * step
    }
}
