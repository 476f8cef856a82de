import Foundation
import Geodesy
import SeededRandom
import Testing

@Suite("Grid points")
struct GridPointTests {
    @Test("Degrees are valid on the earth only")
    func validity() {
        #expect(Position.isValid(latitude: 90, longitude: 180))
        #expect(Position.isValid(latitude: -90, longitude: -180))
        #expect(!Position.isValid(latitude: 90.000001, longitude: 0))
        #expect(!Position.isValid(latitude: 0, longitude: -180.000001))
        #expect(!Position.isValid(latitude: .nan, longitude: 0))
        #expect(!Position.isValid(latitude: 0, longitude: .infinity))
    }

    @Test("A grid point leads back to its position within 4 mm, and its chord to the distance within 8 mm")
    func roundTrip() {
        var random = SplitMix64.forTest()
        for _ in 0..<20_000 {
            let latitude = Double.random(in: -90...90, using: &random)
            let longitude = Double.random(in: -180...180, using: &random)
            let point = GridPoint(latitude: latitude, longitude: longitude)
            let back = point.position
            let error = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: back.latitude, toLongitude: back.longitude)
            #expect(error < 0.004)

            let near = Position(
                latitude: max(-90, min(90, latitude + Double.random(in: -0.05...0.05, using: &random))), longitude: longitude)
            let chord = point.squaredChord(to: GridPoint(latitude: near.latitude, longitude: near.longitude)).squareRoot()
            let distance = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: near.latitude, toLongitude: near.longitude)
            #expect(abs(Geodesic.arc(ofChord: chord / GridPoint.unitsPerMetre) - distance) < 0.008)
        }
    }

    @Test("Coordinates agree with the C library's sine and cosine to a nanometre")
    func trigonometry() {
        var random = SplitMix64.forTest()
        for _ in 0..<20_000 {
            let latitude = Double.random(in: -90...90, using: &random)
            let longitude = Double.random(in: -180...180, using: &random)
            let point = ECEF(latitude: latitude, longitude: longitude)
            let phi = latitude * .pi / 180
            let lambda = longitude * .pi / 180
            let n = 6_378_137.0 / (1 - 6.69437999014131650e-3 * sin(phi) * sin(phi)).squareRoot()
            #expect(abs(point.x - n * cos(phi) * cos(lambda)) < 5e-9)
            #expect(abs(point.y - n * cos(phi) * sin(lambda)) < 5e-9)
            #expect(abs(point.z - n * (1 - 6.69437999014131650e-3) * sin(phi)) < 5e-9)
        }
    }

    @Test("Differences that wrap round never look near")
    func wrapping() {
        var random = SplitMix64.forTest()
        for _ in 0..<20_000 {
            let a = GridPoint(
                latitude: Double.random(in: -90...90, using: &random), longitude: Double.random(in: -180...180, using: &random))
            let b = GridPoint(latitude: -a.position.latitude, longitude: (a.position.longitude + 180).remainder(dividingBy: 360))
            #expect(a.squaredChord(to: b).squareRoot() > 3_000_000 * GridPoint.unitsPerMetre)
        }
    }
}
