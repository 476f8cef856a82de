import Geodesy
import HeapModule

// One device, looked at anew.

extension CircumstanceEngine {
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
        if areNamedPlacesStale { findNamedPlaces(in: world) }
        // It began while nothing asked how long it lasts.
        if uses.dwelling > 0, !tracks[index].isStayKept { keepStay(of: device, into: &effects) }
        if !named.outdated.isEmpty { refreshNamed(of: tracks[index].owner, in: world) }
        var region = SafeRegion(slack: Self.safeMax)
        updateVisits(of: device, isMove: isMove, &region, in: world, into: &effects)
        var situation = situation(of: device, at: instant)
        swap(&situation.places, &scratch)
        situation.places.removeAll(keepingCapacity: true)
        let isFirst = !tracks[index].wasEvaluated
        tracks[index].hasAskedLive = false
        let track = UnsafePointer(tracks.address(index))
        let view = View(track.pointee.fix, at: instant)
        gatherUnconditional(of: track)
        situation.foresight = lookAround(from: view, track, into: &situation.places, &region, in: world)
        gatherUnconfirmed(of: track)
        if !candidates.isEmpty {
            candidates.sortDistinct()
            if candidates.contains(where: { summaries[Int($0)].basis == .everything }) { situation.places.sortByDistance() }
            resolve(device, situation, isFirst: isFirst, &region, at: instant, in: world, into: &effects)
        }
        swap(&situation.places, &scratch)
        anchor(device, view, region)
    }

    func situation(of device: UInt32, at instant: Int64) -> Situation {
        let track = tracks.address(Int(device))
        return Situation(
            device: device, instant: instant, isKnown: track.pointee.isKnown, accuracy: track.pointee.sentAccuracy, foresight: 0,
            isMoving: track.pointee.motion.isMoving, dwellingSince: track.pointee.dwellingSince,
            visits: uses.visits.isEmpty ? nil : histories[device])
    }

    /// Begins the candidates with the active circumstances to evaluate wherever the device is.
    private func gatherUnconditional(of track: UnsafePointer<DeviceTrack>) {
        candidates.removeAll(keepingCapacity: true)
        arrivals.removeAll(keepingCapacity: true)
        confirmed.removeAll(keepingCapacity: true)
        if !track.pointee.held.isEmpty { confirmed.append(contentsOf: repeatElement(false, count: track.pointee.held.count)) }
        if unconditional.isEmpty { return }
        if track.pointee.owner == 0 {
            for actives in unconditional.values { candidates.append(contentsOf: actives) }
        } else if let actives = unconditional[track.pointee.owner] {
            candidates.append(contentsOf: actives)
        }
    }

    private func gatherUnconfirmed(of track: UnsafePointer<DeviceTrack>) {
        for position in confirmed.indices where !confirmed[position] { candidates.append(track.pointee.held[position]) }
    }

    /// Remembers from where, how far and how long the evaluation holds.
    private func anchor(_ device: UInt32, _ view: View, _ region: SafeRegion) {
        let track = tracks.address(Int(device))
        place(device)
        track.pointee.anchor(safe: region.safe, outer: region.outer)
        track.pointee.longitudeScale = Float(QuickDistance.longitudeScale(latitude: track.pointee.latitude)).nextUp
        track.pointee.reach = Float(view.reach)
        track.pointee.circles = BoundaryCircles(region.circles)
        track.pointee.epoch = epoch
        track.pointee.wasEvaluated = true
        track.pointee.due = region.due
        if region.due < track.pointee.queued {
            due.insert(DueDevice(due: region.due, device: device))
            track.pointee.queued = region.due
        }
    }

    /// A changed place finds the device by where it was last looked at: to be called before it is anchored there.
    func place(_ device: UInt32) {
        let track = tracks.address(Int(device))
        let cell = DeviceCells.cell(SurfaceGrid.steps(track.pointee.latitude), SurfaceGrid.steps(track.pointee.longitude))
        if track.pointee.wasEvaluated,
            cell == DeviceCells.cell(track.pointee.anchorLatitude, track.pointee.anchorLongitude)
        {
            return
        }
        cells.place(device, in: cell)
    }
}

// MARK: - One circumstance

extension CircumstanceEngine {
    /// Evaluates the candidates.
    private func resolve(
        _ device: UInt32, _ situation: Situation, isFirst: Bool, _ region: inout SafeRegion, at instant: Int64,
        in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        // Evaluating wakes nobody else, so the list can be lent.
        var candidates: [UInt32] = []
        swap(&candidates, &self.candidates)
        for active in candidates {
            resolve(active, device, situation, isFirst: isFirst, &region, at: instant, in: world, into: &effects)
        }
        swap(&candidates, &self.candidates)
    }

    private func resolve(
        _ number: UInt32, _ device: UInt32, _ situation: Situation, isFirst: Bool, _ region: inout SafeRegion,
        at instant: Int64, in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        let index = Int(device)
        let position = tracks[index].held.firstPosition(of: number)
        let wasHeld = position.isFound
        guard let active = actives[Int(number)] else {
            // It ended; its rows are gone already.
            if wasHeld { tracks[index].held.removeNumber(at: position.index) }
            return
        }
        guard isInScope(active, device) else { return }
        let isFresh = isFirst || active.epoch > tracks[index].epoch
        let isQuiet = active.isSilent && isFresh && !isFirst
        if active.basis != .everything {
            // It is a candidate because it begins or ends, and the places round it are among the circles. With the last place that it
            // could be true of it becomes unknown, and does not end.
            if wasHeld, !canBeTrue(active, situation, in: world) { return }
            change(number, of: device, to: !wasHeld, isQuiet: isQuiet, at: instant, into: &effects) {
                guard !wasHeld else { return ([], []) }
                let places = arrivals.compactMap { $0.active == number ? $0.place : nil }
                return summaries[Int(number)].isAt
                    ? (places.nearest(Evaluation.atPlacesMax), []) : ([], places.nearest(Evaluation.nearPlacesMax))
            }
            return
        }
        var evaluation = evaluation(of: active, situation, wasHeld: wasHeld, isFresh: isFresh, in: world)
        var outcome = evaluation.outcome()
        evaluations += 1
        if wasHeld, outcome.truth == .false {
            // Only what is known to be false ends.
            evaluation.isThorough = true
            outcome = evaluation.outcome()
            evaluations += 1
        }
        if let value = outcome.truth.asBool, value != wasHeld {
            // Its ranges are others now.
            evaluation = self.evaluation(of: active, situation, wasHeld: value, isFresh: false, in: world)
            outcome = evaluation.outcome()
            evaluations += 1
            change(number, of: device, to: value, isQuiet: isQuiet, at: instant, into: &effects) { evaluation.allPlaces() }
        } else if isFresh, !wasHeld {
            evaluation = self.evaluation(of: active, situation, wasHeld: wasHeld, isFresh: false, in: world)
            outcome = evaluation.outcome()
        }
        region.take(outcome)
        if evaluation.hasAskedLive, !tracks[index].hasAskedLive {
            tracks[index].hasAskedLive = true
            liveDevices.insert(device)
        }
    }

    /// A circumstance becomes true of a device, or false.
    ///
    /// - Parameters:
    ///   - isQuiet: It is not reported.
    ///   - places: Those at and near which it is true now.
    func change(
        _ number: UInt32, of device: UInt32, to value: Bool, isQuiet: Bool = false, at instant: Int64,
        into effects: inout [CircumstanceEffect], places: () -> (at: [NearbyPlace], near: [NearbyPlace])
    ) {
        let track = tracks.address(Int(device))
        let position = track.pointee.held.firstPosition(of: number).index
        if value { track.pointee.held.insertNumber(number, at: position) } else { track.pointee.held.removeNumber(at: position) }
        let summary = summaries[Int(number)]
        let circumstance = CircumstanceRef(index: summary.circumstance)
        effects.append(.held(circumstance, device: device, value))
        guard summary.isArriving == value, !isQuiet else { return }
        let places = places()
        effects.append(
            .occurred(
                CircumstanceEvent(
                    circumstance: circumstance, device: device, trigger: value ? .arriving : .departing, atPlaces: places.at,
                    nearPlaces: places.near, fix: track.pointee.fix, timestamp: instant)))
    }

    /// Whether something exists that an `at` or `near` that is the whole condition could be true of.
    private func canBeTrue(_ active: ActiveCircumstance, _ situation: Situation, in world: some CircumstanceWorld) -> Bool {
        evaluation(of: active, situation, wasHeld: true, isFresh: false, in: world)
            .areRulesPossible(0)
    }

    private func evaluation(
        of active: ActiveCircumstance, _ situation: Situation, wasHeld: Bool, isFresh: Bool, in world: some CircumstanceWorld
    ) -> Evaluation {
        Evaluation(
            world: world, memory: memory, situation: situation, program: active.program, nearRadius: active.nearRadius,
            positiveMargin: wasHeld ? active.exitMargin : 0, negativeMargin: wasHeld || isFresh ? 0 : active.exitMargin)
    }

    func isInScope(_ active: ActiveCircumstance, _ device: UInt32) -> Bool {
        let owner = tracks[Int(device)].owner
        guard owner == 0 || owner == active.owner else { return false }
        return active.devices.isEmpty || identities[Int(device)].isAmong(active.devices)
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
        return found.nearest(limit)
    }
}

extension [NearbyPlace] {
    /// Nearest first; of equally near ones the lower number first.
    mutating func sortByDistance() {
        sort { $0.distance == $1.distance ? $0.place < $1.place : $0.distance < $1.distance }
    }

    /// In order, each once, and no more than the limit.
    func nearest(_ limit: Int) -> [NearbyPlace] {
        guard count > 1 else { return self }
        var sorted = self
        sorted.sortByDistance()
        var distinct: [NearbyPlace] = []
        for place in sorted where distinct.last?.place != place.place && distinct.count < limit { distinct.append(place) }
        return distinct
    }
}

extension [UInt32] {
    /// In order, each once.
    mutating func sortDistinct() {
        guard count > 1 else { return }
        sort()
        var kept = 0
        for position in 1..<count where self[position] != self[kept] {
            kept += 1
            self[kept] = self[position]
        }
        while count > kept + 1 { removeLast() }
    }

    // Removing and inserting is written out: specialisations of the standard library for numbers might replace checked ones, see
    // deploy/unchecked.

    mutating func removeNumber(at index: Int) {
        for next in index + 1..<count { self[next - 1] = self[next] }
        removeLast()
    }

    mutating func insertNumber(_ number: UInt32, at index: Int) {
        append(number)
        for next in stride(from: count - 1, to: index, by: -1) { self[next] = self[next - 1] }
        self[index] = number
    }

    /// The position of a number among sorted ones, or where it would be.
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
