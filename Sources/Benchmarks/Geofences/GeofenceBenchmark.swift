import ArgumentParser
import Geodesy
import Geofencing
import Glibc

/// `geomatch-bench geofences`: what many geofences cost a position, and memory.
struct GeofenceBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geofences",
        abstract: "Measures geofences: circles and polygons, small and large, and what they occupy.",
        discussion: """
            Fences of 100 m spread over a town, and devices that walk through it; the same with polygons of 100 vertices in place of \
            circles; and fences of 5 km that cluster in towns, with points set on them one after the other, as in Tile38's public \
            test (tidwall/tile38#491: about 6,000 a second).
            """)

    @Option(help: "Fences of 100 m.") var fences = 100_000
    @Option(help: "Devices in the town.") var devices = 1_000_000
    @Option(help: "Fences of 5 km.") var large = 23_000
    @Option(help: "Vertices of a polygon.") var vertices = 100
    @Option(help: "Kilometres across the town.") var kilometres = 30.0
    @Option(help: "Rounds of a step of each device; the median of their parts counts.") var rounds = 3
    @Flag(help: "Print JSON instead of a table.") var json = false

    func validate() throws {
        guard (1...10_000_000).contains(fences), (1...10_000_000).contains(devices), (1...1_000_000).contains(large),
            (3...2500).contains(vertices), kilometres > 0, kilometres < 1000, (1...99).contains(rounds)
        else { throw ValidationError("--fences, --devices, --large, --vertices, --kilometres and --rounds must be above 0") }
    }

    private static let start: Int64 = 1_700_000_000_000
    private static let degree = 111_195.0
    private static let latitude = 43.7

    func run() throws {
        var report = Report()
        try memory(into: &report)
        var circles = try town("circles") { try FenceArea(Area.Circle(latitude: $0, longitude: $1, radius: 100)) }
        var polygons = try town("polygons") { try polygon(latitude: $0, longitude: $1, vertices) }
        walk(&circles, &polygons)
        add(circles, to: &report)
        add(polygons, to: &report)
        report.add(
            "geofences: polygons cost", median(zip(circles.rates, polygons.rates).map { $0 / $1 }), "times circles",
            note: "\(vertices) vertices, by turns; at most 1.3")
        try towns(into: &report)
        print(json ? report.json : report.table)
    }

    // MARK: A town

    private struct Town: ~Copyable {
        let name: String
        var engine: GeofenceEngine
        var places: [(latitude: Double, longitude: Double)]
        var effects: [FenceEffect] = []
        /// Updates a second, of each part of a round.
        var rates: [Double] = []
        var seen = 0
    }

    private func town(
        _ name: String, _ area: (_ latitude: Double, _ longitude: Double) throws -> FenceArea
    ) throws -> Town {
        var random = SplitMix64(seed: 19)
        var town = Town(
            name: name, engine: try engine(fences, &random, area), places: (0..<devices).map { _ in anywhere(&random) })
        for device in 0..<devices {
            town.engine.set(UInt32(device), FenceDevice(id: String(device), owner: "me"), at: 0, into: &town.effects)
            town.engine.move(UInt32(device), to: fix(town.places[device], 0), into: &town.effects)
            town.effects.removeAll(keepingCapacity: true)
        }
        return town
    }

    /// The devices of two towns walk by turns, a part of them at a time: what else the machine does concerns both.
    private func walk(_ one: inout Town, _ other: inout Town) {
        var random = SplitMix64(seed: 20)
        let updates = min(devices, 1_000_000)
        // About ten metres to anywhere.
        let steps = (0..<updates).map { _ in
            (Double.random(in: -1e-4...1e-4, using: &random), Double.random(in: -1.4e-4...1.4e-4, using: &random))
        }
        let length = (updates + 19) / 20
        for round in 0..<rounds {
            for (part, start) in stride(from: 0, to: updates, by: length).enumerated() {
                let range = start..<min(start + length, updates)
                if part.isMultiple(of: 2) { walk(&one, range, steps, round) }
                walk(&other, range, steps, round)
                if !part.isMultiple(of: 2) { walk(&one, range, steps, round) }
            }
        }
    }

    private func walk(_ town: inout Town, _ range: Range<Int>, _ steps: [(Double, Double)], _ round: Int) {
        let elapsed = seconds {
            for device in range {
                // Others' steps in each round.
                let step = steps[(device + round * 7919) % steps.count]
                town.places[device].latitude += step.0
                town.places[device].longitude += step.1
                town.engine.move(UInt32(device), to: fix(town.places[device], Int64(round + 1) * 10_000), into: &town.effects)
                town.seen += town.effects.count
                town.effects.removeAll(keepingCapacity: true)
            }
        }
        town.rates.append(Double(range.count) / elapsed)
    }

    private func add(_ town: borrowing Town, to report: inout Report) {
        report.add(
            "geofences: a step, \(town.name)", median(town.rates), "1/s",
            note: """
                \(fences) fences of 100 m, \(devices) devices; median of \(rounds) rounds with \(town.seen) events; circles at least \
                1,000,000
                """)
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    /// An engine with fences anywhere in the town.
    private func engine(
        _ fences: Int, _ random: inout SplitMix64,
        _ area: (_ latitude: Double, _ longitude: Double) throws -> FenceArea
    ) throws -> GeofenceEngine {
        var engine = GeofenceEngine()
        var effects: [FenceEffect] = []
        for number in 0..<fences {
            let point = anywhere(&random)
            engine.insert(
                Int32(number), Fence(rule: FenceRule(), area: try area(point.latitude, point.longitude), owner: "me"), at: 0,
                into: &effects)
        }
        return engine
    }

    private func anywhere(_ random: inout SplitMix64) -> (latitude: Double, longitude: Double) {
        let width = kilometres * 1000 / Self.degree
        return (
            Self.latitude + Double.random(in: 0..<width, using: &random), 7 + Double.random(in: 0..<width * 1.38, using: &random)
        )
    }

    // MARK: Memory

    private func memory(into report: inout Report) throws {
        // They stay until all are there, so that none is made of what another one left.
        let circles = try sized(fences) { try FenceArea(Area.Circle(latitude: $0, longitude: $1, radius: 100)) }
        let few = max(1, fences / 10)
        let small = try sized(few) { try polygon(latitude: $0, longitude: $1, vertices) }
        let large = try sized(few) { try polygon(latitude: $0, longitude: $1, 2 * vertices) }
        report.add("geofences: a circle", circles.bytes, "B", note: "resident; at most 200")
        report.add("geofences: a polygon", small.bytes, "B", note: "resident; \(vertices) vertices")
        report.add(
            "geofences: a vertex", (large.bytes - small.bytes) / Double(vertices), "B",
            note: "what \(vertices) more of a polygon take; at most 16")
    }

    private struct Sized: ~Copyable {
        let engine: GeofenceEngine
        /// Of each fence.
        let bytes: Double
    }

    private func sized(
        _ count: Int, _ area: (_ latitude: Double, _ longitude: Double) throws -> FenceArea
    ) throws -> Sized {
        var random = SplitMix64(seed: 19)
        let before = residentBytes()
        let engine = try engine(count, &random, area)
        return Sized(engine: engine, bytes: Double(residentBytes() - before) / Double(count))
    }

    private func fix(_ point: (latitude: Double, longitude: Double), _ later: Int64) -> FenceFix {
        FenceFix(
            latitude: point.latitude, longitude: point.longitude, accuracy: 5, timestamp: Self.start + later,
            heardAt: Self.start + later)
    }

    /// Round a point, at 80 to 120 m.
    private func polygon(latitude: Double, longitude: Double, _ vertices: Int) throws -> FenceArea {
        var ring = (0..<vertices).map { number in
            let angle = 2 * Double.pi * Double(number) / Double(vertices)
            let radius = (100 + 20 * sin(angle * 7)) / Self.degree
            return Area.Polygon.Vertex(
                longitude: longitude + radius * 1.38 * sin(angle + .pi / 2), latitude: latitude + radius * sin(angle))
        }
        ring.append(ring[0])
        return FenceArea([try Area.Polygon(rings: [ring], verticesMax: 5000)])
    }

    // MARK: Towns

    private func towns(into report: inout Report) throws {
        let test = FenceTest(fences: large)
        var random = SplitMix64(seed: 23)
        let places = test.places(&random)
        var engine = GeofenceEngine()
        var effects: [FenceEffect] = []
        for (number, place) in places.enumerated() {
            engine.insert(
                Int32(number),
                Fence(
                    rule: FenceRule(),
                    area: FenceArea(try Area.Circle(latitude: place.latitude, longitude: place.longitude, radius: 5000)),
                    owner: "me"), at: 0, into: &effects)
        }
        engine.set(0, FenceDevice(id: "mover", owner: "me"), at: 0, into: &effects)
        for device in places.indices {
            engine.set(UInt32(device), FenceDevice(id: String(device), owner: "me"), at: 0, into: &effects)
        }
        effects = []
        var seen = 0
        let elapsed = seconds {
            for (device, place) in places.enumerated() {
                engine.move(UInt32(device), to: fix((place.latitude, place.longitude), 0), into: &effects)
                seen += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        let each = Double(places.count)
        report.add(
            "geofences: a new point on each place", each / elapsed, "1/s",
            note:
                "\(large) fences of 5 km; each: \(figure(Double(seen) / each)) entered; \(figure(each / elapsed / 6000)) times Tile38's; at least 150,000"
        )
    }
}
