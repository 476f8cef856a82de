import Geodesy
import Glibc
import SeededRandom
import Testing

@testable import Circumstances

/// One random history, fed to the engine and to its naive twin, compared after each input.
struct TwinRun {
    var random: SplitMix64
    var engine = CircumstanceEngine()
    var naive: NaiveCircumstances
    let world = TownWorld()
    /// 2026-03-02 is a Monday.
    var now: Int64 = 1_772_409_600_000
    var refs: [UInt32: CircumstanceRef] = [:]
    var nextRule: UInt32 = 0
    let centre: (latitude: Double, longitude: Double)
    let asksForVisits: Bool

    /// The rows as a store would have them.
    struct Rows {
        var held: [UInt32: Set<UInt32>] = [:]
        var visits: [UInt32: [String: VisitRow]] = [:]
        var stays: [UInt32: StayRow] = [:]
    }
    var rows = Rows()
    var difference: String?
    var fired = 0
    var firedByTime = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        engine.namersAtOnce = random.pick([0, 16])
        centre = random.pick([(43.7384, 7.4246), (-17.0, 179.9995), (78.2, 15.6), (88.7, 30.0)])
        asksForVisits = random.chance(50)
        naive = NaiveCircumstances(world: world)
        world.parents = ["cafe": "food", "bakery": "food"]
        world.offsets = [(.min, 60), (now + 3_600_000 * 30, 120)]
        for number in 0..<UInt32(10 + random.below(12)) { world.places[number] = randomPlace(number) }
        for device in 0..<UInt32(4) {
            let identity = self.identity(of: device)
            naive.devices[device] = .init(owner: identity.owner, groups: identity.groups, id: identity.id)
            engine.restoreDevice(device, identity)
        }
        // Where nobody asks for visits or motion, little else keeps a device from going far unseen.
        if asksForVisits {
            register(rule("(or (visited any-factual-place) (dwelling 2592000) (moving))"))
        } else {
            register(rule("(at any-factual-place)"))
        }
        for _ in 0..<8 { registerRandom() }
    }

    mutating func identity(of device: UInt32) -> DeviceIdentity {
        DeviceIdentity(id: "d\(device)", owner: random.pick([nil, "a", "b"]), groups: random.chance(30) ? ["g"] : [])
    }

    mutating func randomPosition() -> (latitude: Double, longitude: Double) {
        position(east: Double(random.below(6000)) / 10 - 300, north: Double(random.below(6000)) / 10 - 300)
    }

    func position(east: Double, north: Double, from: (latitude: Double, longitude: Double)? = nil) -> (Double, Double) {
        let from = from ?? centre
        let longitude = from.longitude + east / (111_320 * max(0.001, cosine(from.latitude)))
        return (
            from.latitude + north / 111_000, longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude
        )
    }

    func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }

    mutating func randomPlace(_ number: UInt32) -> TownWorld.Place {
        let position = randomPosition()
        var place = TownWorld.Place(
            id: RandomCondition.places[Int(number)], latitude: position.latitude, longitude: position.longitude)
        if random.chance(30) { place.radius = Double(5 + random.below(60)) }
        place.categories = random.chance(85) ? [random.pick(RandomCondition.categories)] : []
        place.chain = random.chance(50) ? random.pick(RandomCondition.chains) : nil
        place.hasHours = random.chance(75)
        if random.chance(85) {
            let start = random.below(1300)
            place.hours = [start..<(start + 1 + random.below(1439 - start))]
        }
        place.offset = random.pick([0, 60, -300])
        return place
    }

    func rule(_ text: String) -> CircumstanceRule {
        CircumstanceRule(try! CircumstanceExpression(text), trigger: .arriving, owner: "a")
    }

    mutating func randomRule() -> CircumstanceRule {
        var rule = rule(RandomCondition.text(&random, depth: 3, isPlain: !asksForVisits))
        rule.trigger = random.pick([.arriving, .departing, .arriving, .departing, nil])
        rule.owner = random.pick(["a", "b"])
        rule.devices = random.chance(20) ? random.pick([["g"], ["d1"], ["d2", "g"]]) : []
        rule.nearRadius = random.pick([10, 60, 100, 250, 400])
        rule.exitMargin = random.pick([0, 10, 10, 30])
        return rule
    }
}

// MARK: - Inputs

extension TwinRun {
    mutating func registerRandom() { register(randomRule()) }

    mutating func register(_ rule: CircumstanceRule, isEnabled: Bool = true) {
        var effects: [CircumstanceEffect] = []
        let ref = engine.register(rule, isEnabled: isEnabled, at: now, in: world, into: &effects)
        #expect(naive.rules[ref.index] == nil)
        refs[ref.index] = ref
        rows.held[ref.index] = []
        naive.rules[ref.index] = .init(rule: rule, isEnabled: isEnabled, isSilent: false)
        check(effects, "register \(rule.expression.text)")
    }

    mutating func act() {
        if random.chance(60) { pass() }
        let device = UInt32(random.below(4))
        switch random.below(100) {
        case 0..<62: move(device)
        case 62..<66: clear(device)
        case 66..<76: editPlace()
        case 76..<82: registerRandom()
        case 82..<86: replace()
        case 86..<91: enableOrDisable()
        case 91..<93: unregister()
        case 93..<95: changeLive(device)
        case 95..<97: changeIdentity(device)
        case 97: changeCategories()
        case 98: restart()
        default: ask(device)
        }
    }

    mutating func pass() {
        now += Int64(random.pick([1, 400, 20_000, 61_000, 600_000, 3_600_000, 20_000_000]))
        // What is late for the instant of its change is not seen by the twin either, but what is missed is.
        var effects: [CircumstanceEffect] = []
        advance(&effects)
        let count = fired
        check(effects, "time")
        firedByTime += fired - count
    }

    mutating func advance(_ effects: inout [CircumstanceEffect]) {
        var turns = 0
        while let due = engine.nextDue, due <= now {
            // Grids that are out of date need not be right for what follows.
            if engine.sweepRemaining == 0, engine.due.min?.due ?? .max > now, random.chance(50) { return }
            engine.advance(to: now, atMost: random.pick([1, 512]), in: world, into: &effects)
            turns += 1
            if turns > 100 {
                Issue.record("time does not advance")
                return
            }
        }
    }

    mutating func move(_ device: UInt32) {
        let at: (latitude: Double, longitude: Double)
        let last = naive.devices[device]?.fix
        if let last, random.chance(80) {
            let length = random.pick([0.0, 2, 5, 12, 30, 80])
            at = position(
                east: length * (Double(random.below(200)) / 100 - 1), north: length * (Double(random.below(200)) / 100 - 1),
                from: (last.latitude, last.longitude))
        } else {
            at = randomPosition()
        }
        let fix = Fix(
            latitude: at.latitude, longitude: at.longitude, accuracy: random.pick([nil, nil, 5, 5, 20, 60, 90, 300]),
            speed: random.chance(15) ? Double(random.below(3)) : nil,
            timestamp: max(last?.timestamp ?? 0, now - Int64(random.below(random.pick([500, 500, 500, 60_000, 4_000_000])))))
        var effects: [CircumstanceEffect] = []
        engine.move(device, to: fix, at: now, in: world, into: &effects)
        naive.move(device, to: fix, at: now)
        check(effects, "move \(device)")
    }

    mutating func clear(_ device: UInt32) {
        var effects: [CircumstanceEffect] = []
        engine.clear(device, into: &effects)
        naive.clear(device)
        rows.stays[device] = nil
        check(effects, "clear")
    }

    mutating func editPlace() {
        let number = UInt32(random.below(24))
        var effects: [CircumstanceEffect] = []
        if world.places[number] != nil { engine.placeWillChange(number, in: world) }
        if world.places[number] != nil && random.chance(30) {
            world.places[number] = nil
        } else {
            world.places[number] = randomPlace(number)
        }
        engine.placeDidChange(number, exists: world.places[number] != nil, at: now, in: world, into: &effects)
        advance(&effects)
        naive.followAll()
        check(effects, "place \(number)")
    }

    mutating func replace() {
        guard let number = refs.keys.sorted().dropFirst().randomElement(using: &random), let ref = refs[number] else { return }
        let rule = randomRule()
        var effects: [CircumstanceEffect] = []
        rows.held[number] = []
        let new = engine.register(rule, replacing: ref, at: now, in: world, into: &effects)
        #expect(new == ref)
        naive.rules[number] = .init(rule: rule, isEnabled: true, isSilent: false)
        check(effects, "replace \(rule.expression.text)")
    }

    mutating func enableOrDisable() {
        guard let number = refs.keys.sorted().dropFirst().randomElement(using: &random), let ref = refs[number],
            var rule = naive.rules[number]
        else { return }
        var effects: [CircumstanceEffect] = []
        rule.isEnabled.toggle()
        rule.held = []
        rule.seen = []
        rule.isSilent = true
        rows.held[number] = []
        naive.rules[number] = rule
        if rule.isEnabled {
            engine.enable(ref, at: now, in: world, into: &effects)
        } else {
            engine.disable(ref)
        }
        check(effects, rule.isEnabled ? "enable" : "disable")
    }

    mutating func unregister() {
        guard refs.count > 6, let number = refs.keys.sorted().dropFirst().randomElement(using: &random),
            let ref = refs.removeValue(forKey: number)
        else { return }
        engine.unregister(ref)
        naive.rules[number] = nil
        rows.held[number] = nil
    }

    mutating func changeLive(_ device: UInt32) {
        world.occupancy[device] = random.chance(20) ? nil : Double(random.below(5))
        var effects: [CircumstanceEffect] = []
        if engine.asksLive(device) { engine.review(device, at: now, in: world, into: &effects) }
        check(effects, "live")
    }

    mutating func changeIdentity(_ device: UInt32) {
        let identity = identity(of: device)
        naive.devices[device]?.owner = identity.owner
        naive.devices[device]?.groups = identity.groups
        var effects: [CircumstanceEffect] = []
        engine.setDevice(device, identity, at: now, in: world, into: &effects)
        check(effects, "identity")
    }

    mutating func changeCategories() {
        world.parents = random.pick([
            ["cafe": "food", "bakery": "food"], ["cafe": "museum"], ["bakery": "cafe", "cafe": "food"],
        ])
        engine.worldDidChange()
        var effects: [CircumstanceEffect] = []
        advance(&effects)
        check(effects, "categories")
    }

    /// Asking changes nothing and knows no margin.
    mutating func ask(_ device: UInt32) {
        for number in refs.keys.sorted() {
            guard let ref = refs[number], let rule = naive.rules[number]?.rule, let state = naive.devices[device] else {
                continue
            }
            let expected =
                naive.isInScope(rule, state)
                ? naive.value(rule, device, at: now, wasHeld: false, isFirst: true) : nil
            let answer = engine.evaluate(ref, for: device, at: now, in: world)
            #expect(answer.value == expected, "\(rule.expression.text)")
            let trace = engine.trace(ref, for: device, at: now, in: world)
            if naive.isInScope(rule, state) {
                #expect(trace.first?.expression == rule.expression.text && trace.first?.value == expected)
            }
        }
        check([], "ask")
    }
}

// MARK: - Comparing

extension TwinRun {
    mutating func check(_ effects: [CircumstanceEffect], _ what: String) {
        var seen: Set<NaiveCircumstances.Fired> = []
        for effect in effects {
            switch effect {
            case .held(let ref, let device, let value):
                if value {
                    #expect(rows.held[ref.index]?.insert(device).inserted == true)
                } else {
                    #expect(rows.held[ref.index]?.remove(device) != nil)
                }
            case .visit(let device, let row): rows.visits[device, default: [:]][row.placeID] = row
            case .visitForgotten(let device, let placeID): rows.visits[device]?[placeID] = nil
            case .stay(let device, let row): rows.stays[device] = row
            case .occurred(let occurrence):
                #expect(occurrence.timestamp == now)
                seen.insert(.init(device: occurrence.device, circumstance: occurrence.circumstance.index))
            }
        }
        let expected = naive.step(at: now)
        fired += expected.count
        let different = seen.symmetricDifference(expected).sorted()
        for pair in different { differ("\(seen.contains(pair) ? "reported" : "silent")", what, pair.circumstance, pair.device) }
        for (number, rule) in naive.rules where rule.isEnabled && rule.rule.trigger != nil {
            for device in (rows.held[number] ?? []).symmetricDifference(rule.held).sorted() {
                differ(rule.held.contains(device) ? "does not hold" : "holds", what, number, device)
            }
        }
    }

    /// Notes the first difference.
    private mutating func differ(_ how: String, _ what: String, _ number: UInt32, _ device: UInt32) {
        let rule = naive.rules[number]?.rule
        difference =
            difference
            ?? "\(how) after \(what): circumstance \(number) of device \(device) \(naive.devices[device]?.owner ?? "-"): "
            + "\(rule?.expression.text ?? "") \(rule?.trigger?.rawValue ?? "-") \(rule?.owner ?? "") \(rule?.devices ?? []) "
            + "\(rule?.nearRadius ?? 0) \(rule?.exitMargin ?? 0)"
    }

    /// A new engine from the rows.
    mutating func restart() {
        let namersAtOnce = engine.namersAtOnce
        engine = CircumstanceEngine()
        engine.namersAtOnce = namersAtOnce
        for (device, state) in naive.devices.sorted(by: { $0.key < $1.key }) {
            engine.restoreDevice(device, DeviceIdentity(id: state.id, owner: state.owner, groups: state.groups))
        }
        let rules = naive.rules
        var held: [UInt32: Set<UInt32>] = [:]
        refs = [:]
        naive.rules = [:]
        for number in rules.keys.sorted() {
            guard let rule = rules[number] else { continue }
            let ref = engine.restore(rule.rule, isEnabled: rule.isEnabled, in: world)
            refs[ref.index] = ref
            naive.rules[ref.index] = rule
            held[ref.index] = rows.held[number]
            for device in (rows.held[number] ?? []).sorted() { engine.restoreHeld(ref, device) }
        }
        rows.held = held
        for (device, visits) in rows.visits { for row in visits.values { engine.restoreVisit(row, of: device) } }
        for (device, state) in naive.devices {
            guard let fix = state.fix else { continue }
            engine.restore(device, at: fix, heardAt: state.heardAt, stay: rows.stays[device])
        }
        engine.resume(at: now)
        var effects: [CircumstanceEffect] = []
        advance(&effects)
        check(effects, "restart")
    }
}
