#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The inverse problem between two points further apart than a chord can answer for.
struct GeodesicLine {
    /// Sine and cosine of the reduced latitudes.
    private let sinU1, cosU1, sinU2, cosU2: Double
    /// Of the difference of the longitudes, 0…π.
    private let sinDifference, cosDifference: Double

    /// The line between two points of the ellipsoid; the same bits in both directions.
    ///
    /// A point at the distance a·cos U from the axis and the height b·sin U has the reduced latitude U, and the products of two
    /// points' coordinates hold their difference in longitude: no angle need be known.
    init(from a: ECEF, to b: ECEF) {
        // Folded so that the first point is southern and nowhere nearer to the equator than the second:
        // the azimuth then grows with the longitude difference, which the bisection needs.
        let isFirst = (abs(a.z), a.x, a.y) > (abs(b.z), b.x, b.y)
        let south = isFirst ? a : b
        let other = isFirst ? b : a
        let sign = south.z > 0 ? -1.0 : 1.0
        let axis1 = (south.x * south.x + south.y * south.y).squareRoot()
        let axis2 = (other.x * other.x + other.y * other.y).squareRoot()
        sinU1 = sign * south.z / Ellipsoid.polarRadius
        sinU2 = sign * other.z / Ellipsoid.polarRadius
        // A pole keeps a trace of a cosine: quotients by it then stay finite.
        cosU1 = max(axis1 / Ellipsoid.equatorialRadius, 1e-18)
        cosU2 = max(axis2 / Ellipsoid.equatorialRadius, 1e-18)
        let area = axis1 * axis2
        let across = abs(south.x * other.y - other.x * south.y)
        // A pole lies on every meridian.
        sinDifference = area > 0 ? across / area : 0
        cosDifference = area > 0 ? (south.x * other.x + south.y * other.y) / area : 1
    }

    /// nil where the iteration does not converge: between nearly antipodal points.
    ///
    /// The longitude on the auxiliary sphere exceeds the true one by a hundredth at most, so each step turns the last sine and
    /// cosine by a small angle, and the arc changes by a small one: one arc tangent for all steps.
    func vincenty() -> Double? {
        var excess = 0.0
        var formerChange = 0.0
        var sigma = 0.0
        var (sinLast, cosLast) = (0.0, 1.0)
        for step in 0..<60 {
            let turn = SmallTurn(excess)
            let sinLambda = sinDifference * turn.cosine + cosDifference * turn.sine
            let cosLambda = cosDifference * turn.cosine - sinDifference * turn.sine
            guard sinLambda >= 0 else { return nil }
            let across = cosU2 * sinLambda
            let along = cosU1 * sinU2 - sinU1 * cosU2 * cosLambda
            let sinSigma = (across * across + along * along).squareRoot()
            let cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
            guard sinSigma > 1e-12 else { return nil }
            let change = sinSigma * cosLast - cosSigma * sinLast
            sigma = step == 0 || abs(change) > 0.02 ? atan2(sinSigma, cosSigma) : sigma + SmallTurn.angle(ofSine: change)
            (sinLast, cosLast) = (sinSigma, cosSigma)
            let sinAlpha = cosU1 * cosU2 * sinLambda / sinSigma
            let cosSquaredAlpha = 1 - sinAlpha * sinAlpha
            // On the equator there is no middle latitude, and the term it would scale vanishes.
            let cos2SigmaM = cosSquaredAlpha > 1e-12 ? cosSigma - 2 * sinU1 * sinU2 / cosSquaredAlpha : 0
            let next = Self.excess(
                sinAlpha: sinAlpha, sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma, cos2SigmaM: cos2SigmaM)
            // The steps shrink by an even factor, a hundredth at best to be safe: so what is left of them after this one is known.
            // What this one does to the arc is what a turn at one end does. 1e-11 are less than a tenth of a millimetre.
            let nextChange = next - excess
            let left = formerChange == 0 ? nextChange : nextChange * max(abs(nextChange / formerChange), 0.01)
            if abs(left) <= 1e-11 && abs(nextChange) < 1e-6 {
                return Self.length(
                    cosSquaredAlpha: cosSquaredAlpha, sigma: sigma + sinAlpha * nextChange, sinSigma: sinSigma,
                    cosSigma: cosSigma, cos2SigmaM: cos2SigmaM)
            }
            // By the same factor the sum of all further steps is known, but for what changes of it on the way.
            let factor = formerChange == 0 ? 0 : nextChange / formerChange
            excess = abs(factor) < 0.01 ? next + nextChange * factor / (1 - factor) : next
            formerChange = nextChange
        }
        return nil
    }

    /// Halves the interval of azimuths at the first point until the longitude it leads to is the wanted one.
    func bisected() -> Double {
        let longitudeDifference = atan2(sinDifference, cosDifference)
        let equatorial = abs(sinU1) < 1e-12 && abs(sinU2) < 1e-12
        if equatorial && longitudeDifference <= (1 - Ellipsoid.flattening) * .pi {
            return Ellipsoid.equatorialRadius * longitudeDifference
        }
        // The path over the southern half turn is the long one: the azimuth starts at a quarter on the equator.
        var low = equatorial ? Double.pi / 2 : 0
        var high = Double.pi
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if path(azimuth: middle).longitude < longitudeDifference { low = middle } else { high = middle }
        }
        return path(azimuth: (low + high) / 2).length
    }

    /// Where the geodesic that leaves the first point at this azimuth reaches the second latitude (northward).
    private func path(azimuth: Double) -> (longitude: Double, length: Double) {
        let cosAlpha1 = cos(azimuth)
        let sinAlpha = sin(azimuth) * cosU1
        let northward = (cosAlpha1 * cosU1) * (cosAlpha1 * cosU1) + (cosU2 * cosU2 - cosU1 * cosU1)
        let along2 = max(0, northward).squareRoot()
        let sigma1 = atan2(sinU1, cosAlpha1 * cosU1)
        let sigma2 = atan2(sinU2, along2)
        let omega1 = atan2(sinAlpha * sinU1, cosAlpha1 * cosU1)
        let omega2 = atan2(sinAlpha * sinU2, along2)
        var omega = omega2 - omega1
        if omega < 0 { omega += 2 * .pi }
        var sigma = sigma2 - sigma1
        if sigma < 0 { sigma += 2 * .pi }
        let sinSigma = sin(sigma)
        let cosSigma = cos(sigma)
        let cos2SigmaM = cos(sigma1 + sigma2)
        let excess = Self.excess(
            sinAlpha: sinAlpha, sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma, cos2SigmaM: cos2SigmaM)
        let length = Self.length(
            cosSquaredAlpha: 1 - sinAlpha * sinAlpha, sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma,
            cos2SigmaM: cos2SigmaM)
        return (omega - excess, length)
    }

    /// By how much the longitude on the auxiliary sphere exceeds the true one, in radians (Vincenty's equations 10 and 11).
    private static func excess(
        sinAlpha: Double, sigma: Double, sinSigma: Double, cosSigma: Double, cos2SigmaM: Double
    ) -> Double {
        let f = Ellipsoid.flattening
        let cosSquaredAlpha = 1 - sinAlpha * sinAlpha
        let c = f / 16 * cosSquaredAlpha * (4 + f * (4 - 3 * cosSquaredAlpha))
        let series = cos2SigmaM + c * cosSigma * (2 * cos2SigmaM * cos2SigmaM - 1)
        return (1 - c) * f * sinAlpha * (sigma + c * sinSigma * series)
    }

    /// The length of an arc of the auxiliary sphere in metres (Vincenty's equations 3, 4, 6 and 19).
    private static func length(
        cosSquaredAlpha: Double, sigma: Double, sinSigma: Double, cosSigma: Double, cos2SigmaM: Double
    ) -> Double {
        let b = Ellipsoid.polarRadius
        let u = cosSquaredAlpha * (Ellipsoid.equatorialRadius * Ellipsoid.equatorialRadius - b * b) / (b * b)
        let capitalA = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
        let capitalB = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
        let square = 2 * cos2SigmaM * cos2SigmaM - 1
        let third = capitalB / 6 * cos2SigmaM * (4 * sinSigma * sinSigma - 3) * (4 * cos2SigmaM * cos2SigmaM - 3)
        let correction = capitalB * sinSigma * (cos2SigmaM + capitalB / 4 * (cosSigma * square - third))
        return b * capitalA * (sigma - correction)
    }
}

/// Sine and cosine of an angle of at most 0.02 radians: the terms left out are below 2^-66.
private struct SmallTurn {
    let sine, cosine: Double

    init(_ angle: Double) {
        let square = angle * angle
        sine = angle * (1 - square / 6 * (1 - square / 20 * (1 - square / 42)))
        cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30))
    }

    /// The angle whose sine is at most 0.02.
    static func angle(ofSine sine: Double) -> Double {
        let square = sine * sine
        return sine * (1 + square / 6 * (1 + square * 9 / 20 * (1 + square * 25 / 42)))
    }
}
