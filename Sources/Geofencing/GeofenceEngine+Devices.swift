import CPrefetch
import Geodesy

// Devices: they are known, move, are nowhere, and go.
extension GeofenceEngine {
    /// A device is known, or is another by now. Its visits of fences that are not about it any more end.
    public mutating func set(_ device: UInt32, _ identity: FenceDevice, at now: Int64, into effects: inout [FenceEffect]) {
        grow(devices: device)
        devices[Int(device)] = identity
        for visit in visits(of: device) where !fences.concerns(visit.fence, identity) {
            end(visit, of: device, .left, into: &effects)
        }
        if fix(of: device) != nil { review(device, at: now, into: &effects) }
    }

    /// A device is gone.
    public mutating func remove(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard Int(device) < devices.count else { return }
        for visit in visits(of: device) { end(visit, of: device, .deleted, into: &effects) }
        for fence in followers(of: device) { setArea(of: fence, nil, at: now, ending: .deleted, into: &effects) }
        for fence in followers(of: device) { fences.removeCentre(of: fence) }
        followers[device] = nil
        devices[Int(device)] = nil
        fixes[Int(device)] = nil
        grid.remove(device)
    }

    /// A device is nowhere.
    public mutating func clear(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard Int(device) < devices.count else { return }
        for visit in visits(of: device) { end(visit, of: device, .left, into: &effects) }
        for fence in followers(of: device) { setArea(of: fence, nil, at: now, into: &effects) }
        fixes[Int(device)] = nil
        grid.remove(device)
    }

    /// A device is where it was when its records were written: nothing is reported.
    public mutating func restore(_ device: UInt32, _ identity: FenceDevice, _ fix: FenceFix?) {
        grow(devices: device)
        devices[Int(device)] = identity
        guard let fix else { return }
        fixes[Int(device)] = fix
        grid.place(device, latitude: fix.latitude, longitude: fix.longitude)
    }

    /// A device was shown no fences since it was restored, or not all of them: it has entered those it is inside of.
    ///
    /// - Parameter reviewsAll: It has left those that it is not inside of, too; else only where they became others.
    public mutating func look(at device: UInt32, reviewsAll: Bool = false, now: Int64, into effects: inout [FenceEffect]) {
        guard let fix = fix(of: device) else { return }
        let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
        if reviewsAll || !changed.isEmpty {
            for visit in visits(of: device) {
                guard let change = changed[visit.fence] ?? (reviewsAll ? .moved : nil) else { continue }
                follow(change, visit, of: device, fix, point, into: &effects)
            }
        }
        find(fix)
        for number in Set(near).sorted() where visit(of: device, in: number) == nil {
            tryToEnter(number, device, fix, point, at: max(fix.timestamp, movers[number]?.at ?? .min), now: now, into: &effects)
        }
    }

    /// All devices were looked at since the last fence about very many became another.
    public mutating func endLooks() { changed.removeAll() }

    /// Asks for the memory of a device whose fix is about to come.
    public func expect(_ device: UInt32) {
        let index = Int(device)
        guard index < visits.count else { return }
        visits.withUnsafeBufferPointer { geomatch_prefetch($0.baseAddress.unsafelyUnwrapped + index) }
        fixes.withUnsafeBufferPointer { geomatch_prefetch($0.baseAddress.unsafelyUnwrapped + index) }
        grid.prefetch(index)
    }

    /// Asks for the memory of a device's visits. Its address is read as one: a reference that is counted waits for that memory.
    @inline(__always)
    private func prefetchVisits(of device: Int) {
        visits.withUnsafeBytes { visits in
            let list = visits.load(fromByteOffset: device * MemoryLayout<[FenceVisit]>.stride, as: UnsafeRawPointer.self)
            geomatch_prefetch(list)
            geomatch_prefetch(list + 64)
            geomatch_prefetch(list + 128)
        }
    }

    /// A fix of a device was accepted.
    public mutating func move(_ device: UInt32, to fix: FenceFix, into effects: inout [FenceEffect]) {
        grow(devices: device)
        prefetchVisits(of: Int(device))
        grid.place(device, latitude: fix.latitude, longitude: fix.longitude)
        decide(device, fix, now: fix.heardAt, into: &effects)
    }

    /// The last fix of a device was on another floor than it was known to be on.
    public mutating func setFloor(
        ofDevice device: UInt32, to floor: UInt32, at now: Int64, into effects: inout [FenceEffect]
    ) {
        guard var fix = fix(of: device), fix.floor != floor else { return }
        fix.floor = floor
        decide(device, fix, now: now, into: &effects)
    }

    private mutating func decide(_ device: UInt32, _ fix: FenceFix, now: Int64, into effects: inout [FenceEffect]) {
        fixes[Int(device)] = fix
        let point = ECEF(latitude: fix.latitude, longitude: fix.longitude)
        find(fix)
        for number in near { prefetchFan(of: number, device, fix, point) }
        var index = 0
        while index < visits[Int(device)].count {
            let visit = visits[Int(device)][index]
            review(visit, of: device, fix, point, at: fix.timestamp, into: &effects)
            // Its end would have the next one there.
            if index < visits[Int(device)].count, visits[Int(device)][index].fence == visit.fence { index += 1 }
        }
        enter(device, fix, point, now: now, into: &effects)
        if !followers.isEmpty { moveFollowers(of: device, to: fix, now: now, into: &effects) }
    }

    private mutating func moveFollowers(
        of device: UInt32, to fix: FenceFix, now: Int64, into effects: inout [FenceEffect]
    ) {
        for fence in followers(of: device) {
            guard let radius = movers[fence]?.radius,
                let circle = try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: radius)
            else { continue }
            movers[fence]?.at = fix.timestamp
            fences.setFloor(of: fence, fix.floor)
            setArea(of: fence, FenceArea(circle), at: now, moves: true, into: &effects)
        }
    }

}
