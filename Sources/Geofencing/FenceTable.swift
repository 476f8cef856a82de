import Geodesy

/// What of a geofence most positions are compared with: no reference, and no more than is needed.
struct FenceCore {
    /// Of a circle whose edge is found by straight distances alone; else its radius is 0.
    var centre: ECEF
    var radius: Double
    var exitMargin: Double
    var accuracy: FenceRule.Accuracy
    var floor: FenceRule.Floor
    var isEnabled: Bool
    var hasArea: Bool
    var dwells: Bool
    var getsStale: Bool

    /// Metres up to which an arc follows from its chord.
    static let arcMax = 20_000.0

    /// The square of the chord under an arc, in square metres.
    @inline(__always)
    static func squaredChord(ofArc arc: Double) -> Double {
        let chord = Geodesic.chord(ofArc: arc)
        return chord * chord
    }
}

/// The rest of a geofence.
struct FenceDetail {
    var dwell: Int64
    var owner: String
    var devices: [String]
    /// What is no small circle.
    var shape: FenceShape?
    /// Of a small circle.
    var latitude, longitude: Double
    var staleAfter: Int64?
    var floor: UInt32
    var centre: UInt32?
}

/// An area by reference.
final class FenceShape: Sendable {
    let area: FenceArea

    init(_ area: FenceArea) { self.area = area }
}

/// All geofences by their numbers, a circle in about 120 bytes.
struct FenceTable {
    private(set) var cores: [FenceCore?] = []
    private var details: [FenceDetail?] = []

    var count: Int { cores.count }

    subscript(number: Int32) -> Fence? {
        get {
            guard let core = core(number), let detail = details[Int(number)] else { return nil }
            let rule = FenceRule(
                accuracy: core.accuracy, floor: core.floor, exitMargin: core.exitMargin, dwell: detail.dwell,
                staleAfter: detail.staleAfter)
            var fence = Fence(
                rule: rule, area: area(of: number), floor: detail.floor, isEnabled: core.isEnabled, owner: detail.owner,
                devices: detail.devices)
            fence.centre = detail.centre
            return fence
        }
        set {
            while cores.count <= Int(number) {
                cores.append(nil)
                details.append(nil)
            }
            cores[Int(number)] = newValue.map(FenceCore.init)
            details[Int(number)] = newValue.map(FenceDetail.init)
            if let newValue { setArea(of: number, newValue.area) }
        }
    }

    @inline(__always)
    func core(_ number: Int32) -> FenceCore? { Int(number) < cores.count ? cores[Int(number)] : nil }

    func area(of number: Int32) -> FenceArea? {
        guard let core = core(number), core.hasArea, let detail = details[Int(number)] else { return nil }
        if let shape = detail.shape { return shape.area }
        return (try? Area.Circle(latitude: detail.latitude, longitude: detail.longitude, radius: core.radius)).map(FenceArea.init)
    }

    mutating func setArea(of number: Int32, _ area: FenceArea?) {
        guard core(number) != nil else { return }
        let circle = area?.circle.flatMap { $0.radius <= FenceCore.arcMax / 2 ? $0 : nil }
        cores[Int(number)]?.hasArea = area != nil
        cores[Int(number)]?.radius = circle?.radius ?? 0
        cores[Int(number)]?.centre = circle.map { ECEF(latitude: $0.latitude, longitude: $0.longitude) } ?? ECEF(x: 0, y: 0, z: 0)
        details[Int(number)]?.latitude = circle?.latitude ?? 0
        details[Int(number)]?.longitude = circle?.longitude ?? 0
        details[Int(number)]?.shape = circle == nil ? area.map(FenceShape.init) : nil
    }

    func shape(of number: Int32) -> FenceShape? { details[Int(number)]?.shape }
    func detail(_ number: Int32) -> FenceDetail? { Int(number) < details.count ? details[Int(number)] : nil }
    func staleAfter(of number: Int32) -> Int64? { detail(number)?.staleAfter }
    func centre(of number: Int32) -> UInt32? { detail(number)?.centre }

    func concerns(_ number: Int32, _ device: FenceDevice) -> Bool {
        guard let detail = detail(number) else { return false }
        return Fence.concerns(device, owner: detail.owner, devices: detail.devices)
    }

    mutating func setFloor(of number: Int32, _ floor: UInt32) {
        if Int(number) < details.count { details[Int(number)]?.floor = floor }
    }

    mutating func removeCentre(of number: Int32) {
        if Int(number) < details.count { details[Int(number)]?.centre = nil }
    }
}

extension FenceCore {
    init(_ fence: Fence) {
        self.init(
            centre: ECEF(x: 0, y: 0, z: 0), radius: 0, exitMargin: fence.rule.exitMargin, accuracy: fence.rule.accuracy,
            floor: fence.rule.floor, isEnabled: fence.isEnabled, hasArea: false, dwells: fence.rule.dwell > 0,
            getsStale: fence.rule.staleAfter != nil)
    }
}

extension FenceDetail {
    init(_ fence: Fence) {
        self.init(
            dwell: fence.rule.dwell, owner: fence.owner, devices: fence.devices, shape: nil, latitude: 0, longitude: 0,
            staleAfter: fence.rule.staleAfter, floor: fence.floor, centre: fence.centre)
    }
}
