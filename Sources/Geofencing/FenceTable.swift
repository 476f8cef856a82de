import CPrefetch
import Geodesy

/// What of a geofence most positions are compared with: no reference that is counted, and no more than a line of the cache.
struct FenceCore {
    var centre = ECEF(x: 0, y: 0, z: 0)
    /// Metres along the ellipsoid: what is within of the centre is inside; negative where that is not known.
    var inner = -1.0
    /// What is beyond is not inside, as far as both are known. A circle's are equal, and decide.
    var outer = Double.infinity
    /// Kept by the fence's detail; nil for what is not one small polygon.
    var fan: EdgeFan?
    var exitMargin: Double
    var accuracy: FenceRule.Accuracy
    var floor: FenceRule.Floor
    var isThere = true
    var isEnabled: Bool
    var hasArea = false
    var dwells: Bool
    var getsStale: Bool

    /// Metres up to which an arc follows from its chord.
    static let arcMax = 20_000.0

    init(_ rule: FenceRule, isEnabled: Bool) {
        exitMargin = rule.exitMargin
        accuracy = rule.accuracy
        floor = rule.floor
        self.isEnabled = isEnabled
        dwells = rule.dwell > 0
        getsStale = rule.staleAfter != nil
    }

    var isCircle: Bool { inner == outer }

    /// The square of the chord under an arc, in square metres.
    @inline(__always)
    static func squaredChord(ofArc arc: Double) -> Double {
        let chord = Geodesic.chord(ofArc: arc)
        return chord * chord
    }

    /// To the east and to the north, about so.
    @inline(__always)
    func direction(to point: ECEF) -> SIMD2<Double> {
        let (x, y, z) = (point.x - centre.x, point.y - centre.y, point.z - centre.z)
        let axis = centre.x * centre.x + centre.y * centre.y
        return SIMD2((y * centre.x - x * centre.y) * Ellipsoid.meanRadius, axis * z - centre.z * (x * centre.x + y * centre.y))
    }

    /// Metres from the edge that a fix which begins a visit lies inside, of a polygon that is deep enough.
    @inline(__always)
    func entryMetres(_ fix: FenceFix) -> Double { accuracy == .likely ? fix.accuracy / 2 : 0 }

    /// Metres beyond the edge that a fix which speaks for the end of a visit lies outside.
    @inline(__always)
    func exitMetres(_ fix: FenceFix) -> Double {
        max(0, accuracy == .likely ? LikelyRule.exitMargin(accuracy: fix.accuracy, exitMargin) : exitMargin)
    }

    /// Whether a point lies inside, so many metres from the edge or more; nil where the area has to be asked.
    @inline(__always)
    func isInside(by metres: Double, _ point: ECEF) -> Bool? {
        guard outer <= Self.arcMax else { return nil }
        let squared = centre.squaredChord(to: point)
        if metres <= inner, squared <= Self.squaredChord(ofArc: inner - metres) { return true }
        return isCircle || squared > Self.squaredChord(ofArc: max(0, outer - metres)) ? false : nil
    }

    /// Whether a point lies outside by more than so many metres, at least 0; nil where the area has to be asked.
    @inline(__always)
    func isBeyond(_ metres: Double, _ point: ECEF) -> Bool? {
        guard outer + metres <= Self.arcMax else { return nil }
        let squared = centre.squaredChord(to: point)
        if squared > Self.squaredChord(ofArc: outer + metres) { return true }
        return isCircle || inner >= 0 && squared <= Self.squaredChord(ofArc: inner + metres) ? false : nil
    }
}

/// The rest of a geofence.
struct FenceDetail {
    var owner: String
    /// Of a small circle.
    var latitude = 0.0
    var longitude = 0.0
    /// What is no small circle.
    var shape: FenceShape?
    /// What most geofences do without.
    var extra: Extra?

    /// By reference, as it is rare.
    final class Extra: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }

        struct Values: Equatable, Sendable {
            var dwell: Int64 = 0
            var staleAfter: Int64?
            var devices: [String] = []
            var floor: UInt32 = 0
            var centre: UInt32?
        }
    }

    init(_ fence: Fence) {
        owner = fence.owner
        values = Extra.Values(
            dwell: fence.rule.dwell, staleAfter: fence.rule.staleAfter, devices: fence.devices, floor: fence.floor,
            centre: fence.centre)
    }

    var values: Extra.Values {
        get { extra?.values ?? Extra.Values() }
        set { extra = newValue == Extra.Values() ? nil : Extra(newValue) }
    }
}

/// An area by reference.
final class FenceShape: Sendable {
    let area: FenceArea

    init(_ area: FenceArea) { self.area = area }
}

/// All geofences by their numbers, a circle in about 120 bytes.
struct FenceTable {
    private(set) var cores: [FenceCore] = []
    private var details: [FenceDetail?] = []

    subscript(number: Int32) -> Fence? {
        get {
            guard let core = core(number), let detail = details[Int(number)] else { return nil }
            let values = detail.values
            let rule = FenceRule(
                accuracy: core.accuracy, floor: core.floor, exitMargin: core.exitMargin, dwell: values.dwell,
                staleAfter: values.staleAfter)
            var fence = Fence(
                rule: rule, area: area(of: number), floor: values.floor, isEnabled: core.isEnabled, owner: detail.owner,
                devices: values.devices)
            fence.centre = values.centre
            return fence
        }
        set {
            while cores.count <= Int(number) {
                cores.append(Self.none)
                details.append(nil)
            }
            cores[Int(number)] = newValue.map { FenceCore($0.rule, isEnabled: $0.isEnabled) } ?? Self.none
            details[Int(number)] = newValue.map(FenceDetail.init)
            if let newValue { setArea(of: number, newValue.area) }
        }
    }

    private static let none: FenceCore = {
        var core = FenceCore(FenceRule(), isEnabled: false)
        core.isThere = false
        return core
    }()

    @inline(__always)
    func core(_ number: Int32) -> FenceCore? {
        guard Int(number) < cores.count, cores[Int(number)].isThere else { return nil }
        return cores[Int(number)]
    }

    /// Asks for the memory of cores.
    @inline(__always)
    func prefetch(_ numbers: [Int32]) {
        cores.withUnsafeBufferPointer { cores in
            guard let start = cores.baseAddress else { return }
            for number in numbers {
                geomatch_prefetch(start + Int(number))
                // One lies across two lines.
                geomatch_prefetch(UnsafeRawPointer(start + Int(number)) + 63)
            }
        }
    }

    func area(of number: Int32) -> FenceArea? {
        guard let core = core(number), core.hasArea, let detail = details[Int(number)] else { return nil }
        if let shape = detail.shape { return shape.area }
        return (try? Area.Circle(latitude: detail.latitude, longitude: detail.longitude, radius: core.outer)).map(FenceArea.init)
    }

    mutating func setArea(of number: Int32, _ area: FenceArea?) {
        guard var core = core(number) else { return }
        let circle = area?.circle.flatMap { $0.radius <= FenceCore.arcMax / 2 ? $0 : nil }
        let polygon = area?.polygon
        core.hasArea = area != nil
        core.fan = nil
        (core.inner, core.outer) = (-1, .infinity)
        if let circle {
            core.centre = ECEF(latitude: circle.latitude, longitude: circle.longitude)
            (core.inner, core.outer) = (circle.radius, circle.radius)
        } else if let fan = polygon?.fan, let metres = fan.metres {
            core.fan = fan
            core.centre = metres.middle
            (core.inner, core.outer) = (metres.inner > 0 ? metres.inner : -1, metres.outer)
        }
        cores[Int(number)] = core
        details[Int(number)]?.latitude = circle?.latitude ?? 0
        details[Int(number)]?.longitude = circle?.longitude ?? 0
        details[Int(number)]?.shape = circle == nil ? area.map(FenceShape.init) : nil
    }

    func shape(of number: Int32) -> FenceShape? { details[Int(number)]?.shape }

    func values(of number: Int32) -> FenceDetail.Extra.Values? {
        Int(number) < details.count ? details[Int(number)]?.values : nil
    }

    func concerns(_ number: Int32, _ device: FenceDevice) -> Bool {
        guard Int(number) < details.count, let detail = details[Int(number)] else { return false }
        return Fence.concerns(device, owner: detail.owner, devices: detail.extra?.values.devices ?? [])
    }

    mutating func setFloor(of number: Int32, _ floor: UInt32) {
        guard let known = values(of: number), known.floor != floor else { return }
        details[Int(number)]?.values.floor = floor
    }

    mutating func removeCentre(of number: Int32) {
        guard values(of: number)?.centre != nil else { return }
        details[Int(number)]?.values.centre = nil
    }
}
