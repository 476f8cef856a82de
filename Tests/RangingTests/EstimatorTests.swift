import Geodesy
import Glibc
import Ranging
import SeededRandom
import Testing

@Suite("Positions, rooms and calibration")
struct EstimatorTests {
    private let corners = [(0.0, 0.0), (10, 0), (0, 10), (10, 10)].map { LocalPlane.Point(x: $0.0, y: $0.1) }

    @Test("without noise a beacon is found where it is")
    func exact() throws {
        for place in [(5.0, 5.0), (2, 7), (9, 1)].map({ LocalPlane.Point(x: $0.0, y: $0.1) }) {
            let readings = corners.map {
                PositionEstimator.Reading(
                    place: $0, loss: PathLoss.loss(distance: $0.distance(to: place), n: 2.2), n: 2.2, isCalibrated: true)
            }
            let estimate = try #require(PositionEstimator.estimate(readings))
            #expect(estimate.place.distance(to: place) < 0.2)
            #expect(estimate.accuracy >= 1 && estimate.accuracy < 8)
        }
    }

    @Test("one observer gives its own place, two a point between them, none nothing")
    func few() throws {
        func reading(_ x: Double, _ metres: Double) -> PositionEstimator.Reading {
            .init(place: .init(x: x, y: 0), loss: PathLoss.loss(distance: metres, n: 2), n: 2)
        }
        #expect(PositionEstimator.estimate([]) == nil)
        let one = try #require(PositionEstimator.estimate([reading(3, 4)]))
        #expect(one.place == .init(x: 3, y: 0) && abs(one.accuracy - 4) < 1e-9)
        let two = try #require(PositionEstimator.estimate([reading(0, 1), reading(10, 3)]))
        #expect(abs(two.place.x - 1) < 1e-6 && two.place.y == 0)
    }

    @Test("whatever is read, the estimate is a place near the observers")
    func hostile() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<500 {
            let readings = (0..<random.below(12)).map { _ in
                PositionEstimator.Reading(
                    place: .init(x: Double(random.below(2000)) - 1000, y: Double(random.below(2000)) - 1000),
                    loss: random.pick([-1e6, -40, 0, 30, 90, 1e6, .infinity, .nan]), n: random.pick([0, 1, 2.7, 6]),
                    isCalibrated: random.chance(50))
            }
            guard let estimate = PositionEstimator.estimate(readings) else { continue }
            #expect(abs(estimate.place.x) <= 1001 && abs(estimate.place.y) <= 1001)
            #expect((1...1000).contains(estimate.accuracy))
        }
    }

    @Test(
        "a beacon stronger or weaker than it says is found without calibration, once it was followed", arguments: [-10.0, 8, 15])
    func strength(_ decibels: Double) throws {
        var random = SplitMix64.forTest()
        var track = PositionTrack()
        var errors: [Double] = []
        for second in 0..<600 {
            // Around in circles, two minutes each.
            let angle = Double(second) / 120 * 2 * .pi
            let place = LocalPlane.Point(x: 5 + 3 * cos(angle), y: 5 + 3 * sin(angle))
            let readings = corners.map { corner -> PositionEstimator.Reading in
                let off = corner.distance(to: place)
                let loss = 10 * log10(off * off + 1) - decibels + Double.random(in: -4...4, using: &random)
                return .init(place: corner, loss: loss, n: 2.7)
            }
            track.take(readings, at: Int64(second) * 1000)
            if second >= 120 { errors.append(try #require(track.estimate).place.distance(to: place)) }
        }
        errors.sort()
        #expect(errors[errors.count / 2] < 1.2 && errors[errors.count * 9 / 10] < 2)
    }

    @Test("metres of a plane and degrees agree", arguments: [(47.3, 8.5), (-33.9, 151.2), (0, 180), (71, -179.9999)])
    func plane(_ latitude: Double, _ longitude: Double) {
        let plane = LocalPlane(around: Position(latitude: latitude, longitude: longitude))
        for point in [LocalPlane.Point(x: 100, y: 0), .init(x: 0, y: -250), .init(x: -300, y: 400)] {
            let position = plane.position(point)
            let back = plane.point(position)
            #expect(back.distance(to: point) < 1e-6)
            let metres = Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: position.latitude, toLongitude: position.longitude)
            #expect(abs(metres / point.distance(to: .init(x: 0, y: 0)) - 1) < 1e-3)
        }
    }

    @Test("a room is kept against a rival that is hardly nearer, or not for long")
    func rooms() {
        func candidates(_ one: Double, _ two: Double) -> [RoomTrack.Candidate] {
            [.init(room: 1, observer: 11, distance: one), .init(room: 2, observer: 22, distance: two)]
        }
        var track = RoomTrack()
        #expect(track.take(candidates(2, 5), at: 0)?.reason == .first)
        for second in 1...30 { #expect(track.take(candidates(2, 1.9), at: Int64(second) * 1000) == nil) }
        // Three tenths nearer, three seconds long.
        for second in 31...33 { #expect(track.take(candidates(2, 1.5), at: Int64(second) * 1000) == nil) }
        let change = track.take(candidates(2, 1.5), at: 34_000)
        #expect(change?.reason == .nearer(than: 11, its: 2, for: 3_000) && change?.from == 1 && change?.to.room == 2)
        // Much nearer: a third of it. An interruption begins anew.
        #expect(track.take(candidates(1, 4), at: 36_000) == nil)
        #expect(track.take(candidates(4, 4), at: 37_000) == nil)
        #expect(track.take(candidates(1, 4), at: 38_000) == nil)
        #expect(track.take(candidates(1, 4), at: 38_900) == nil)
        #expect(track.take(candidates(1, 4), at: 39_000)?.to.room == 1)
        // Nobody there hears it any more.
        #expect(track.take([.init(room: 2, observer: 22, distance: 50)], at: 40_000)?.reason == .unheard)
        #expect(track.take([], at: 41_000) == nil && track.room == 2)
    }

    @Test("a calibration finds exponent and offset through noise and outliers, and says where it could not")
    func calibration() throws {
        var random = SplitMix64.forTest()
        var samples = (0..<300).map { step -> Calibration.Sample in
            let metres = 0.5 + Double(step) / 30
            return .init(distance: metres, rssi: -50 - 24 * log10(metres) + Double.random(in: -4...4, using: &random))
        }
        samples += (0..<10).map { _ in .init(distance: 2, rssi: -99) }
        let fit = try #require(Calibration.fit(samples, txPower: -59))
        #expect(abs(fit.n - 2.4) < 0.15 && abs(fit.rssiOffset - -9) < 1 && fit.deviation < 4 && fit.fitsExponent)
        let standing = try #require(Calibration.fit((0..<20).map { _ in .init(distance: 2, rssi: -70) }))
        #expect(!standing.fitsExponent && standing.n == 2.7)
        #expect(Calibration.fit(Array(samples.prefix(9))) == nil)
        #expect(
            Calibration.fit([.init(distance: .nan, rssi: -60), .init(distance: -1, rssi: -60), .init(distance: 1, rssi: 5)])
                == nil)
    }
}
