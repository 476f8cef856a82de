import Geodesy
import Geofencing

/// A phone with noisy fixes and a geofence of 100 m, through the engine of geofences.
struct FenceNoise: ~Copyable {
    static let radius = 100.0
    /// On the equator a degree of longitude and one of latitude.
    private static let metresPerDegree = (east: 111_319.49, north: 110_574.28)

    private var engine = GeofenceEngine()
    private var noise: FixNoise
    private let interval: Int64
    /// So many fixes after one by cells there is another; 0: none.
    private let coarseEvery: Int
    private var fixes = 0
    private var now: Int64 = 0
    private var effects: [FenceEffect] = []
    private(set) var isInside = false

    init(_ rule: FenceRule, noise: FixNoise, seconds: Int64 = 10, coarseEvery: Int = 0) {
        self.noise = noise
        interval = seconds * 1000
        self.coarseEvery = coarseEvery
        engine.restore(0, FenceDevice(id: "phone", owner: "bench"), nil)
        guard let circle = try? Area.Circle(latitude: 0, longitude: 0, radius: Self.radius) else { return }
        engine.insert(0, Fence(rule: rule, area: FenceArea(circle), owner: "bench"), at: 0, into: &effects)
    }

    /// False events an hour of a phone that stays where it is: all but the first entry.
    mutating func falseEvents(metresInside: Double, hours: Int) -> Double {
        var events = 0
        for _ in 0..<hours * Int(3_600_000 / interval) { events += fix(at: Self.radius - metresInside) }
        return Double(max(0, events - 1)) / Double(hours)
    }

    /// What became of visits: how many were entered, and the seconds from leaving to each exit that was reported.
    struct Visits {
        var count = 0
        var entered = 0
        var exits: [Double] = []

        /// The part of the exits that were reported within so many seconds.
        func within(_ seconds: Double) -> Double { Double(exits.count { $0 <= seconds }) / Double(max(1, exits.count)) }

        func quantile(_ part: Double) -> Double {
            let sorted = exits.sorted()
            return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
        }
    }

    /// Walks in, stays 2 to 30 minutes within 60 m of the middle, and walks a kilometre away.
    mutating func visits(_ count: Int, speed: Double) -> Visits {
        var visits = Visits()
        for _ in 0..<count {
            let step = speed * Double(interval) / 1000
            let middle = noise.uniform(-60..<60)
            var distance = -500 + noise.uniform(0..<1) * step
            var wasInside = false
            while distance < middle {
                _ = fix(at: distance)
                wasInside = wasInside || isInside
                distance += step
            }
            for _ in 0..<Int(noise.uniform(120..<1800) * 1000 / Double(interval)) {
                _ = fix(at: middle)
                wasInside = wasInside || isInside
            }
            visits.count += 1
            visits.entered += wasInside ? 1 : 0
            distance = middle
            var wasReported = !isInside
            while distance < 1000 {
                _ = fix(at: distance)
                if !wasReported, !isInside {
                    wasReported = true
                    visits.exits.append((distance - Self.radius) / speed)
                }
                distance += step
            }
        }
        return visits
    }

    /// One fix of a phone that is so far from the middle; how many events it led to.
    private mutating func fix(at distance: Double) -> Int {
        now += interval
        fixes += 1
        effects.removeAll(keepingCapacity: true)
        engine.advance(to: now, into: &effects)
        let isCoarse = coarseEvery > 0 && fixes % coarseEvery == 0
        let error = isCoarse ? noise.coarse() : noise.next(after: Double(interval) / 1000)
        engine.move(
            0,
            to: FenceFix(
                latitude: error.north / Self.metresPerDegree.north,
                longitude: (distance + error.east) / Self.metresPerDegree.east, accuracy: error.accuracy, timestamp: now,
                heardAt: now), into: &effects)
        for effect in effects {
            switch effect {
            case .entered: isInside = true
            case .exited: isInside = false
            case .dwelled: continue
            }
        }
        return effects.count
    }
}

extension NoiseBenchmark {
    /// Geofences: what their default accuracy does to a phone that stays, and what it costs in delay.
    func measureFences(into report: inout Report) {
        let scenes: [(name: String, sigma: Double, inside: Double, coarse: Int)] = [
            ("at home, a coarse fix an hour", 10, 60, 360), ("indoors, sigma 25 m, a coarse fix an hour", 25, 60, 360),
            ("2 m inside the edge", 10, 2, 0), ("on the edge, sigma 20 m", 20, 0, 0),
        ]
        for accuracy in [FenceRule.Accuracy.likely, .centre] {
            let rule = FenceRule(accuracy: accuracy)
            for scene in scenes {
                let noise = FixNoise(sigma: scene.sigma, honesty: honesty, seed: 19)
                var trial = FenceNoise(rule, noise: noise, coarseEvery: scene.coarse)
                report.add(
                    "geofence, \(accuracy.rawValue); \(scene.name)", trial.falseEvents(metresInside: scene.inside, hours: hours),
                    "1/h")
            }
            for seconds in [10, 30] as [Int64] {
                var trial = FenceNoise(rule, noise: FixNoise(sigma: 10, honesty: honesty, seed: 20), seconds: seconds)
                let visits = trial.visits(400, speed: 1.4)
                let name = "geofence, \(accuracy.rawValue); a fix every \(seconds) s"
                report.add("\(name); visits entered", 100 * Double(visits.entered) / Double(visits.count), "%")
                report.add(
                    "\(name); exits within 90 s", 100 * visits.within(90), "%",
                    note: "median \(Int(visits.quantile(0.5))) s, 90th percentile \(Int(visits.quantile(0.9))) s")
            }
        }
    }
}
