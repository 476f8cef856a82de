import Circumstances
import Geodesy

/// The rules of circumstances once more, without any index, memory or timer: everything is evaluated at every step.
struct NaiveCircumstances {
    struct Device {
        var owner: String?
        var groups: [String] = []
        var id: String
        var fix: Fix?
        var isMoving: Bool?
        var heardAt: Int64 = 0
        var stay: Fix?
        /// The least time from a fix of the stay to when it was heard.
        var delay: Int64 = 0
        var visits: [Visit] = []
    }

    struct Visit {
        var placeID: String
        var since: Int64
        var end: Int64?
    }

    struct Rule {
        var rule: CircumstanceRule
        var isEnabled: Bool
        /// Last definite value by device.
        var held: Set<UInt32> = []
        /// Devices that were evaluated while it was watched.
        var seen: Set<UInt32> = []
        var isSilent: Bool
    }

    struct Fired: Hashable, Comparable, CustomStringConvertible {
        var device: UInt32
        var circumstance: UInt32
        var description: String { "\(circumstance)@\(device)" }
        static func < (left: Fired, right: Fired) -> Bool {
            (left.device, left.circumstance) < (right.device, right.circumstance)
        }
    }

    var world: TownWorld
    var devices: [UInt32: Device] = [:]
    var rules: [UInt32: Rule] = [:]

    mutating func move(_ number: UInt32, to fix: Fix, at instant: Int64) {
        guard var device = devices[number] else { return }
        if let speed = fix.speed {
            device.isMoving = speed >= 1
        } else if let last = device.fix {
            if fix.timestamp > last.timestamp {
                let beyond = metres(last, fix) - (last.accuracy ?? 0) - (fix.accuracy ?? 0)
                device.isMoving = beyond >= Double(fix.timestamp - last.timestamp) / 1000
            }
        } else {
            device.isMoving = nil
        }
        let delay = instant - fix.timestamp
        if let stay = device.stay, device.fix != nil, metres(stay, fix) <= 50 {
            device.delay = min(device.delay, delay)
        } else {
            (device.stay, device.delay) = (fix, delay)
        }
        device.heardAt = instant
        let last = device.fix
        device.fix = fix
        follow(&device, lastThere: last?.timestamp ?? fix.timestamp)
        devices[number] = device
    }

    mutating func clear(_ number: UInt32) {
        guard var device = devices[number], let fix = device.fix else { return }
        for index in device.visits.indices where device.visits[index].end == nil { device.visits[index].end = fix.timestamp }
        device.fix = nil
        device.stay = nil
        device.isMoving = nil
        devices[number] = device
        for rule in rules.keys { rules[rule]?.seen.remove(number) }
    }

    /// Visits as the world is now.
    mutating func followAll() {
        for number in devices.keys {
            guard var device = devices[number], let fix = device.fix else { continue }
            follow(&device, lastThere: fix.timestamp)
            devices[number] = device
        }
    }

    private func follow(_ device: inout Device, lastThere: Int64) {
        guard let fix = device.fix else { return }
        let reach = PlaceReach.at(accuracy: fix.accuracy)
        for index in device.visits.indices where device.visits[index].end == nil {
            let place = world.place(withID: device.visits[index].placeID).flatMap { world.places[$0] }
            if let place, world.distance(place, fix.latitude, fix.longitude) <= reach + 10 { continue }
            device.visits[index].end = lastThere
        }
        // An expression of the run asks for visits to all places.
        for place in world.places.values where world.distance(place, fix.latitude, fix.longitude) <= reach {
            guard !device.visits.contains(where: { $0.placeID == place.id && $0.end == nil }) else { continue }
            device.visits.append(Visit(placeID: place.id, since: fix.timestamp))
        }
    }

    func metres(_ left: Fix, _ right: Fix) -> Double {
        Geodesic.distance(
            fromLatitude: left.latitude, fromLongitude: left.longitude, toLatitude: right.latitude, toLongitude: right.longitude)
    }

    /// Evaluates all; what fires.
    mutating func step(at instant: Int64) -> Set<Fired> {
        var fired: Set<Fired> = []
        for number in rules.keys {
            guard var rule = rules[number], rule.isEnabled, let trigger = rule.rule.trigger else { continue }
            for (device, state) in devices {
                let isFirst = state.fix != nil && rule.seen.insert(device).inserted
                guard isInScope(rule.rule, state) else {
                    rule.held.remove(device)
                    continue
                }
                guard state.fix != nil else { continue }
                let wasHeld = rule.held.contains(device)
                guard let value = value(rule.rule, device, at: instant, wasHeld: wasHeld, isFirst: isFirst), value != wasHeld
                else {
                    continue
                }
                if value { rule.held.insert(device) } else { rule.held.remove(device) }
                if value == (trigger == .arriving), !(isFirst && rule.isSilent) {
                    fired.insert(Fired(device: device, circumstance: number))
                }
            }
            rules[number] = rule
        }
        for number in rules.keys { rules[number]?.isSilent = false }
        return fired
    }

    func isInScope(_ rule: CircumstanceRule, _ device: Device) -> Bool {
        (device.owner == nil || device.owner == rule.owner)
            && (rule.devices.isEmpty || rule.devices.contains(device.id) || rule.devices.contains { device.groups.contains($0) })
    }
}

// MARK: - Values

extension NaiveCircumstances {
    struct Context {
        var device: UInt32
        var instant: Int64
        var nearRadius: Double
        var positive: Double
        var negative: Double
    }

    func value(_ rule: CircumstanceRule, _ device: UInt32, at instant: Int64, wasHeld: Bool, isFirst: Bool) -> Bool? {
        value(
            rule.expression.condition,
            Context(
                device: device, instant: instant, nearRadius: rule.nearRadius, positive: wasHeld ? rule.exitMargin : 0,
                negative: wasHeld || isFirst ? 0 : rule.exitMargin), true)
    }

    private func all(_ values: [Bool?]) -> Bool? { values.contains(false) ? false : values.contains(nil) ? nil : true }
    private func any(_ values: [Bool?]) -> Bool? { values.contains(true) ? true : values.contains(nil) ? nil : false }

    private func value(_ condition: Condition, _ context: Context, _ isPositive: Bool) -> Bool? {
        guard let device = devices[context.device] else { return nil }
        switch condition {
        case .always: return true
        case .and(let parts): return all(parts.map { value($0, context, isPositive) })
        case .or(let parts): return any(parts.map { value($0, context, isPositive) })
        case .not(let part): return value(part, context, !isPositive).map { !$0 }
        case .time(let rule): return holds(rule, world.clock(of: nil, at: context.instant))
        case .moving: return device.fix == nil ? nil : device.isMoving
        case .dwelling(let seconds):
            guard device.fix != nil, let stay = device.stay else { return nil }
            return context.instant - device.delay - stay.timestamp >= Int64(seconds) * 1000
        case .live(let rule):
            guard device.fix != nil,
                case .number(let left)? = world.live(
                    device: context.device, domain: rule.domain, property: rule.property, for: ""),
                case .number(let right) = rule.value
            else { return nil }
            switch rule.comparison {
            case .equal: return left == right
            case .less: return left < right
            case .greater: return left > right
            case .lessOrEqual: return left <= right
            case .greaterOrEqual: return left >= right
            }
        case .at(let rules), .near(let rules), .visited(let rules), .frequents(let rules, _, _):
            let value = placed(condition, rules, device, context, isPositive)
            return value == false && !rules.allSatisfy(isPossible) ? nil : value
        }
    }

    private func isPossible(_ rule: PlaceRule) -> Bool {
        switch rule {
        case .identity(let key, let ids): ids.contains { world.isKnown(key, $0) }
        case .and(let rules): rules.allSatisfy(isPossible)
        case .or(let rules): rules.contains(where: isPossible)
        default: true
        }
    }

    private func placed(
        _ condition: Condition, _ rules: [PlaceRule], _ device: Device, _ context: Context, _ isPositive: Bool
    ) -> Bool? {
        switch condition {
        case .at, .near:
            guard let fix = device.fix else { return nil }
            let isAt = if case .at = condition { true } else { false }
            let margin = isPositive ? context.positive : context.negative
            let reach = max(50, min(fix.accuracy ?? 0, 100), isAt ? 0 : context.nearRadius)
            return any(
                world.places.compactMap { number, place -> Bool?? in
                    let own = world.distance(place, fix.latitude, fix.longitude)
                    guard own - margin <= reach else { return nil }
                    // Of a place that may be nearer by the margin, any threshold on the way does.
                    let farthest = world.threshold(of: number, distance: min(own, reach), accuracy: fix.accuracy)
                    let nearest = world.threshold(of: number, distance: max(0, own - margin), accuracy: fix.accuracy)
                    let passed = margin > 0 ? ThresholdLevel.allCases.filter { farthest <= $0 && $0 <= nearest } : [nearest]
                    return .some(any(passed.map { level in all(rules.map { value($0, number, level, context) }) }))
                })
        case .visited:
            return any(
                device.visits.compactMap { visit -> Bool?? in
                    guard visit.end != nil, let place = world.place(withID: visit.placeID) else { return nil }
                    return .some(all(rules.map { value($0, place, .low, context) }))
                })
        case .frequents(_, let visits, let days):
            var sure = 0
            var possible = 0
            for visit in device.visits {
                guard let place = world.place(withID: visit.placeID) else { continue }
                if let end = visit.end, end < context.instant - Int64(days) * 86_400_000 { continue }
                switch all(rules.map { value($0, place, .low, context) }) {
                case true?: sure += 1
                case nil: possible += 1
                default: break
                }
            }
            return sure >= visits ? true : sure + possible >= visits ? nil : false
        default: return nil
        }
    }

    private func value(_ rule: PlaceRule, _ place: UInt32, _ level: ThresholdLevel, _ context: Context) -> Bool? {
        switch rule {
        case .always, .any: return true
        case .and(let rules): return all(rules.map { value($0, place, level, context) })
        case .or(let rules): return any(rules.map { value($0, place, level, context) })
        case .not(let rule): return value(rule, place, level, context).map { !$0 }
        case .isOpen: return world.opening(of: place, at: context.instant).isOpen.asBool
        case .hasOpenHours: return world.hasOpeningHours(place)
        case .threshold(let levels): return levels.contains(level)
        case .time(let rule): return holds(rule, world.clock(of: place, at: context.instant))
        case .identity(let key, let values):
            let facts = world.facts(of: place)
            switch key {
            case .place: return values.contains(facts.id)
            case .chain: return facts.chainID.map { values.contains($0) } ?? false
            case .exactCategory: return facts.categoryIDs.contains { values.contains($0) }
            case .category: return (facts.categoryIDs + facts.ancestorIDs).contains { values.contains($0) }
            }
        }
    }

    private func holds(_ rule: TimeRule, _ clock: LocalClock) -> Bool {
        let value = rule.key == .dayOfWeek ? clock.dayOfWeek : clock.minuteOfDay
        return rule.values.contains { other in
            switch rule.comparison {
            case .equal: value == other
            case .less: value < other
            case .greater: value > other
            case .lessOrEqual: value <= other
            case .greaterOrEqual: value >= other
            }
        }
    }
}
