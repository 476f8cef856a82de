import Geodesy

// Who enters and who leaves, by a fix.
extension GeofenceEngine {
    /// Who is near a fence may be inside.
    mutating func admit(to number: Int32, _ area: FenceArea, at now: Int64, into effects: inout [FenceEffect]) {
        guard let core = fences.core(number), core.isEnabled else { return }
        guard let found = devices(near: area, core.accuracy) else {
            mustLookAtAll = true
            return
        }
        for device in found.sorted() {
            guard let fix = fixes[Int(device)], visit(of: device, in: number) == nil else { continue }
            let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
            tryToEnter(number, device, fix, point, at: max(fix.timestamp, movers[number]?.at ?? .min), now: now, into: &effects)
        }
    }

    /// Nil where these are too many.
    private func devices(near area: FenceArea, _ accuracy: FenceRule.Accuracy) -> Set<UInt32>? {
        var found = Set<UInt32>()
        for box in area.bounds {
            guard let devices = grid.devices(in: box, atMost: lookedAtOnce) else { return nil }
            found.formUnion(devices)
            if found.count > lookedAtOnce { return nil }
        }
        guard accuracy == .possible else { return found }
        if fixes.count > lookedAtOnce { return nil }
        for device in fixes.indices where (fixes[device]?.accuracy ?? 0) > 0 { found.insert(UInt32(device)) }
        return found
    }

    /// The fences near a fix, in ``near``; what they are compared by is asked for.
    mutating func find(_ fix: FenceFix) {
        near.removeAll(keepingCapacity: true)
        index.forEach(latitude: fix.latitude, longitude: fix.longitude) { near.append($0) }
        fences.prefetch(near)
        if possibleCount > 0, fix.accuracy > 0 { addPossible(fix) }
    }

    /// A device may be in fences that were found near it.
    mutating func enter(
        _ device: UInt32, _ fix: FenceFix, _ point: ECEF, now: Int64, into effects: inout [FenceEffect]
    ) {
        var found: [Int32] = []
        // Its memory serves again and again.
        swap(&found, &near)
        defer { swap(&found, &near) }
        // Most of those that are near hold it already.
        for index in visits[Int(device)].indices {
            let fence = visits[Int(device)][index].fence
            while let place = found.firstIndex(of: fence) {
                found.swapAt(place, found.count - 1)
                found.removeLast()
            }
        }
        guard !found.isEmpty else { return }
        if found.count > 1 { found.sort() }
        var former: Int32 = -1
        for number in found {
            // One of several parts may be near twice.
            defer { former = number }
            guard number != former else { continue }
            tryToEnter(number, device, fix, point, at: fix.timestamp, now: now, into: &effects)
        }
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
        guard let core = fences.core(number), core.isEnabled, core.hasArea, isInside(number, core, fix, point) else { return }
        guard fences.values(of: number)?.centre != device,
            !core.getsStale || staleAfter(device, in: number).map({ fix.heardAt + $0 > now }) ?? true,
            isOnFloor(fix, of: number), let identity = devices[Int(device)], fences.concerns(number, identity)
        else { return }
        begin(number, of: device, since: instant)
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
            setOutside(visit, of: device, since: nil)
        case .outside where core.accuracy != .likely || isElsewhere:
            return end(visit, of: device, at: instant, .left, into: &effects)
        case .outside:
            guard let first = visit.outsideSince else { return setOutside(visit, of: device, since: instant) }
            if instant - first >= LikelyRule.exitMilliseconds {
                return end(visit, of: device, at: instant, .left, into: &effects)
            }
        }
        guard core.dwells, !visit.hasDwelled, let dwell = fences.values(of: number)?.dwell else { return }
        let dwelledAt = visit.since + dwell
        if instant >= dwelledAt {
            // A fix that decides nothing leaves the device where the last usable one had it.
            let isInside = standing == .unusable ? visit.outsideSince == nil : standing != .outside
            if isInside { self.dwell(visit, of: device, fix, at: dwelledAt, into: &effects) }
        } else {
            scheduleDwell(of: device, in: number, fix)
        }
    }

    /// Ends visits and begins others by the last fix, after what a device is has changed.
    mutating func review(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard let fix = fix(of: device) else { return }
        find(fix)
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
        forget(visit, of: device)
        effects.append(
            .exited(fence: visit.fence, device: device, fix, at: instant, since: visit.since, reason))
    }

    mutating func begin(_ number: Int32, of device: UInt32, since: Int64, dwelledAt: Int64? = nil) {
        while members.count <= Int(number) { members.append([]) }
        let place = Int32(truncatingIfNeeded: members[Int(number)].count)
        members[Int(number)].append(device)
        visits[Int(device)].append(FenceVisit(fence: number, place: place, since: since, dwelledAt: dwelledAt))
    }

    /// The last member takes the place of the one that goes.
    mutating func forget(_ visit: FenceVisit, of device: UInt32) {
        visits[Int(device)].removeAll { $0.fence == visit.fence }
        let last = members[Int(visit.fence)].removeLast()
        // What a crowd took is given back.
        if members[Int(visit.fence)].isEmpty, members[Int(visit.fence)].capacity > 64 { members[Int(visit.fence)] = [] }
        guard last != device else { return }
        members[Int(visit.fence)][Int(visit.place)] = last
        change(last, visit.fence) { $0.place = visit.place }
    }

    func isOnFloor(_ fix: FenceFix, of number: Int32) -> Bool {
        fences.core(number)?.floor == .any || fix.floor != 0 && fix.floor == fences.values(of: number)?.floor
    }
}
