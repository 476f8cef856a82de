import Circumstances
import Glibc
import Places
import Wire

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
    private let decoder = LiveUpdateDecoder()
    private var properties: [UInt8] = []

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
        let before = residentBytes()
        for device in positions.indices {
            let owner = Self.isOwnerless(UInt32(device)) ? nil : "client-\(device % Self.clients)"
            engine.restoreDevice(UInt32(device), DeviceIdentity(id: "d\(device)", owner: owner))
        }
        let elapsed = seconds {
            for device in order { move(device) }
        }
        report.add("first positions", Double(order.count) / elapsed, "1/s")
        // After three minutes a stay makes visits of the places around.
        now += 200_000
        let second = seconds {
            for device in order { move(device) }
        }
        report.add("stays that last", Double(order.count) / second, "1/s")
        report.add(
            "memory of a device", Double(residentBytes() - before) / Double(order.count), "B",
            note: "with the places its circumstances are about and its visits; \(residentBytes() >> 20) MiB in all")
    }

    /// How devices move from one fix to the next, ten seconds later.
    enum Gait: String, CaseIterable {
        /// Noise of up to 3 m.
        case still
        /// 10 m, straight on.
        case walking
        /// 140 m, straight on.
        case driving

        var step: Double {
            switch self {
            case .still: 3
            case .walking: 10
            case .driving: 140
            }
        }
    }

    /// What updates took, in nanoseconds.
    private struct Timing {
        var count = 0
        var sum = 0.0
        var mean: Double { sum / Double(max(1, count)) }

        mutating func add(_ time: Double, of updates: Int = 1) {
            count += updates
            sum += time
        }
    }

    /// Times updates from the payload on, a block of them in turn without circumstances, with them, and one by one.
    mutating func measure(_ gait: Gait, updates: Int, into report: inout Report) {
        let homes = positions
        // Who begins to walk leaves the places he stayed at; then each has gone another part of what is seen ahead.
        let phases = gait == .still ? 1 : Int(Self.farthestAhead / gait.step) + 1
        let rounds = gait == .still ? 0 : Self.firstSteps + phases - 1
        for round in 0..<rounds {
            for device in order where round < Self.firstSteps + Int(device / 10) % phases { go(device, gait, from: homes) }
        }
        for isOwned in [true, false] {
            let devices = order.filter { Self.isOwnerless($0) != isOwned }
            measure(
                gait, isOwned ? "a client's" : "nobody's", devices, updates: isOwned ? updates : updates / 4, homes, into: &report
            )
        }
    }

    private mutating func measure(
        _ gait: Gait, _ whose: String, _ devices: [UInt32], updates: Int, _ homes: [(latitude: Double, longitude: Double)],
        into report: inout Report
    ) {
        var (alone, all, timedAlone, flipping) = (Timing(), Timing(), Timing(), Timing())
        var flips = 0
        var timedFlips = 0
        var looks = 0
        for number in 0..<updates / Self.blockSize {
            let block = block(of: devices, gait, homes)
            effects.removeAll(keepingCapacity: true)
            switch number % 3 {
            case 0:
                alone.add(seconds { for update in block { _ = decode(update.payload) } } * 1e9, of: block.count)
                for update in block { receive(update) }
            case 1:
                let reviews = engine.reviews
                all.add(seconds { for update in block { receive(update) } } * 1e9, of: block.count)
                looks += engine.reviews - reviews
                flips += heldEffects
            default:
                for update in block {
                    effects.removeAll(keepingCapacity: true)
                    let begin = Self.clock()
                    _ = decode(update.payload)
                    let middle = Self.clock()
                    receive(update)
                    let end = Self.clock()
                    timedAlone.add(middle - begin)
                    // What takes a millisecond is the machine's.
                    if heldEffects > 0, end - middle < 1_000_000 {
                        flipping.add(end - middle - timedAlone.mean)
                        timedFlips += heldEffects
                    }
                }
            }
        }
        let share = Double(flips) / Double(max(1, all.count))
        let flip = flipping.sum / Double(max(1, timedFlips))
        report.add("\(gait), \(whose): an update without circumstances", alone.mean, "ns", note: "read from JSON")
        report.add(
            "\(gait), \(whose): more with them", all.mean - alone.mean, "ns",
            note: "\(figure(Double(looks) / Double(max(1, all.count)))) looks and \(figure(share)) flips each; "
                + "\(figure(all.mean - alone.mean - share * flip)) ns without the flips")
        report.add("\(gait), \(whose): a flip", flip, "ns", note: "\(timedFlips) of them")
    }

    private struct Update {
        var device: UInt32
        var payload: [UInt8]
    }

    private static let blockSize = 10_000

    /// Updates of random devices, a fix of each every ten seconds.
    private mutating func block(
        of devices: [UInt32], _ gait: Gait, _ homes: [(latitude: Double, longitude: Double)]
    ) -> [Update] {
        let start = now
        return (0..<Self.blockSize).map { number in
            let device = devices[Int.random(in: 0..<devices.count, using: &random)]
            advance(device, gait, from: homes)
            now = start + Int64(number) * 10_000 / Int64(devices.count)
            return Update(device: device, payload: Self.payload(positions[Int(device)], at: now))
        }
    }

    @inline(__always)
    private mutating func receive(_ update: Update) {
        engine.expect(update.device)
        if let read = decode(update.payload) { show(update.device, read) }
    }

    private var heldEffects: Int { effects.count { if case .held = $0 { true } else { false } } }

    /// A tenth of the devices is nobody's.
    private static func isOwnerless(_ device: UInt32) -> Bool { device % 10 == 0 }

    private static let firstSteps = 16
    /// Metres that a look may say a device can go.
    private static let farthestAhead = 500.0

    private mutating func advance(_ device: UInt32, _ gait: Gait, from homes: [(latitude: Double, longitude: Double)]) {
        let number = Int(device)
        // Who moves keeps the direction.
        let turn = gait == .still ? random.unit() * 2 * .pi : Double(device)
        let length = gait == .still ? gait.step * random.unit() : gait.step
        let from = gait == .still ? homes[number] : positions[number]
        positions[number] = (from.latitude + length * cos(turn) / 111_200, from.longitude + length * sin(turn) / 74_460)
    }

    private mutating func go(_ device: UInt32, _ gait: Gait, from homes: [(latitude: Double, longitude: Double)]) {
        effects.removeAll(keepingCapacity: true)
        advance(device, gait, from: homes)
        move(device)
    }

    private mutating func move(_ device: UInt32) {
        let at = positions[Int(device)]
        engine.move(
            device, to: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: now), at: now, in: world,
            into: &effects)
    }

    // MARK: An update as it comes

    private static func payload(_ at: (latitude: Double, longitude: Double), at timestamp: Int64) -> [UInt8] {
        Array(
            "{\"latitude\":\(at.latitude),\"longitude\":\(at.longitude),\"horizontalAccuracy\":5,\"timestamp\":\(timestamp)}".utf8
        )
    }

    @inline(never)
    private mutating func decode(_ payload: [UInt8]) -> LiveUpdate? {
        properties.removeAll(keepingCapacity: true)
        return try? decoder.decode(payload, domain: "position", properties: &properties)
    }

    @inline(never)
    private mutating func show(_ device: UInt32, _ update: LiveUpdate) {
        guard let position = update.position, let timestamp = update.timestamp else { return }
        let fix = Fix(
            latitude: position.latitude, longitude: position.longitude, accuracy: position.horizontalAccuracy,
            speed: update.speed, timestamp: timestamp)
        engine.move(device, to: fix, at: now, in: world, into: &effects)
    }

    private static func clock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
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

    func distance(of place: UInt32, latitude: Double, longitude: Double) -> Double? {
        table.hit(place, latitude: latitude, longitude: longitude)?.distance
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

    func live(device: UInt32, domain: String, property: String, for owner: String) -> LiveRule.Value? { nil }
}
