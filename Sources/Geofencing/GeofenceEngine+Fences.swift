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
        let fence = fences[number] ?? fence
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device), let identity = devices[Int(device)] else {
                continue
            }
            let allows = fence.isEnabled && fence.concerns(identity) && fence.centre != device
            var standing = FenceStanding.outside
            if allows, let area = fence.area, isOnFloor(fix, of: number) {
                standing = fence.rule.standing(of: fix, in: area) { depth(of: number, area) }
            }
            if standing == .outside {
                end(visit, of: device, .left, into: &effects)
            } else {
                change(device, number) {
                    $0.outsideSince = nil
                    $0.dwellsAt = .max
                }
                scheduleDwell(of: device, in: number, fix)
                scheduleSilence(of: device, in: number, fix)
            }
        }
        if let area = fence.area { admit(to: number, area, at: now, into: &effects) }
    }

    /// A fence is gone, and its visits with it.
    public mutating func remove(_ number: Int32, into effects: inout [FenceEffect]) {
        for device in members(of: number) {
            if let visit = visit(of: device, in: number) { end(visit, of: device, .deleted, into: &effects) }
        }
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
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device) else { continue }
            let at = max(fix.timestamp, movers[number]?.at ?? .min)
            if moves {
                let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
                review(visit, of: device, fix, point, at: at, into: &effects)
            } else if area == nil || standing(of: device, in: number) == .outside {
                end(visit, of: device, at: at, reason, into: &effects)
            }
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
