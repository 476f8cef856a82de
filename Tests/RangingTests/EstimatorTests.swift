import FlatRecording
import Geodesy
import Glibc
import SeededRandom
import Testing

@testable import Ranging

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

    @Test(
        "a clear move between two rooms is followed within three seconds, also by a single clear reading and then silence",
        arguments: [false, true])
    func moves(isSilent: Bool) {
        var random = SplitMix64.forTest()
        let trial = MoveTrial(moves: 40, isSilent: isSilent, using: &random)
        #expect(trial.right >= 38)
    }

    @Test("of two places that suit alike it is at the one within the building")
    func outside() throws {
        // In a row: what they hear at y = 4 they would hear at y = -4.
        let row = [0.0, 5, 10].map { LocalPlane.Point(x: $0, y: 0) }
        let place = LocalPlane.Point(x: 4, y: 2)
        func found(_ ground: ((LocalPlane.Point) -> PositionFilter.Ground)?) throws -> LocalPlane.Point {
            var filter = PositionFilter()
            for second in 0..<10 {
                let evidence = row.enumerated().map { number, observer in
                    let loss = PathLoss.loss(distance: observer.distance(to: place), n: 2.2)
                    return (observer: number, evidence: PositionFilter.Evidence.loss(loss))
                }
                filter.step(
                    evidence, among: observers(row, n: 2.2, isCalibrated: true), at: Int64(second) * 1000,
                    outlines: ground.map { (0, $0) })
            }
            return try #require(filter.estimate).place
        }
        #expect(abs(try found(nil).y) < 0.2)
        #expect(try found { $0.y < 0 ? .outside : .room(1) }.y > 1)
        // Places of no known room are none outside.
        #expect(abs(try found { $0.y < 0 ? .between : .room(1) }.y) < 0.2)
    }

    @Test("a wall takes something off the signal of an observer that was not calibrated")
    func walls() throws {
        // All four hear it alike; two of them through a wall.
        var filter = PositionFilter()
        for second in 0..<10 {
            filter.step(
                levels(.init(x: 5, y: 5), n: 2), among: observers(corners), at: Int64(second) * 1000,
                outlines: (0, { $0.x < 9 ? .room(1) : .room(2) }))
        }
        #expect(try #require(filter.estimate).place.x > 5.1)
        #expect(filter.rooms.map(\.room) == [1, 2])
    }

    @Test("a beacon is on the move while it crosses a room, and lies still among readings that stray")
    func stillness() {
        var random = SplitMix64.forTest()
        var filter = PositionFilter()
        var (still, moving) = (0.0, 0.0)
        #expect(filter.stillness == 1)
        for second in 0..<120 {
            // A minute still, then eight metres in as many seconds.
            let place = LocalPlane.Point(x: max(1, min(9, 1 + Double(second) - 60)), y: 4)
            let evidence = levels(place, n: 2.2).map { heard -> (observer: Int, evidence: PositionFilter.Evidence) in
                guard case .loss(let loss) = heard.evidence else { return heard }
                return (heard.observer, .loss(loss + Double.random(in: -4...4, using: &random)))
            }
            filter.step(evidence, among: observers(corners, n: 2.2, isCalibrated: true), at: Int64(second) * 1000)
            if (30..<60).contains(second) { still += filter.stillness / 30 }
            if (66..<74).contains(second) { moving += filter.stillness / 8 }
        }
        #expect(still > 0.8 && moving < 0.4)
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

    @Test(
        "a likelier room takes over at once on the move, and after seconds while the beacon lies still", arguments: [0.0, 0.5, 1])
    func likelier(_ stillness: Double) {
        func candidates(_ probability: Double) -> [RoomTrack.Candidate] {
            [
                .init(room: 1, observer: 11, distance: 2, probability: 1 - probability),
                .init(room: 2, observer: 22, distance: 2, probability: probability),
            ]
        }
        var track = RoomTrack()
        #expect(track.take(candidates(0.1), at: 0)?.reason == .first)
        // Hardly likelier is no lead, however long.
        for second in 1...30 { #expect(track.take(candidates(0.55), stillness: stillness, at: Int64(second) * 1000) == nil) }
        func isKept(after seconds: Int) -> Bool {
            track.take(candidates(0.75), stillness: stillness, at: Int64(30 + seconds) * 1000) == nil
        }
        var seconds = 1
        while isKept(after: seconds), seconds < 20 { seconds += 1 }
        #expect(seconds == [0: 1, 0.5: 6, 1: 12][stillness])
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
        // Of stretches of two readings every tenth is held back: there all was heard from 8 m, elsewhere from 2 m.
        let walk = (0..<60).map { step -> Calibration.Sample in
            let metres = step / 2 % 10 == 0 ? 8.0 : 2
            return .init(distance: metres, rssi: -59 - 20 * log10(metres))
        }
        let fit = try #require(Calibration.fit(walk, instead: truth))
        #expect(fit.hurts && (fit.trial?.former ?? 1) < 1e-9)
        #expect(try #require(Calibration.fit(walk)).hurts == false)
        #expect(try #require(Calibration.fit(Array(walk.prefix(39)))).trial == nil)
    }

    @Test("a walk whose readings do not fall with the distance is not believed, as where gateways were swapped")
    func swapped() throws {
        let walk = (1...80).map { step -> Calibration.Sample in
            let metres = Double(step) / 10
            return .init(distance: metres, rssi: -80 + 10 * log10(metres))
        }
        #expect(try #require(Calibration.fit(walk)).hurts)
    }

    @Test("a radio map is its text, and says nothing beyond the walk")
    func maps() throws {
        // A wall at x = 2 takes 12 dB off.
        let readings = (0..<400).map { step -> (place: LocalPlane.Point, decibels: Double) in
            let place = LocalPlane.Point(x: Double(step % 20) / 4, y: Double(step / 20) / 4)
            return (place, place.x < 2 ? 0 : 12)
        }
        let map = try #require(RadioMap(readings, latitude: 43.73, longitude: 7.42))
        #expect(try #require(RadioMap(map.text)) == map)
        #expect(abs(map.known(east: 1, north: 2).decibels) < 1 && abs(map.known(east: 4, north: 2).decibels - 12) < 2)
        #expect(map.known(east: 4, north: 2).variance < 4)
        #expect(map.known(east: -5, north: 2) == .nothing && map.known(east: .nan, north: 0) == .nothing)
        #expect(map.isOf(Position(latitude: 43.73001, longitude: 7.42)))
        #expect(!map.isOf(Position(latitude: 43.7301, longitude: 7.42)))
        #expect(RadioMap(Array(readings.prefix(9)), latitude: 0, longitude: 0) == nil)
        #expect(RadioMap(readings.map { ($0.place, .nan) }, latitude: 0, longitude: 0) == nil)
    }

    /// By hand: of one place the mean is that of its readings, shrunk by the ratio of the variances, as for two normal distributions.
    @Test(
        "a place is known the better the more often the walk came, hardly the better the longer it stayed",
        arguments: [(visits: 1, stay: 12, deviation: 2.47), (1, 1200, 2.33), (4, 3, 1.64), (16, 1, 1.14)])
    func visits(visits: Int, stay: Int, deviation: Double) throws {
        // Another place, far away, is where it is between.
        let visit = Array(repeating: (place: LocalPlane.Point(x: 0, y: 0), decibels: 6.0), count: stay)
        let away = (place: LocalPlane.Point(x: 12, y: 0), decibels: 0.0)
        let map = try #require(RadioMap((0..<visits).flatMap { _ in visit + [away] }, latitude: 0, longitude: 0))
        let known = map.known(east: 0, north: 0)
        let variance = RadioMap.spread * RadioMap.spread
        #expect(abs(Double(known.variance).squareRoot() - deviation) < 0.06)
        #expect(abs(Double(known.decibels) - 6 * (1 - Double(known.variance) / variance)) < 0.15)
        // Neither visit says anything of what is between.
        #expect(abs(map.known(east: 6, north: 0).decibels) < 0.3)
        #expect(abs(Double(map.known(east: 6, north: 0).variance).squareRoot() - RadioMap.spread) < 0.1)
    }

    @Test("between its places a radio map is a straight line; one that states no deviations is taken to be 2 dB off")
    func between() throws {
        let map = try #require(RadioMap("0 0 0 0 1 2 0:10 100:10 20:10 -"))
        for (east, north, decibels) in [(0.0, 0.0, 0.0), (0.5, 0, 5), (1, 0, 10), (1.4, 0, 10), (0, 0.5, 1), (0.5, 0.5, 3)] {
            #expect(abs(Double(map.known(east: east, north: north).decibels) - decibels) < 1e-5)
        }
        #expect(map.known(east: 0.2, north: 0).variance == 1 && map.known(east: 1, north: 1).variance > 23)
        #expect(map.known(east: 1.6, north: 0) == .nothing)
        let former = try #require(RadioMap("0 0 0 0 1 1 50"))
        #expect(former.known(east: 0.3, north: -0.3) == .init(decibels: 5, variance: 4))
    }

    @Test("between walls a walk's radio maps place a beacon better than lines, and the accuracy that is reported holds")
    func mapped() throws {
        var random = SplitMix64.forTest()
        func noise(_ decibels: Double) -> Double {
            (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0...1, using: &random) } * decibels
        }
        /// A second's readings, of a beacon whose bearer turns: a wall takes 14 dB off what crosses it.
        var turns = [Double](repeating: 0, count: corners.count)
        func heard(at place: LocalPlane.Point) -> [Double] {
            corners.indices.map { number in
                turns[number] = 0.8 * turns[number] + noise(1.6)
                let wall = (corners[number].x < 5) == (place.x < 5) ? 0.0 : 14
                return PathLoss.loss(distance: max(0.5, corners[number].distance(to: place)), n: 2) + wall + turns[number]
                    + noise(2.3)
            }
        }
        // To and fro, a metre apart.
        let walk = (0..<400).map { second -> (place: LocalPlane.Point, losses: [Double]) in
            let (lane, way) = (Double(second / 40) + 0.5, Double(second % 40) / 4)
            let place = LocalPlane.Point(x: lane, y: second / 40 % 2 == 0 ? way : 10 - way)
            return (place, heard(at: place))
        }
        let settings = try corners.indices.map { number -> RangingSettings in
            let samples = walk.map { place, losses in
                Calibration.Sample(
                    distance: place.distance(to: corners[number]), rssi: PathLoss.standardTxPower - losses[number],
                    place: LocalPlane.Point(x: place.x - corners[number].x, y: place.y - corners[number].y))
            }
            let fit = try #require(Calibration.fit(samples, at: (0, 0)))
            return RangingSettings(n: fit.n, rssiOffset: fit.rssiOffset, map: fit.map)
        }
        func follow(mapped: Bool) throws -> (median: Double, holds: Int) {
            var filter = PositionFilter()
            let observers = corners.indices.map {
                PositionFilter.Observer(
                    place: corners[$0], n: settings[$0].n, isCalibrated: true, map: mapped ? settings[$0].map : nil)
            }
            var (errors, holds): ([Double], Int) = ([], 0)
            for second in 0..<300 {
                let angle = Double(second) / 50
                let place = LocalPlane.Point(x: 5 + 4 * sin(angle), y: 5 + 4 * sin(1.7 * angle))
                let losses = heard(at: place)
                filter.step(
                    losses.indices.map { ($0, .loss(losses[$0] - settings[$0].rssiOffset)) }, among: observers,
                    at: Int64(second) * 1000)
                let estimate = try #require(filter.estimate)
                errors.append(estimate.place.distance(to: place))
                if errors[second] <= estimate.accuracy { holds += 1 }
            }
            return (errors.sorted()[150], holds)
        }
        let (line, map) = (try follow(mapped: false), try follow(mapped: true))
        #expect(map.median <= 0.8 * line.median && (190...285).contains(map.holds))
    }

    @Test(
        "what is no radio map is refused",
        arguments: [
            "", "1 2 3", "91 0 0 0 1 1 5", "0 0 0 0 0 1 5", "0 0 0 0 1 0 5", "0 0 0 0 1 2 5", "0 0 0 0 1 1 x", "0 0 0 0 1 1 601",
            "0 0 0 0 1 1 5:", "0 0 0 0 1 1 :5", "0 0 0 0 1 1 5:-1", "0 0 0 0 1 1 5:601", "0 0 0 0 1 1 5:1:1",
            "nan 0 0 0 1 1 5", "0 0 0 0 1 1  5", "0 0 0 0 1 1" + String(repeating: " 1", count: 1025),
        ])
    func notMaps(_ text: String) { #expect(RadioMap(text) == nil) }

    @Test("given distances and directions place a beacon as well as they say", arguments: [0.1, 0.3, 1])
    func given(_ deviation: Double) throws {
        var random = SplitMix64.forTest()
        var filter = PositionFilter()
        var (errors, within): ([Double], Int) = ([], 0)
        func noise() -> Double { (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0...1, using: &random) } }
        for second in 0..<200 {
            let place = LocalPlane.Point(x: 1 + Double(second) / 25, y: 3)
            let evidence = corners.enumerated().map { number, corner in
                let metres = max(0, corner.distance(to: place) + deviation * noise())
                return (observer: number, evidence: PositionFilter.Evidence.metres(metres, deviation: deviation))
            }
            filter.step(evidence, among: observers(corners), at: Int64(second) * 1000)
            let estimate = try #require(filter.estimate)
            let error = estimate.place.distance(to: place)
            errors.append(error)
            if error <= estimate.accuracy { within += 1 }
        }
        errors.sort()
        #expect(errors[100] <= 1.2 * deviation + 0.02 && (100...180).contains(within))
    }
}
