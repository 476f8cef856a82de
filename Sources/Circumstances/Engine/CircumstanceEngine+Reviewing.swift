import Geodesy

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
        var assurance = Assurance(slack: Self.safeMax)
        updateVisits(of: device, isMove: isMove, &assurance, in: world, into: &effects)
        var situation = situation(of: device, at: instant)
        swap(&situation.places, &scratch)
        situation.places.removeAll(keepingCapacity: true)
        let isFirst = !tracks[index].wasEvaluated
        tracks[index].hasAskedLive = false
        gatherStanding(of: tracks[index])
        situation.foresight = lookAround(device, into: &situation.places, &assurance, in: world)
        gatherUnconfirmed(of: tracks[index])
        if !candidates.isEmpty {
            memory.expect(situation.places)
            candidates.sortDistinct()
            situation.places.sortByDistance()
            settle(device, situation, isFirst: isFirst, &assurance, at: instant, in: world, into: &effects)
        }
        swap(&situation.places, &scratch)
        anchor(device, assurance)
    }

    func situation(of device: UInt32, at instant: Int64) -> Situation {
        let track = tracks[Int(device)]
        return Situation(
            device: device, instant: instant, isKnown: track.isKnown, accuracy: track.sentAccuracy, foresight: 0,
            isMoving: track.motion.isMoving, dwellingSince: track.since == .min ? nil : track.since,
            visits: uses.visits.isEmpty ? nil : histories[device])
    }

    /// Begins the candidates with the watches to evaluate wherever the device is.
    private func gatherStanding(of track: DeviceTrack) {
        candidates.removeAll(keepingCapacity: true)
        confirmed.removeAll(keepingCapacity: true)
        confirmed.append(contentsOf: repeatElement(false, count: track.held.count))
        if unguarded.isEmpty { return }
        if track.owner == 0 {
            for watches in unguarded.values { candidates.append(contentsOf: watches) }
        } else if let watches = unguarded[track.owner] {
            candidates.append(contentsOf: watches)
        }
    }

    private func gatherUnconfirmed(of track: DeviceTrack) {
        for position in track.held.indices where !confirmed[position] { candidates.append(track.held[position]) }
    }

    /// Finds the places that the device's circumstances are about, adds the watches that may be true of it there to the candidates, and
    /// says how far it is from the others.
    ///
    /// - Returns: Metres beyond the reach of any rule in which all such places are found, or beyond which they do not matter.
    private func lookAround(
        _ device: UInt32, into places: inout [NearbyPlace], _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) -> Double {
        let track = tracks.address(Int(device))
        let owner = track.pointee.owner
        var scales = interests[Int(owner)].scales
        guard scales != 0 else { return Self.safeMax }
        let view = View(track.pointee)
        landmarks.expect(scales, around: view.point)
        var foresight = Self.safeMax
        while scales != 0 {
            let scale = scales.trailingZeroBitCount
            scales &= scales - 1
            let cell = landmarks.cell(at: scale, around: view.point, view.position, memory, in: world)
            foresight = min(foresight, cell.foresight)
            find(in: cell, within: Scale.reach(scale) + cell.foresight, of: view, owner, in: world)
            approachFound(at: scale, view.reach, track.pointee, into: &places, &assurance)
        }
        assurance.limit(foresight)
        return foresight
    }

    /// Lists the landmarks of a cell that the owner asks for.
    private func find(
        in cell: LandmarkCell, within farthest: Double, of view: View, _ owner: UInt32, in world: some CircumstanceWorld
    ) {
        var found: [FoundLandmark] = []
        swap(&found, &self.found)
        found.removeAll(keepingCapacity: true)
        interests.withUnsafeBufferPointer { interests in
            let interest = interests.baseAddress.unsafelyUnwrapped + Int(owner)
            let steps = (farthest + 0.02) * GridPoint.unitsPerMetre
            var landmark = cell.first
            let end = cell.end
            while landmark.words < end {
                defer { landmark = landmark.next }
                guard owner == 0 || landmark.owner == owner || landmark.owner == Landmarks.several else { continue }
                guard landmark.hasOutline || landmark.point.squaredChord(to: view.point) <= steps * steps else { continue }
                if owner != 0, landmark.owner != owner {
                    guard (0..<landmark.count).contains(where: { interest.pointee.mayAskFor(landmark.predicate($0)) }) else {
                        continue
                    }
                }
                guard let distance = distance(to: landmark, from: view, in: world), distance <= farthest else { continue }
                found.append(FoundLandmark(landmark: landmark, distance: distance))
                if landmark.count > 0 { index.prefetch(landmark.predicate(0)) }
            }
        }
        swap(&found, &self.found)
    }

    @inline(__always)
    private func distance(to landmark: Landmark, from view: View, in world: some CircumstanceWorld) -> Double? {
        guard landmark.hasOutline else { return view.distance(to: landmark.point) }
        return world.distance(of: landmark.place, latitude: view.position.latitude, longitude: view.position.longitude)
    }

    /// First what is near, so that most of what is farther is seen not to matter without asking whose it is.
    private func approachFound(
        at scale: Int, _ reach: Double, _ track: DeviceTrack, into places: inout [NearbyPlace], _ assurance: inout Assurance
    ) {
        let scaleReach = Scale.reach(scale)
        let near = scaleReach + Self.nearby
        for found in found where found.distance <= near {
            places.append(NearbyPlace(place: found.landmark.place, distance: found.distance))
            approach(found, at: scale, reach, track, &assurance)
        }
        guard assurance.outer > Self.nearby else { return }
        for found in found where found.distance > near && found.distance - scaleReach < assurance.outer {
            places.append(NearbyPlace(place: found.landmark.place, distance: found.distance))
            approach(found, at: scale, reach, track, &assurance)
        }
    }

    private static let nearby = 40.0

    private func approach(
        _ found: FoundLandmark, at scale: Int, _ reach: Double, _ track: DeviceTrack, _ assurance: inout Assurance
    ) {
        for place in 0..<found.landmark.count {
            let predicate = found.landmark.predicate(place)
            guard Int(predicate) < index.entries.count else { continue }
            let entry = index.entries[Int(predicate)]
            if entry.watch == GuardIndex.none { continue }
            if entry.watch == GuardIndex.several {
                approachGroups(of: predicate, found, at: scale, reach, track, &assurance)
            } else if track.owner == 0 || entry.owner == track.owner, entry.scale == scale {
                approach(entry.watch, found, entry.radius ?? reach, track, &assurance)
            }
        }
    }

    private func approachGroups(
        of predicate: UInt32, _ found: FoundLandmark, at scale: Int, _ reach: Double, _ track: DeviceTrack,
        _ assurance: inout Assurance
    ) {
        index.groups[predicate]?.withUnsafeBufferPointer { groups in
            // Nobody's devices are seen by all, a client's only by its own circumstances.
            var position = track.owner == 0 ? 0 : GuardIndex.firstPosition(of: track.owner, in: groups)
            while position < groups.count, track.owner == 0 || groups[position].owner == track.owner {
                if groups[position].scale == scale {
                    let radius = groups[position].radius ?? reach
                    for watch in groups[position].watches { approach(watch, found, radius, track, &assurance) }
                }
                position += 1
            }
        }
    }

    /// A place is near that a watch may be true of.
    @inline(__always)
    private func approach(
        _ watch: UInt32, _ found: FoundLandmark, _ radius: Double, _ track: DeviceTrack, _ assurance: inout Assurance
    ) {
        let margin = plainMargins[Int(watch)]
        if margin >= 0, !track.held.isEmpty {
            let position = track.held.firstPosition(of: watch)
            if position.isFound {
                // Where it is true of a place, others do not matter.
                if !confirmed[position.index], assurance.isWithin(found, radius + margin) { confirmed[position.index] = true }
                return
            }
        }
        if assurance.isReached(found, radius) { candidates.append(watch) }
    }

    /// Remembers from where, how far and how long the evaluation holds.
    private func anchor(_ device: UInt32, _ assurance: Assurance) {
        let index = Int(device)
        tracks[index].anchorLatitude = Int32((tracks[index].latitude * DeviceTrack.anchorSteps).rounded())
        tracks[index].anchorLongitude = Int32((tracks[index].longitude * DeviceTrack.anchorSteps).rounded())
        tracks[index].longitudeScale = Float(QuickDistance.longitudeScale(latitude: tracks[index].latitude)).nextUp
        tracks[index].reach = Float(PlaceReach.at(accuracy: tracks[index].sentAccuracy))
        // Distances to places are right to 2 cm; the anchor, the scale and the reach are rounded.
        tracks[index].safe = Float(max(0, assurance.safe * 0.9999 - 0.05))
        tracks[index].outer = Float(max(0, assurance.outer * 0.9999 - 0.05))
        tracks[index].shells = assurance.shells
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
    /// Evaluates the candidates.
    private func settle(
        _ device: UInt32, _ situation: Situation, isFirst: Bool, _ assurance: inout Assurance, at instant: Int64,
        in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        // Evaluating wakes nobody else, so the list can be lent.
        var candidates: [UInt32] = []
        swap(&candidates, &self.candidates)
        for watch in candidates {
            settle(watch, device, situation, isFirst: isFirst, &assurance, at: instant, in: world, into: &effects)
        }
        swap(&candidates, &self.candidates)
    }

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

    private func evaluation(
        of watch: Watch, _ situation: Situation, wasHeld: Bool, isFresh: Bool, in world: some CircumstanceWorld
    ) -> Evaluation {
        Evaluation(
            world: world, memory: memory, situation: situation, program: watch.program, nearRadius: watch.nearRadius,
            positiveMargin: wasHeld ? watch.exitMargin : 0, negativeMargin: wasHeld || isFresh ? 0 : watch.exitMargin)
    }

    private func occurrence(
        of watch: Watch, _ device: UInt32, _ evaluation: inout Evaluation, at instant: Int64
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

/// A place that a device's circumstances may be about, and how far it is, in metres.
struct FoundLandmark {
    var landmark: Landmark
    var distance: Double
}

extension Assurance {
    /// Whether the place is within the radius, in metres; else it must stay outside.
    @inline(__always)
    mutating func isReached(_ found: FoundLandmark, _ radius: Double) -> Bool {
        if found.distance <= radius { return true }
        if found.landmark.hasOutline {
            limit(found.distance - radius)
        } else {
            take(Shell(found.landmark.point, radius: radius, isInside: false), slack: found.distance - radius)
        }
        return false
    }
}

extension Assurance {
    /// Whether the place is within the radius, in metres; then it must stay inside.
    @inline(__always)
    mutating func isWithin(_ found: FoundLandmark, _ radius: Double) -> Bool {
        guard found.distance <= radius else { return false }
        if found.landmark.hasOutline {
            limit(radius - found.distance)
        } else {
            take(Shell(found.landmark.point, radius: radius, isInside: true), slack: radius - found.distance)
        }
        return true
    }
}

/// From where a device looks around.
private struct View {
    let position: (latitude: Double, longitude: Double)
    let exact: ECEF
    let point: GridPoint
    /// Metres that `at` reaches.
    let reach: Double

    init(_ track: DeviceTrack) {
        position = (track.latitude, track.longitude)
        exact = ECEF(latitude: track.latitude, longitude: track.longitude)
        point = GridPoint(exact)
        reach = PlaceReach.at(accuracy: track.sentAccuracy)
    }

    @inline(__always)
    func distance(to other: GridPoint) -> Double {
        let step = 1 / GridPoint.unitsPerMetre
        let point = ECEF(x: Double(other.x) * step, y: Double(other.y) * step, z: Double(other.z) * step)
        return Geodesic.arc(ofChord: point.squaredChord(to: exact).squareRoot())
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
        removeLast(count - kept - 1)
    }

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
