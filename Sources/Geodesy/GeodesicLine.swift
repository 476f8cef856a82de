import Glibc

/// The inverse problem between two points further apart than a chord can answer for.
struct GeodesicLine {
    /// Sine and cosine of the reduced latitudes.
    private let sinU1, cosU1, sinU2, cosU2: Double
    /// Radians, 0…π.
    private let longitudeDifference: Double

    init(latitude1: Double, latitude2: Double, longitudeDifference: Double) {
        // Folded so that the first point is southern and nowhere nearer to the equator than the second:
        // the azimuth then grows with the longitude difference, which the bisection needs.
        var south = latitude1
        var other = latitude2
        if abs(south) < abs(other) { swap(&south, &other) }
        if south > 0 {
            south = -south
            other = -other
        }
        (sinU1, cosU1) = Self.reduced(south)
        (sinU2, cosU2) = Self.reduced(other)
        self.longitudeDifference = longitudeDifference
    }

    private static func reduced(_ latitude: Double) -> (sine: Double, cosine: Double) {
        let turn = Turn(degrees: SIMD2(latitude, 0))
        let sine = (1 - Ellipsoid.flattening) * turn.sine.x
        // A pole keeps a trace of a cosine: quotients by it then stay finite.
        let cosine = max(turn.cosine.x, 1e-18)
        let length = (sine * sine + cosine * cosine).squareRoot()
        return (sine / length, cosine / length)
    }

    /// nil where the iteration does not converge: between nearly antipodal points.
    func vincenty() -> Double? {
        var lambda = longitudeDifference
        for _ in 0..<60 {
            let sinLambda = sin(lambda)
            let cosLambda = cos(lambda)
            let across = cosU2 * sinLambda
            let along = cosU1 * sinU2 - sinU1 * cosU2 * cosLambda
            let sinSigma = (across * across + along * along).squareRoot()
            let cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
            guard sinSigma > 1e-12 else { return nil }
            let sigma = atan2(sinSigma, cosSigma)
            let sinAlpha = cosU1 * cosU2 * sinLambda / sinSigma
            let cosSquaredAlpha = 1 - sinAlpha * sinAlpha
            // On the equator there is no middle latitude, and the term it would scale vanishes.
            let cos2SigmaM = cosSquaredAlpha > 1e-12 ? cosSigma - 2 * sinU1 * sinU2 / cosSquaredAlpha : 0
            let next =
                longitudeDifference
                + Self.excess(sinAlpha: sinAlpha, sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma, cos2SigmaM: cos2SigmaM)
            guard next <= .pi else { return nil }
            if abs(next - lambda) < 1e-13 {
                return Self.length(
                    cosSquaredAlpha: cosSquaredAlpha, sigma: sigma, sinSigma: sinSigma, cosSigma: cosSigma,
                    cos2SigmaM: cos2SigmaM)
            }
            lambda = next
        }
        return nil
    }

    /// Halves the interval of azimuths at the first point until the longitude it leads to is the wanted one.
    func bisected() -> Double {
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
