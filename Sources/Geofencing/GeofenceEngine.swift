import Geodesy
import HeapModule

/// What the engine wants told, in order.
public enum FenceEffect: Equatable, Sendable {
    case entered(fence: Int32, device: UInt32, FenceFix, at: Int64)
    case dwelled(fence: Int32, device: UInt32, FenceFix, at: Int64)
    case exited(fence: Int32, device: UInt32, FenceFix?, at: Int64, since: Int64, FenceEnd)
}

/// Why a visit ended.
public enum FenceEnd: String, Sendable {
    case left, deleted, lost
}

/// By what geofences choose a device.
public struct FenceDevice: Equatable, Sendable {
    public var id: String
    public var owner: String?
    public var groups: [String]

    public init(id: String, owner: String? = nil, groups: [String] = []) {
        self.id = id
        self.owner = owner
        self.groups = groups
    }
}

/// One geofence as the engine knows it.
public struct Fence: Sendable {
    public var rule: FenceRule
    /// nil: there is none at present, and nobody is inside.
    public var area: FenceArea?
    /// 0: not known.
    public var floor: UInt32
    public var isEnabled: Bool
    public var owner: String
    /// Ids, ids with a `*` at their end, and groups; empty for its owner's devices and those without an owner.
    public var devices: [String]
    /// The device that it moves with, and when that was where it is.
    public var centre: UInt32?
    public var centreAt: Int64 = .min

    public init(
        rule: FenceRule, area: FenceArea?, floor: UInt32 = 0, isEnabled: Bool = true, owner: String, devices: [String] = []
    ) {
        self.rule = rule
        self.area = area
        self.floor = floor
        self.isEnabled = isEnabled
        self.owner = owner
        self.devices = devices
    }

    /// Whether it is about a device, wherever that is.
    public func concerns(_ device: FenceDevice) -> Bool {
        if let owner = device.owner, !Self.isSame(owner, self.owner) { return false }
        guard !devices.isEmpty else { return true }
        return devices.contains { name in
            if name.utf8.last == UInt8(ascii: "*") { return device.id.utf8.starts(with: name.utf8.dropLast()) }
            return Self.isSame(name, device.id) || device.groups.contains { Self.isSame(name, $0) }
        }
    }

    /// Texts are told apart by their bytes.
    private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}

/// The stay of one device in one geofence.
public struct FenceVisit: Equatable, Sendable {
    public let fence: Int32
    public let since: Int64
    public var hasDwelled: Bool
    /// When the first of the fixes that are all outside was; nil where the last one was not.
    var outsideSince: Int64?
    /// When it is one of dwelling, by our clock.
    var dwellsAt: Int64 = .max
}

/// Which devices are in which geofences: values in, effects out.
///
/// A position costs the fences near it and those its device is in. Devices and fences are named by small numbers of the owner's,
/// who also says what time it is; being shown the time late changes no decision.
public struct GeofenceEngine {
    private(set) var fences: [Fence?] = []
    /// Of each fence.
    private var sketches: [FenceSketch] = []
    private var depths: [Int32: Double] = [:]
    private var index = FenceIndex()
    /// Fences that a position beyond their edge may be in: those with accuracy `possible`.
    private var possibleCount = 0
    private var devices: [FenceDevice?] = []
    private var fixes: [FenceFix?] = []
    private var grid = DeviceGrid()
    /// Of each device.
    private var visits: [[FenceVisit]] = []
    /// Of each fence.
    private var members: [Set<UInt32>] = []
    private var followers: [UInt32: [Int32]] = [:]
    private var deadlines = Heap<Deadline>()
    private var near: [Int32] = []

    public init() {}

    private struct Deadline: Comparable {
        var at: Int64
        var device: UInt32
        var fence: Int32
        /// It is about silence; else about dwelling.
        var isSilence: Bool

        static func < (left: Self, right: Self) -> Bool {
            (left.at, left.device, left.fence) < (right.at, right.device, right.fence)
        }
    }

    // MARK: Reading

    public func fence(_ fence: Int32) -> Fence? { Int(fence) < fences.count ? fences[Int(fence)] : nil }
    public func fix(of device: UInt32) -> FenceFix? { Int(device) < fixes.count ? fixes[Int(device)] : nil }
    public func visits(of device: UInt32) -> [FenceVisit] { Int(device) < visits.count ? visits[Int(device)] : [] }
    public func visit(of device: UInt32, in fence: Int32) -> FenceVisit? { visits(of: device).first { $0.fence == fence } }
    /// Those inside, in order.
    public func members(of fence: Int32) -> [UInt32] { Int(fence) < members.count ? members[Int(fence)].sorted() : [] }
    /// The fences that move with a device.
    public func followers(of device: UInt32) -> [Int32] { followers[device] ?? [] }

    /// What the last fix of a device says about a fence, its floor aside; nil where there is no fix or no area.
    public func standing(of device: UInt32, in fence: Int32) -> FenceStanding? {
        guard let fix = fix(of: device), let known = self.fence(fence), let area = known.area else { return nil }
        return known.rule.standing(of: fix, in: area) { depths[fence] ?? area.depth }
    }

    /// Metres from its edge to the point that lies deepest inside; nil where it encloses nothing.
    public func depth(of fence: Int32) -> Double? { depths[fence] ?? self.fence(fence)?.area?.depth }

    /// When time brings something about.
    public var nextDeadline: Int64? { deadlines.min?.at }

    // MARK: Devices

    /// A device is known, or is another by now. Its visits of fences that are not about it any more end.
    public mutating func set(_ device: UInt32, _ identity: FenceDevice, at now: Int64, into effects: inout [FenceEffect]) {
        grow(devices: device)
        devices[Int(device)] = identity
        for visit in visits(of: device) where !(fence(visit.fence)?.concerns(identity) ?? false) {
            end(visit, of: device, at: max(visit.since, fix(of: device)?.timestamp ?? now), .left, into: &effects)
        }
        if fix(of: device) != nil { review(device, at: now, into: &effects) }
    }

    /// A device is gone.
    public mutating func remove(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard Int(device) < devices.count else { return }
        for visit in visits(of: device) { end(visit, of: device, at: max(visit.since, now), .deleted, into: &effects) }
        for fence in followers(of: device) { setArea(of: fence, nil, at: now, ending: .deleted, into: &effects) }
        for fence in followers(of: device) { fences[Int(fence)]?.centre = nil }
        followers[device] = nil
        devices[Int(device)] = nil
        fixes[Int(device)] = nil
        grid.remove(device)
    }

    /// A device is nowhere.
    public mutating func clear(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard Int(device) < devices.count else { return }
        for visit in visits(of: device) { end(visit, of: device, at: max(visit.since, now), .left, into: &effects) }
        for fence in followers(of: device) { setArea(of: fence, nil, at: now, into: &effects) }
        fixes[Int(device)] = nil
        grid.remove(device)
    }

    /// A device is where it was when its records were written: nothing is told.
    public mutating func restore(_ device: UInt32, _ identity: FenceDevice, _ fix: FenceFix?) {
        grow(devices: device)
        devices[Int(device)] = identity
        guard let fix else { return }
        fixes[Int(device)] = fix
        grid.place(device, latitude: fix.latitude, longitude: fix.longitude)
    }

    /// A fix of a device was accepted.
    public mutating func move(_ device: UInt32, to fix: FenceFix, into effects: inout [FenceEffect]) {
        grow(devices: device)
        fixes[Int(device)] = fix
        grid.place(device, latitude: fix.latitude, longitude: fix.longitude)
        for visit in visits[Int(device)] { review(visit, of: device, fix, at: fix.timestamp, now: fix.heardAt, into: &effects) }
        enter(device, fix, now: fix.heardAt, into: &effects)
        if !followers.isEmpty { moveFollowers(of: device, to: fix, into: &effects) }
    }

    private mutating func moveFollowers(of device: UInt32, to fix: FenceFix, into effects: inout [FenceEffect]) {
        for fence in followers(of: device) {
            guard let radius = radii[fence],
                let circle = try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: radius)
            else { continue }
            fences[Int(fence)]?.centreAt = fix.timestamp
            fences[Int(fence)]?.floor = fix.floor
            setArea(of: fence, FenceArea(circle), at: fix.heardAt, moves: true, into: &effects)
        }
    }

    /// Of the fences that move.
    private var radii: [Int32: Double] = [:]

    // MARK: Fences

    /// A fence is known; who is inside has entered.
    ///
    /// - Parameter around: The device it moves with, and its radius.
    public mutating func insert(
        _ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil, at now: Int64,
        into effects: inout [FenceEffect]
    ) {
        restore(number, fence, around: around)
        guard let area = fences[Int(number)]?.area else { return }
        admit(to: number, area, at: now, into: &effects)
    }

    /// A fence is known; nothing is told.
    public mutating func restore(_ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil) {
        forget(number)
        while fences.count <= Int(number) {
            fences.append(nil)
            sketches.append(.nothing)
            members.append([])
        }
        var fence = fence
        if let around {
            fence.centre = around.device
            radii[number] = around.radius
            followers[around.device, default: []].append(number)
            let fix = fix(of: around.device)
            fence.area = fix.flatMap { fix in
                (try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: around.radius)).map(FenceArea.init)
            }
            fence.floor = fix?.floor ?? 0
            fence.centreAt = fix?.timestamp ?? .min
        }
        fences[Int(number)] = fence
        if let area = fence.area { show(number, area) }
        if fence.rule.accuracy == .possible { possibleCount += 1 }
    }

    /// A fence is another by now: visits that it does not allow end with `left`, also where a fix alone would not end them.
    public mutating func update(
        _ number: Int32, _ fence: Fence, around: (device: UInt32, radius: Double)? = nil, at now: Int64,
        into effects: inout [FenceEffect]
    ) {
        restore(number, fence, around: around)
        let fence = fences[Int(number)] ?? fence
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device), let identity = devices[Int(device)] else {
                continue
            }
            let allows = fence.isEnabled && fence.concerns(identity) && fence.centre != device
            var standing = FenceStanding.outside
            if allows, let area = fence.area, isOnFloor(fix, of: fence) {
                standing = fence.rule.standing(of: fix, in: area) { depth(of: number, area) }
            }
            if standing == .outside {
                end(visit, of: device, at: max(visit.since, fix.timestamp), .left, into: &effects)
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
    public mutating func remove(_ number: Int32, at now: Int64, into effects: inout [FenceEffect]) {
        for device in members(of: number) {
            if let visit = visit(of: device, in: number) {
                end(visit, of: device, at: max(visit.since, now), .deleted, into: &effects)
            }
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
        guard let fence = fence(number) else { return }
        if let former = fence.area { index.remove(number, former.bounds) }
        depths[number] = nil
        fences[Int(number)]?.area = area
        if let area { show(number, area) }
        for device in members(of: number) {
            guard let visit = visit(of: device, in: number), let fix = fix(of: device) else { continue }
            let at = max(fix.timestamp, fences[Int(number)]?.centreAt ?? .min)
            if moves {
                review(visit, of: device, fix, at: at, now: now, into: &effects)
            } else if area == nil || standing(of: device, in: number) == .outside {
                end(visit, of: device, at: max(visit.since, area == nil ? now : at), reason, into: &effects)
            }
        }
        if let area { admit(to: number, area, at: now, into: &effects) }
    }

    /// The floor that a fence is on, 0 where it is not known.
    public mutating func setFloor(of number: Int32, _ floor: UInt32) { fences[Int(number)]?.floor = floor }

    /// The visit of a device that its records tell of.
    public mutating func restoreVisit(of device: UInt32, in number: Int32, since: Int64, hasDwelled: Bool) {
        grow(devices: device)
        guard fence(number) != nil, visit(of: device, in: number) == nil else { return }
        visits[Int(device)].append(FenceVisit(fence: number, since: since, hasDwelled: hasDwelled))
        members[Int(number)].insert(device)
    }

    /// What its records told of is over.
    public mutating func restoreEnd(of device: UInt32, in number: Int32) {
        guard Int(device) < visits.count, Int(number) < members.count else { return }
        visits[Int(device)].removeAll { $0.fence == number }
        members[Int(number)].remove(device)
    }

    /// Everything is back: visits go on from the last fixes, with their deadlines.
    public mutating func resume(at now: Int64) {
        for (number, radius) in radii.sorted(by: { $0.key < $1.key }) {
            guard let fence = fence(number), let centre = fence.centre else { continue }
            restore(number, fence, around: (centre, radius))
        }
        for device in visits.indices {
            guard let fix = fixes[device] else { continue }
            for visit in visits[device] {
                guard let fence = fence(visit.fence), let area = fence.area else { continue }
                if fence.rule.standing(of: fix, in: area, depth: { area.depth }) == .outside {
                    change(UInt32(device), visit.fence) { $0.outsideSince = fix.timestamp }
                }
                scheduleDwell(of: UInt32(device), in: visit.fence, fix)
                scheduleSilence(of: UInt32(device), in: visit.fence, fix)
            }
        }
    }

    // MARK: Time

    /// Dwelling and silence up to now.
    public mutating func advance(to now: Int64, into effects: inout [FenceEffect]) {
        while let first = deadlines.min, first.at <= now {
            _ = deadlines.popMin()
            guard let visit = visit(of: first.device, in: first.fence), let fix = fix(of: first.device) else { continue }
            if first.isSilence {
                endSilent(visit, of: first.device, fix, now: now, into: &effects)
            } else if visit.dwellsAt <= now {
                dwellInTime(visit, of: first.device, fix, into: &effects)
            } else if visit.dwellsAt != .max {
                deadlines.insert(Deadline(at: visit.dwellsAt, device: first.device, fence: first.fence, isSilence: false))
            }
        }
    }

    private mutating func endSilent(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, now: Int64, into effects: inout [FenceEffect]
    ) {
        guard let stale = fence(visit.fence)?.rule.staleAfter else { return }
        let due = fix.heardAt + stale
        guard due > now else { return end(visit, of: device, at: max(visit.since, due), .lost, into: &effects) }
        deadlines.insert(Deadline(at: due, device: device, fence: visit.fence, isSilence: true))
    }

    /// A visit that seems to be ending is not one of dwelling yet: the next fix says.
    private mutating func dwellInTime(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, into effects: inout [FenceEffect]
    ) {
        guard let fence = fence(visit.fence), visit.outsideSince == nil else { return }
        dwell(visit, of: device, fix, at: visit.since + fence.rule.dwell, into: &effects)
    }

    /// When time makes a visit one of dwelling: a source that lags behind our clock goes on lagging.
    private mutating func scheduleDwell(of device: UInt32, in number: Int32, _ fix: FenceFix) {
        guard let fence = fence(number), fence.rule.dwell > 0, let visit = visit(of: device, in: number), !visit.hasDwelled else {
            return
        }
        let due = visit.since + fence.rule.dwell + max(0, fix.heardAt - fix.timestamp)
        // One that comes too early is put in again.
        if due < visit.dwellsAt { deadlines.insert(Deadline(at: due, device: device, fence: number, isSilence: false)) }
        change(device, number) { $0.dwellsAt = due }
    }

    private mutating func scheduleSilence(of device: UInt32, in number: Int32, _ fix: FenceFix) {
        guard let stale = fence(number)?.rule.staleAfter else { return }
        deadlines.insert(Deadline(at: fix.heardAt + stale, device: device, fence: number, isSilence: true))
    }

    // MARK: Deciding

    /// Who is near a fence may be inside.
    private mutating func admit(to number: Int32, _ area: FenceArea, at now: Int64, into effects: inout [FenceEffect]) {
        guard let fence = fence(number), fence.isEnabled else { return }
        var found = Set<UInt32>()
        for box in area.bounds { found.formUnion(grid.devices(in: box)) }
        if fence.rule.accuracy == .possible {
            for device in fixes.indices where (fixes[device]?.accuracy ?? 0) > 0 { found.insert(UInt32(device)) }
        }
        for device in found.sorted() {
            guard let fix = fixes[Int(device)] else { continue }
            tryToEnter(number, device, fix, at: max(fix.timestamp, fence.centreAt), now: now, into: &effects)
        }
    }

    /// A device may be in fences near it.
    private mutating func enter(_ device: UInt32, _ fix: FenceFix, now: Int64, into effects: inout [FenceEffect]) {
        var found: [Int32] = []
        // Its memory serves again and again.
        swap(&found, &near)
        found.removeAll(keepingCapacity: true)
        let (latitude, longitude) = (Float(fix.latitude), Float(fix.longitude))
        sketches.withUnsafeBufferPointer { sketches in
            index.forEach(latitude: fix.latitude, longitude: fix.longitude) { number in
                if sketches[Int(number)].mayHold(latitude, longitude) { found.append(number) }
            }
        }
        near = found
        if possibleCount > 0, fix.accuracy > 0 { addPossible(fix) }
        guard !near.isEmpty else { return }
        if near.count > 1 { near.sort() }
        for number in near { tryToEnter(number, device, fix, at: fix.timestamp, now: now, into: &effects) }
    }

    /// Fences that the accuracy of a fix reaches.
    private mutating func addPossible(_ fix: FenceFix) {
        let metres = min(fix.accuracy, Area.Circle.radiusMax)
        guard let reach = try? Area.Circle(latitude: fix.latitude, longitude: fix.longitude, radius: metres) else { return }
        var more = Set<Int32>()
        index.forEach(in: reach.bounds) { more.insert($0) }
        near += more.filter { fences[Int($0)]?.rule.accuracy == .possible }
    }

    private mutating func tryToEnter(
        _ number: Int32, _ device: UInt32, _ fix: FenceFix, at instant: Int64, now: Int64, into effects: inout [FenceEffect]
    ) {
        guard let fence = fences[Int(number)], let area = fence.area, fence.isEnabled, fence.centre != device,
            fence.rule.staleAfter.map({ fix.heardAt + $0 > now }) ?? true
        else { return }
        guard fence.rule.standing(of: fix, in: area, depth: { depth(of: number, area) }) == .inside, isOnFloor(fix, of: fence),
            let identity = devices[Int(device)], fence.concerns(identity), visit(of: device, in: number) == nil
        else { return }
        visits[Int(device)].append(FenceVisit(fence: number, since: instant, hasDwelled: false))
        members[Int(number)].insert(device)
        effects.append(.entered(fence: number, device: device, fix, at: instant))
        scheduleDwell(of: device, in: number, fix)
        scheduleSilence(of: device, in: number, fix)
    }

    /// A fix of a device that is inside, or a fence that moved.
    private mutating func review(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, at instant: Int64, now: Int64, into effects: inout [FenceEffect]
    ) {
        let number = visit.fence
        guard let fence = fences[Int(number)], let area = fence.area else { return }
        var standing = fence.rule.standing(of: fix, in: area) { depth(of: number, area) }
        let isElsewhere = fence.rule.floor == .same && standing != .unusable && !isOnFloor(fix, of: fence)
        if isElsewhere { standing = .outside }
        switch standing {
        case .unusable: break
        case .inside, .between:
            if visit.outsideSince != nil { change(device, number) { $0.outsideSince = nil } }
        case .outside where fence.rule.accuracy != .likely || isElsewhere:
            return end(visit, of: device, at: max(visit.since, instant), .left, into: &effects)
        case .outside:
            guard let first = visit.outsideSince else { return change(device, number) { $0.outsideSince = instant } }
            if instant - first >= FenceRule.likelyExitMilliseconds {
                return end(visit, of: device, at: instant, .left, into: &effects)
            }
        }
        guard fence.rule.dwell > 0, !visit.hasDwelled else { return }
        let dwelledAt = visit.since + fence.rule.dwell
        if instant >= dwelledAt {
            if standing != .outside { dwell(visit, of: device, fix, at: dwelledAt, into: &effects) }
        } else {
            scheduleDwell(of: device, in: number, fix)
        }
    }

    /// Ends visits and begins others by the last fix, after what a device is has changed.
    private mutating func review(_ device: UInt32, at now: Int64, into effects: inout [FenceEffect]) {
        guard let fix = fix(of: device) else { return }
        enter(device, fix, now: now, into: &effects)
    }

    private mutating func dwell(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, at instant: Int64, into effects: inout [FenceEffect]
    ) {
        guard !visit.hasDwelled else { return }
        change(device, visit.fence) {
            $0.hasDwelled = true
            $0.dwellsAt = .max
        }
        effects.append(.dwelled(fence: visit.fence, device: device, fix, at: instant))
    }

    private mutating func end(
        _ visit: FenceVisit, of device: UInt32, at instant: Int64, _ reason: FenceEnd, into effects: inout [FenceEffect]
    ) {
        visits[Int(device)].removeAll { $0.fence == visit.fence }
        members[Int(visit.fence)].remove(device)
        effects.append(
            .exited(fence: visit.fence, device: device, fix(of: device), at: instant, since: visit.since, reason))
    }

    private func isOnFloor(_ fix: FenceFix, of fence: Fence) -> Bool {
        fence.rule.floor == .any || fix.floor != 0 && fix.floor == fence.floor
    }

    // MARK: Parts

    private mutating func change(_ device: UInt32, _ fence: Int32, _ change: (inout FenceVisit) -> Void) {
        guard let place = visits[Int(device)].firstIndex(where: { $0.fence == fence }) else { return }
        change(&visits[Int(device)][place])
    }

    /// Has positions find a fence.
    private mutating func show(_ number: Int32, _ area: FenceArea) {
        let bounds = area.bounds
        index.insert(number, bounds)
        sketches[Int(number)] = FenceSketch(bounds)
    }

    private mutating func depth(of number: Int32, _ area: FenceArea) -> Double {
        if let known = depths[number] { return known }
        let depth = area.depth
        depths[number] = depth
        return depth
    }

    private mutating func forget(_ number: Int32) {
        guard let fence = fence(number) else { return }
        if let area = fence.area { index.remove(number, area.bounds) }
        if fence.rule.accuracy == .possible { possibleCount -= 1 }
        if let centre = fence.centre {
            followers[centre]?.removeAll { $0 == number }
            if followers[centre]?.isEmpty == true { followers[centre] = nil }
        }
        radii[number] = nil
        depths[number] = nil
        fences[Int(number)] = nil
    }

    private mutating func grow(devices device: UInt32) {
        while devices.count <= Int(device) {
            devices.append(nil)
            fixes.append(nil)
            visits.append([])
        }
    }
}
