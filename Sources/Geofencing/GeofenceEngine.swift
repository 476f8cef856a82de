import Geodesy
import HeapModule

/// Which devices are in which geofences: values in, effects out.
///
/// A position costs the fences near it and those its device is in. Devices and fences are named by small numbers of the owner's,
/// who also says what time it is; being shown the time late changes no decision.
///
/// Not copyable, so that its owner, a class, reads it where it is: a copy counts a reference of each of its twenty collections.
public struct GeofenceEngine: ~Copyable {
    var fences = FenceTable()
    var depths: [Int32: Double] = [:]
    var index = FenceIndex()
    /// Fences that a position beyond their edge may be in: those with accuracy `possible`.
    var possibleCount = 0
    var devices: [FenceDevice?] = []
    var fixes: [FenceFix?] = []
    var grid = DeviceGrid()
    /// Of each device.
    var visits: [[FenceVisit]] = []
    /// Of each fence that somebody was in.
    var members: [[UInt32]] = []
    var followers: [UInt32: [Int32]] = [:]
    var movers: [Int32: Mover] = [:]
    var deadlines = Heap<Deadline>()
    var near: [Int32] = []
    /// So many devices are looked at, at most, at once because of one fence.
    public var lookedAtOnce = Int.max
    /// More were concerned: all devices are to be looked at one after the other, see ``look(at:reviewsAll:now:into:)``, and each
    /// before it moves or is another. The owner takes it back when it begins with that, and says when it has ended, see ``endLooks()``.
    public var mustLookAtAll = false
    /// Visits whose ``FenceVisit/outsideSince`` has changed, for the owner to remove and keep.
    public var outsideChanged: [(device: UInt32, fence: Int32)] = []
    /// Fences that became others since, and what that means for those inside.
    var changed: [Int32: Change] = [:]

    public init() {}

    enum Change {
        /// The device in its middle moved: as by a fix of the visitor.
        case moved
        /// Another area: who is not inside of it any more leaves.
        case area(FenceEnd)
        /// Another rule, too.
        case rule
    }

    /// A fence that moves with a device.
    struct Mover {
        var radius: Double
        /// When the device was where the fence is.
        var at: Int64 = .min
    }

    struct Deadline: Comparable {
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

    public func fence(_ fence: Int32) -> Fence? { fences[fence] }
    public func knows(_ device: UInt32) -> Bool { Int(device) < devices.count && devices[Int(device)] != nil }
    public func fix(of device: UInt32) -> FenceFix? { Int(device) < fixes.count ? fixes[Int(device)] : nil }
    public func visits(of device: UInt32) -> [FenceVisit] { Int(device) < visits.count ? visits[Int(device)] : [] }
    public func visit(of device: UInt32, in fence: Int32) -> FenceVisit? { visits(of: device).first { $0.fence == fence } }
    /// Those inside, in order.
    public func members(of fence: Int32) -> [UInt32] { unorderedMembers(of: fence).sorted() }
    /// Those inside.
    public func unorderedMembers(of fence: Int32) -> [UInt32] { Int(fence) < members.count ? Array(members[Int(fence)]) : [] }
    /// The fences that move with a device.
    public func followers(of device: UInt32) -> [Int32] { followers[device] ?? [] }

    /// What the last fix of a device says about a fence, its floor aside; nil where there is no fix or no area.
    public func standing(of device: UInt32, in fence: Int32) -> FenceStanding? {
        guard let fix = fix(of: device), let known = self.fence(fence), let area = known.area else { return nil }
        return known.rule.standing(of: fix, in: area) { depths[fence] ?? area.depth }
    }

    /// Metres from its edge to the point that lies deepest inside; nil where it encloses nothing.
    public func depth(of fence: Int32) -> Double? { depths[fence] ?? fences.area(of: fence)?.depth }

    /// When time brings something about.
    public var nextDeadline: Int64? { deadlines.min?.at }

    // MARK: Parts

    mutating func change(_ device: UInt32, _ fence: Int32, _ change: (inout FenceVisit) -> Void) {
        guard let place = visits[Int(device)].firstIndex(where: { $0.fence == fence }) else { return }
        change(&visits[Int(device)][place])
    }

    /// Has positions find a fence.
    mutating func show(_ number: Int32, _ area: FenceArea) {
        index.insert(number, area.bounds)
    }

    mutating func depth(of number: Int32, _ area: FenceArea) -> Double {
        if let known = depths[number] { return known }
        let depth = area.depth
        depths[number] = depth
        return depth
    }

    mutating func forget(_ number: Int32) {
        guard let fence = fence(number) else { return }
        if let area = fence.area { index.remove(number, area.bounds) }
        if fence.rule.accuracy == .possible { possibleCount -= 1 }
        if let centre = fence.centre {
            followers[centre]?.removeAll { $0 == number }
            if followers[centre]?.isEmpty == true { followers[centre] = nil }
        }
        movers[number] = nil
        depths[number] = nil
        fences[number] = nil
    }

    mutating func grow(devices device: UInt32) {
        while devices.count <= Int(device) {
            devices.append(nil)
            fixes.append(nil)
            visits.append([])
        }
    }
}
