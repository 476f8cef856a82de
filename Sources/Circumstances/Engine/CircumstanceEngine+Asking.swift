// What is asked for, rather than reported.

extension CircumstanceEngine {
    /// The value of a circumstance for a device now, with its ranges as they are, without a margin. Changes nothing.
    ///
    /// Unknown for a device that is outside of its scope.
    public func evaluate(
        _ circumstance: CircumstanceRef, for device: UInt32, at instant: Int64, in world: some CircumstanceWorld
    ) -> CircumstanceAnswer {
        guard var evaluation = evaluation(of: circumstance, for: device, at: instant, in: world) else {
            return CircumstanceAnswer(value: nil, atPlaces: [], nearPlaces: [])
        }
        let value = evaluation.outcome().truth.asBool
        let places = evaluation.allPlaces()
        return CircumstanceAnswer(value: value, atPlaces: places.at, nearPlaces: places.near)
    }

    /// Each part of the expression and its value, the whole first. Empty where ``evaluate(_:for:at:in:)`` has no value to give.
    public func trace(
        _ circumstance: CircumstanceRef, for device: UInt32, at instant: Int64, in world: some CircumstanceWorld
    ) -> [TraceLine] {
        guard var evaluation = evaluation(of: circumstance, for: device, at: instant, in: world), let entry = entry(circumstance)
        else { return [] }
        var lines: [TraceLine] = []
        entry.rule.expression.condition.forEachPart { text, depth, place in
            let index = lines.count
            let truth = place.map { evaluation.ruleTruth(index, inside: $0) } ?? evaluation.outcome(index).truth
            lines.append(TraceLine(expression: text, value: truth.asBool, depth: depth))
        }
        return lines
    }

    /// Whether a circumstance may be about a device at all.
    public func isInScope(_ circumstance: CircumstanceRef, device: UInt32) -> Bool {
        guard let entry = entry(circumstance), exists(device) else { return false }
        let owner = tracks[Int(device)].owner
        guard owner == 0 || owner == entry.owner else { return false }
        return entry.devices.isEmpty || identities[Int(device)].isAmong(entry.devices)
    }

    private func evaluation(
        of circumstance: CircumstanceRef, for device: UInt32, at instant: Int64, in world: some CircumstanceWorld
    ) -> Evaluation? {
        guard let entry = entry(circumstance), isInScope(circumstance, device: device) else { return nil }
        let (isKnown, fix) = (tracks[Int(device)].isKnown, tracks[Int(device)].fix)
        histories[device]?.findPlaces(epoch: placeEpoch, in: world)
        var situation = situation(of: device, at: instant)
        situation.visits = histories[device]
        if isKnown {
            let reach = PlaceReach.at(accuracy: fix.accuracy)
            world.places(
                latitude: fix.latitude, longitude: fix.longitude,
                radius: PlaceReach.reach(nearRadius: entry.program.uses(.near) ? entry.rule.nearRadius : nil, at: reach),
                into: &situation.places)
            situation.places.sortByDistance()
        }
        return Evaluation(
            world: world, memory: memory, situation: situation, program: entry.program, nearRadius: entry.rule.nearRadius,
            isThorough: true)
    }
}

extension Condition {
    /// Calls `body` with the text of each part, its depth, and the number of the part that chooses the places it is about (nil for what
    /// is about the device), in the order of a ``Program``.
    func forEachPart(_ body: (_ text: String, _ depth: Int, _ place: Int?) -> Void) {
        var count = 0
        visit(0, &count, body)
    }

    private func visit(_ depth: Int, _ count: inout Int, _ body: (String, Int, Int?) -> Void) {
        let number = count
        count += 1
        body(text, depth, nil)
        switch self {
        case .and(let parts), .or(let parts): for part in parts { part.visit(depth + 1, &count, body) }
        case .not(let part): part.visit(depth + 1, &count, body)
        case .at(let rules), .near(let rules), .visited(let rules), .frequents(let rules, _, _):
            for rule in rules { rule.visit(depth + 1, number, &count, body) }
        case .always, .time, .dwelling, .moving, .live: break
        }
    }
}

extension PlaceRule {
    fileprivate func visit(_ depth: Int, _ place: Int, _ count: inout Int, _ body: (String, Int, Int?) -> Void) {
        count += 1
        body(text, depth, place)
        switch self {
        case .and(let rules), .or(let rules): for rule in rules { rule.visit(depth + 1, place, &count, body) }
        case .not(let rule): rule.visit(depth + 1, place, &count, body)
        default: break
        }
    }
}
