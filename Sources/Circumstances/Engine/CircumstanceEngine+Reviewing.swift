// One device, looked at anew.

extension CircumstanceEngine {
    /// What can be relied on after a review.
    struct Assurance {
        var slack: Double
        var due = Int64.max

        mutating func take(_ outcome: Outcome) {
            slack = min(slack, outcome.slack)
            due = min(due, outcome.due)
        }
    }

    /// Evaluates what may have changed for a device: what it holds, what is near it, what needs no place.
    ///
    /// - Parameter isMove: The cause is a fix, so that a visit that is over ended with the fix before.
    func review(
        _ device: UInt32, isMove: Bool, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        latest = max(latest, instant)
        let index = Int(device)
        guard exists(device), tracks[index].isKnown else { return }
        reviews += 1
        var places = scratch
        scratch = []
        places.removeAll(keepingCapacity: true)
        let foresight =
            tracks[index].wasEvaluated
            ? min(max(2 * Double(tracks[index].safe), Self.foresight.lowerBound), Self.foresight.upperBound) : Self.firstForesight
        let radius = surroundings(of: tracks[index], foresight, in: world, into: &places)
        // What lies beyond the places that were looked for is at least so far from mattering.
        var assurance = Assurance(slack: radius == .infinity ? Self.safeMax : foresight)
        updateVisits(of: device, places, radius: radius, isMove: isMove, &assurance, in: world, into: &effects)
        var situation = situation(of: device, at: instant, radius: radius)
        swap(&situation.places, &places)
        let isFirst = !tracks[index].wasEvaluated
        tracks[index].hasAskedLive = false
        collectCandidates(for: device, situation.places, &assurance, in: world)
        // Evaluating wakes nobody else, so the list can be lent.
        let candidates = self.candidates
        if !candidates.isEmpty { situation.places.sortByDistance() }
        for watch in candidates {
            settle(watch, device, situation, isFirst: isFirst, &assurance, at: instant, in: world, into: &effects)
        }
        swap(&situation.places, &scratch)
        anchor(device, assurance)
    }

    /// The places a device's circumstances and visits can be about, in no order. Returns how far was looked, in metres; infinity where nothing is about
    /// places.
    private func surroundings(
        of track: DeviceTrack, _ foresight: Double, in world: some CircumstanceWorld, into places: inout [NearbyPlace]
    ) -> Double {
        let reach = PlaceReach.at(accuracy: track.sentAccuracy)
        var radius = uses.nearMax
        if let margin = uses.atMarginMax { radius = max(radius, reach + margin) }
        if !uses.visits.isEmpty || track.hasOpenVisits || isLongStay(track) {
            radius = max(radius, reach + PlaceReach.visitMargin)
        }
        // Nothing is about places.
        guard radius > 0 else { return .infinity }
        radius += foresight
        world.places(latitude: track.latitude, longitude: track.longitude, radius: radius, into: &places)
        return radius
    }

    func isLongStay(_ track: DeviceTrack) -> Bool {
        !track.isStayRecorded && track.since != .min && track.timestamp - track.since >= Self.stayMilliseconds
    }

    func situation(of device: UInt32, at instant: Int64, radius: Double) -> Situation {
        let track = tracks[Int(device)]
        return Situation(
            device: device, instant: instant, isKnown: track.isKnown, accuracy: track.sentAccuracy, radius: radius,
            isMoving: track.motion.isMoving, dwellingSince: track.since == .min ? nil : track.since, visits: histories[device])
    }

    /// Gathers the numbers of watches to evaluate, in order, and how far the device is from those left out.
    private func collectCandidates(
        for device: UInt32, _ places: [NearbyPlace], _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        let track = tracks[Int(device)]
        candidates.removeAll(keepingCapacity: true)
        candidates.append(contentsOf: track.held)
        if track.owner == 0 {
            for watches in unguarded.values { candidates.append(contentsOf: watches) }
        } else if let watches = unguarded[track.owner] {
            candidates.append(contentsOf: watches)
        }
        let reach = PlaceReach.at(accuracy: track.sentAccuracy)
        approach(places, reach, track.owner, &assurance, in: world)
        guard candidates.count > 1 else { return }
        candidates.sort()
        var kept = 0
        for position in 1..<candidates.count where candidates[position] != candidates[kept] {
            kept += 1
            candidates[kept] = candidates[position]
        }
        candidates.removeLast(candidates.count - kept - 1)
    }

    /// Only the nearest place of each predicate matters.
    private func approach(
        _ places: [NearbyPlace], _ reach: Double, _ owner: UInt32, _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        if nearest.count < memory.predicates.end {
            nearest.append(contentsOf: repeatElement(.infinity, count: memory.predicates.end - nearest.count))
        }
        memory.expect(places)
        touched.removeAll(keepingCapacity: true)
        for place in places {
            note(PredicateTable.any, place.distance)
            memory.forEachPredicate(of: place.place, in: world) { note($0, place.distance) }
        }
        for predicate in touched {
            approach(predicate, nearest[Int(predicate)], reach, owner, &assurance)
            nearest[Int(predicate)] = .infinity
        }
    }

    @inline(__always)
    private func note(_ predicate: UInt32, _ distance: Double) {
        guard distance < nearest[Int(predicate)] else { return }
        if nearest[Int(predicate)] == .infinity { touched.append(predicate) }
        nearest[Int(predicate)] = distance
    }

    private func approach(
        _ predicate: UInt32, _ distance: Double, _ reach: Double, _ owner: UInt32, _ assurance: inout Assurance
    ) {
        guard Int(predicate) < index.groups.count else { return }
        // Nobody's devices are seen by all, a client's only by its own circumstances.
        var position = owner == 0 ? 0 : GuardIndex.firstPosition(of: owner, in: index.groups[Int(predicate)])
        while position < index.groups[Int(predicate)].count {
            let groupOwner = index.groups[Int(predicate)][position].owner
            guard owner == 0 || groupOwner == owner else { return }
            let beyond = distance - (index.groups[Int(predicate)][position].radius ?? reach)
            if beyond > 0 {
                assurance.slack = min(assurance.slack, beyond)
            } else {
                candidates.append(contentsOf: index.groups[Int(predicate)][position].watches)
            }
            position += 1
        }
    }

    /// Remembers from where, how far and how long the evaluation holds.
    private func anchor(_ device: UInt32, _ assurance: Assurance) {
        let index = Int(device)
        tracks[index].anchorLatitude = Int32((tracks[index].latitude * DeviceTrack.anchorSteps).rounded())
        tracks[index].anchorLongitude = Int32((tracks[index].longitude * DeviceTrack.anchorSteps).rounded())
        tracks[index].longitudeScale = Float(QuickDistance.longitudeScale(latitude: tracks[index].latitude)).nextUp
        tracks[index].reach = Float(PlaceReach.at(accuracy: tracks[index].sentAccuracy))
        // Distances to places are right to 2 cm; the anchor, the scale and the reach are rounded.
        tracks[index].safe = Float(max(0, min(assurance.slack, Self.safeMax) * 0.9999 - 0.05))
        tracks[index].epoch = epoch
        tracks[index].wasEvaluated = true
        tracks[index].due = assurance.due
        if assurance.due < tracks[index].queued {
            heap.push(.init(due: assurance.due, device: device))
            tracks[index].queued = assurance.due
        }
        cells.place(device, latitude: tracks[index].latitude, longitude: tracks[index].longitude)
    }
}

// MARK: - One circumstance

extension CircumstanceEngine {
    private func settle(
        _ number: UInt32, _ device: UInt32, _ situation: Situation, isFirst: Bool, _ assurance: inout Assurance,
        at instant: Int64, in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        let index = Int(device)
        let position = tracks[index].held.firstPosition(of: number)
        let wasHeld = position.isFound
        guard let watch = watches[Int(number)] else {
            // It ended; its rows are gone already.
            if wasHeld { tracks[index].held.remove(at: position.index) }
            return
        }
        let circumstance = CircumstanceRef(index: watch.circumstance)
        guard isInScope(watch, device) else { return }
        let isFresh = isFirst || watch.epoch > tracks[index].epoch
        var evaluation = evaluation(of: watch, situation, wasHeld: wasHeld, isFresh: isFresh, in: world)
        var outcome = evaluation.outcome()
        evaluations += 1
        if let value = outcome.truth.asBool, value != wasHeld {
            if value {
                tracks[index].held.insert(number, at: position.index)
            } else {
                tracks[index].held.remove(at: position.index)
            }
            effects.append(.held(circumstance, device: device, value))
            // Its ranges are others now.
            evaluation = self.evaluation(of: watch, situation, wasHeld: value, isFresh: false, in: world)
            outcome = evaluation.outcome()
            evaluations += 1
            if (watch.trigger == .arriving) == value, !(watch.isSilent && isFresh && !isFirst) {
                effects.append(.occurred(occurrence(of: watch, device, &evaluation, at: instant)))
            }
        } else if isFresh {
            evaluation = self.evaluation(of: watch, situation, wasHeld: wasHeld, isFresh: false, in: world)
            outcome = evaluation.outcome()
        }
        assurance.take(outcome)
        if evaluation.hasAskedLive, !tracks[index].hasAskedLive {
            tracks[index].hasAskedLive = true
            liveDevices.insert(device)
        }
    }

    private func evaluation<World: CircumstanceWorld>(
        of watch: Watch, _ situation: Situation, wasHeld: Bool, isFresh: Bool, in world: World
    ) -> Evaluation<World> {
        Evaluation(
            world: world, memory: memory, situation: situation, program: watch.program, nearRadius: watch.nearRadius,
            positiveMargin: wasHeld ? watch.exitMargin : 0, negativeMargin: wasHeld || isFresh ? 0 : watch.exitMargin)
    }

    private func occurrence(
        of watch: Watch, _ device: UInt32, _ evaluation: inout Evaluation<some CircumstanceWorld>, at instant: Int64
    ) -> Occurrence {
        let places = evaluation.allPlaces()
        return Occurrence(
            circumstance: CircumstanceRef(index: watch.circumstance), device: device, trigger: watch.trigger, atPlaces: places.at,
            nearPlaces: places.near, fix: tracks[Int(device)].fix, timestamp: instant)
    }

    func isInScope(_ watch: Watch, _ device: UInt32) -> Bool {
        let owner = tracks[Int(device)].owner
        guard owner == 0 || owner == watch.owner else { return false }
        return watch.devices.isEmpty || identities[Int(device)].isAmong(watch.devices)
    }
}

extension DeviceIdentity {
    /// Whether the id or one of the groups is.
    func isAmong(_ names: Set<IdentityText>) -> Bool {
        names.contains(IdentityText(id)) || groups.contains { names.contains(IdentityText($0)) }
    }
}

extension Evaluation {
    static var atPlacesMax: Int { 10 }
    static var nearPlacesMax: Int { 20 }

    /// The places every `at` and every `near` is about, nearest first, each once.
    mutating func allPlaces() -> (at: [NearbyPlace], near: [NearbyPlace]) {
        (places(of: .at, atMost: Self.atPlacesMax), places(of: .near, atMost: Self.nearPlacesMax))
    }

    private mutating func places(of operation: Program.Operation, atMost limit: Int) -> [NearbyPlace] {
        var found: [NearbyPlace] = []
        for index in program.nodes.indices where program.nodes[index].operation == operation { found += places(index) }
        found.sortByDistance()
        var distinct: [NearbyPlace] = []
        for place in found where distinct.last?.place != place.place && distinct.count < limit { distinct.append(place) }
        return distinct
    }
}

extension [NearbyPlace] {
    /// Nearest first; of equally near ones the lower number first.
    mutating func sortByDistance() {
        sort { $0.distance == $1.distance ? $0.place < $1.place : $0.distance < $1.distance }
    }
}

extension [UInt32] {
    /// Where a number stands among sorted ones, or would stand.
    func firstPosition(of number: UInt32) -> (index: Int, isFound: Bool) {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return (low, low < count && self[low] == number)
    }
}
