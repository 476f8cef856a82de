import Foundation
import Geodesy
import SeededRandom
import Testing

struct KnownLine: Sendable, CustomTestStringConvertible {
    var from: (Double, Double)
    var to: (Double, Double)
    var metres: Double
    var tolerance = 0.002

    var testDescription: String { "\(from) → \(to)" }
}

private func degrees(_ d: Double, _ m: Double, _ s: Double) -> Double { d + m / 60 + s / 3600 }

@Suite("Geodesic distances")
struct GeodesicTests {
    @Test(
        "Published lines have their published length",
        arguments: [
            // Geoscience Australia, Flinders Peak to Buninyong.
            KnownLine(
                from: (-degrees(37, 57, 3.72030), degrees(144, 25, 29.52440)),
                to: (-degrees(37, 39, 10.15610), degrees(143, 55, 35.38390)), metres: 54972.271),
            // GeographicLib's GeodSolve manual: JFK to Heathrow, and lines from its tests.
            KnownLine(from: (40.6, -73.8), to: (degrees(51, 36, 0), -0.5), metres: 5_551_759.400),
            KnownLine(from: (0, 0), to: (0.5, 179.5), metres: 19_936_288.579),
            KnownLine(from: (0, 0), to: (0.5, 179.7), metres: 19_944_127.421),
            KnownLine(from: (0, 0), to: (0, 180), metres: 20_003_931.4586),
            KnownLine(from: (0, 0), to: (0, 90), metres: 10_018_754.1714),
            KnownLine(from: (90, 0), to: (-90, 0), metres: 20_003_931.4586),
            KnownLine(from: (0, 0), to: (90, 0), metres: 10_001_965.7293),
            KnownLine(from: (36.493349428792, 0), to: (36.49334942879201, 0.0000008), metres: 0.072),
            KnownLine(from: (-30, 0), to: (29.9, 179.8), metres: 19_989_832.8276),
            KnownLine(from: (5, 0.00000000000001), to: (10, 180), metres: 18_345_191.1743),
            KnownLine(from: (88.202499451857, 0), to: (-88.202499451857, 179.981022032992859592), metres: 20_003_898.214),
        ])
    func published(_ line: KnownLine) {
        let there = Geodesic.distance(
            fromLatitude: line.from.0, fromLongitude: line.from.1, toLatitude: line.to.0, toLongitude: line.to.1)
        let back = Geodesic.distance(
            fromLatitude: line.to.0, fromLongitude: line.to.1, toLatitude: line.from.0, toLongitude: line.from.1)
        #expect(abs(there - line.metres) < line.tolerance, "\(there)")
        #expect(there == back)
    }

    @Test("Up to 25 km the distance is Vincenty's to half a millimetre, at any latitude and in both directions")
    func nearLines() {
        var random = SplitMix64.forTest()
        for _ in 0..<20_000 {
            let band = Int.random(in: 0..<3, using: &random)
            let latitude = band == 0 ? Double.random(in: 89...90, using: &random) : Double.random(in: -90...90, using: &random)
            let longitude =
                band == 1 ? 180 - Double.random(in: 0...0.1, using: &random) : Double.random(in: -180...180, using: &random)
            let reach = Double.random(in: 0...0.2, using: &random)
            let bearing = Double.random(in: 0..<(2 * .pi), using: &random)
            let toLatitude = min(90, max(-90, latitude + reach * cos(bearing)))
            var toLongitude = longitude + min(180, reach * sin(bearing) / max(1e-9, cos(latitude * .pi / 180)))
            toLongitude = toLongitude.remainder(dividingBy: 360)
            guard Position.isValid(latitude: toLatitude, longitude: toLongitude) else { continue }
            let expected = vincenty(latitude, longitude, toLatitude, toLongitude)
            guard let expected, expected < 25_000 else { continue }
            let there = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: toLatitude, toLongitude: toLongitude)
            let back = Geodesic.distance(
                fromLatitude: toLatitude, fromLongitude: toLongitude, toLatitude: latitude, toLongitude: longitude)
            #expect(there == back)
            #expect(abs(there - expected) < 0.0005, "\(latitude),\(longitude) → \(toLatitude),\(toLongitude)")
        }
    }

    @Test("Beyond 20 km the distance is Vincenty's to a millimetre, where his formula answers, and in both directions")
    func farLines() {
        var random = SplitMix64.forTest()
        var compared = 0
        for _ in 0..<20_000 {
            // As near to a pole, the equator or one meridian as it comes.
            let latitudes = [-90.0, -89.999_999, 0, 1e-9, 37, 90]
            let latitude =
                Bool.random(using: &random)
                ? latitudes.randomElement(using: &random)! : Double.random(in: -90...90, using: &random)
            let longitude = Double.random(in: -180...180, using: &random)
            let span = [0.3, 5, 90, 180].randomElement(using: &random)!
            let toLatitude = min(90, max(-90, latitude + Double.random(in: -span...span, using: &random)))
            let turn = Int.random(in: 0..<5, using: &random) == 0 ? 0 : Double.random(in: -span...span, using: &random)
            let toLongitude = (longitude + turn).remainder(dividingBy: 360)
            guard let expected = vincenty(latitude, longitude, toLatitude, toLongitude), expected < 19_000_000 else { continue }
            compared += 1
            let there = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: toLatitude, toLongitude: toLongitude)
            let back = Geodesic.distance(
                fromLatitude: toLatitude, fromLongitude: toLongitude, toLatitude: latitude, toLongitude: longitude)
            #expect(there == back)
            #expect(abs(there - expected) < 0.001, "\(latitude),\(longitude) → \(toLatitude),\(toLongitude)")
        }
        #expect(compared > 15_000)
    }

    @Test("Nearly antipodal points give a finite distance between the shortest and the longest half turn")
    func antipodal() {
        var random = SplitMix64.forTest()
        for _ in 0..<5_000 {
            let latitude = Double.random(in: -90...90, using: &random)
            let longitude = Double.random(in: -180...0, using: &random)
            let spread = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1][Int.random(in: 0..<6, using: &random)]
            let toLatitude = min(90, max(-90, -latitude + Double.random(in: -spread...spread, using: &random)))
            let toLongitude = min(180, longitude + 180 - Double.random(in: 0...spread, using: &random))
            let distance = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: toLatitude, toLongitude: toLongitude)
            // Half a great ellipse is at most 20,037,508 m; the antipode itself is 20,003,931 m away.
            #expect(distance > 19_750_000 && distance < 20_003_932, "\(latitude),\(longitude): \(distance)")
        }
    }

    @Test("Equal places are exactly 0 apart, whatever their longitude is called")
    func zero() {
        let same: [(Double, Double, Double, Double)] = [
            (47.3, 8.5, 47.3, 8.5), (10, 180, 10, -180), (90, 0, 90, 123), (-90, 5, -90, -175), (0, 0, -0.0, 0),
        ]
        for (a, b, c, d) in same {
            #expect(Geodesic.distance(fromLatitude: a, fromLongitude: b, toLatitude: c, toLongitude: d) == 0)
        }
    }

    /// Vincenty's inverse formula, written apart from the one under test; nil where it does not converge.
    private func vincenty(_ lat1: Double, _ lon1: Double, _ lat2: Double, _ lon2: Double) -> Double? {
        let a = 6_378_137.0
        let f = 1 / 298.257223563
        let b = a * (1 - f)
        let l = ((lon2 - lon1) * .pi / 180).remainder(dividingBy: 2 * .pi)
        let u1 = atan((1 - f) * tan(lat1 * .pi / 180))
        let u2 = atan((1 - f) * tan(lat2 * .pi / 180))
        var lambda = l
        for _ in 0..<200 {
            let p = cos(u2) * sin(lambda)
            let q = cos(u1) * sin(u2) - sin(u1) * cos(u2) * cos(lambda)
            let sinSigma = (p * p + q * q).squareRoot()
            if sinSigma < 1e-15 { return 0 }
            let cosSigma = sin(u1) * sin(u2) + cos(u1) * cos(u2) * cos(lambda)
            let sigma = atan2(sinSigma, cosSigma)
            let sinAlpha = cos(u1) * cos(u2) * sin(lambda) / sinSigma
            let cos2Alpha = 1 - sinAlpha * sinAlpha
            let cos2m = cos2Alpha == 0 ? 0 : cosSigma - 2 * sin(u1) * sin(u2) / cos2Alpha
            let c = f / 16 * cos2Alpha * (4 + f * (4 - 3 * cos2Alpha))
            let before = lambda
            let tail = cos2m + c * cosSigma * (-1 + 2 * cos2m * cos2m)
            lambda = l + (1 - c) * f * sinAlpha * (sigma + c * sinSigma * tail)
            if abs(lambda - before) < 1e-14 {
                let uu = cos2Alpha * (a * a - b * b) / (b * b)
                let aa = 1 + uu / 16384 * (4096 + uu * (-768 + uu * (320 - 175 * uu)))
                let bb = uu / 1024 * (256 + uu * (-128 + uu * (74 - 47 * uu)))
                let last = bb / 6 * cos2m * (-3 + 4 * sinSigma * sinSigma) * (-3 + 4 * cos2m * cos2m)
                let delta = bb * sinSigma * (cos2m + bb / 4 * (cosSigma * (-1 + 2 * cos2m * cos2m) - last))
                return b * aa * (sigma - delta)
            }
        }
        return nil
    }
}
