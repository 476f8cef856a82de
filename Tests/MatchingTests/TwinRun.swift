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
        /// Beside those of every run.
        var selectors: [String] = []

        var testDescription: String { name }
    }

    private let shape: Shape
    private var random: SplitMix64
    private let engine = Engine()
    private let twin = NaiveEngine()
    private var now: Int64 = 1_700_000_000_000
    private var devices: [DeviceRef] = []
    private(set) var meetings = 0
    private(set) var mismatches = 0
    private(set) var expiries = 0
    private let selectors: [Selector]

    init(_ shape: Shape, seed: UInt64) throws {
        self.shape = shape
        random = SplitMix64(seed: seed)
        selectors = try
            ([
                "", "k = 1", "k > 1", "k in (0, 2)", "name = 'a'", "absent = 3", "k = 1 or name = 'b'", "tags = any ('x', 'y')",
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
        guard engine.pairCount == 0, engine.publicationCount == 0, engine.subscriptionCount == 0, engine.deviceCount == 0 else {
            return "something is left after everything was removed"
        }
        return engine.nextDeadline == nil ? nil : "a deadline is left after everything was removed"
    }

    private mutating func step() -> String? {
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
        case ..<97: return updateSubscription()
        default: return replaceDevice()
        }
    }

    // MARK: Inputs

    private mutating func moveOne() -> String? {
        let device = devices.randomElement(using: &random)!
        guard let position = newPosition(of: device) else { return nil }
        var effects: [Effect] = []
        engine.move(device, to: position, at: now, into: &effects)
        let expected = twin.move(device, to: position, at: now)
        return compare("move", effects, expected)
    }

    private mutating func moveMany() -> String? {
        var moves: [Move] = []
        var expected: [Effect] = []
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            let device = devices.randomElement(using: &random)!
            guard let position = newPosition(of: device) else { continue }
            moves.append(Move(device: device, position: position))
            expected += twin.move(device, to: position, at: now)
        }
        var effects: [Effect] = []
        engine.move(moves, at: now, into: &effects)
        return compare("moves", effects, expected)
    }

    private mutating func moveNowhere() -> String? {
        let device = devices.randomElement(using: &random)!
        var effects: [Effect] = []
        engine.move(device, to: nil, at: now, into: &effects)
        return compare("nowhere", effects, twin.move(device, to: nil, at: now))
    }

    private mutating func advance() -> String? {
        let deadline = engine.nextDeadline
        if let deadline, deadline <= now { return "a deadline was not handled: \(deadline)" }
        if let expiry = twin.nextExpiry(), deadline ?? .max > expiry { return "the next deadline is later than an expiry" }
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
        guard !twin.isAmbiguous(device, range: publication.range, topic: publication.topic, dtl: nil) else { return nil }
        var effects: [Effect] = []
        let ref = engine.addPublication(
            on: device, topic: publication.topic, range: publication.range, expiresAt: publication.expiresAt,
            properties: publication.properties, at: now, into: &effects)
        return compare("add publication", effects, twin.add(ref, publication, at: now))
    }

    private mutating func addSubscription() -> String? {
        let device = devices.randomElement(using: &random)!
        let s = newSubscription(device)
        guard !twin.isAmbiguous(device, range: s.range, topic: s.topic, dtl: s.matchDTL) else { return nil }
        var effects: [Effect] = []
        let ref = engine.addSubscription(
            on: device, topic: s.topic, range: s.range, expiresAt: s.expiresAt, selector: s.selector,
            terms: Terms(matchTTL: s.matchTTL, matchDTL: s.matchDTL, excludesSelf: s.excludeSelf), at: now, into: &effects)
        return compare("add subscription", effects, twin.add(ref, s, at: now))
    }

    private mutating func updatePublication() -> String? {
        guard let index = twin.publications.keys.sorted().randomElement(using: &random) else { return nil }
        let ref = PublicationRef(index: index)
        let former = twin.publications[index]!
        var next = newPublication(former.device)
        if Bool.random(using: &random) { next.topic = former.topic }
        if Bool.random(using: &random) { next.range = former.range }
        guard !twin.isAmbiguous(former.device, range: next.range, topic: next.topic, dtl: nil) else { return nil }
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
        guard !twin.isAmbiguous(former.device, range: next.range, topic: next.topic, dtl: next.matchDTL, subscription: index)
        else {
            return nil
        }
        var effects: [Effect] = []
        engine.update(
            ref, topic: next.topic, range: next.range, expiresAt: next.expiresAt, selector: next.selector,
            terms: Terms(matchTTL: next.matchTTL, matchDTL: next.matchDTL, excludesSelf: next.excludeSelf), at: now,
            into: &effects)
        return compare("update subscription", effects, twin.add(ref, next, at: now))
    }

    private mutating func removeEntry() -> String? {
        if Bool.random(using: &random), let index = twin.publications.keys.sorted().randomElement(using: &random) {
            var effects: [Effect] = []
            engine.removePublication(PublicationRef(index: index), at: now, into: &effects)
            twin.remove(PublicationRef(index: index))
        } else if let index = twin.subscriptions.keys.sorted().randomElement(using: &random) {
            var effects: [Effect] = []
            engine.removeSubscription(SubscriptionRef(index: index), at: now, into: &effects)
            twin.remove(SubscriptionRef(index: index))
        }
        return nil
    }

    private mutating func replaceDevice() -> String? {
        let place = Int.random(in: devices.indices, using: &random)
        var effects: [Effect] = []
        let gone = engine.removeDevice(devices[place], at: now, into: &effects)
        let expected = twin.remove(devices[place])
        guard gone.publications == expected.publications, gone.subscriptions == expected.subscriptions else {
            return "removing a device named others: \(gone), expected \(expected)"
        }
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
            selector: selectors.randomElement(using: &random)!,
            matchTTL: [0, 1, 5_000, 30_000, 1_000_000, .max].randomElement(using: &random)!,
            matchDTL: [0.05, 10, 150, 2_000, 30_000, 1e9].randomElement(using: &random)!, excludeSelf: .random(using: &random))
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
        return Position(latitude: latitude, longitude: longitude, altitude: altitude, horizontalAccuracy: nil)
    }

    // MARK: Comparison

    private mutating func compare(_ what: String, _ got: [Effect], _ expected: [Effect]) -> String? {
        for effect in expected {
            switch effect {
            case .met: meetings += 1
            case .mismatch: mismatches += 1
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
        guard engine.pairCount == twin.last.count else {
            return "\(engine.pairCount) pairs remembered, expected \(twin.last.count)"
        }
        let device = devices.randomElement(using: &random)!
        guard engine.position(of: device) == (twin.positions[device] ?? nil) else { return "another position" }
        guard let (key, expected) = twin.last.min(by: { $0.key < $1.key }) else { return nil }
        let found = engine.suppression(
            of: SubscriptionRef(index: key.subscription), PublicationRef(index: key.publication))
        guard let found, found.lastMatchAt == expected.lastMatchAt,
            twin.distance(found.publicationPosition, expected.publicationPosition) < 0.004,
            twin.distance(found.subscriptionPosition, expected.subscriptionPosition) < 0.004
        else { return "another suppression: \(String(describing: found)), expected \(expected)" }
        return nil
    }
}
