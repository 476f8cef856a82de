import Geodesy
import PlaceTrials
import Places
import SeededRandom
import Testing

@Suite("Candidates are ranked by how probable they are")
struct PlaceCandidatesTests {
    private static let degree = 110_574.3

    private func table(_ metres: [Double], ranks: [Double?] = []) throws -> PlaceTable {
        let table = PlaceTable()
        for (number, metres) in metres.enumerated() {
            try table.upsert(
                Place(
                    id: "\(number)", placerank: number < ranks.count ? ranks[number] : nil,
                    geometry: .point(latitude: metres / Self.degree, longitude: 20)))
        }
        return table
    }

    private func ids(_ table: PlaceTable, accuracy: Double? = 15, evidence: (UInt32) -> PlaceEvidence = { _ in .none })
        -> [String]
    {
        table.candidates(latitude: 0, longitude: 20, accuracy: accuracy, evidence: evidence).candidates.map {
            table.id($0.handle)
        }
    }

    @Test("The nearer first; a better known, an open or a verified one before it")
    func order() throws {
        #expect(ids(try table([20, -8, 30])) == ["1", "0", "2"])
        #expect(ids(try table([20, -15], ranks: [90, 2])) == ["0", "1"])
        #expect(ids(try table([20, -15])) { PlaceEvidence(isOpen: $0 == 0) } == ["0", "1"])
        #expect(ids(try table([20, -15])) { PlaceEvidence(verifications: $0 == 0 ? 20 : 0) } == ["0", "1"])
        let atNight = { (handle: UInt32) in
            PlaceEvidence(verifications: 30, verificationsAtThisHour: handle == 0 ? 20 : 0)
        }
        #expect(ids(try table([20, -15]), evidence: atNight) == ["0", "1"])
    }

    @Test("Candidates are those within twice the accuracy and 30 m, at least 100 m")
    func reach() throws {
        let table = try table([99, 101, 229, 231])
        #expect(ids(table, accuracy: 10).count == 1)
        #expect(ids(table, accuracy: nil).count == 1)
        #expect(ids(table, accuracy: 100).count == 3)
        #expect(ids(table, accuracy: .infinity).count == 4)
        let far = table.candidates(latitude: 0, longitude: 20, accuracy: 10).candidates
        #expect(far.map(\.threshold) == [.none])
        #expect(table.candidates(latitude: .nan, longitude: 0).candidates.isEmpty)
    }

    @Test("Probabilities and that of no place are 1 together, with outlines inside outlines")
    func sums() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<40 {
            let table = PlaceTable()
            for number in 0..<(1 + random.below(30)) {
                try table.upsert(NaivePlaces.place("\(number)", near: NaivePlaces.sites[0], &random))
            }
            let at = NaivePlaces.position(near: NaivePlaces.sites[0], metres: 200, &random)
            let result = table.candidates(
                latitude: at.latitude, longitude: at.longitude, accuracy: random.pick([nil, 3, 20, 100, 5000]))
            let sum = result.candidates.reduce(result.probabilityOfNone) { $0 + $1.probability }
            #expect(abs(sum - 1) < 1e-9)
            #expect(result.candidates.allSatisfy { $0.probability >= 0 })
            #expect(zip(result.candidates, result.candidates.dropFirst()).allSatisfy { $0.probability >= $1.probability })
        }
    }

    @Test("The mean of ranks like 1e308 was infinite, and nobody was anywhere: each still counts more than a small one")
    func hugeRanks() throws {
        let table = try table([20, -20, 20.001, 25], ranks: [1e308, 1e308, 3, nil])
        let result = table.candidates(latitude: 0, longitude: 20, accuracy: 15) { _ in .none }
        #expect(result.candidates.allSatisfy { (0...1).contains($0.probability) })
        #expect(abs(result.candidates.reduce(result.probabilityOfNone) { $0 + $1.probability } - 1) < 1e-9)
        #expect(Set(result.candidates.prefix(2).map { table.id($0.handle) }) == ["0", "1"])
    }

    /// A bar with teeth of 4 m each 40 m, along the equator.
    private func comb(_ teeth: Int, pointingUp: Bool) throws -> PlaceGeometry {
        func vertex(_ x: Double, _ y: Double) -> Area.Polygon.Vertex {
            Area.Polygon.Vertex(longitude: 20 + x / 111_319.5, latitude: (pointingUp ? y : 1000 - y) / Self.degree)
        }
        let offset = pointingUp ? 0.0 : 20
        var ring = [vertex(offset, 0)]
        for tooth in 0..<teeth {
            let x = offset + Double(tooth) * 40
            ring += [vertex(x, 900), vertex(x + 4, 900), vertex(x + 4, 50), vertex(x + 40, 50)]
        }
        ring.append(vertex(offset + Double(teeth) * 40, 0))
        return try PlaceGeometry(polygons: [[ring]])
    }

    @Test("Two combs of 9,800 vertices in one another cost a third of a second after each change of any place")
    func combs() throws {
        let table = PlaceTable()
        try table.upsert(Place(id: "up", geometry: try comb(2450, pointingUp: true)))
        try table.upsert(Place(id: "down", geometry: try comb(2450, pointingUp: false)))
        let clock = ContinuousClock()
        var slowest = Duration.zero
        for change in 0..<3 {
            try table.upsert(Place(id: "café \(change)", geometry: .point(latitude: 1, longitude: 20)))
            slowest = max(
                slowest,
                clock.measure {
                    let found = table.candidates(latitude: 500 / Self.degree, longitude: 20.000_018, accuracy: 10) { _ in .none }
                    #expect(Set(found.candidates.map { table.id($0.handle) }) == ["up", "down"])
                })
        }
        // With all checks on, as tests are built, it was ten seconds.
        #expect(slowest < .seconds(1))
    }

    @Test("An outline is as probable with thousands of corners as with four")
    func manyCorners() throws {
        var random = SplitMix64.forTest()
        for halfMetres in [4.0, 30, 200] {
            func probability(pieces: Int, at place: (north: Double, east: Double), accuracy: Double) throws -> Double {
                let corners = [(-1.0, -1.0), (1, -1), (1, 1), (-1, 1)]
                let ring = corners.indices.flatMap { corner -> [Area.Polygon.Vertex] in
                    let (from, to) = (corners[corner], corners[(corner + 1) % 4])
                    return (0..<pieces).map { piece in
                        let share = Double(piece) / Double(pieces)
                        return Area.Polygon.Vertex(
                            longitude: 20 + (from.0 + (to.0 - from.0) * share) * halfMetres / 111_319.5,
                            latitude: (from.1 + (to.1 - from.1) * share) * halfMetres / Self.degree)
                    }
                }
                let table = PlaceTable()
                try table.upsert(Place(id: "square", geometry: try PlaceGeometry(polygons: [[ring + [ring[0]]]])))
                let found = table.candidates(
                    latitude: place.north / Self.degree, longitude: 20 + place.east / 111_319.5, accuracy: accuracy)
                return try #require(found.candidates.first).probability
            }
            for _ in 0..<20 {
                let place = (
                    north: Double.random(in: -1.2...1.2, using: &random) * halfMetres,
                    east: Double.random(in: -1.2...1.2, using: &random) * halfMetres
                )
                let accuracy = Double.random(in: 3...60, using: &random)
                let few = try probability(pieces: 1, at: place, accuracy: accuracy)
                let many = try probability(pieces: 1000, at: place, accuracy: accuracy)
                #expect(abs(few - many) < 0.002, "\(halfMetres) m at \(place), accuracy \(accuracy)")
            }
        }
    }

    @Test("A shop inside a building takes most of what the building would have alone")
    func insideOutlines() throws {
        let corners = [(-0.000_3, -0.000_3), (0.000_3, -0.000_3), (0.000_3, 0.000_3), (-0.000_3, 0.000_3)]
            .map { Area.Polygon.Vertex(longitude: 20 + $0.0, latitude: $0.1) }
        let mallOnly = Place(id: "mall", geometry: try PlaceGeometry(polygons: [[corners]]))
        let both = try table([10])
        try both.upsert(mallOnly)
        let alone = try table([])
        try alone.upsert(mallOnly)
        let before = alone.candidates(latitude: 0, longitude: 20, accuracy: 15)
        let after = both.candidates(latitude: 0, longitude: 20, accuracy: 15)
        let shop = try #require(after.candidates.first { both.id($0.handle) == "0" })
        let mall = try #require(after.candidates.first { both.id($0.handle) == "mall" })
        #expect(shop.probability > 2 * mall.probability)
        #expect(mall.probability < (before.candidates.first?.probability ?? 0) / 2)
        #expect(mall.hit.isInside && mall.hit.distance == 0)
    }

    private static func square(_ id: String, halfMetres: Double, eastMetres: Double = 0) throws -> Place {
        let corners = [(-1.0, -1.0), (1, -1), (1, 1), (-1, 1)].map { east, north in
            Area.Polygon.Vertex(
                longitude: 20 + (eastMetres + east * halfMetres) / 111_319.5, latitude: north * halfMetres / degree)
        }
        return Place(id: id, geometry: try PlaceGeometry(polygons: [[corners]]))
    }

    @Test(
        "A device inside the only outline there is, is at it, however large it is", arguments: [5.0, 25, 100, 250, 1000, 9000])
    func loneOutline(halfMetres: Double) throws {
        let table = PlaceTable()
        try table.upsert(try Self.square("park", halfMetres: halfMetres))
        for accuracy in [5.0, 15, 25] {
            let inside = table.candidates(latitude: 0, longitude: 20, accuracy: accuracy)
            #expect((inside.candidates.first?.probability ?? 0) > 0.75)
            // Outside of it the device is the less at it the farther away it is.
            let outside = [0.0, 5, 20, 60].map { metres in
                table.candidates(latitude: 0, longitude: 20 + (halfMetres + metres) / 111_319.5, accuracy: accuracy)
                    .candidates.first?.probability ?? 0
            }
            #expect(zip(outside, outside.dropFirst()).allSatisfy { $0 > $1 })
            #expect(outside[3] < 0.2)
        }
        let closed = table.candidates(latitude: 0, longitude: 20, accuracy: 10) { _ in PlaceEvidence(isOpen: false) }
        let open = table.candidates(latitude: 0, longitude: 20, accuracy: 10)
        #expect((closed.candidates.first?.probability ?? 1) < (open.candidates.first?.probability ?? 0))
    }

    @Test("A kiosk at the other end of a park takes nothing from the park")
    func farInside() throws {
        let park = try Self.square("park", halfMetres: 250)
        let table = try table([80])
        try table.upsert(park)
        let found = table.candidates(latitude: 0, longitude: 20, accuracy: 10)
        #expect(found.candidates.map { table.id($0.handle) } == ["park", "0"])
        #expect((found.candidates.first?.probability ?? 0) > 0.75)
        #expect(found.candidates[1].probability < 0.01)
    }

    @Test("In simulated towns the first candidate is right as often as noise allows, and probabilities are what they say")
    func calibration() throws {
        var random = SplitMix64.forTest()
        for (deviation, right, brier) in [(5.0, 0.70, 0.50), (10, 0.54, 0.68), (20, 0.32, 0.85)] {
            let outcome = try CandidateTrial(density: 1000, deviation: deviation, visits: 1000).run(&random)
            #expect(outcome.firstRight / outcome.atPlaces > right)
            #expect(outcome.firstRight > outcome.nearestRight)
            #expect(outcome.brier < brier)
            // A thousand visits in ten classes are off by 0.04 by chance.
            #expect(outcome.calibrationError < 0.08)
        }
    }

    @Test("Of stays, too, probabilities are what they say, nearly as good as those of who knows the town")
    func stays() throws {
        var random = SplitMix64.forTest()
        for minutes in [0.0, 10] {
            let trial = CandidateTrial(density: 1000, deviation: 10, visits: 400, minutes: minutes)
            let outcome = try trial.run(&random)
            let beyond = (outcome.logLoss - outcome.exactLogLoss) / outcome.visits
            print("candidates, \(minutes) min: off by \(outcome.calibrationError), log loss beyond the exact \(beyond)")
            #expect(outcome.calibrationError < 0.12 && beyond < 0.12)
        }
    }
}

@Suite("A stay of a device")
struct StayTests {
    private func fix(_ north: Double, accuracy: Double? = 10) -> Position {
        Position(latitude: north / 111_195, longitude: 8.69, horizontalAccuracy: accuracy)
    }

    @Test("is the mean of its fixes, weighed by their accuracies, and is more certain than each")
    func mean() {
        var stay = Stay(fix(0), at: 0)
        for second in 1...240 { stay.take(fix(second % 2 == 0 ? 10 : -10), at: Int64(second) * 1000) }
        #expect(stay.seconds == 240 && abs(stay.latitude * 111_195) < 0.2)
        #expect(stay.accuracy < 7 && stay.accuracy >= 5)
        stay.take(fix(90, accuracy: 1000), at: 241_000)
        #expect(abs(stay.latitude * 111_195) < 1)
    }

    @Test("ends where a fix is elsewhere or after silence, and is none before a minute")
    func ends() {
        var stay = Stay(fix(0), at: 0)
        stay.take(fix(5), at: 59_000)
        #expect(stay.seconds == nil)
        stay.take(fix(200), at: 90_000)
        #expect(stay.seconds == nil && abs(stay.latitude * 111_195 - 200) < 1e-6)
        stay.take(fix(200), at: 190_000)
        #expect(stay.seconds == 100)
        stay.take(fix(200), at: 9_000_000)
        #expect(stay.seconds == nil)
    }

    @Test(
        "is a place whatever its fixes say", arguments: [0, -1, nil, 1e6, 1e300, .infinity, .nan] as [Double?])
    func hostile(_ accuracy: Double?) {
        var stay = Stay(fix(0, accuracy: accuracy), at: 0)
        for instant in [1000, 60_000, 60_000, 30_000, -5, .max, .min, 61_000] as [Int64] {
            stay.take(fix(1, accuracy: accuracy), at: instant)
            #expect(stay.latitude.isFinite && stay.longitude.isFinite && stay.accuracy > 0 && stay.accuracy.isFinite)
        }
    }

    @Test("goes on across the antimeridian")
    func antimeridian() {
        var stay = Stay(Position(latitude: 0, longitude: 179.9999), at: 0)
        stay.take(Position(latitude: 0, longitude: -179.9999), at: 60_000)
        #expect(stay.seconds == 60 && abs(abs(stay.longitude) - 180) < 1e-9)
    }
}
