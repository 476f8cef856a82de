import Geodesy
import SeededRandom
import Testing

@Suite("Areas")
struct AreaTests {
    struct BoxRow: Sendable {
        var box: [Double]
        var inside: [[Double]] = []
        var outside: [[Double]] = []
    }

    @Test(
        "A box holds its edges, crosses the antimeridian where west is greater than east, and a pole lies on every meridian",
        arguments: [
            BoxRow(
                box: [10, 50, 20, 60], inside: [[50, 10], [60, 20], [55, 15]], outside: [[49.9, 15], [55, 9.9], [55, 20.1]]),
            BoxRow(
                box: [170, -5, -170, 5], inside: [[0, 180], [0, -180], [0, 170], [0, -170]],
                outside: [[0, 169], [0, -169], [0, 0]]),
            BoxRow(box: [-180, -90, 180, 90], inside: [[90, 3], [-90, 4], [0, 180], [0, -180], [12, 34]]),
            BoxRow(box: [180, 0, -170, 1], inside: [[0, 180], [0, -180], [0, -175]], outside: [[0, 179]]),
            BoxRow(box: [-180, 0, -170, 1], inside: [[0, 180], [0, -180]], outside: [[0, 179]]),
            BoxRow(box: [10, 80, 20, 90], inside: [[90, -100]], outside: [[89, -100]]),
            BoxRow(box: [5, 5, 5, 5], inside: [[5, 5]], outside: [[5, 5.0001]]),
        ])
    func boxes(_ row: BoxRow) throws {
        let box = try Area.Box(west: row.box[0], south: row.box[1], east: row.box[2], north: row.box[3])
        for point in row.inside { #expect(Area.box(box).contains(latitude: point[0], longitude: point[1]), "\(point)") }
        for point in row.outside { #expect(!Area.box(box).contains(latitude: point[0], longitude: point[1]), "\(point)") }
    }

    @Test(
        "A box is refused where its degrees are not on the earth or its south is above its north",
        arguments: [[0, 1, 1, 0], [-181, 0, 1, 1], [0, -91, 1, 1], [0, 0, 180.1, 1], [.nan, 0, 1, 1], [0, 0, 1, .infinity]])
    func boxRefusals(_ box: [Double]) {
        #expect(throws: AreaError.box) { try Area.Box(west: box[0], south: box[1], east: box[2], north: box[3]) }
    }

    @Test("A circle holds what is at most its radius away, at every latitude and for every radius")
    func circles() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<4_000 {
            let latitude = random.chance(5) ? 90 : Double.random(in: -90...90, using: &random)
            let longitude = Double.random(in: -180...180, using: &random)
            let radius =
                Double.random(in: 0...1, using: &random) * random.pick([100, 5_000, 25_000, 1_000_000, 20_000_000]) + 0.01
            let circle = try Area.Circle(latitude: latitude, longitude: longitude, radius: radius)
            let reach = radius / 111_000 * 1.5
            for _ in 0..<10 {
                let to = max(-90, min(90, latitude + Double.random(in: -reach...reach, using: &random)))
                let spread = min(180, reach / max(0.01, 1 - abs(to) / 90))
                var east = longitude + Double.random(in: -spread...spread, using: &random)
                if east > 180 { east -= 360 }
                if east < -180 { east += 360 }
                let distance = Geodesic.distance(
                    fromLatitude: latitude, fromLongitude: longitude, toLatitude: to, toLongitude: east)
                guard abs(distance - radius) > 0.02 else { continue }
                let isInside = Area.circle(circle).contains(latitude: to, longitude: east)
                #expect(isInside == (distance <= radius), "\(latitude) \(longitude) \(radius) \(to) \(east)")
                #expect(!isInside || circle.bounds.contains(latitude: to, longitude: east))
            }
        }
    }

    @Test("A circle is refused without a centre on the earth or a radius up to half the equator")
    func circleRefusals() {
        #expect(throws: AreaError.centre) { try Area.Circle(latitude: 91, longitude: 0, radius: 1) }
        #expect(throws: AreaError.centre) { try Area.Circle(latitude: 0, longitude: .nan, radius: 1) }
        for radius in [0, -1, 20_037_510, .infinity] {
            #expect(throws: AreaError.radius(radius)) { try Area.Circle(latitude: 0, longitude: 0, radius: radius) }
        }
        #expect(throws: AreaError.self) { try Area.Circle(latitude: 0, longitude: 0, radius: .nan) }
    }
}
