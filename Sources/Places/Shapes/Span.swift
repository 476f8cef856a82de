import Geodesy

/// A part of an edge: straight in latitude and longitude, hence a curve in space.
struct Span {
    /// x is the longitude in degrees, unwrapped; y the latitude.
    var from, to: SIMD2<Double>

    init(_ from: SIMD2<Double>, _ to: SIMD2<Double>) {
        self.from = from
        self.to = to
    }

    /// How far the curve is from its chord at most, in metres.
    ///
    /// An eighth of the greatest second derivative: along the meridian the radius times the square of the latitude's change,
    /// along the parallel its radius times the square of the longitude's, and twice their product where both change.
    var bulge: Double {
        let step = (to - from) * (Double.pi / 180)
        let rise = abs(step.y)
        let turn = abs(step.x)
        return 6_400_000 / 8 * (rise * rise + turn * turn + 2 * rise * turn)
    }

    /// The sum of the changes in degrees below which the bulge is less than 2 mm.
    static let straight = 0.0028

    /// Lowers `squared` to the square of the straight distance from a point to the curve where that is less, right to 3 mm.
    ///
    /// The curve is halved until its parts are straight, those left out that are further away than what is known.
    func nearest(to point: ECEF, squared: inout Double) {
        nearest(to: point, Longitude.point(from), Longitude.point(to), squared: &squared)
    }

    /// As deep as ten thousand kilometres are longer than three hundred metres: 16 halvings.
    private func nearest(to point: ECEF, _ start: ECEF, _ end: ECEF, squared: inout Double) {
        let chord = Chord.squaredDistance(point, start, end)
        let bulge = bulge
        if bulge < 0.002 {
            squared = min(squared, chord)
            return
        }
        let least = chord.squareRoot() - bulge
        guard least <= 0 || least * least < squared else { return }
        let middle = (from + to) / 2
        let between = Longitude.point(middle)
        let left = Span(from, middle)
        let right = Span(middle, to)
        // The nearer half first: it makes the other one superfluous more often.
        if point.squaredChord(to: start) <= point.squaredChord(to: end) {
            left.nearest(to: point, start, between, squared: &squared)
            right.nearest(to: point, between, end, squared: &squared)
        } else {
            right.nearest(to: point, between, end, squared: &squared)
            left.nearest(to: point, start, between, squared: &squared)
        }
    }
}

/// Straight lines in space.
enum Chord {
    /// The square of the distance from a point to a line between two others, in square metres.
    @inline(__always)
    static func squaredDistance(_ point: ECEF, _ start: ECEF, _ end: ECEF) -> Double {
        let along = SIMD4(end.x - start.x, end.y - start.y, end.z - start.z, 0)
        let away = SIMD4(point.x - start.x, point.y - start.y, point.z - start.z, 0)
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, (along * away).sum() / length)) : 0
        let rest = away - along * share
        return (rest * rest).sum()
    }
}
