import Geodesy

// Geofences: they come, become others, move with a device, and go.
extension GeofenceEngine {
    /// A fence is known; who is inside has entered.
    ///
    /// - Parameter around: The device it moves with, and its radius.
    public mutating func insert(
        _ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil, at now: Int64,
        into effects: inout [FenceEffect]
    ) {
        restore(number, fence, around: around)
        guard let area = fences.area(of: number) else { return }
        admit(to: number, area, at: now, into: &effects)
    }

    /// A fence is known; nothing is reported.
    public mutating func restore(_ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil) {
        forget(number)
        var fence = fence
        if let around {
            fence.centre = around.device
            followers[around.device, default: []].append(number)
            let fix = fix(of: around.device)
            movers[number] = Mover(radius: around.radius, at: fix?.timestamp ?? .min)
            fence.area = fix.flatMap { fix in
                (try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: around.radius)).map(FenceArea.init)
            }
            fence.floor = fix?.floor ?? 0
        }
        fences[number] = fence
        if let area = fence.area { show(number, area) }
        if fence.rule.accuracy == .possible { possibleCount += 1 }
    }

    /// A fence is another by now: visits that it does not allow end with `left`, also where a fix alone would not end them.
    public mutating func update(
        _ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil, at now: Int64,
        into effects: inout [FenceEffect]
    ) {
        restore(number, fence, around: around)
        guard mayLook(number, .rule) else { return }
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device) else { continue }
            let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
            follow(.rule, visit, of: device, fix, point, into: &effects)
        }
        if let area = fences.area(of: number) { admit(to: number, area, at: now, into: &effects) }
    }

    /// Whether those inside of a fence that became another can be looked at at once; else all devices are later.
    private mutating func mayLook(_ number: Int32, _ change: Change) -> Bool {
        let isCrowded = Int(number) < members.count && members[Int(number)].count > lookedAtOnce
        guard isCrowded || changed[number] != nil else { return true }
        // What was not followed yet by all is no less than this.
        if case .rule? = changed[number] {} else { changed[number] = change }
        mustLookAtAll = true
        return false
    }

    /// What a fence became means for one visit.
    mutating func follow(
        _ change: Change, _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, _ point: ECEF,
        into effects: inout [FenceEffect]
    ) {
        let number = visit.fence
        let at = max(fix.timestamp, movers[number]?.at ?? .min)
        switch change {
        case .moved: review(visit, of: device, fix, point, at: at, into: &effects)
        case .area(let reason):
            if standing(of: device, in: number) ?? .outside == .outside {
                end(visit, of: device, at: at, reason, into: &effects)
            }
        case .rule:
            guard let fence = fences[number], let identity = devices[Int(device)] else { return }
            let allows = fence.isEnabled && fence.concerns(identity) && fence.centre != device
            var standing = FenceStanding.outside
            if allows, let area = fence.area, isOnFloor(fix, of: number) {
                standing = fence.rule.standing(of: fix, in: area) { depth(of: number, area) }
            }
            if standing == .outside { return end(visit, of: device, .left, into: &effects) }
            setOutside(visit, of: device, since: nil)
            self.change(device, number) { $0.dwellsAt = .max }
            scheduleDwell(of: device, in: number, fix)
            scheduleSilence(of: device, in: number, fix)
        }
    }

    /// A fence is gone, and its visits with it.
    public mutating func remove(_ number: Int32, into effects: inout [FenceEffect]) {
        for device in members(of: number) {
            if let visit = visit(of: device, in: number) { end(visit, of: device, .deleted, into: &effects) }
        }
        changed[number] = nil
        forget(number)
    }

    /// What a fence encloses is another by now: a place was imported anew, or the device in its middle moved.
    ///
    /// - Parameter moves: A visit ends as by a fix of the visitor, not at once.
    public mutating func setArea(
        of number: Int32, _ area: FenceArea?, at now: Int64, ending reason: FenceEnd = .left, moves: Bool = false,
        into effects: inout [FenceEffect]
    ) {
        guard fences.core(number) != nil else { return }
        if let former = fences.area(of: number) { index.remove(number, former.bounds) }
        depths[number] = nil
        fences.setArea(of: number, area)
        if let area { show(number, area) }
        let change = moves ? Change.moved : .area(reason)
        guard mayLook(number, change) else { return }
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device) else { continue }
            let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
            follow(change, visit, of: device, fix, point, into: &effects)
        }
        if let area { admit(to: number, area, at: now, into: &effects) }
    }

    /// The floor that a fence is on, 0 where it is not known. See ``endElsewhere(in:into:)``.
    public mutating func setFloor(of number: Int32, _ floor: UInt32) { fences.setFloor(of: number, floor) }

    /// Visits of devices that are on other floors than the fence end.
    public mutating func endElsewhere(in number: Int32, into effects: inout [FenceEffect]) {
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device), !isOnFloor(fix, of: number) else {
                continue
            }
            end(visit, of: device, .left, into: &effects)
        }
    }
}
