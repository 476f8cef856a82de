/// Evaluates one circumstance for one device.
///
/// The places that `at` and `near` know are those within reach. While a circumstance holds, its ranges are wider by the exit margin,
/// so that it does not end at the first fix that is off; those under a `not` are wider while it does not hold, for the same reason.
struct Evaluation {
    /// Not a type parameter: worlds are of other modules, for which generic code is not specialised, and a layout that is found out at run
    /// time costs more than the calls.
    let world: any CircumstanceWorld
    let memory: PlaceMemory
    let situation: Situation
    let program: Program
    let nearRadius: Double
    /// Added to what is positive, and to what is negative.
    let positiveMargin: Double
    let negativeMargin: Double
    /// Somebody asks for the value; else it is watched.
    let isAsked: Bool
    /// Whether live data were asked for.
    private(set) var hasAskedLive = false
    private var ruleDue = Int64.max

    init(
        world: any CircumstanceWorld, memory: PlaceMemory, situation: Situation, program: Program, nearRadius: Double,
        positiveMargin: Double = 0, negativeMargin: Double = 0, isAsked: Bool = false
    ) {
        self.world = world
        self.memory = memory
        self.situation = situation
        self.program = program
        self.nearRadius = nearRadius
        self.positiveMargin = positiveMargin
        self.negativeMargin = negativeMargin
        self.isAsked = isAsked
    }

    mutating func outcome() -> Outcome { outcome(0) }

    /// Of the node and all inside of it. The depth was bounded when the expression was read.
    mutating func outcome(_ index: Int) -> Outcome {
        let node = program.nodes[index]
        switch node.operation {
        case .always: return Outcome(truth: .true)
        case .and: return joined(index, node, decidedBy: .false)
        case .or: return joined(index, node, decidedBy: .true)
        case .not:
            var outcome = outcome(index + 1)
            outcome.truth = !outcome.truth
            return outcome
        case .at: return possible(placed(index, node, reach: PlaceReach.at(accuracy: situation.accuracy)), index, node)
        case .near: return possible(placed(index, node, reach: nearRadius), index, node)
        case .visited: return possible(visited(index, node), index, node)
        case .frequents: return possible(frequents(index, node), index, node)
        case .dwelling: return dwelling(Int64(node.operand) * 1000)
        case .moving: return Outcome(truth: situation.isKnown ? Truth(situation.isMoving) : .unknown)
        case .live: return live(program.lives[Int(node.operand)])
        case .time: return timed(program.times[Int(node.operand)], world.clock(of: nil, at: situation.instant))
        case .identity, .isOpen, .hasOpenHours, .threshold: return .unknown
        }
    }

    /// The first part that decides is enough to rely on; else all of them are.
    private mutating func joined(_ index: Int, _ node: Program.Node, decidedBy decisive: Truth) -> Outcome {
        var all = Outcome(truth: decisive == .false ? .true : .false)
        var part = index + 1
        while part < node.end {
            let outcome = outcome(part)
            if outcome.truth == decisive { return outcome }
            if outcome.truth == .unknown { all.truth = .unknown }
            all.relyOn(slack: outcome.slack, due: outcome.due)
            part = Int(program.nodes[part].end)
        }
        return all
    }

    /// Unknown rather than false where nothing exists that the rules could be true of: so `(not (at …))` of an id that is not known
    /// yet tells nothing. What is watched for being true keeps false, so that it ends with the last such place.
    private func possible(_ outcome: Outcome, _ index: Int, _ node: Program.Node) -> Outcome {
        guard outcome.truth == .false, isAsked || !node.isPositive, !areRulesPossible(index, node) else { return outcome }
        var outcome = outcome
        outcome.truth = .unknown
        return outcome
    }

    private func dwelling(_ milliseconds: Int64) -> Outcome {
        guard situation.isKnown, let since = situation.dwellingSince else { return .unknown }
        let (due, isNever) = since.addingReportingOverflow(milliseconds)
        if isNever { return Outcome(truth: .false) }
        return situation.instant >= due ? Outcome(truth: .true) : Outcome(truth: .false, due: due)
    }

    private mutating func live(_ rule: LiveRule) -> Outcome {
        hasAskedLive = true
        guard situation.isKnown else { return .unknown }
        return Outcome(truth: rule.truth(of: world.live(device: situation.device, domain: rule.domain, property: rule.property)))
    }

    /// The truth of a rule of time on a clock, up to the next minute that can change it.
    func timed(_ rule: TimeRule, _ clock: LocalClock) -> Outcome {
        let value = rule.key == .dayOfWeek ? clock.dayOfWeek : clock.minuteOfDay
        let minutes = rule.minutesToChange(from: clock.minuteOfDay)
        let (due, isNever) = (situation.instant - clock.millisecond).addingReportingOverflow(Int64(minutes) * 60_000)
        return Outcome(truth: rule.holds(value) ? .true : .false, due: min(isNever ? .max : due, clock.until))
    }
}

// MARK: - Places

extension Evaluation {
    func margin(_ node: Program.Node) -> Double { node.isPositive ? positiveMargin : negativeMargin }

    /// Whether one place within reach is such as the rules say.
    private mutating func placed(_ index: Int, _ node: Program.Node, reach: Double) -> Outcome {
        guard situation.isKnown else { return .unknown }
        let margin = margin(node)
        var outcome = Outcome(truth: .false, slack: situation.foresight)
        for place in situation.places {
            let beyond = place.distance - margin - reach
            if beyond > 0 {
                guard isPossible(index, node, place.place) else { continue }
                outcome.relyOn(slack: beyond, due: .max)
                break
            }
            ruleDue = .max
            let (truth, slack) = rules(index, node, place, reach: reach, margin: margin)
            if truth == .true { return Outcome(truth: .true, slack: min(-beyond, slack), due: ruleDue) }
            outcome.relyOn(slack: slack, due: ruleDue)
            if truth == .unknown {
                outcome.truth = .unknown
                outcome.relyOn(slack: -beyond, due: .max)
            }
        }
        return outcome
    }

    /// The truth of all rules of one place within reach, and how far it is from one where a threshold changes.
    ///
    /// With a margin the place may stand that much nearer: the rules are as true as at any threshold on the way. So a margin makes none
    /// less true than it is without, whatever threshold it asks for.
    private mutating func rules(
        _ index: Int, _ node: Program.Node, _ place: NearbyPlace, reach: Double, margin: Double
    ) -> (truth: Truth, slack: Double) {
        let levels = levels(index, node, place, reach: reach, margin: margin)
        var truth = Truth.false
        for level in ThresholdLevel.allCases where levels.passed.contains(level) && truth != .true {
            truth = max(truth, rules(index, node, place.place, level))
        }
        return (truth, levels.slack)
    }

    /// The thresholds that a place passes on its way of a margin, where a rule asks for them, and how far it is from others.
    private func levels(
        _ index: Int, _ node: Program.Node, _ place: NearbyPlace, reach: Double, margin: Double
    ) -> (passed: ClosedRange<ThresholdLevel>, slack: Double) {
        var isAsked = false
        for inner in index + 1..<Int(node.end) where program.nodes[inner].operation == .threshold { isAsked = true }
        guard isAsked else { return (.low ... .low, .infinity) }
        let nearest = level(of: place, at: place.distance - margin)
        guard margin > 0 else { return (nearest.threshold...nearest.threshold, nearest.slack) }
        let own = level(of: place, at: min(place.distance, reach))
        let slack = min(nearest.slack, slack(at: place.distance))
        return (min(own.threshold, nearest.threshold)...max(own.threshold, nearest.threshold), slack)
    }

    private func level(of place: NearbyPlace, at distance: Double) -> (threshold: ThresholdLevel, slack: Double) {
        let threshold = world.threshold(of: place.place, distance: max(0, distance), accuracy: situation.accuracy)
        return (threshold, slack(at: distance))
    }

    /// Metres to where a threshold may change.
    private func slack(at distance: Double) -> Double {
        let reach = PlaceReach.at(accuracy: situation.accuracy)
        return min(abs(distance), abs(distance - PlaceReach.high), abs(distance - reach))
    }

    /// The places of which the rules of an `at` or `near` are true, nearest first.
    mutating func places(_ index: Int) -> [NearbyPlace] {
        let node = program.nodes[index]
        guard situation.isKnown, node.operation == .at || node.operation == .near else { return [] }
        let reach = node.operation == .at ? PlaceReach.at(accuracy: situation.accuracy) : nearRadius
        let margin = margin(node)
        var found: [NearbyPlace] = []
        for place in situation.places where place.distance - margin - reach <= 0 {
            if rules(index, node, place, reach: reach, margin: margin).truth == .true { found.append(place) }
        }
        return found
    }

    /// The truth of one rule inside an `at` or `near`, over the places within its reach.
    mutating func ruleTruth(_ rule: Int, inside index: Int) -> Truth {
        let node = program.nodes[index]
        guard situation.isKnown else { return .unknown }
        if node.operation == .visited || node.operation == .frequents {
            var best = Truth.false
            for (place, visit) in visits {
                best = max(best, self.rule(rule, place, visit.level))
            }
            return best
        }
        let reach = node.operation == .at ? PlaceReach.at(accuracy: situation.accuracy) : nearRadius
        let margin = margin(node)
        var best = Truth.false
        for place in situation.places where place.distance - margin - reach <= 0 {
            for level in ThresholdLevel.allCases
            where levels(index, node, place, reach: reach, margin: margin).passed.contains(level) {
                best = max(best, self.rule(rule, place.place, level))
            }
        }
        return best
    }

    private mutating func rules(_ index: Int, _ node: Program.Node, _ place: UInt32, _ level: ThresholdLevel) -> Truth {
        var truth = Truth.true
        var part = index + 1
        while part < node.end {
            truth = min(truth, rule(part, place, level))
            if truth == .false { return .false }
            part = Int(program.nodes[part].end)
        }
        return truth
    }

    /// A rule's truth of one place. Lowers `ruleDue` to when time may change it.
    private mutating func rule(_ index: Int, _ place: UInt32, _ level: ThresholdLevel) -> Truth {
        let node = program.nodes[index]
        switch node.operation {
        case .always: return .true
        case .and: return rules(index, node, place, level)
        case .or:
            var truth = Truth.false
            var part = index + 1
            while part < node.end, truth != .true {
                truth = max(truth, rule(part, place, level))
                part = Int(program.nodes[part].end)
            }
            return truth
        case .not: return !rule(index + 1, place, level)
        case .identity: return isIdentity(node, place) ? .true : .false
        case .isOpen:
            let opening = memory.opening(of: place, at: situation.instant, in: world)
            ruleDue = min(ruleDue, opening.until)
            return opening.isOpen
        case .hasOpenHours: return world.hasOpeningHours(place) ? .true : .false
        case .threshold: return node.operand & 1 << Int32(level.rawValue) != 0 ? .true : .false
        case .time:
            let outcome = timed(program.times[Int(node.operand)], world.clock(of: place, at: situation.instant))
            ruleDue = min(ruleDue, outcome.due)
            return outcome.truth
        case .at, .near, .visited, .frequents, .dwelling, .moving, .live: return .unknown
        }
    }

    private func isIdentity(_ node: Program.Node, _ place: UInt32) -> Bool {
        for index in Int(node.operand)..<Int(node.operand + node.count)
        where memory.holds(program.predicates[index], of: place, in: world) { return true }
        return false
    }

    /// Whether the rules can be true of the place at some time and distance.
    private func isPossible(_ index: Int, _ node: Program.Node, _ place: UInt32) -> Bool {
        var part = index + 1
        while part < node.end {
            if possibility(part, place) == .false { return false }
            part = Int(program.nodes[part].end)
        }
        return true
    }

    /// A rule's truth of one place where all that time and distance change is unknown.
    private func possibility(_ index: Int, _ place: UInt32) -> Truth {
        let node = program.nodes[index]
        switch node.operation {
        case .always: return .true
        case .and, .or:
            var truth: Truth = node.operation == .and ? .true : .false
            var part = index + 1
            while part < node.end {
                let inner = possibility(part, place)
                truth = node.operation == .and ? min(truth, inner) : max(truth, inner)
                part = Int(program.nodes[part].end)
            }
            return truth
        case .not: return !possibility(index + 1, place)
        case .identity: return isIdentity(node, place) ? .true : .false
        case .hasOpenHours: return world.hasOpeningHours(place) ? .true : .false
        default: return .unknown
        }
    }
}

// MARK: - What does not exist

extension Evaluation {
    /// Whether the rules could be true of a place that exists somewhere.
    private func areRulesPossible(_ index: Int, _ node: Program.Node) -> Bool {
        program.parts(of: index).allSatisfy { isRulePossible($0) }
    }

    private func isRulePossible(_ index: Int) -> Bool {
        let node = program.nodes[index]
        switch node.operation {
        case .and: return areRulesPossible(index, node)
        case .or: return program.parts(of: index).contains { isRulePossible($0) }
        case .identity:
            // Each is asked for, so that each is awaited.
            let known = program.predicates[Int(node.operand)..<Int(node.operand + node.count)].filter {
                memory.isKnown($0, in: world)
            }
            return !known.isEmpty
        default: return true
        }
    }
}

// MARK: - Visits

extension Evaluation {
    /// The visits to places that still exist.
    private var visits: [(place: UInt32, visit: VisitRow)] {
        guard let history = situation.visits else { return [] }
        return zip(history.places, history.rows).compactMap { place, row in place.map { ($0, row) } }
    }

    /// Whether a visit to such a place has ended.
    private mutating func visited(_ index: Int, _ node: Program.Node) -> Outcome {
        var outcome = Outcome(truth: .false)
        for (place, visit) in visits where visit.count > 0 {
            ruleDue = .max
            let truth = rules(index, node, place, visit.level)
            if truth == .true { return Outcome(truth: .true, due: ruleDue) }
            if truth == .unknown { outcome.truth = .unknown }
            outcome.relyOn(slack: .infinity, due: ruleDue)
        }
        return outcome
    }

    /// At least so many visits whose last moment lies within so many days.
    private mutating func frequents(_ index: Int, _ node: Program.Node) -> Outcome {
        let wanted = Int(node.operand)
        let span = Int64(node.count) * 86_400_000
        var outcome = Outcome(truth: .false)
        var sure: [Int64] = []
        var possible: [Int64] = []
        for (place, visit) in visits {
            ruleDue = .max
            let truth = rules(index, node, place, visit.level)
            outcome.relyOn(slack: .infinity, due: ruleDue)
            guard truth != .false else { continue }
            // The visit of now ends at no time that is known.
            let ends = visit.ends.filter { $0 >= situation.instant - span } + (visit.openSince == nil ? [] : [.max])
            if truth == .true { sure.append(contentsOf: ends) } else { possible.append(contentsOf: ends) }
        }
        if sure.count >= wanted {
            sure.sort(by: >)
            outcome.truth = .true
            outcome.relyOn(slack: .infinity, due: Self.leaving(sure[wanted - 1], span))
        } else if sure.count + possible.count >= wanted {
            outcome.truth = .unknown
            for end in sure + possible { outcome.relyOn(slack: .infinity, due: Self.leaving(end, span)) }
        }
        return outcome
    }

    /// When a visit that ended then no longer counts.
    private static func leaving(_ end: Int64, _ span: Int64) -> Int64 {
        let (instant, isNever) = end.addingReportingOverflow(span + 1)
        return isNever ? .max : instant
    }
}

extension LiveRule {
    /// Unknown where there is no value, or one of another kind.
    func truth(of found: Value?) -> Truth {
        switch (found, value) {
        case (.number(let left)?, .number(let right)): comparison.holds(left, right) ? .true : .false
        case (.text(let left)?, .text(let right)): left.utf8.elementsEqual(right.utf8) ? .true : .false
        case (.flag(let left)?, .flag(let right)): left == right ? .true : .false
        default: .unknown
        }
    }
}

extension TimeRule {
    /// Minutes, at least 1, from this one to the next at which the value can differ on a clock that is not set.
    func minutesToChange(from minute: Int) -> Int {
        var next = 1440
        if key == .minuteOfDay {
            for value in values {
                if value > minute { next = min(next, value) }
                if value + 1 > minute { next = min(next, value + 1) }
            }
        }
        return next - minute
    }
}
