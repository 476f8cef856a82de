import Geodesy
import Matching
import Selectors

/// A device with noisy fixes beside one fence, through the engine.
struct NoiseTrial {
    private static let reach = 100.0
    private static let interval: Int64 = 10_000
    /// On the equator a degree of longitude and one of latitude.
    private static let metresPerDegree = (east: 111_319.49, north: 110_574.28)

    private let scene: NoiseScene
    private let engine = Engine()
    private let device: DeviceRef
    private var noise: FixNoise
    private var now: Int64 = 0
    private var effects: [Effect] = []
    private var isUnderWay = false

    init(scene: NoiseScene, honesty: Double, options: MatchOptions, seed: UInt64) {
        self.scene = scene
        noise = FixNoise(sigma: scene.sigma, honesty: honesty, seed: seed)
        let pin = engine.addDevice()
        device = engine.addDevice()
        engine.place(pin, at: Position(latitude: 0, longitude: 0), heardAt: 0)
        _ = engine.addPublication(
            on: pin, topic: "fence", range: Self.reach / 2, expiresAt: .max, properties: .none, at: 0, into: &effects)
        guard let everything = try? Selector("") else { return }
        _ = engine.addSubscription(
            on: device, topic: "fence", range: Self.reach / 2, expiresAt: .max, selector: everything, options: options, at: 0,
            into: &effects)
    }

    /// False events in an hour.
    mutating func falseEvents(hours: Int) -> Double {
        var events = 0
        for _ in 0..<hours * Int(3_600_000 / Self.interval) { events += fix(at: Self.reach - scene.inside) }
        // The first begin is true.
        return Double(max(0, events - 1)) / Double(hours)
    }

    /// Mean seconds from crossing the fence outwards to the last end, of the visits that were under way at the crossing.
    mutating func delay(speed: Double, runs: Int) -> Double {
        var total = 0.0
        var count = 0
        for _ in 0..<runs {
            guard let delay = delayOfOneWayOut(speed: speed) else { continue }
            total += delay
            count += 1
        }
        return total / Double(max(1, count))
    }

    /// Long enough at the centre for any stay, then a straight line, a kilometre far.
    private mutating func delayOfOneWayOut(speed: Double) -> Double? {
        for _ in 0..<20 { _ = fix(at: 0) }
        let step = speed * Double(Self.interval) / 1000
        // A fix falls anywhere between two others' instants.
        var distance = noise.uniform(0..<1) * step
        while distance < Self.reach {
            _ = fix(at: distance)
            distance += step
        }
        guard isUnderWay else { return nil }
        var end = distance
        while distance < 1000 {
            if fix(at: distance) > 0 && !isUnderWay { end = distance }
            distance += step
        }
        return (end - Self.reach) / speed
    }

    /// One fix of a device so far from the fence's centre; how many events it led to.
    private mutating func fix(at distance: Double) -> Int {
        now += Self.interval
        effects.removeAll(keepingCapacity: true)
        while let deadline = engine.nextDeadline, deadline <= now { engine.advance(to: now, into: &effects) }
        let error = noise.next(after: Double(Self.interval) / 1000)
        let (east, north) = (distance + error.east, error.north)
        let position = Position(
            latitude: north / Self.metresPerDegree.north, longitude: east / Self.metresPerDegree.east,
            horizontalAccuracy: error.accuracy)
        engine.move(device, to: position, at: now, into: &effects)
        for effect in effects {
            switch effect {
            case .visitBegan: isUnderWay = true
            case .visitEnded: isUnderWay = false
            default: continue
            }
        }
        return effects.count
    }
}
