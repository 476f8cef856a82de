import Geodesy
import Glibc
import Ranging
import SeededRandom
import Testing

@Suite("Positions, rooms and calibration")
struct EstimatorTests {
    private let corners = [(0.0, 0.0), (10, 0), (0, 10), (10, 10)].map { LocalPlane.Point(x: $0.0, y: $0.1) }

    private func observers(_ places: [LocalPlane.Point], n: Double = 2.7, isCalibrated: Bool = false) -> [PositionFilter.Observer]
    {
        places.enumerated().map { PositionFilter.Observer(place: $1, n: n, isCalibrated: isCalibrated, room: $0) }
    }

    private func levels(_ place: LocalPlane.Point, n: Double) -> [(observer: Int, evidence: PositionFilter.Evidence)] {
        corners.enumerated().map { ($0, .loss(PathLoss.loss(distance: max(0.3, $1.distance(to: place)), n: n))) }
    }

    @Test("without noise a beacon is found where it is, and its room is that of the nearest observer")
    func exact() throws {
        for place in [(5.0, 5.0), (2, 7), (9, 1)].map({ LocalPlane.Point(x: $0.0, y: $0.1) }) {
            var filter = PositionFilter()
            for second in 0..<10 {
                filter.step(
                    levels(place, n: 2.2), among: observers(corners, n: 2.2, isCalibrated: true), at: Int64(second) * 1000)
            }
            let estimate = try #require(filter.estimate)
            #expect(estimate.place.distance(to: place) < 1.5)
            #expect(estimate.accuracy < 4)
            #expect(abs(filter.rooms.reduce(0) { $0 + $1.probability } - 1) < 1e-3)
            if place.x == 2 { #expect((filter.rooms.first { $0.room == 2 }?.probability ?? 0) > 0.7) }
        }
    }

    @Test("given distances are worth their own noise: to centimetres, and better than levels")
    func distances() throws {
        let place = LocalPlane.Point(x: 3, y: 6)
        var filter = PositionFilter()
        for second in 0..<5 {
            let evidence = corners.enumerated().map {
                (observer: $0, evidence: PositionFilter.Evidence.metres($1.distance(to: place), deviation: 0.1))
            }
            filter.step(evidence, among: observers(corners), at: Int64(second) * 1000)
        }
        let estimate = try #require(filter.estimate)
        #expect(estimate.place.distance(to: place) < 0.4 && estimate.accuracy < 0.7)
    }

    @Test("one observer gives its own place, two a point between them, none nothing")
    func few() throws {
        func reading(_ x: Double, _ metres: Double) -> PositionEstimator.Reading {
            .init(place: .init(x: x, y: 0), distance: metres)
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
        var filter = PositionFilter()
        var now: Int64 = 0
        for _ in 0..<500 {
            now += random.pick([0, 1, 1000, 60_000, -5000])
            let observers = (0..<random.below(15)).map { _ in
                PositionFilter.Observer(
                    place: .init(
                        x: random.pick([Double(random.below(2000)) - 1000, 3, .nan]), y: Double(random.below(2000)) - 1000),
                    n: random.pick([0, 1, 2.7, 6, .nan]), isCalibrated: random.chance(50), room: random.pick([nil, 1, 2]))
            }
            let evidence = (0..<random.below(15)).map { _ in
                let value = random.pick([-1e6, -40, 0, 30, 90, 1e6, .infinity, .nan])
                let metres = PositionFilter.Evidence.metres(value, deviation: random.pick([0, 0.1, 5, .nan]))
                return (observer: random.below(20), evidence: random.chance(50) ? .loss(value) : metres)
            }
            filter.step(evidence, among: observers, weight: random.pick([0, 0.5, 1]), at: now)
            guard let estimate = filter.estimate else { continue }
            #expect(abs(estimate.place.x) <= 1101 && abs(estimate.place.y) <= 1101)
            #expect((0...4000).contains(estimate.accuracy))
        }
    }

    @Test(
        "a beacon stronger or weaker than it says is found without calibration, once it was followed", arguments: [-10.0, 8, 15])
    func strength(_ decibels: Double) throws {
        var random = SplitMix64.forTest()
        var filter = PositionFilter()
        var errors: [Double] = []
        for second in 0..<600 {
            // Around in circles, two minutes each.
            let angle = Double(second) / 120 * 2 * .pi
            let place = LocalPlane.Point(x: 5 + 3 * cos(angle), y: 5 + 3 * sin(angle))
            let evidence = corners.enumerated().map { number, corner in
                let off = corner.distance(to: place)
                let loss = 10 * log10(off * off + 1) - decibels + Double.random(in: -4...4, using: &random)
                return (observer: number, evidence: PositionFilter.Evidence.loss(loss))
            }
            filter.step(evidence, among: observers(corners), at: Int64(second) * 1000)
            if second >= 120 { errors.append(try #require(filter.estimate).place.distance(to: place)) }
        }
        errors.sort()
        #expect(errors[errors.count / 2] < 1.4 && errors[errors.count * 9 / 10] < 2.4)
    }

    @Test("a clear move between two rooms is followed within three seconds, also by a single clear reading and then silence")
    func moves() {
        let places = [LocalPlane.Point(x: 0, y: 0), LocalPlane.Point(x: 8, y: 0)]
        var random = SplitMix64.forTest()
        var right = 0
        for trial in 0..<100 {
            var filter = PositionFilter()
            var rooms = RoomTrack()
            var now: Int64 = 0
            func step(_ losses: [(Int, Double)], weight: Double = 1) {
                filter.step(losses.map { ($0, .loss($1)) }, among: observers(places), weight: weight, at: now)
                let candidates = filter.rooms.map {
                    RoomTrack.Candidate(room: $0.room, observer: UInt32($0.room), distance: 1, probability: $0.probability)
                }
                _ = rooms.take(candidates, at: now)
                now += 1000
            }
            func noise() -> Double { (0..<4).reduce(0) { sum, _ in sum + Double.random(in: -3.5...3.5, using: &random) } }
            for _ in 0..<20 { step([(0, -5 + noise()), (1, 20 + noise())]) }
            guard rooms.room == 0 else { continue }
            if trial < 90 {
                for _ in 0..<4 { step([(0, 20 + noise()), (1, -5 + noise())]) }
            } else {
                for weight in [1, 2.0 / 3, 1.0 / 3, 0] { step([(1, -10)], weight: weight) }
            }
            if rooms.room == 1 { right += 1 }
        }
        #expect(right >= 95)
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

    @Test("a calibration that fits the readings held back worse than what was set says so")
    func hurts() throws {
        let truth = RangingSettings(n: 2, rssiOffset: 0)
        // Every reading that is held back was taken at 8 m, all others at 2 m.
        let walk = (0..<60).map { step -> Calibration.Sample in
            let metres = step % 10 == 0 ? 8.0 : 2
            return .init(distance: metres, rssi: -59 - 20 * log10(metres))
        }
        let fit = try #require(Calibration.fit(walk, instead: truth))
        #expect(fit.hurts && (fit.trial?.former ?? 1) < 1e-9)
        #expect(try #require(Calibration.fit(walk)).hurts == false)
        #expect(try #require(Calibration.fit(Array(walk.prefix(39)))).trial == nil)
    }
}
