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
        if let grid = named.grid(of: owner) {
            region.limit(grid.foresight)
            grid.forEach(around: view) { place, chord in
                approach(place, chord, from: view, track, into: &places, &region, in: world)
            }
        }
        var scales = interests[Int(owner)].scales
        if scales != 0 { region.limit(PlaceTiles.foresight) }
        let foresight = region.outer
        while scales != 0 {
            let scale = scales.trailingZeroBitCount
            scales &= scales - 1
            let cell = tiles.cell(at: scale, around: view, memory, in: world)
            find(in: cell, within: Scale.reach(scale) + PlaceTiles.foresight, of: view, owner)
            approachFound(at: scale, view, track, into: &places, &region, in: world)
        }
        return foresight
    }

    /// A place is near that an active circumstance names.
    @inline(__always)
    private func approach(
        _ named: NamedPlace, _ chord: Double, from view: View, _ track: UnsafePointer<DeviceTrack>,
        into places: inout [NearbyPlace], _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        // Chords of points are right to 2 cm.
        guard chord - named.reachSteps < (max(0, region.outer) + 0.02) * GridPoint.unitsPerMetre,
            let near = view.neighbour(named.place, at: named.point, hasOutline: named.hasOutline, in: world)
        else { return }
        places.append(NearbyPlace(place: near.place, distance: near.distance))
        switch named.subject {
        case .one(let namer): approach(namer, near, from: view, track, &region, in: world)
        case .several(let predicate):
            for namer in self.named.namers(of: predicate, track.pointee.owner) {
                approach(namer, near, from: view, track, &region, in: world)
            }
        }
    }

    @inline(__always)
    private func approach(
        _ namer: Namer, _ near: Neighbour, from view: View, _ track: UnsafePointer<DeviceTrack>, _ region: inout SafeRegion,
        in world: some CircumstanceWorld
    ) {
        guard namer.isPrecondition else { return }
        let summary = summaries[Int(namer.active)]
        approach(namer.active, summary, near, summary.radius(at: view.reach), from: view, track, &region, in: world)
    }

    /// Lists the places of a cell that the owner may ask for.
    private func find(in cell: PlaceTile, within farthest: Double, of view: View, _ owner: UInt32) {
        var found: [FoundPlace] = []
        swap(&found, &self.found)
        found.removeAll(keepingCapacity: true)
        let steps = (farthest + 0.02) * GridPoint.unitsPerMetre
        interests.withUnsafeBufferPointer { interests in
            let interest = interests.baseAddress.unsafelyUnwrapped + Int(owner)
            for index in 0..<cell.count {
                let place = cell[index]
                let chord = place.point.squaredChord(to: view.point)
                let farthest = steps + place.radius
                guard chord <= farthest * farthest,
                    owner == 0 || (0..<place.count).contains(where: { interest.pointee.mayAskFor(place.predicate($0)) })
                else { continue }
                found.append(FoundPlace(place, chord: chord.squareRoot()))
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
        guard let near = view.neighbour(tilePlace.place, at: tilePlace.point, hasOutline: tilePlace.hasOutline, in: world) else {
            return
        }
        places.append(NearbyPlace(place: near.place, distance: near.distance))
        for position in 0..<tilePlace.count {
            approachGroups(of: tilePlace.predicate(position), near, at: scale, from: view, track, &region, in: world)
        }
    }

    private func approachGroups(
        of predicate: UInt32, _ near: Neighbour, at scale: Int, from view: View, _ track: UnsafePointer<DeviceTrack>,
        _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
        guard Int(predicate) < index.groups.count else { return }
        let owner = track.pointee.owner
        index.groups[Int(predicate)].withUnsafeBufferPointer { groups in
            // Nobody's devices are seen by all, a client's only by its own circumstances.
            var position = owner == 0 ? 0 : PreconditionIndex.firstPosition(of: owner, in: groups)
            while position < groups.count, owner == 0 || groups[position].owner == owner {
                if groups[position].scale == scale {
                    for active in groups[position].actives {
                        let summary = summaries[Int(active)]
                        approach(active, summary, near, summary.radius(at: view.reach), from: view, track, &region, in: world)
                    }
                }
                position += 1
            }
        }
    }

    /// A place is near that an active circumstance may be true of.
    @inline(__always)
    private func approach(
        _ active: UInt32, _ summary: ActiveSummary, _ near: Neighbour, _ radius: Double, from view: View,
        _ track: UnsafePointer<DeviceTrack>, _ region: inout SafeRegion, in world: some CircumstanceWorld
    ) {
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
        let isReached = region.isReached(near, radius)
        guard near.distance <= radius + summary.margin,
            rules(of: active, summary, at: near, view, &region, in: world) == .true
        else { return }
        // Where it begins, it is true of the places within the margin, too.
        arrivals.append((active, NearbyPlace(place: near.place, distance: near.distance)))
        guard isReached else { return }
        // It begins now, and ends beyond the margin.
        candidates.append(active)
        _ = region.isWithin(near, radius + summary.margin)
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
        let outcome = evaluation.rulesOutcome(of: near.place)
        evaluations += 1
        region.take(outcome)
        return outcome.truth
    }
}

/// A place that a device's circumstances may be about, and how far it is at least, in metres.
struct FoundPlace {
    let tilePlace: TilePlace
    let least: Double

    /// Rounding of both points, metres.
    private static let blur = 0.02

    /// - Parameter chord: From the device to the point, in steps of the grid.
    @inline(__always)
    init(_ tilePlace: TilePlace, chord: Double) {
        self.tilePlace = tilePlace
        least = (chord - tilePlace.radius) * (1 / GridPoint.unitsPerMetre) - Self.blur
    }
}

/// A place and how far it is.
struct Neighbour {
    var place: UInt32
    /// Of its point, or the middle of its outline.
    var point: GridPoint
    var hasOutline: Bool
    /// Metres.
    var distance: Double
}

extension SafeRegion {
    /// Whether the place is within the radius, in metres; else it must stay outside.
    @inline(__always)
    fileprivate mutating func isReached(_ near: Neighbour, _ radius: Double) -> Bool {
        if near.distance <= radius { return true }
        if near.hasOutline {
            limit(near.distance - radius)
        } else {
            take(
                BoundaryCircle(near.point, radius: radius, isInside: false),
                slack: near.distance - radius)
        }
        return false
    }

    /// Whether the place is within the radius, in metres; then it must stay inside.
    @inline(__always)
    fileprivate mutating func isWithin(_ near: Neighbour, _ radius: Double) -> Bool {
        guard near.distance <= radius else { return false }
        if near.hasOutline {
            limit(radius - near.distance)
        } else {
            take(
                BoundaryCircle(near.point, radius: radius, isInside: true),
                slack: radius - near.distance)
        }
        return true
    }
}

/// From where a device looks around.
struct View {
    let position: (latitude: Double, longitude: Double)
    /// Steps of the ``SurfaceGrid``.
    let latitudeSteps: Int32
    let longitudeSteps: Int32
    let point: GridPoint
    /// Metres that `at` reaches.
    let reach: Double
    /// Milliseconds since 1970 UTC.
    let instant: Int64
    private let exact: ECEF

    init(_ fix: Fix, at instant: Int64) {
        position = (fix.latitude, fix.longitude)
        latitudeSteps = SurfaceGrid.steps(fix.latitude)
        longitudeSteps = SurfaceGrid.steps(fix.longitude)
        exact = ECEF(latitude: fix.latitude, longitude: fix.longitude)
        point = GridPoint(exact)
        reach = PlaceReach.at(accuracy: fix.accuracy)
        self.instant = instant
    }

    /// A place with its distance; nil where it is beyond 20 km.
    @inline(__always)
    func neighbour(_ place: UInt32, at point: GridPoint, hasOutline: Bool, in world: some CircumstanceWorld) -> Neighbour? {
        let distance =
            hasOutline
            ? world.distance(of: place, latitude: position.latitude, longitude: position.longitude) : distance(to: point)
        return distance.map { Neighbour(place: place, point: point, hasOutline: hasOutline, distance: $0) }
    }

    /// Metres.
    @inline(__always)
    func distance(to other: GridPoint) -> Double {
        let step = 1 / GridPoint.unitsPerMetre
        let point = ECEF(x: Double(other.x) * step, y: Double(other.y) * step, z: Double(other.z) * step)
        return Geodesic.arc(ofChord: point.squaredChord(to: exact).squareRoot())
    }
}
