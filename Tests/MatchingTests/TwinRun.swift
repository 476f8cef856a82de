import Geodesy
import Matching
import SeededRandom
import Selectors
import Testing

/// One random run of the engine beside its naive twin.
struct TwinRun {
    /// What the world of a run looks like.
    struct Shape: Sendable, CustomTestStringConvertible {
        var name: String
        var devices = 30
        var topics = 3
        var ranges: [ClosedRange<Double>] = [1...20, 50...300, 1000...5000]
        /// Where devices start, and how wide they are spread (metres).
        var centre = (latitude: 47.3, longitude: 8.5)
        var spread = 3000.0
        var steps: [Double] = [0.5, 20, 300, 6000]
        /// Publications and subscriptions to begin with.
        var entries = 20
        var weightOfEntries = 3
        /// Out of a hundred steps, how many are taken: the twin is slow where much lies together.
        var share = 100
        /// Beside those of every run.
        var selectors: [String] = []
        var limits = EngineLimits()
        /// Out of a hundred subscriptions, how many are of mode visit, and how many count accuracy or floor.
        var visits = 40
        var accuracyAware = 30
        /// The first so many devices are beacons: they stand nowhere, and the others see some of them.
        var beacons = 0

        var testDescription: String { name }
    }

    private let shape: Shape
    private var random: SplitMix64
    private var engine: Engine
    private var twin: NaiveEngine
    private var now: Int64 = 1_700_000_000_000
    private var devices: [DeviceRef] = []
    private(set) var meetings = 0
    private(set) var mismatches = 0
    private(set) var expiries = 0
    private(set) var begins = 0
    private(set) var ends = 0
    private(set) var crowds = 0
    private let selectors: [Selector]

    init(_ shape: Shape, seed: UInt64) throws {
        self.shape = shape
        engine = Engine(limits: shape.limits)
        twin = NaiveEngine(limits: shape.limits)
        random = SplitMix64(seed: seed)
        selectors = try
            ([
                "", "k = 1", "k > 1", "k in (0, 2)", "name = 'a'", "absent = 3", "k = 1 or name = 'b'", "name = any ('x', 'b')",
            ] + shape.selectors).map { try Selector($0) }
    }

    /// - Returns: What went wrong first, or nil.
    mutating func run(steps: Int) -> String? {
        for _ in 0..<shape.devices {
            devices.append(engine.addDevice())
            twin.positions[devices.last!] = .some(nil)
        }
        for _ in 0..<shape.entries {
            if let wrong = Bool.random(using: &random) ? addPublication() : addSubscription() { return wrong }
        }
        for step in 0..<steps {
            if let wrong = self.step() { return "step \(step): \(wrong)" }
            if let wrong = checkState() { return "after step \(step): \(wrong)" }
        }
        var effects: [Effect] = []
        for device in devices { _ = engine.removeDevice(device, at: now, into: &effects) }
        for effect in effects {
            if case .visitEnded = effect { continue }
            return "removing everything led to \(effect)"
        }
        guard engine.pairCount == 0, engine.publicationCount == 0, engine.subscriptionCount == 0, engine.deviceCount == 0 else {
            return "something is left after everything was removed"
        }
        return engine.nextDeadline == nil ? nil : "a deadline is left after everything was removed"
    }

    private mutating func step() -> String? {
        if shape.beacons > 0, Int.random(in: 0..<100, using: &random) < 50 {
            return Int.random(in: 0..<10, using: &random) == 0 ? loseSighting() : see()
        }
        let pick = Int.random(in: 0..<100, using: &random)
        switch pick {
        case ..<48: return moveOne()
        case ..<62: return moveMany()
        case ..<66: return moveNowhere()
        case ..<74: return advance()
        case ..<78: return addPublication()
        case ..<82: return addSubscription()
        case ..<85: return removeEntry()
        case ..<91: return updatePublication()
        case ..<96: return updateSubscription()
        case ..<97: return restart()
        default: return replaceDevice()
        }
    }

    // MARK: Inputs

    private mutating func see() -> String? {
        let beacon = devices[..<shape.beacons].randomElement(using: &random)!
        let observer = devices[shape.beacons...].randomElement(using: &random)!
        let known = twin.sightings[[beacon, observer]]
        let isFirst = Int.random(in: 0..<8, using: &random) == 0
        let distance = isFirst ? nil : Double.random(in: 0...shape.spread, using: &random)
        let seenAt = max(known?.seenAt ?? 0, now - Int64.random(in: 0...3_000, using: &random))
        if let distance, twin.isAmbiguous(beacon, observer, distance: distance) { return nil }
        var effects: [Effect] = []
        engine.see(beacon, by: observer, distance: distance, seenAt: seenAt, at: now, into: &effects)
        let sighting = BeaconSighting(distance: distance ?? .infinity, seenAt: seenAt)
        return compare("see", effects, twin.see(beacon, by: observer, sighting, at: now))
    }

    private mutating func loseSighting() -> String? {
        let beacon = devices[..<shape.beacons].randomElement(using: &random)!
        let observer = devices[shape.beacons...].randomElement(using: &random)!
        var effects: [Effect] = []
        engine.loseSighting(of: beacon, by: observer, at: now, into: &effects)
        guard engine.sighting(observer, beacon) == nil else { return "a sighting that was lost is known" }
        return compare("lose sighting", effects, twin.loseSighting(of: beacon, by: observer, at: now))
    }

    private mutating func moveOne() -> String? {
        let device = devices[shape.beacons...].randomElement(using: &random)!
        guard let position = newPosition(of: device) else { return nil }
        var effects: [Effect] = []
        let (floor, fixedAt) = (newFloor(), newFixTime())
        engine.move(device, to: position, floor: FloorRef(number: floor), fixedAt: fixedAt, at: now, into: &effects)
        let expected = twin.move(device, to: position, floor: floor, fixedAt: fixedAt, at: now)
        return compare("move", effects, expected)
    }

    private mutating func moveMany() -> String? {
        var moves: [Move] = []
        var expected: [Effect] = []
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            let device = devices[shape.beacons...].randomElement(using: &random)!
            guard let position = newPosition(of: device) else { continue }
            let (floor, fixedAt) = (newFloor(), newFixTime())
            moves.append(Move(device: device, position: position, floor: FloorRef(number: floor), fixedAt: fixedAt))
            expected += twin.move(device, to: position, floor: floor, fixedAt: fixedAt, at: now)
        }
        var effects: [Effect] = []
        engine.move(moves, at: now, into: &effects)
        return compare("moves", effects, expected)
    }

    private mutating func moveNowhere() -> String? {
        let device = devices[shape.beacons...].randomElement(using: &random)!
        var effects: [Effect] = []
        engine.move(device, to: nil, at: now, into: &effects)
        return compare("nowhere", effects, twin.move(device, to: nil, at: now))
    }

    private mutating func advance() -> String? {
        let deadline = engine.nextDeadline
        if let deadline, deadline <= now { return "a deadline was not handled: \(deadline)" }
        if let due = twin.nextDeadline(), deadline ?? .max > due { return "the next deadline is later than \(due)" }
        if let deadline, Bool.random(using: &random), deadline - now < 100_000 {
            now = deadline
        } else {
            now += Int64.random(in: 0...20_000, using: &random)
        }
        var effects: [Effect] = []
        while let deadline = engine.nextDeadline, deadline <= now { engine.advance(to: now, into: &effects) }
        return compare("advance", effects, twin.advance(to: now))
    }

    private mutating func addPublication() -> String? {
        let device = devices.randomElement(using: &random)!
        let publication = newPublication(device)
        guard !twin.isAmbiguous(publication) else { return nil }
        var effects: [Effect] = []
        let ref = engine.addPublication(
            on: device, topic: publication.topic, range: publication.range, expiresAt: publication.expiresAt,
            properties: publication.properties, at: now, into: &effects)
        return compare("add publication", effects, twin.add(ref, publication, at: now))
    }

    private mutating func addSubscription() -> String? {
        let device = devices.randomElement(using: &random)!
        let s = newSubscription(device)
        guard !twin.isAmbiguous(s) else { return nil }
        var effects: [Effect] = []
        let ref = engine.addSubscription(
            on: device, topic: s.topic, range: s.range, expiresAt: s.expiresAt, selector: s.selector,
            options: s.options, at: now, into: &effects)
        return compare("add subscription", effects, twin.add(ref, s, at: now))
    }

    private mutating func updatePublication() -> String? {
        guard let index = twin.publications.keys.sorted().randomElement(using: &random) else { return nil }
        let ref = PublicationRef(index: index)
        let former = twin.publications[index]!
        var next = newPublication(former.device)
        if Bool.random(using: &random) { next.topic = former.topic }
        if Bool.random(using: &random) { next.range = former.range }
        guard !twin.isAmbiguous(next) else { return nil }
        var effects: [Effect] = []
        engine.update(
            ref, topic: next.topic, range: next.range, expiresAt: next.expiresAt, properties: next.properties, at: now,
            into: &effects)
        return compare("update publication", effects, twin.add(ref, next, at: now))
    }

    private mutating func updateSubscription() -> String? {
        guard let index = twin.subscriptions.keys.sorted().randomElement(using: &random) else { return nil }
        let ref = SubscriptionRef(index: index)
        let former = twin.subscriptions[index]!
        var next = newSubscription(former.device)
        next.hintsLeft = former.hintsLeft
        if Bool.random(using: &random) { next.topic = former.topic }
        if Bool.random(using: &random) { next.range = former.range }
        guard !twin.isAmbiguous(next, as: index) else { return nil }
        var effects: [Effect] = []
        engine.update(
            ref, topic: next.topic, range: next.range, expiresAt: next.expiresAt, selector: next.selector,
            options: next.options, at: now,
            into: &effects)
        return compare("update subscription", effects, twin.add(ref, next, at: now))
    }

    private mutating func removeEntry() -> String? {
        var effects: [Effect] = []
        if Bool.random(using: &random), let index = twin.publications.keys.sorted().randomElement(using: &random) {
            let ref = PublicationRef(index: index)
            engine.removePublication(ref, at: now, into: &effects)
            return compare("remove publication", effects, twin.remove(ref, at: now))
        } else if let index = twin.subscriptions.keys.sorted().randomElement(using: &random) {
            let ref = SubscriptionRef(index: index)
            engine.removeSubscription(ref, at: now, into: &effects)
            return compare("remove subscription", effects, twin.remove(ref, at: now))
        }
        return nil
    }

    /// Another engine, and all that lasts restored into it: positions of most devices, entries, last matches, visits and stays.
    private mutating func restart() -> String? {
        let former = twin
        engine = Engine(limits: shape.limits)
        twin = NaiveEngine(limits: shape.limits)
        var effects: [Effect] = []
        let formerDevices = devices
        var names: [DeviceRef: DeviceRef] = [:]
        for place in devices.indices {
            let device = engine.addDevice()
            names[devices[place]] = device
            let position = Int.random(in: 0..<5, using: &random) > 0 ? former.positions[devices[place]] ?? nil : nil
            twin.positions[device] = .some(position)
            if let position, let heardAt = former.heard[devices[place]] {
                let floor = former.floors[devices[place]] ?? 0
                let fixedAt = former.fixedAt[devices[place]]
                engine.place(device, at: position, floor: FloorRef(number: floor), heardAt: heardAt, fixedAt: fixedAt)
                twin.heard[device] = heardAt
                twin.fixedAt[device] = fixedAt ?? heardAt
                twin.unexamined.insert(device)
                twin.floors[device] = floor
            }
            devices[place] = device
        }
        for (place, beacon) in devices[..<shape.beacons].enumerated() {
            for observer in devices[shape.beacons...] {
                let former = former.sightings[[formerDevices[place], formerDevices[devices.firstIndex(of: observer)!]]]
                guard let former, Int.random(in: 0..<5, using: &random) > 0 else { continue }
                engine.restoreSighting(of: beacon, by: observer, distance: former.distance, seenAt: former.seenAt)
                twin.sightings[[beacon, observer]] = former
            }
        }
        var publications: [UInt32: PublicationRef] = [:]
        for (index, entry) in former.publications.sorted(by: { $0.key < $1.key }) {
            var entry = entry
            entry.device = names[entry.device]!
            let ref = engine.addPublication(
                on: entry.device, topic: entry.topic, range: entry.range, expiresAt: entry.expiresAt,
                properties: entry.properties, at: now, evaluate: false, into: &effects)
            publications[index] = ref
            twin.publications[ref.index] = entry
        }
        var subscriptions: [UInt32: SubscriptionRef] = [:]
        for (index, entry) in former.subscriptions.sorted(by: { $0.key < $1.key }) {
            var entry = entry
            entry.device = names[entry.device]!
            entry.hintsLeft = 0
            let ref = engine.addSubscription(
                on: entry.device, topic: entry.topic, range: entry.range, expiresAt: entry.expiresAt, selector: entry.selector,
                options: entry.options, at: now, evaluate: false, into: &effects)
            subscriptions[index] = ref
            twin.subscriptions[ref.index] = entry
        }
        for (key, suppression) in former.last.sorted(by: { $0.key < $1.key }) {
            let (s, p) = (subscriptions[key.subscription]!, publications[key.publication]!)
            engine.restoreSuppression(s, p, suppression)
            twin.last[NaiveEngine.PairKey(subscription: s.index, publication: p.index)] = suppression
        }
        for (key, stay) in former.stays.sorted(by: { $0.key < $1.key }) where stay.phase != .silent {
            let (s, p) = (subscriptions[key.subscription]!, publications[key.publication]!)
            if stay.phase == .visiting {
                engine.restoreVisit(s, p, since: stay.since, at: now)
            } else {
                engine.restoreStay(s, p, since: stay.since, at: now)
            }
            twin.stays[NaiveEngine.PairKey(subscription: s.index, publication: p.index)] = stay
            for device in [twin.publications[p.index]!.device, twin.subscriptions[s.index]!.device] {
                if twin.heard[device] == nil { twin.heard[device] = now }
            }
        }
        guard effects.isEmpty else { return "restoring led to \(effects)" }
        engine.resume(at: now, into: &effects)
        if let wrong = compare("resume", effects, twin.resume(at: now)) { return wrong }
        // A TTL that was due while no engine ran.
        effects = []
        while let deadline = engine.nextDeadline, deadline <= now { engine.advance(to: now, into: &effects) }
        return compare("advance after a restart", effects, twin.advance(to: now))
    }

    private mutating func replaceDevice() -> String? {
        let place = Int.random(in: devices.indices, using: &random)
        var effects: [Effect] = []
        let gone = engine.removeDevice(devices[place], at: now, into: &effects)
        let expected = twin.remove(devices[place], at: now)
        guard gone.publications == expected.publications, gone.subscriptions == expected.subscriptions else {
            return "removing a device named others: \(gone), expected \(expected)"
        }
        if let wrong = compare("remove device", effects, expected.effects) { return wrong }
        devices[place] = engine.addDevice()
        twin.positions[devices[place]] = .some(nil)
        for _ in 0..<shape.weightOfEntries {
            if let wrong = Bool.random(using: &random) ? addPublication() : addSubscription() { return wrong }
        }
        return nil
    }

    // MARK: Random values

    private mutating func newPublication(_ device: DeviceRef) -> NaiveEngine.Publication {
        let k = Int64.random(in: 0...3, using: &random)
        let name = ["a", "b"].randomElement(using: &random)!
        let tags = ["x", "y", "z"].filter { _ in Bool.random(using: &random) }.map { PropertyValue.string($0) }
        return NaiveEngine.Publication(
            device: device, topic: newTopic(), range: newRange(), expiresAt: newExpiry(),
            properties: k == 3
                ? .none
                : Properties([
                    (name: "k", value: .integer(k)), (name: "name", value: .string(name)), (name: "tags", value: .array(tags)),
                    (name: "price", value: .double(Double.random(in: 0...100, using: &random))),
                ]))
    }

    private mutating func newSubscription(_ device: DeviceRef) -> NaiveEngine.Subscription {
        NaiveEngine.Subscription(
            device: device, topic: newTopic(), range: newRange(), expiresAt: newExpiry(),
            selector: selectors.randomElement(using: &random)!, options: newOptions())
    }

    private mutating func newOptions() -> MatchOptions {
        var options = MatchOptions(
            matchTTL: [0, 1, 5_000, 30_000, 1_000_000, .max].randomElement(using: &random)!,
            matchDTL: [0.05, 10, 150, 2_000, 30_000, 1e9].randomElement(using: &random)!, excludesSelf: .random(using: &random))
        if Int.random(in: 0..<100, using: &random) < shape.visits {
            options.mode = .visit
            options.exitMargin = [0, 1, 10, 300, 1e9].randomElement(using: &random)!
            options.dwell = [0, 0, 1, 5_000, 60_000].randomElement(using: &random)!
            options.staleAfter = [1, 8_000, 60_000, .max, .max, .max].randomElement(using: &random)!
        }
        guard Int.random(in: 0..<100, using: &random) < shape.accuracyAware else { return options }
        options.accuracy = [.centre, .possible, .certain, .likely].randomElement(using: &random)!
        options.sameFloor = options.accuracy == .centre || Int.random(in: 0..<3, using: &random) == 0
        return options
    }

    private mutating func newFloor() -> UInt32 { UInt32([0, 1, 1, 1, 1, 2].randomElement(using: &random)!) }

    /// When a device was where it is said to be: mostly now.
    private mutating func newFixTime() -> Int64? {
        Int.random(in: 0..<4, using: &random) == 0 ? now - Int64.random(in: 0...90_000, using: &random) : nil
    }

    private mutating func newTopic() -> String { "t\(Int.random(in: 0..<shape.topics, using: &random))" }

    private mutating func newRange() -> Double {
        let spread = shape.ranges.randomElement(using: &random)!
        return Double.random(in: spread, using: &random)
    }

    private mutating func newExpiry() -> Int64 {
        let far = Int.random(in: 0..<4, using: &random)
        return far == 0 ? now + Int64.random(in: 1...60_000, using: &random) : far == 1 ? now + 10_000_000 : .max
    }

    private mutating func newPosition(of device: DeviceRef) -> Position? {
        for _ in 0..<20 {
            let from: Position
            let metres: Double
            if let here = twin.positions[device] ?? nil, Int.random(in: 0..<10, using: &random) > 0 {
                from = here
                metres = shape.steps.randomElement(using: &random)!
            } else {
                from = Position(latitude: shape.centre.latitude, longitude: shape.centre.longitude)
                metres = shape.spread
            }
            let position = shifted(from, upTo: metres)
            if !twin.isAmbiguous(device, at: position) { return position }
        }
        return nil
    }

    /// Somewhere within so many metres, also across a pole or the antimeridian.
    private mutating func shifted(_ from: Position, upTo metres: Double) -> Position {
        let north = Double.random(in: -metres...metres, using: &random) / 111_000
        let east = Double.random(in: -metres...metres, using: &random) / 111_000
        var latitude = from.latitude + north
        var longitude =
            from.longitude + min(180, max(-180, east / max(1e-6, 1 - (abs(from.latitude) / 90) * (abs(from.latitude) / 90))))
        if latitude > 90 { (latitude, longitude) = (180 - latitude, longitude + 180) }
        if latitude < -90 { (latitude, longitude) = (-180 - latitude, longitude + 180) }
        longitude = longitude.remainder(dividingBy: 360)
        let altitude: Double? = Bool.random(using: &random) ? 400 : nil
        let accuracies: [Double?] = [nil, nil, 0, 0.3, 4, 25, 400, Double.random(in: 1...3000, using: &random), 80_000]
        return Position(
            latitude: latitude, longitude: longitude, altitude: altitude,
            horizontalAccuracy: accuracies.randomElement(using: &random)!)
    }

    // MARK: Comparison

    private mutating func compare(_ what: String, _ got: [Effect], _ expected: [Effect]) -> String? {
        for effect in expected {
            switch effect {
            case .met: meetings += 1
            case .mismatch: mismatches += 1
            case .stay: continue
            case .visitBegan: begins += 1
            case .visitEnded: ends += 1
            case .capacityExceeded: crowds += 1
            default: expiries += 1
            }
        }
        guard got != expected else { return nil }
        let place = zip(got, expected).prefix { $0 == $1 }.count
        func tail(_ effects: [Effect]) -> String {
            effects.dropFirst(place).prefix(2).map { "\($0)" }.joined(separator: "\n      ")
        }
        return """
            \(what) at \(now): \(got.count) effects, expected \(expected.count); from number \(place) on
              got \(tail(got))
              expected \(tail(expected))
            """
    }

    /// What can be asked of both is the same.
    private mutating func checkState() -> String? {
        guard engine.pairCount == twin.pairCount else {
            return "\(engine.pairCount) pairs remembered, expected \(twin.last.count) and \(twin.stays.count) of visits"
        }
        if let wrong = checkVisits() { return wrong }
        let device = devices.randomElement(using: &random)!
        guard engine.position(of: device) == (twin.positions[device] ?? nil) else { return "another position" }
        let floor = (twin.positions[device] ?? nil) == nil ? 0 : twin.floors[device] ?? 0
        guard engine.floor(of: device).number == floor else { return "another floor" }
        guard let (key, expected) = twin.last.min(by: { $0.key < $1.key }) else { return nil }
        let found = engine.suppression(
            of: SubscriptionRef(index: key.subscription), PublicationRef(index: key.publication))
        guard let found, found.lastMatchAt == expected.lastMatchAt,
            (found.publicationPosition == nil) == (expected.publicationPosition == nil),
            (found.subscriptionPosition == nil) == (expected.subscriptionPosition == nil),
            twin.moved(expected.publicationPosition, found.publicationPosition) < 0.004,
            twin.moved(expected.subscriptionPosition, found.subscriptionPosition) < 0.004
        else { return "another suppression: \(String(describing: found)), expected \(expected)" }
        return nil
    }

    private mutating func checkVisits() -> String? {
        guard let number = twin.subscriptions.keys.sorted().randomElement(using: &random) else { return nil }
        let expected = twin.stays.filter { $0.key.subscription == number && $0.value.phase == .visiting }
            .map { Visit(publication: PublicationRef(index: $0.key.publication), since: $0.value.since) }
            .sorted { $0.publication.index < $1.publication.index }
        let found = engine.visits(of: SubscriptionRef(index: number))
        return found == expected ? nil : "visits \(found), expected \(expected)"
    }
}
