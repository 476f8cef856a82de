import Geodesy
import Glibc
import Matching
import Selectors

/// A device with noisy fixes beside one fence, through the engine.
struct NoiseTrial {
    private static let reach = 100.0
    private static let interval: Int64 = 10_000
    private static let correlation = exp(-10.0 / 60)
    /// On the equator a degree of longitude and one of latitude.
    private static let metresPerDegree = (east: 111_319.49, north: 110_574.28)

    private let scene: NoiseScene
    private let engine = Engine()
    private let device: DeviceRef
    private var random: SplitMix64
    private var noise = (east: 0.0, north: 0.0)
    private var now: Int64 = 0
    private var effects: [Effect] = []

    init(scene: NoiseScene, terms: Terms, seed: UInt64) {
        self.scene = scene
        random = SplitMix64(seed: seed)
        let pin = engine.addDevice()
        device = engine.addDevice()
        engine.place(pin, at: Position(latitude: 0, longitude: 0), heardAt: 0)
        _ = engine.addPublication(
            on: pin, topic: "fence", range: Self.reach / 2, expiresAt: .max, properties: .none, at: 0, into: &effects)
        guard let everything = try? Selector("") else { return }
        _ = engine.addSubscription(
            on: device, topic: "fence", range: Self.reach / 2, expiresAt: .max, selector: everything, terms: terms, at: 0,
            into: &effects)
    }

    /// False events in an hour.
    mutating func falseEvents(hours: Int) -> Double {
        var events = 0
        for _ in 0..<hours * Int(3_600_000 / Self.interval) { events += fix(at: Self.reach - scene.inside) }
        // The first begin is true.
        return Double(max(0, events - 1)) / Double(hours)
    }

    /// Mean seconds from crossing the fence outwards to the end of the visit.
    mutating func delay(speed: Double, runs: Int) -> Double {
        var total = 0.0
        for _ in 0..<runs {
            // Long enough inside for any stay, then out along a straight line, a kilometre far.
            for _ in 0..<20 { _ = fix(at: 0) }
            // A fix falls anywhere between two others' instants.
            var distance = Self.reach - Double.random(in: 0..<1, using: &random) * speed * 10 - 10 * speed
            var left: Double?
            while distance < 1000 {
                _ = fix(at: distance)
                if hasEnded { left = left ?? (distance - Self.reach) / speed } else if hasBegun { left = nil }
                distance += speed * 10
            }
            total += left ?? 0
        }
        return total / Double(runs)
    }

    private var hasEnded: Bool { effects.contains { if case .visitEnded = $0 { true } else { false } } }
    private var hasBegun: Bool { effects.contains { if case .visitBegan = $0 { true } else { false } } }

    /// One fix of a device that stands so far from the fence's centre; how many events it led to.
    private mutating func fix(at distance: Double) -> Int {
        now += Self.interval
        effects.removeAll(keepingCapacity: true)
        while let deadline = engine.nextDeadline, deadline <= now { engine.advance(to: now, into: &effects) }
        let fresh = (1 - Self.correlation * Self.correlation).squareRoot() * scene.sigma
        let step = normals()
        noise = (noise.east * Self.correlation + fresh * step.0, noise.north * Self.correlation + fresh * step.1)
        var (east, north) = (distance + noise.east, noise.north)
        if Int.random(in: 0..<100, using: &random) == 0 {
            let length = Double.random(in: 40..<150, using: &random)
            let direction = Double.random(in: 0..<2 * .pi, using: &random)
            east += length * cos(direction)
            north += length * sin(direction)
        }
        let position = Position(
            latitude: north / Self.metresPerDegree.north, longitude: east / Self.metresPerDegree.east,
            horizontalAccuracy: 1.5 * scene.sigma)
        engine.move(device, to: position, at: now, into: &effects)
        return effects.count
    }

    /// Two independent standard normal values (Box and Muller, 1958).
    private mutating func normals() -> (Double, Double) {
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &random))).squareRoot()
        let angle = Double.random(in: 0..<2 * .pi, using: &random)
        return (radius * cos(angle), radius * sin(angle))
    }
}
