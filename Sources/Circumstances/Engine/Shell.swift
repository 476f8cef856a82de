import Geodesy

/// A circle round a place that is a point. As long as a device does not cross it, nothing about the place changes for it.
struct Shell: BitwiseCopyable, Equatable {
    /// The place (x, y, z of its ``GridPoint``) and the radius in steps of the grid: of one the device is outside of, or negative of
    /// one it is inside of.
    var lanes: SIMD4<Int32>

    /// Around nothing: it cannot be crossed.
    static let none = Shell(lanes: SIMD4(0, 0, 0, .min))

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

    /// Metres.
    var radius: Double { Double(lanes.w.magnitude) / GridPoint.unitsPerMetre }

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

/// The circles that a device may not cross unseen, and what each is about.
struct Shells: BitwiseCopyable {
    static let max = 5
    /// In place of a watch: there are several, or it has ended, or the circle is about more than one place.
    static let several = UInt32.max

    private(set) var circles = InlineArray<5, Shell>(repeating: .none)
    /// The only watch, of one place, whose value changes on the way through each circle; ``several``.
    private(set) var watches = InlineArray<5, UInt32>(repeating: Shells.several)
    private(set) var places = InlineArray<5, UInt32>(repeating: 0)

    subscript(index: Int) -> (circle: Shell, watch: UInt32, place: UInt32) {
        @inline(__always) get { (circles[index], watches[index], places[index]) }
        @inline(__always)
        set {
            circles[index] = newValue.circle
            watches[index] = newValue.watch
            places[index] = newValue.place
        }
    }

    /// The watch of a circle is not the only one any more, or none.
    mutating func share(_ index: Int) { watches[index] = Self.several }

    /// Forgets watches whose numbers will be those of others.
    mutating func release(where hasEnded: (UInt32) -> Bool) {
        for index in 0..<Self.max where watches[index] != Self.several && hasEnded(watches[index]) { share(index) }
    }

    /// Whether a device has crossed none of them.
    @inline(__always)
    func hold(at point: GridPoint, margin: Double) -> Bool {
        for index in 0..<Self.max where !circles[index].holds(at: point, margin: margin) { return false }
        return true
    }
}
