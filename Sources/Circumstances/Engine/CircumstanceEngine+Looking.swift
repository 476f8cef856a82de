import Geodesy

// What is around a device.

extension CircumstanceEngine {
    /// Finds the places that the device's circumstances are about, adds the active circumstances whose value may change there to the candidates, and
    /// says how far it is from the others.
    ///
    /// - Returns: Metres beyond the reach of any rule in which all such places are found, or beyond which they do not matter.
    func lookAround(
        from view: View, _ track: UnsafePointer<DeviceTrack>, into places: inout [NearbyPlace], _ region: inout SafeRegion,
        in world: some CircumstanceWorld
    ) -> Double {
        let owner = track.pointee.owner
        var scales = interests[Int(owner)].scales
        guard scales != 0 else { return Self.safeMax }
        while scales != 0 {
            let scale = scales.trailingZeroBitCount
            scales &= scales - 1
            let cell = tiles.cell(at: scale, around: view.point, view.position, memory, in: world)
            find(in: cell, within: Scale.reach(scale) + PlaceTiles.foresight, of: view, owner)
            approachFound(at: scale, view, track, into: &places, &region, in: world)
        }
        region.limit(PlaceTiles.foresight)
        return PlaceTiles.foresight
    }

    /// Lists the tiles of a cell that the owner may ask for.
    private func find(in cell: PlaceTile, within farthest: Double, of view: View, _ owner: UInt32) {
        var found: [FoundPlace] = []
        swap(&found, &self.found)
        found.removeAll(keepingCapacity: true)
        let steps = (farthest + 0.02) * GridPoint.unitsPerMetre
        if owner == 0 {
            var run = cell.all
            while let tilePlace = run.next() { found.append(tilePlace, within: steps, of: view) }
        } else {
            var own = cell[PlaceTile.part(of: owner)]
            while let tilePlace = own.next() {
                if tilePlace.owner == owner { found.append(tilePlace, within: steps, of: view) }
            }
            var shared = cell[PlaceTile.parts - 1]
            interests.withUnsafeBufferPointer { interests in
                let interest = interests.baseAddress.unsafelyUnwrapped + Int(owner)
                while let tilePlace = shared.next() {
                    guard (0..<tilePlace.count).contains(where: { interest.pointee.mayAskFor(tilePlace.predicate($0)) }) else {
                        continue
                    }
                    found.append(tilePlace, within: steps, of: view)
                }
            }
        }
        swap(&found, &self.found)
    }

    /// First what is near, so that most of what is farther is seen not to matter without asking whose it is.
    private func approachFound(
        at scale: Int, _ view: View, _ track: UnsafePointer<DeviceTrack>, into places: inout [NearbyPlace],
        _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        var found: [FoundPlace] = []
        swap(&found, &self.found)
        let reach = Scale.reach(scale)
        let near = found.partition { $0.least > reach + Self.nearby }
        for place in found[..<near] { approach(place, at: scale, view, track, into: &places, &region, in: world) }
        for place in found[near...] where place.least - reach < region.outer {
            approach(place, at: scale, view, track, into: &places, &region, in: world)
        }
        swap(&found, &self.found)
    }

    private static let nearby = 40.0

    private func approach(
        _ found: FoundPlace, at scale: Int, _ view: View, _ track: UnsafePointer<DeviceTrack>,
        into places: inout [NearbyPlace], _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        let tilePlace = found.tilePlace
        guard let distance = view.distance(to: tilePlace, in: world) else { return }
        let near = Neighbour(tilePlace: tilePlace, distance: distance)
        places.append(NearbyPlace(place: tilePlace.place, distance: distance))
        for position in 0..<tilePlace.count {
            let predicate = tilePlace.predicate(position)
            guard Int(predicate) < index.entries.count else { continue }
            let entry = index.entries[Int(predicate)]
            if entry.active == PreconditionIndex.none { continue }
            if entry.active == PreconditionIndex.several {
                approachGroups(of: predicate, near, at: scale, from: view, track, &region, in: world)
            } else if track.pointee.owner == 0 || entry.owner == track.pointee.owner, entry.scale == scale {
                approach(entry.active, near, entry.radius ?? view.reach, from: view, track, &region, in: world)
            }
        }
    }

    private func approachGroups(
        of predicate: UInt32, _ near: Neighbour, at scale: Int, from view: View, _ track: UnsafePointer<DeviceTrack>,
        _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        let owner = track.pointee.owner
        index.groups[predicate]?.withUnsafeBufferPointer { groups in
            // Nobody's devices are seen by all, a client's only by its own circumstances.
            var position = owner == 0 ? 0 : PreconditionIndex.firstPosition(of: owner, in: groups)
            while position < groups.count, owner == 0 || groups[position].owner == owner {
                if groups[position].scale == scale {
                    let radius = groups[position].radius ?? view.reach
                    for active in groups[position].actives {
                        approach(active, near, radius, from: view, track, &region, in: world)
                    }
                }
                position += 1
            }
        }
    }

    /// A place is near that an active circumstance may be true of.
    @inline(__always)
    private func approach(
        _ active: UInt32, _ near: Neighbour, _ radius: Double, from view: View, _ track: UnsafePointer<DeviceTrack>,
        _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        let summary = summaries[Int(active)]
        guard summary.basis != .everything else {
            if region.isReached(near, radius) { candidates.append(active) }
            return
        }
        if !track.pointee.held.isEmpty {
            let position = track.pointee.held.firstPosition(of: active)
            if position.isFound {
                // Where it is true of a place, others do not matter.
                if confirmed[position.index] { return }
                if near.distance <= radius + summary.margin,
                    rules(of: active, summary, at: near, view, &region, in: world) != .false
                {
                    confirmed[position.index] = true
                    _ = region.isWithin(near, radius + summary.margin)
                } else {
                    // Unless another place confirms it, it ends now and may begin anew here.
                    _ = region.isReached(near, radius)
                }
                return
            }
        }
        guard region.isReached(near, radius), rules(of: active, summary, at: near, view, &region, in: world) == .true
        else { return }
        // It begins now, and ends beyond the margin.
        candidates.append(active)
        _ = region.isWithin(near, radius + summary.margin)
        if summary.isSingle { arrivals.append((active, NearbyPlace(place: near.tilePlace.place, distance: near.distance))) }
    }

    /// The truth of the rules of an active circumstance for a place, as long as time does not change it.
    @inline(__always)
    private func rules(
        of active: UInt32, _ summary: ActiveSummary, at near: Neighbour, _ view: View, _ region: inout SafeRegion,
        in world: some CircumstanceWorld
    ) -> Truth {
        guard summary.basis == .rules, let active = actives[Int(active)] else { return .true }
        var evaluation = Evaluation(
            world: world, memory: memory, situation: Situation(instant: view.instant), program: active.program,
            nearRadius: active.nearRadius)
        let outcome = evaluation.rulesOutcome(of: near.tilePlace.place)
        evaluations += 1
        region.take(outcome)
        return outcome.truth
    }
}

/// A place that a device's circumstances may be about, and how far it is at least, in metres.
struct FoundPlace {
    var tilePlace: TilePlace
    var least: Double
}

extension [FoundPlace] {
    @inline(__always)
    fileprivate mutating func append(_ tilePlace: TilePlace, within steps: Double, of view: View) {
        let chord = tilePlace.point.squaredChord(to: view.point)
        let radius = tilePlace.radius
        guard chord <= (steps + radius) * (steps + radius) else { return }
        append(
            FoundPlace(tilePlace: tilePlace, least: (chord.squareRoot() - radius) * (1 / GridPoint.unitsPerMetre) - Self.blur))
    }

    /// Rounding of both points, metres.
    private static var blur: Double { 0.02 }
}

/// A place and how far it is, in metres.
private struct Neighbour {
    var tilePlace: TilePlace
    var distance: Double
}

extension SafeRegion {
    /// Whether the place is within the radius, in metres; else it must stay outside.
    @inline(__always)
    fileprivate mutating func isReached(_ near: Neighbour, _ radius: Double) -> Bool {
        if near.distance <= radius { return true }
        if near.tilePlace.hasOutline {
            limit(near.distance - radius)
        } else {
            take(
                BoundaryCircle(near.tilePlace.point, radius: radius, isInside: false),
                slack: near.distance - radius)
        }
        return false
    }

    /// Whether the place is within the radius, in metres; then it must stay inside.
    @inline(__always)
    fileprivate mutating func isWithin(_ near: Neighbour, _ radius: Double) -> Bool {
        guard near.distance <= radius else { return false }
        if near.tilePlace.hasOutline {
            limit(radius - near.distance)
        } else {
            take(
                BoundaryCircle(near.tilePlace.point, radius: radius, isInside: true),
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
    func distance(to tilePlace: TilePlace, in world: some CircumstanceWorld) -> Double? {
        guard tilePlace.hasOutline else { return distance(to: tilePlace.point) }
        return world.distance(of: tilePlace.place, latitude: position.latitude, longitude: position.longitude)
    }

    /// Metres.
    @inline(__always)
    func distance(to other: GridPoint) -> Double {
        let step = 1 / GridPoint.unitsPerMetre
        let point = ECEF(x: Double(other.x) * step, y: Double(other.y) * step, z: Double(other.z) * step)
        return Geodesic.arc(ofChord: point.squaredChord(to: exact).squareRoot())
    }
}
