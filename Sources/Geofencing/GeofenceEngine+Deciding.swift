import Geodesy

// Who enters and who leaves, by a fix.
extension GeofenceEngine {
    /// Who is near a fence may be inside.
    mutating func admit(to number: Int32, _ area: FenceArea, at now: Int64, into effects: inout [FenceEffect]) {
        guard let core = fences.core(number), core.isEnabled else { return }
        var found = Set<UInt32>()
        for box in area.bounds { found.formUnion(grid.devices(in: box)) }
        if core.accuracy == .possible {
            for device in fixes.indices where (fixes[device]?.accuracy ?? 0) > 0 { found.insert(UInt32(device)) }
        }
        for device in found.sorted() {
            guard let fix = fixes[Int(device)] else { continue }
            let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
            tryToEnter(number, device, fix, point, at: max(fix.timestamp, movers[number]?.at ?? .min), now: now, into: &effects)
        }
    }

    /// A device may be in fences near it.
    mutating func enter(
        _ device: UInt32, _ fix: FenceFix, _ point: ECEF, now: Int64, into effects: inout [FenceEffect]
    ) {
        var found: [Int32] = []
        // Its memory serves again and again.
        swap(&found, &near)
        found.removeAll(keepingCapacity: true)
        index.forEach(latitude: fix.latitude, longitude: fix.longitude) { found.append($0) }
        near = found
        if possibleCount > 0, fix.accuracy > 0 { addPossible(fix) }
        guard !near.isEmpty else { return }
        if near.count > 1 { near.sort() }
        for number in near { tryToEnter(number, device, fix, point, at: fix.timestamp, now: now, into: &effects) }
    }

    /// Fences that the accuracy of a fix reaches.
    mutating func addPossible(_ fix: FenceFix) {
        let metres = min(fix.accuracy, Area.Circle.radiusMax)
        guard let reach = try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: metres) else { return }
        var more = Set<Int32>()
        index.forEach(in: reach.bounds) { more.insert($0) }
        near += more.filter { fences.core($0)?.accuracy == .possible }
    }

    mutating func tryToEnter(
        _ number: Int32, _ device: UInt32, _ fix: FenceFix, _ point: ECEF, at instant: Int64, now: Int64,
        into effects: inout [FenceEffect]
    ) {
        // Most of those that are near hold it already.
        guard let core = fences.core(number), core.isEnabled, core.hasArea, visit(of: device, in: number) == nil,
            isInside(number, core, fix, point)
        else { return }
        guard fences.centre(of: number) != device,
            !core.getsStale || staleAfter(device, in: number).map({ fix.heardAt + $0 > now }) ?? true,
            isOnFloor(fix, of: number), let identity = devices[Int(device)], fences.concerns(number, identity)
        else { return }
        visits[Int(device)].append(FenceVisit(fence: number, since: instant))
        members[number, default: []].insert(device)
        effects.append(.entered(fence: number, device: device, fix, at: instant))
        scheduleDwell(of: device, in: number, fix)
        scheduleSilence(of: device, in: number, fix)
    }

    /// A fix of a device that is inside, or a fence that moved.
    mutating func review(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, _ point: ECEF, at instant: Int64,
        into effects: inout [FenceEffect]
    ) {
        let number = visit.fence
        guard let core = fences.core(number), core.hasArea else { return }
        var standing = leaving(number, core, fix, point)
        let isElsewhere = core.floor == .same && standing != .unusable && !isOnFloor(fix, of: number)
        if isElsewhere { standing = .outside }
        switch standing {
        case .unusable: break
        case .inside, .between:
            if visit.outsideSince != nil { change(device, number) { $0.outsideSince = nil } }
        case .outside where core.accuracy != .likely || isElsewhere:
            return end(visit, of: device, at: instant, .left, into: &effects)
        case .outside:
            guard let first = visit.outsideSince else { return change(device, number) { $0.outsideSince = instant } }
            if instant - first >= LikelyRule.exitMilliseconds {
                return end(visit, of: device, at: instant, .left, into: &effects)
            }
        }
        guard core.dwells, !visit.hasDwelled, let dwell = fences.detail(number)?.dwell else { return }
        let dwelledAt = visit.since + dwell
        if instant >= dwelledAt {
            if standing != .outside { self.dwell(visit, of: device, fix, at: dwelledAt, into: &effects) }
        } else {
            scheduleDwell(of: device, in: number, fix)
        }
    }

    /// Ends visits and begins others by the last fix, after what a device is has changed.
    mutating func review(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard let fix = fix(of: device) else { return }
        enter(device, fix, ECEF(latitude: fix.latitude, longitude: fix.longitude), now: now, into: &effects)
    }

    mutating func dwell(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, at instant: Int64, into effects: inout [FenceEffect]
    ) {
        guard !visit.hasDwelled else { return }
        change(device, visit.fence) {
            $0.dwelledAt = instant
            $0.dwellsAt = .max
        }
        effects.append(.dwelled(fence: visit.fence, device: device, fix, at: instant))
    }

    /// Ends a visit, never before what was reported of it.
    ///
    /// - Parameter instant: By the times of fixes; nil for when the last one was.
    mutating func end(
        _ visit: FenceVisit, of device: UInt32, at instant: Int64? = nil, _ reason: FenceEnd, into effects: inout [FenceEffect]
    ) {
        let fix = fix(of: device)
        let instant = max(visit.dwelledAt ?? visit.since, instant ?? fix?.timestamp ?? .min)
        visits[Int(device)].removeAll { $0.fence == visit.fence }
        removeMember(device, of: visit.fence)
        effects.append(
            .exited(fence: visit.fence, device: device, fix, at: instant, since: visit.since, reason))
    }

    mutating func removeMember(_ device: UInt32, of number: Int32) {
        members[number]?.remove(device)
        if members[number]?.isEmpty == true { members[number] = nil }
    }

    func isOnFloor(_ fix: FenceFix, of number: Int32) -> Bool {
        fences.core(number)?.floor == .any || fix.floor != 0 && fix.floor == fences.detail(number)?.floor
    }
}
