import SeededRandom
import Testing

@testable import Circumstances

/// A town of named places and rules about them, in which devices go a few metres at a time.
private struct Walk {
    struct Rule {
        var ref: CircumstanceRef
        var place: UInt32
        /// Metres; nil for `at`.
        var nearRadius: Double?
        var exitMargin: Double
        var owner: String
        var trigger: CircumstanceRule.Trigger
    }

    var random: SplitMix64
    let engine = CircumstanceEngine()
    let world = TownWorld()
    var rules: [Rule] = []
    /// Metres east and north of the first place.
    var devices: [(owner: String?, east: Double, north: Double)] = [(nil, 0, 0), ("a", 0, 0)]
    var held: [Set<UInt32>] = [[], []]
    var now: Int64 = 1_772_409_600_000
    var effects: [CircumstanceEffect] = []

    init(seed: UInt64, rules count: Int) throws {
        random = SplitMix64(seed: seed)
        for number in 1...UInt32(25) {
            let at = Self.position(Double.random(in: -400...400, using: &random), Double.random(in: -400...400, using: &random))
            world.places[number] = TownWorld.Place(
                id: "p\(number)", latitude: at.latitude, longitude: at.longitude, categories: ["c"], chain: nil, hours: [],
                hasHours: false)
        }
        for (number, device) in devices.enumerated() {
            engine.restoreDevice(UInt32(number), DeviceIdentity(id: "d\(number)", owner: device.owner))
        }
        for _ in 0..<count { try register() }
    }

    static func position(_ east: Double, _ north: Double) -> (latitude: Double, longitude: Double) {
        (43.7384 + north / 111_110, 7.4246 + east / 80_543)
    }

    mutating func register() throws {
        let place = UInt32.random(in: 1...25, using: &random)
        let nearRadius = Bool.random(using: &random) ? nil : Double(Int.random(in: 10...300, using: &random))
        let exitMargin = Double([0, 5, 10, 40].randomElement(using: &random) ?? 10)
        let owner = Bool.random(using: &random) ? "a" : "b"
        let trigger: CircumstanceRule.Trigger = Bool.random(using: &random) ? .arriving : .departing
        let rule = CircumstanceRule(
            try CircumstanceExpression("(\(nearRadius == nil ? "at" : "near") (= factual-id \"p\(place)\"))"), trigger: trigger,
            owner: owner, nearRadius: nearRadius ?? 250, exitMargin: exitMargin)
        let ref = engine.register(rule, at: now, in: world, into: &effects)
        rules.append(
            Rule(ref: ref, place: place, nearRadius: nearRadius, exitMargin: exitMargin, owner: owner, trigger: trigger))
    }

    /// Goes at most so many metres each way; returns what fired.
    mutating func step(_ device: Int, _ length: Double) -> [CircumstanceEvent] {
        func next(_ value: Double) -> Double { min(450, max(-450, value + Double.random(in: -length...length, using: &random))) }
        devices[device].east = next(devices[device].east)
        devices[device].north = next(devices[device].north)
        let at = Self.position(devices[device].east, devices[device].north)
        now += 1000
        effects.removeAll()
        engine.move(
            UInt32(device), to: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: now), at: now,
            in: world, into: &effects)
        return effects.compactMap { if case .occurred(let occurrence) = $0 { occurrence } else { nil } }
    }

    /// What must fire now, by the distance of each rule's place.
    mutating func expected(_ device: Int) -> [CircumstanceEvent] {
        let at = Self.position(devices[device].east, devices[device].north)
        var fired: [CircumstanceEvent] = []
        for rule in rules where devices[device].owner.map({ $0 == rule.owner }) ?? true {
            guard let distance = world.distance(of: rule.place, latitude: at.latitude, longitude: at.longitude) else { continue }
            let isHeld = held[device].contains(rule.ref.index)
            let holds = distance <= max(50, rule.nearRadius ?? 0) + (isHeld ? rule.exitMargin : 0)
            guard holds != isHeld else { continue }
            if holds { held[device].insert(rule.ref.index) } else { held[device].remove(rule.ref.index) }
            guard holds == (rule.trigger == .arriving) else { continue }
            let places = holds ? [NearbyPlace(place: rule.place, distance: distance)] : []
            fired.append(
                CircumstanceEvent(
                    circumstance: rule.ref, device: UInt32(device), trigger: rule.trigger,
                    atPlaces: rule.nearRadius == nil ? places : [], nearPlaces: rule.nearRadius == nil ? [] : places,
                    fix: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: now), timestamp: now))
        }
        return fired
    }
}

@Suite("Circles that devices cross")
struct CrossingTests {
    @Test("Step by step fires exactly what the distances say, with the place", arguments: 0..<6)
    func walk(_ run: Int) throws {
        var walk = try Walk(seed: SplitMix64.seed() &+ UInt64(run), rules: 6 + 12 * run)
        var flips = 0
        for step in 0..<3000 {
            let device = step % 2
            let before = walk.held[device]
            let fired = walk.step(device, step % 50 == 0 ? 60 : 4)
            let expected = walk.expected(device)
            flips += before.symmetricDifference(walk.held[device]).count
            #expect(sorted(fired) == sorted(expected), "step \(step)")
            guard sorted(fired) == sorted(expected) else { return }
        }
        if run > 0 { #expect(flips > 0) }
        // Far from all circles it is not evaluated.
        #expect(walk.engine.reviews < 2400)
    }

    @Test("A circle of a circumstance that ended fires nothing of the one that has its number now")
    func numberGivenAway() throws {
        var town = EngineHarness()
        // Among so many devices only those near its place are looked at when a circumstance comes.
        town.engine.restoreDevice(3000, DeviceIdentity(id: "far"))
        let former = try town.register("(at (= factual-id \"museum\"))")
        town.move(930)
        town.engine.unregister(former)
        // All numbers are given out anew.
        for _ in 0..<1500 { town.engine.unregister(try town.register("(at (= factual-id \"elsewhere\"))")) }
        for _ in 0..<1500 { try town.register("(at (= factual-id \"elsewhere\"))") }
        town.move(980, after: 10)
        #expect(town.effects.isEmpty)
    }

    private func sorted(_ occurrences: [CircumstanceEvent]) -> [CircumstanceEvent] {
        occurrences.sorted { $0.circumstance.index < $1.circumstance.index }
    }
}
