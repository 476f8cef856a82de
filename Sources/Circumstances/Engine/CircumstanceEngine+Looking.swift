import Geodesy

// What is around a device.

extension CircumstanceEngine {
    /// Finds the places that the device's circumstances are about, adds the watches whose value may change there to the candidates, and
    /// says how far it is from the others.
    ///
    /// - Returns: Metres beyond the reach of any rule in which all such places are found, or beyond which they do not matter.
    func lookAround(
        from view: View, _ track: UnsafePointer<DeviceTrack>, into places: inout [NearbyPlace], _ assurance: inout Assurance,
        in world: some CircumstanceWorld
    ) -> Double {
        let owner = track.pointee.owner
        var scales = interests[Int(owner)].scales
        guard scales != 0 else { return Self.safeMax }
        while scales != 0 {
            let scale = scales.trailingZeroBitCount
            scales &= scales - 1
            let cell = landmarks.cell(at: scale, around: view.point, view.position, memory, in: world)
            find(in: cell, within: Scale.reach(scale) + Landmarks.foresight, of: view, owner)
            approachFound(at: scale, view, track, into: &places, &assurance, in: world)
        }
        assurance.limit(Landmarks.foresight)
        return Landmarks.foresight
    }

    /// Lists the landmarks of a cell that the owner may ask for.
    private func find(in cell: LandmarkCell, within farthest: Double, of view: View, _ owner: UInt32) {
        var found: [FoundLandmark] = []
        swap(&found, &self.found)
        found.removeAll(keepingCapacity: true)
        let steps = (farthest + 0.02) * GridPoint.unitsPerMetre
        if owner == 0 {
            var run = cell.all
            while let landmark = run.next() { found.append(landmark, within: steps, of: view) }
        } else {
            var own = cell[LandmarkCell.part(of: owner)]
            while let landmark = own.next() {
                if landmark.owner == owner { found.append(landmark, within: steps, of: view) }
            }
            var shared = cell[LandmarkCell.parts - 1]
            interests.withUnsafeBufferPointer { interests in
                let interest = interests.baseAddress.unsafelyUnwrapped + Int(owner)
                while let landmark = shared.next() {
                    guard (0..<landmark.count).contains(where: { interest.pointee.mayAskFor(landmark.predicate($0)) }) else {
                        continue
                    }
                    found.append(landmark, within: steps, of: view)
                }
            }
        }
        swap(&found, &self.found)
    }

    /// First what is near, so that most of what is farther is seen not to matter without asking whose it is.
    private func approachFound(
        at scale: Int, _ view: View, _ track: UnsafePointer<DeviceTrack>, into places: inout [NearbyPlace],
        _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        var found: [FoundLandmark] = []
        swap(&found, &self.found)
        let reach = Scale.reach(scale)
        let near = found.partition { $0.least > reach + Self.nearby }
        for place in found[..<near] { approach(place, at: scale, view, track, into: &places, &assurance, in: world) }
        for place in found[near...] where place.least - reach < assurance.outer {
            approach(place, at: scale, view, track, into: &places, &assurance, in: world)
        }
        swap(&found, &self.found)
    }

    private static let nearby = 40.0

    private func approach(
        _ found: FoundLandmark, at scale: Int, _ view: View, _ track: UnsafePointer<DeviceTrack>,
        into places: inout [NearbyPlace], _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        let landmark = found.landmark
        guard let distance = view.distance(to: landmark, in: world) else { return }
        let near = Neighbour(landmark: landmark, distance: distance)
        places.append(NearbyPlace(place: landmark.place, distance: distance))
        for position in 0..<landmark.count {
            let predicate = landmark.predicate(position)
            guard Int(predicate) < index.entries.count else { continue }
            let entry = index.entries[Int(predicate)]
            if entry.watch == GuardIndex.none { continue }
            if entry.watch == GuardIndex.several {
                approachGroups(of: predicate, near, at: scale, from: view, track, &assurance, in: world)
            } else if track.pointee.owner == 0 || entry.owner == track.pointee.owner, entry.scale == scale {
                approach(entry.watch, near, entry.radius ?? view.reach, from: view, track, &assurance, in: world)
            }
        }
    }

    private func approachGroups(
        of predicate: UInt32, _ near: Neighbour, at scale: Int, from view: View, _ track: UnsafePointer<DeviceTrack>,
        _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        let owner = track.pointee.owner
        index.groups[predicate]?.withUnsafeBufferPointer { groups in
            // Nobody's devices are seen by all, a client's only by its own circumstances.
            var position = owner == 0 ? 0 : GuardIndex.firstPosition(of: owner, in: groups)
            while position < groups.count, owner == 0 || groups[position].owner == owner {
                if groups[position].scale == scale {
                    let radius = groups[position].radius ?? view.reach
                    for watch in groups[position].watches {
                        approach(watch, near, radius, from: view, track, &assurance, in: world)
                    }
                }
                position += 1
            }
        }
    }

    /// A place is near that a watch may be true of.
    @inline(__always)
    private func approach(
        _ watch: UInt32, _ near: Neighbour, _ radius: Double, from view: View, _ track: UnsafePointer<DeviceTrack>,
        _ assurance: inout Assurance, in world: some CircumstanceWorld
    ) {
        let brief = briefs[Int(watch)]
        guard brief.basis != .everything else {
            if assurance.isReached(near, radius) { candidates.append(watch) }
            return
        }
        if !track.pointee.held.isEmpty {
            let position = track.pointee.held.firstPosition(of: watch)
            if position.isFound {
                // Where it is true of a place, others do not matter.
                if confirmed[position.index] { return }
                if near.distance <= radius + brief.margin,
                    rules(of: watch, brief, at: near, view, &assurance, in: world) != .false
                {
                    confirmed[position.index] = true
                    _ = assurance.isWithin(near, radius + brief.margin)
                } else {
                    // Unless another place confirms it, it ends now and may begin anew here.
                    _ = assurance.isReached(near, radius)
                }
                return
            }
        }
        guard assurance.isReached(near, radius), rules(of: watch, brief, at: near, view, &assurance, in: world) == .true
        else { return }
        // It begins now, and ends beyond the margin.
        candidates.append(watch)
        _ = assurance.isWithin(near, radius + brief.margin)
    }

    /// The truth of the rules of a watch for a place, as long as time does not change it.
    @inline(__always)
    private func rules(
        of watch: UInt32, _ brief: WatchBrief, at near: Neighbour, _ view: View, _ assurance: inout Assurance,
        in world: some CircumstanceWorld
    ) -> Truth {
        guard brief.basis == .rules, let watch = watches[Int(watch)] else { return .true }
        var evaluation = Evaluation(
            world: world, memory: memory, situation: Situation(instant: view.instant), program: watch.program,
            nearRadius: watch.nearRadius)
        let outcome = evaluation.rulesOutcome(of: near.landmark.place)
        evaluations += 1
        assurance.take(outcome)
        return outcome.truth
    }
}

/// A place that a device's circumstances may be about, and how far it is at least, in metres.
struct FoundLandmark {
    var landmark: Landmark
    var least: Double
}

extension [FoundLandmark] {
    @inline(__always)
    fileprivate mutating func append(_ landmark: Landmark, within steps: Double, of view: View) {
        let chord = landmark.point.squaredChord(to: view.point)
        let radius = landmark.radius
        guard chord <= (steps + radius) * (steps + radius) else { return }
        append(
            FoundLandmark(landmark: landmark, least: (chord.squareRoot() - radius) * (1 / GridPoint.unitsPerMetre) - Self.blur))
    }

    /// Rounding of both points, metres.
    private static var blur: Double { 0.02 }
}

/// A place and how far it is, in metres.
private struct Neighbour {
    var landmark: Landmark
    var distance: Double
}

extension Assurance {
    /// Whether the place is within the radius, in metres; else it must stay outside.
    @inline(__always)
    fileprivate mutating func isReached(_ near: Neighbour, _ radius: Double) -> Bool {
        if near.distance <= radius { return true }
        if near.landmark.hasOutline {
            limit(near.distance - radius)
        } else {
            take(
                Shell(near.landmark.point, radius: radius, isInside: false),
                slack: near.distance - radius)
        }
        return false
    }

    /// Whether the place is within the radius, in metres; then it must stay inside.
    @inline(__always)
    fileprivate mutating func isWithin(_ near: Neighbour, _ radius: Double) -> Bool {
        guard near.distance <= radius else { return false }
        if near.landmark.hasOutline {
            limit(radius - near.distance)
        } else {
            take(
                Shell(near.landmark.point, radius: radius, isInside: true),
                slack: radius - near.distance)
        }
        return true
    }
}

/// From where a device looks around.
struct View {
    let position: (latitude: Double, longitude: Double)
    let point: GridPoint
    /// Metres that `at` reaches.
    let reach: Double
    /// Milliseconds since 1970 UTC.
    let instant: Int64
    private let exact: ECEF

    init(_ fix: Fix, at instant: Int64) {
        position = (fix.latitude, fix.longitude)
        exact = ECEF(latitude: fix.latitude, longitude: fix.longitude)
        point = GridPoint(exact)
        reach = PlaceReach.at(accuracy: fix.accuracy)
        self.instant = instant
    }

    /// Metres; nil where it is beyond 20 km.
    @inline(__always)
    func distance(to landmark: Landmark, in world: some CircumstanceWorld) -> Double? {
        guard landmark.hasOutline else { return distance(to: landmark.point) }
        return world.distance(of: landmark.place, latitude: position.latitude, longitude: position.longitude)
    }

    /// Metres.
    @inline(__always)
    func distance(to other: GridPoint) -> Double {
        let step = 1 / GridPoint.unitsPerMetre
        let point = ECEF(x: Double(other.x) * step, y: Double(other.y) * step, z: Double(other.z) * step)
        return Geodesic.arc(ofChord: point.squaredChord(to: exact).squareRoot())
    }
}
