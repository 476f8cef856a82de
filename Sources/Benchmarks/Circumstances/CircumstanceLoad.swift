import Circumstances
import Glibc
import Places

/// The load of ``CircumstanceBenchmark``.
struct CircumstanceLoad {
    private let engine = CircumstanceEngine()
    private let world: CityWorld
    private var positions: [(latitude: Double, longitude: Double)]
    private var rules: [CircumstanceRule]
    private var random = SplitMix64(seed: 11)
    private var now: Int64 = 1_772_409_600_000
    private var effects: [CircumstanceEffect] = []
    private var order: [UInt32]

    private static let clients = 100

    init(devices: Int, circumstances: Int, places: Int, density: Double, broad: Int) throws {
        // Degrees of a square round 48° N, 11° E.
        let side = (Double(places) / density).squareRoot() * 1000
        let height = side / 111_200
        let width = side / (111_300 * 0.669)
        var random = self.random
        func position() -> (latitude: Double, longitude: Double) {
            (48 + (random.unit() - 0.5) * height, 11 + (random.unit() - 0.5) * width)
        }
        let table = PlaceTable()
        for number in 0..<places {
            let at = position()
            _ = try table.upsert(
                Place(
                    id: "p\(number)", categoryIDs: ["c\(Int.random(in: 0..<200, using: &random))"],
                    chainID: "k\(Int.random(in: 0..<2000, using: &random))",
                    openingHours: number % 2 == 0 ? "24/7" : nil,
                    geometry: try PlaceGeometry(latitude: at.latitude, longitude: at.longitude)))
        }
        world = CityWorld(table: table)
        positions = (0..<devices).map { _ in position() }
        rules = try (0..<circumstances).map { number in
            let place = "(= factual-id \"p\(Int.random(in: 0..<places, using: &random))\")"
            let text =
                if number / Self.clients % 100 < broad {
                    number % 3 < 2
                        ? "(at (= category-id \"c\(Int.random(in: 0..<200, using: &random))\") is-open)"
                        : "(near (= chain-id \"k\(Int.random(in: 0..<2000, using: &random))\"))"
                } else {
                    number % 3 < 2 ? "(at \(place))" : "(near \(place))"
                }
            return CircumstanceRule(
                try CircumstanceExpression(text), trigger: .arriving, owner: "client-\(number % Self.clients)")
        }
        order = (0..<UInt32(devices)).shuffled(using: &random)
        self.random = random
    }

    /// Before there are devices: the cost of the index.
    mutating func register(into report: inout Report) {
        let elapsed = seconds { for rule in rules { engine.register(rule, at: now, in: world, into: &effects) } }
        report.add("circumstances registered", Double(rules.count) / elapsed, "1/s")
        effects.removeAll()
    }

    /// The first position of each device.
    mutating func settle(into report: inout Report) {
        for device in positions.indices {
            let owner = device % 10 == 0 ? nil : "client-\(device % Self.clients)"
            engine.restoreDevice(UInt32(device), DeviceIdentity(id: "d\(device)", owner: owner))
        }
        let elapsed = seconds {
            for device in order { move(device) }
        }
        report.add("first positions", Double(order.count) / elapsed, "1/s", note: "\(engine.reviews) reviews")
        // After three minutes a stay makes visits of the places around.
        now += 200_000
        let second = seconds {
            for device in order { move(device) }
        }
        report.add("stays that last", Double(order.count) / second, "1/s")
    }

    mutating func measure(_ name: String, step: Double, isWalking: Bool, updates: Int, into report: inout Report) {
        var steps: [(device: UInt32, north: Double, east: Double)] = []
        for _ in 0..<updates {
            let device = order[Int.random(in: 0..<order.count, using: &random)]
            // Who walks keeps the direction.
            let turn = isWalking ? Double(device) : random.unit() * 2 * .pi
            let length = isWalking ? step : step * random.unit()
            steps.append((device, length * cos(turn), length * sin(turn)))
        }
        let homes = positions
        let overhead = Self.clockCost()
        var quiet = (count: 0, time: 0.0)
        var flipped = (count: 0, time: 0.0, flips: 0)
        let reviews = engine.reviews
        let start = now
        for (number, step) in steps.enumerated() {
            let device = Int(step.device)
            let from = isWalking ? positions[device] : homes[device]
            positions[device] = (from.latitude + step.north / 111_200, from.longitude + step.east / 74_460)
            // A fix of each device every ten seconds.
            now = start + Int64(number) * 10_000 / Int64(order.count)
            effects.removeAll(keepingCapacity: true)
            let begin = Self.clock()
            move(step.device)
            let time = max(0, Self.clock() - begin - overhead)
            let flips = effects.count { if case .held = $0 { true } else { false } }
            if flips == 0 {
                quiet = (quiet.count + 1, quiet.time + time)
            } else {
                flipped = (flipped.count + 1, flipped.time + time, flipped.flips + flips)
            }
        }
        let share = Double(engine.reviews - reviews) / Double(updates)
        report.add(
            "\(name): an update without a flip", quiet.time / Double(max(1, quiet.count)), "ns",
            note: "\(quiet.count) of them; \(figure(share)) of all updates looked at places")
        report.add(
            "\(name): a flip", flipped.time / Double(max(1, flipped.flips)), "ns",
            note: "\(flipped.flips) in \(flipped.count) updates")
    }

    private mutating func move(_ device: UInt32) {
        let at = positions[Int(device)]
        engine.move(
            device, to: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: now), at: now, in: world,
            into: &effects)
    }

    private static func clock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// Nanoseconds of two readings.
    private static func clockCost() -> Double {
        let start = clock()
        var last = start
        for _ in 0..<100_000 { last = clock() }
        return (last - start) / 100_000
    }
}

extension SplitMix64 {
    /// From 0 up to 1.
    fileprivate mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }
}

/// The places of a table, half of which are always open; no live data.
struct CityWorld: CircumstanceWorld {
    let table: PlaceTable

    func places(latitude: Double, longitude: Double, radius: Double, into places: inout [NearbyPlace]) {
        table.near(latitude: latitude, longitude: longitude, radius: radius) { hit in
            places.append(NearbyPlace(place: hit.handle, distance: hit.distance))
        }
    }

    func threshold(of place: UInt32, distance: Double, accuracy: Double?) -> ThresholdLevel { .low }

    func facts(of place: UInt32) -> PlaceFacts {
        PlaceFacts(id: table.id(place), chainID: table.chainID(place), categoryIDs: table.categoryIDs(place))
    }

    func place(withID id: String) -> UInt32? { table.handle(of: id) }

    func isKnown(_ key: IdentityKey, _ id: String) -> Bool { true }

    func extent(of place: UInt32) -> PlaceExtent {
        let point = table.point(of: place)
        return PlaceExtent(latitude: point.latitude, longitude: point.longitude)
    }

    func opening(of place: UInt32, at instant: Int64) -> Opening {
        Opening(isOpen: table.scheduleNumber(of: place) == nil ? .unknown : .true, until: .max)
    }

    func hasOpeningHours(_ place: UInt32) -> Bool { table.scheduleNumber(of: place) != nil }

    func clock(of place: UInt32?, at instant: Int64) -> LocalClock {
        let minute = instant / 60_000
        return LocalClock(
            dayOfWeek: Int((minute / 1440 + 3) % 7) + 1, minuteOfDay: Int(minute % 1440), millisecond: instant % 60_000)
    }

    func live(device: UInt32, domain: String, property: String) -> LiveRule.Value? { nil }
}
