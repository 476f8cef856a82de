import CPrefetch
import Geodesy

/// What of a geofence most positions are compared with: no reference that is counted, and a line of the cache.
struct FenceCore {
    enum Shape {
        /// None, or one that has to be asked.
        case other
        /// One whose arcs follow from their chords; the radius in metres.
        case circle(centre: ECEF, radius: Double)
        /// One polygon, so small that a plane decides.
        case polygon(Polygon)
    }

    struct Polygon {
        var plane: EdgePlane
        /// Where the table has what its sectors reach.
        var outline: Int32
        /// Kept by the fence's detail.
        var fan: EdgeFan
    }

    var shape = Shape.other
    var accuracy: FenceRule.Accuracy
    var floor: FenceRule.Floor
    var isThere = true
    var isEnabled: Bool
    var hasArea = false
    var dwells: Bool
    var getsStale: Bool
    var exitMargin: Double

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

    /// The square of the chord under an arc, in square metres.
    @inline(__always)
    static func squaredChord(ofArc arc: Double) -> Double {
        let chord = Geodesic.chord(ofArc: arc)
        return chord * chord
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
    private var cores = LineArray<FenceCore>()
    private var details: [FenceDetail?] = []
    /// What the sectors of small polygons reach: apart from their edges, so that many find room in the cache.
    private var reaches = LineArray<EdgeReach>()
    /// Outlines that no polygon has.
    private var freeOutlines: [Int32] = []

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
            releaseOutline(of: number)
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
        for number in numbers { geomatch_prefetch(cores.start + Int(number)) }
    }

    /// Asks for the memory of a polygon where its core does not decide.
    @inline(__always)
    func prefetchOutline(of number: Int32, latitude: Double, longitude: Double) {
        guard case .polygon(let polygon)? = core(number)?.shape else { return }
        outline(of: polygon).prefetch(latitude: latitude, longitude: longitude)
    }

    /// Valid until a fence changes.
    @inline(__always)
    func outline(of polygon: FenceCore.Polygon) -> EdgeOutline {
        EdgeOutline(plane: polygon.plane, reaches: reaches.start + Int(polygon.outline) * EdgeFan.sectorCount, fan: polygon.fan)
    }

    func area(of number: Int32) -> FenceArea? {
        guard let core = core(number), core.hasArea, let detail = details[Int(number)] else { return nil }
        if let shape = detail.shape { return shape.area }
        guard case .circle(_, let radius) = core.shape else { return nil }
        return (try? Area.Circle(latitude: detail.latitude, longitude: detail.longitude, radius: radius)).map(FenceArea.init)
    }

    mutating func setArea(of number: Int32, _ area: FenceArea?) {
        guard var core = core(number) else { return }
        let circle = area?.circle.flatMap { $0.radius <= FenceCore.arcMax / 2 ? $0 : nil }
        releaseOutline(of: number)
        core.hasArea = area != nil
        core.shape = .other
        if let circle {
            let centre = ECEF(latitude: circle.latitude, longitude: circle.longitude)
            core.shape = .circle(centre: centre, radius: circle.radius)
        } else if let outline = area?.polygon?.fan.outline, outline.plane.isPlane {
            core.shape = .polygon(
                FenceCore.Polygon(plane: outline.plane, outline: addOutline(outline.reaches), fan: outline.fan))
        }
        cores[Int(number)] = core
        details[Int(number)]?.latitude = circle?.latitude ?? 0
        details[Int(number)]?.longitude = circle?.longitude ?? 0
        details[Int(number)]?.shape = circle == nil ? area.map(FenceShape.init) : nil
    }

    private mutating func addOutline(_ values: UnsafePointer<EdgeReach>) -> Int32 {
        if let free = freeOutlines.popLast() {
            for sector in 0..<EdgeFan.sectorCount { reaches[Int(free) * EdgeFan.sectorCount + sector] = values[sector] }
            return free
        }
        for sector in 0..<EdgeFan.sectorCount { reaches.append(values[sector]) }
        return Int32(truncatingIfNeeded: reaches.count / EdgeFan.sectorCount - 1)
    }

    private mutating func releaseOutline(of number: Int32) {
        guard case .polygon(let polygon) = cores[Int(number)].shape else { return }
        freeOutlines.append(polygon.outline)
        cores[Int(number)].shape = .other
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
