import Foundation
import Geodesy
import SeededRandom
import Testing

@testable import Geofencing

/// The same decisions without any index: every device against every fence, each time.
private struct NaiveFences {
    struct Stay {
        var since: Int64
        var outsideSince: Int64?
    }

    var fences: [Int32: Fence] = [:]
    var devices: [UInt32: FenceDevice] = [:]
    var fixes: [UInt32: FenceFix] = [:]
    var centres: [Int32: (device: UInt32, radius: Double)] = [:]
    var stays: [Int32: [UInt32: Stay]] = [:]
    var depths: [Int32: Double] = [:]
    /// Fences that became others since not all devices were looked at.
    var changed: Set<Int32> = []

    private mutating func isLater(_ fence: Int32, _ defers: Bool) -> Bool {
        guard defers || changed.contains(fence) else { return false }
        if stays[fence]?.isEmpty == false { changed.insert(fence) }
        return true
    }

    func area(of fence: Int32) -> FenceArea? {
        guard let centre = centres[fence] else { return fences[fence]?.area }
        return fixes[centre.device].flatMap {
            (try? Area.Circle(latitude: $0.latitude, longitude: $0.longitude, radius: centre.radius)).map(FenceArea.init)
        }
    }

    /// A fix of one device: all its fences, and those that move with it, are decided.
    ///
    /// - Parameter defers: Those that move with it are decided later, by ``look(at:_:)``.
    mutating func move(_ device: UInt32, to fix: FenceFix, defers: Bool = false) {
        fixes[device] = fix
        for fence in fences.keys { decide(fence, device, at: fix.timestamp) }
        for (fence, centre) in centres where centre.device == device && !isLater(fence, defers) {
            for other in fixes.keys {
                decide(fence, other, at: max(fixes[other]?.timestamp ?? 0, fix.timestamp))
            }
        }
    }

    mutating func decide(_ number: Int32, _ device: UInt32, at instant: Int64) {
        guard let fence = fences[number], let fix = fixes[device], let identity = devices[device] else { return }
        guard let area = area(of: number) else { return }
        let standing = fence.rule.standing(of: fix, in: area) { depths[number] ?? area.depth }
        if var stay = stays[number]?[device] {
            switch standing {
            case .unusable: return
            case .inside, .between: stay.outsideSince = nil
            case .outside:
                if fence.rule.accuracy != .likely || stay.outsideSince.map({ instant - $0 >= 60_000 }) ?? false {
                    stays[number]?[device] = nil
                    return
                }
                stay.outsideSince = stay.outsideSince ?? instant
            }
            stays[number]?[device] = stay
        } else if standing == .inside, fence.isEnabled, fence.concerns(identity), centres[number]?.device != device {
            stays[number, default: [:]][device] = Stay(since: instant)
        }
    }

    mutating func insert(
        _ number: Int32, _ fence: Fence, _ centre: (device: UInt32, radius: Double)?, defers: Bool = false
    ) {
        fences[number] = fence
        centres[number] = centre
        depths[number] = fence.rule.accuracy == .likely ? fence.area?.depth : nil
        stays[number] = [:]
        guard !defers else { return }
        let centreAt = centre.flatMap { fixes[$0.device]?.timestamp } ?? .min
        for device in fixes.keys { decide(number, device, at: max(fixes[device]?.timestamp ?? 0, centreAt)) }
    }

    /// A device that was not shown all fences where it is enters them, and leaves those that became others.
    mutating func look(at device: UInt32, _ fix: FenceFix) {
        fixes[device] = fix
        for fence in fences.keys where stays[fence]?[device] == nil || changed.contains(fence) {
            if area(of: fence) == nil { stays[fence]?[device] = nil }
            let at = centres[fence].flatMap { fixes[$0.device]?.timestamp } ?? .min
            decide(fence, device, at: max(fix.timestamp, at))
        }
    }

    mutating func remove(_ number: Int32) {
        fences[number] = nil
        centres[number] = nil
        stays[number] = nil
        changed.remove(number)
    }

    mutating func clear(_ device: UInt32, defers: Bool = false) {
        fixes[device] = nil
        for fence in fences.keys { stays[fence]?[device] = nil }
        for (fence, centre) in centres where centre.device == device && !isLater(fence, defers) { stays[fence] = [:] }
    }
}

@Suite("Geofences beside their twin")
struct FenceTwinTests {
    /// Where the devices are: a town, the antimeridian in the south, the far north.
    private static let towns = [(43.73, 7.42), (-17.0, 180.0), (78.2, -179.99)]

    private static func place(_ random: inout SplitMix64, _ town: (Double, Double), _ spread: Double) -> (Double, Double) {
        let latitude = town.0 + Double.random(in: -spread...spread, using: &random)
        var longitude = town.1 + Double.random(in: -spread...spread, using: &random) * 2
        if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
        return (latitude, longitude)
    }

    private static func area(_ random: inout SplitMix64, _ town: (Double, Double)) throws -> FenceArea {
        let (latitude, longitude) = place(&random, town, 0.01)
        let size = random.pick([0.0005, 0.002, 0.01, 0.3])
        switch random.below(3) {
        case 0: return FenceArea(try Area.Circle(latitude: latitude, longitude: longitude, radius: size * 100_000))
        case 1:
            let east = longitude + size > 180 ? longitude + size - 360 : longitude + size
            return FenceArea(try Area.Box(west: longitude, south: latitude, east: east, north: latitude + size))
        default:
            let points = [(0.0, 0.0), (1, 0.1), (0.6, 0.5), (0.9, 1), (0.1, 0.8), (0, 0)].map { x, y in
                let degrees = longitude + x * size
                return Area.Polygon.Vertex(longitude: degrees > 180 ? degrees - 360 : degrees, latitude: latitude + y * size)
            }
            return FenceArea([try Area.Polygon(rings: [points])])
        }
    }

    @Test("Random fences, moves, clearings and deletions leave the same devices inside, and effects say so")
    func twin() throws {
        var random = SplitMix64.forTest()
        var engine = GeofenceEngine()
        var naive = NaiveFences()
        var reported: [Int32: Set<UInt32>] = [:]
        var effects: [FenceEffect] = []
        for device in 0..<UInt32(24) {
            let identity = FenceDevice(
                id: "d\(device)", owner: random.pick(["a", "b", nil]), groups: random.chance(30) ? ["g"] : [])
            engine.restore(device, identity, nil)
            naive.devices[device] = identity
        }
        var now: Int64 = 0
        /// Devices that the engine is not shown yet, where they are.
        var unknown: [UInt32: FenceFix] = [:]
        /// Devices that were not looked at since a fence came, or became another, that may hold too many.
        var unseen: Set<UInt32> = []
        var looks = (unknown: 0, unseen: 0)
        func look(at device: UInt32) {
            if let fix = unknown.removeValue(forKey: device), let identity = naive.devices[device] {
                engine.restore(device, identity, fix)
                engine.look(at: device, now: now, into: &effects)
                naive.look(at: device, fix)
                looks.unknown += 1
            } else if unseen.remove(device) != nil, let fix = naive.fixes[device] {
                engine.look(at: device, now: now, into: &effects)
                naive.look(at: device, fix)
                looks.unseen += 1
                if unseen.isEmpty {
                    engine.endLooks()
                    naive.changed = []
                }
            }
        }
        for step in 0..<3000 {
            now += Int64(random.below(20_000))
            effects.removeAll()
            if random.chance(5), let next = unknown.keys.min() { look(at: next) }
            if random.chance(40), let next = unseen.min() { look(at: next) }
            // At none, or at all.
            let defers = random.chance(20)
            engine.lookedAtOnce = defers ? 0 : .max
            switch random.below(100) {
            case 0..<6:
                let number = Int32(random.below(30))
                if naive.fences[number] != nil {
                    engine.remove(number, into: &effects)
                    naive.remove(number)
                } else {
                    let rule = FenceRule(
                        accuracy: random.pick(FenceRule.Accuracy.allCases), exitMargin: random.pick([0.0, 10, 200]))
                    let centre: (device: UInt32, radius: Double)? =
                        random.chance(25) ? (device: UInt32(random.below(24)), radius: random.pick([50.0, 800])) : nil
                    if let centre { look(at: centre.device) }
                    let town = random.pick(Self.towns)
                    let area = centre == nil ? try Self.area(&random, town) : nil
                    let fence = Fence(
                        rule: rule, area: area,
                        isEnabled: random.chance(95), owner: random.pick(["a", "b"]),
                        devices: random.pick([[], [], ["d1*"], ["g", "d3"]]))
                    engine.insert(number, fence, around: centre, at: now, into: &effects)
                    naive.insert(number, fence, centre, defers: defers)
                }
            case 6..<9:
                let device = UInt32(random.below(24))
                look(at: device)
                engine.clear(device, at: now, into: &effects)
                naive.clear(device, defers: defers)
                guard !naive.centres.values.contains(where: { $0.device == device }) else { break }
                let (latitude, longitude) = Self.place(&random, Self.towns[Int(device) % 3], 0.01)
                unknown[device] = FenceFix(
                    latitude: latitude, longitude: longitude, accuracy: random.pick([0.0, 30, 400]), timestamp: now, heardAt: now)
            default:
                let device = UInt32(random.below(24))
                look(at: device)
                let spread = random.pick([0.001, 0.01, 0.3])
                let (latitude, longitude) = Self.place(&random, Self.towns[Int(device) % 3], spread)
                let fix = FenceFix(
                    latitude: latitude, longitude: longitude, accuracy: random.pick([0.0, 5, 30, 90, 400, 5000]), timestamp: now,
                    heardAt: now)
                engine.move(device, to: fix, into: &effects)
                naive.move(device, to: fix, defers: defers)
            }
            if engine.mustLookAtAll {
                engine.mustLookAtAll = false
                unseen = Set(naive.fixes.keys)
            }
            for effect in effects {
                switch effect {
                case .entered(let fence, let device, _, _):
                    #expect(reported[fence, default: []].insert(device).inserted)
                case .exited(let fence, let device, _, _, _, _):
                    #expect(reported[fence, default: []].remove(device) != nil)
                case .dwelled: Issue.record("nobody asked for dwelling")
                }
            }
            for number in Int32(0)..<30 {
                let expected = (naive.stays[number] ?? [:]).keys.sorted()
                let found = engine.members(of: number)
                guard found == expected, reported[number, default: []].sorted() == expected else {
                    Issue.record("step \(step), fence \(number): \(found), not \(expected)")
                    return
                }
            }
        }
        #expect(looks.unknown > 20 && looks.unseen > 20)
    }

    @Test("Walks in small steps among polygons, their edges and their holes leave the same devices inside")
    func walks() throws {
        var random = SplitMix64.forTest()
        var engine = GeofenceEngine()
        var naive = NaiveFences()
        var effects: [FenceEffect] = []
        for number in Int32(0)..<24 {
            let middle = (
                43.73 + Double.random(in: 0...0.003, using: &random), 179.999 + Double.random(in: 0...0.003, using: &random)
            )
            let size = random.pick([0.0001, 0.0006, 0.0006, 0.002])
            let rings = [(29, size), (5, size * 0.3)].prefix(random.chance(30) ? 2 : 1).map { count, size in
                var ring = (0..<count).map { corner in
                    let angle = Double(corner) / Double(count) * 2 * .pi
                    let reach = size * Double.random(in: 0.6...1, using: &random)
                    let longitude = middle.1 + 1.38 * reach * cos(angle)
                    return Area.Polygon.Vertex(
                        longitude: longitude > 180 ? longitude - 360 : longitude, latitude: middle.0 + reach * sin(angle))
                }
                ring.append(ring[0])
                return ring
            }
            let rule = FenceRule(accuracy: random.pick([.likely, .likely, .centre]), exitMargin: random.pick([0.0, 10, 30]))
            let fence = Fence(rule: rule, area: FenceArea([try Area.Polygon(rings: rings)]), owner: "a")
            engine.insert(number, fence, at: 0, into: &effects)
            naive.insert(number, fence, nil)
        }
        var places = (0..<4).map { _ in (43.7315, 180.0005) }
        for device in UInt32(0)..<4 {
            let identity = FenceDevice(id: "d\(device)", owner: "a")
            engine.restore(device, identity, nil)
            naive.devices[device] = identity
        }
        for step in 0..<800 {
            let device = random.below(4)
            places[device].0 = max(43.7295, min(43.7335, places[device].0 + Double.random(in: -1.5e-4...1.5e-4, using: &random)))
            places[device].1 = max(179.9985, min(180.0025, places[device].1 + Double.random(in: -2e-4...2e-4, using: &random)))
            let (latitude, longitude) = places[device]
            let fix = FenceFix(
                latitude: latitude, longitude: longitude > 180 ? longitude - 360 : longitude,
                accuracy: random.pick([0.0, 5, 20, 60, 150]), timestamp: Int64(step) * 8000, heardAt: Int64(step) * 8000)
            engine.move(UInt32(device), to: fix, into: &effects)
            naive.move(UInt32(device), to: fix)
            for number in Int32(0)..<24 {
                let expected = (naive.stays[number] ?? [:]).keys.sorted()
                guard engine.members(of: number) == expected else {
                    Issue.record("step \(step), fence \(number): \(engine.members(of: number)), not \(expected)")
                    return
                }
            }
        }
        #expect(effects.count > 100)
    }

    @Test("Areas as wide as half the earth and more were found at their eastern end only")
    func wide() throws {
        func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) throws -> FenceArea {
            FenceArea(try Area.Box(west: west, south: south, east: east, north: north))
        }
        let areas = [
            try box(-180, -90, 180, 90), try box(-180, -10, 180, 10), try box(100, -10, 10, 10), try box(-180, -10, 0, 10),
            try box(0, -10, 180, 10), try box(-100, -60, 90, 60), try box(90, 0, -90, 20),
            FenceArea(try Area.Circle(latitude: 85, longitude: 20, radius: 600_000)),
            FenceArea(try Area.Circle(latitude: -89.9, longitude: 0, radius: 3_000_000)),
            FenceArea(try Area.Circle(latitude: 10, longitude: 170, radius: 11_000_000)),
        ]
        var engine = GeofenceEngine()
        var effects: [FenceEffect] = []
        for (number, area) in areas.enumerated() {
            engine.insert(
                Int32(number), Fence(rule: FenceRule(accuracy: .centre), area: area, owner: "me"), at: 0, into: &effects)
        }
        let latitudes: [Double] = [-90, -85, -45, -10, -5, 0, 5, 10, 19.9, 45, 80, 85, 89.9, 90]
        var device: UInt32 = 0
        for latitude in latitudes {
            for longitude in stride(from: -180.0, through: 180, by: 22.5) {
                // Each a device of its own, so that nothing but its first position has it found.
                engine.restore(device, FenceDevice(id: "\(device)", owner: "me"), nil)
                effects = []
                engine.move(
                    device, to: FenceFix(latitude: latitude, longitude: longitude, timestamp: 0, heardAt: 0), into: &effects)
                for (number, area) in areas.enumerated() {
                    #expect(
                        (engine.visit(of: device, in: Int32(number)) != nil)
                            == area.contains(latitude: latitude, longitude: longitude), "\(number): \(latitude) \(longitude)")
                }
                device += 1
            }
        }
    }

    @Test("Hundreds of fences in one place are all entered and left, in order")
    func crowd() throws {
        var engine = GeofenceEngine()
        var effects: [FenceEffect] = []
        for number in 0..<Int32(300) {
            let area = FenceArea(try Area.Circle(latitude: 43.73, longitude: 7.42, radius: 100))
            engine.insert(number, Fence(rule: FenceRule(accuracy: .centre), area: area, owner: "me"), at: 0, into: &effects)
        }
        for device in 0..<UInt32(3) { engine.restore(device, FenceDevice(id: "\(device)", owner: "me"), nil) }
        for (latitude, isInside) in [(43.73, true), (43.7301, true), (43.75, false), (43.73, true)] {
            for device in 0..<UInt32(3) {
                engine.move(device, to: FenceFix(latitude: latitude, longitude: 7.42, timestamp: 0, heardAt: 0), into: &effects)
            }
            for number in 0..<Int32(300) { #expect(engine.members(of: number) == (isInside ? [0, 1, 2] : [])) }
        }
        let entered = effects.compactMap { effect in
            if case .entered(let fence, 1, _, _) = effect { fence } else { nil }
        }
        #expect(entered == Array(0..<300) + Array(0..<300))
    }
}
