// What `at` and `near` are worth.

extension Evaluation {
    func margin(_ node: Program.Node) -> Double { node.isPositive ? positiveMargin : negativeMargin }

    /// Metres that an `at` or `near` reaches.
    private func reach(_ node: Program.Node) -> Double {
        PlaceReach.reach(nearRadius: node.operation == .at ? nil : nearRadius, at: PlaceReach.at(accuracy: situation.accuracy))
    }

    /// Whether one place within reach is such as the rules say.
    mutating func placed(_ index: Int, _ node: Program.Node) -> Outcome {
        guard situation.isKnown else { return .unknown }
        let (reach, margin) = (reach(node), margin(node))
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
    /// With a margin the place may be that much nearer: the rules are as true as at any threshold on the way. So a margin makes none
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
        let (reach, margin) = (reach(node), margin(node))
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
        let (reach, margin) = (reach(node), margin(node))
        var best = Truth.false
        for place in situation.places where place.distance - margin - reach <= 0 {
            for level in ThresholdLevel.allCases
            where levels(index, node, place, reach: reach, margin: margin).passed.contains(level) {
                best = max(best, self.rule(rule, place.place, level))
            }
        }
        return best
    }

    mutating func rules(_ index: Int, _ node: Program.Node, _ place: UInt32, _ level: ThresholdLevel) -> Truth {
        var truth = Truth.true
        var part = index + 1
        while part < node.end {
            truth = min(truth, rule(part, place, level))
            if truth == .false { return .false }
            part = Int(program.nodes[part].end)
        }
        return truth
    }

    /// All rules of an `at` or `near` that is the whole condition, for one place; none may ask for thresholds.
    mutating func rulesOutcome(of place: UInt32) -> Outcome {
        ruleDue = .max
        let truth = rules(0, program.nodes[0], place, .low)
        return Outcome(truth: truth, due: ruleDue)
    }

    /// A rule's truth of one place. Lowers `ruleDue` to when time may change it.
    mutating func rule(_ index: Int, _ place: UInt32, _ level: ThresholdLevel) -> Truth {
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
    func areRulesPossible(_ index: Int) -> Bool {
        program.parts(of: index).allSatisfy { isRulePossible($0) }
    }

    private func isRulePossible(_ index: Int) -> Bool {
        let node = program.nodes[index]
        switch node.operation {
        case .and: return areRulesPossible(index)
        case .or: return program.parts(of: index).contains { isRulePossible($0) }
        case .identity:
            let predicates = program.predicates[Int(node.operand)..<Int(node.operand + node.count)]
            if predicates.contains(where: { memory.isKnown($0, in: world) }) { return true }
            for predicate in predicates { memory.noteAwaited(predicate) }
            return false
        default: return true
        }
    }
}
