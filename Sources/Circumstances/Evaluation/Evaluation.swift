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
    /// What nothing that exists can match is unknown wherever it is; else it is false where the value of the whole rises with it.
    var isThorough: Bool
    /// Whether live data were asked for.
    private(set) var hasAskedLive = false
    var ruleDue = Int64.max

    init(
        world: any CircumstanceWorld, memory: PlaceMemory, situation: Situation, program: Program, nearRadius: Double,
        positiveMargin: Double = 0, negativeMargin: Double = 0, isThorough: Bool = false
    ) {
        self.world = world
        self.memory = memory
        self.situation = situation
        self.program = program
        self.nearRadius = nearRadius
        self.positiveMargin = positiveMargin
        self.negativeMargin = negativeMargin
        self.isThorough = isThorough
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
        case .at, .near: return possible(placed(index, node), index, node)
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

    /// Unknown rather than false where nothing exists that the rules could be true of.
    ///
    /// Where the value of the whole rises with the node, unknown instead of false can only make the whole unknown instead of false. That
    /// matters where the value is asked for, or where false would end what is held: what exists is looked up only there.
    private func possible(_ outcome: Outcome, _ index: Int, _ node: Program.Node) -> Outcome {
        guard outcome.truth == .false, isThorough || !node.isPositive, !areRulesPossible(index) else { return outcome }
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
        let value = world.live(device: situation.device, domain: rule.domain, property: rule.property, for: program.owner)
        return Outcome(truth: rule.truth(of: value))
    }

    /// The truth of a rule of time on a clock, up to the next minute that can change it.
    func timed(_ rule: TimeRule, _ clock: LocalClock) -> Outcome {
        let value = rule.key == .dayOfWeek ? clock.dayOfWeek : clock.minuteOfDay
        let minutes = rule.minutesToChange(from: clock.minuteOfDay)
        let (due, isNever) = (situation.instant - clock.millisecond).addingReportingOverflow(Int64(minutes) * 60_000)
        return Outcome(truth: rule.holds(value) ? .true : .false, due: min(isNever ? .max : due, clock.until))
    }
}

extension LiveRule {
    /// Unknown where there is no value, or one of another kind; what is known to be none is false.
    func truth(of found: Value?) -> Truth {
        switch (found, value) {
        case (.number(let left)?, .number(let right)): comparison.holds(left, right) ? .true : .false
        case (.text(let left)?, .text(let right)): left.utf8.elementsEqual(right.utf8) ? .true : .false
        case (.flag(let left)?, .flag(let right)): left == right ? .true : .false
        case (.nothing?, _): .false
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
