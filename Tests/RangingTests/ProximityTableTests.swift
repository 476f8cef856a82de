import Ranging
import SeededRandom
import Testing

@Suite("The table of who sees which beacons")
struct ProximityTableTests {
    private struct Key: Hashable, Comparable {
        var observer: UInt32
        var beacon: UInt32

        static func < (a: Key, b: Key) -> Bool { (a.observer, a.beacon) < (b.observer, b.beacon) }
    }

    /// The same in a dictionary, with every reading kept.
    private final class Twin {
        struct Fact {
            var seenAt: Int64
            var losses: [(loss: Double, at: Int64)] = []
            var distance: Double?
            var band = ProximityBand.unknown
        }

        var facts: [Key: Fact] = [:]

        func take(_ sighting: Sighting, _ key: Key, _ settings: RangingSettings, seenAt: Int64, at now: Int64, maximum: Int)
            -> String
        {
            guard now - seenAt < 90_000 else { return "late" }
            if facts[key] == nil, facts.keys.filter({ $0.observer == key.observer }).count >= maximum { return "full" }
            if let known = facts[key], seenAt < min(known.seenAt, now) { return "late" }
            let outcome = facts[key] == nil ? "began" : "changed"
            var fact = facts[key] ?? Fact(seenAt: seenAt)
            fact.seenAt = seenAt
            // After a clock was set back, how old the others are is not known.
            if let last = fact.losses.last, last.at > seenAt { fact.losses = [] }
            fact.losses.removeAll { seenAt / 100 - $0.at / 100 > 200 }
            if let metres = sighting.distance {
                fact.distance = metres
                fact.band = fact.band.next(at: metres)
                fact.losses.append((PathLoss.loss(distance: metres, n: settings.n), seenAt))
            } else if let band = sighting.proximity {
                if let metres = band.distance {
                    fact.distance = metres
                    fact.band = band
                    fact.losses.append((PathLoss.loss(distance: metres, n: settings.n), seenAt))
                }
            } else if let rssi = sighting.rssi, rssi != 0 {
                fact.losses.append(((sighting.txPower ?? -59) - rssi - settings.rssiOffset, seenAt))
                let metres = PathLoss.distance(loss: TrimmedMean.of(fact.losses.suffix(32).map(\.loss)) ?? 0, n: settings.n)
                fact.distance = metres
                fact.band = fact.band.next(at: metres)
            }
            facts[key] = fact
            return outcome
        }

        func expire(at now: Int64) -> [Key] {
            let over = facts.filter { now - $0.value.seenAt >= 90_000 }.keys.sorted()
            over.forEach { facts[$0] = nil }
            return over
        }
    }

    @Test("agrees with a naive twin over random sightings")
    func twin() {
        var random = SplitMix64.forTest()
        let table = ProximityTable()
        let twin = Twin()
        let settings = RangingSettings(n: 2.2, rssiOffset: 3)
        var now: Int64 = 1_700_000_000_000
        var outcomes: [String: Int] = [:]
        for step in 0..<6_000 {
            now += [0, 20, 300, 2_000, 30_000][random.below(random.chance(3) ? 5 : 4)]
            let key = Key(observer: UInt32(random.below(6)), beacon: UInt32(random.below(40)))
            let seenAt = now - (random.chance(20) ? Int64(random.below(100_000)) : 0)
            var sighting = Sighting(beacon: BeaconKey(high: 0, low: 0, major: 0, minor: UInt16(key.beacon)))
            switch random.below(10) {
            case 0: sighting.distance = Double(random.below(1000)) / 100
            case 1: sighting.proximity = random.pick(ProximityBand.allCases)
            case 2: sighting.rssi = 0
            default:
                sighting.rssi = -Double(random.below(90) + 10)
                if random.chance(30) { sighting.txPower = -Double(random.below(30) + 50) }
            }
            let expected = twin.take(sighting, key, settings, seenAt: seenAt, at: now, maximum: 25)
            let outcome = table.take(sighting, by: key.observer, of: key.beacon, settings, seenAt: seenAt, at: now, maximum: 25)
            outcomes[expected, default: 0] += 1
            switch outcome {
            case .began(let fact), .changed(let fact):
                let known = twin.facts[key]
                guard expected == (outcome == .began(fact) ? "began" : "changed"), fact.seenAt == known?.seenAt else {
                    Issue.record("step \(step): \(outcome), expected \(expected)")
                    return
                }
                let metres = known?.distance
                guard (fact.distance == nil) == (metres == nil), abs((fact.distance ?? 1) - (metres ?? 1)) <= 0.01 * (metres ?? 1)
                else {
                    Issue.record("step \(step): \(fact), expected \(String(describing: known))")
                    return
                }
            case .late: #expect(expected == "late", "step \(step)")
            case .full: #expect(expected == "full", "step \(step)")
            }
            if random.chance(5) {
                let ended = table.expire(at: now).map { Key(observer: $0.observer, beacon: $0.beacon) }
                #expect(ended == twin.expire(at: now), "step \(step)")
            } else if random.chance(1) {
                let ended = table.forget(observer: key.observer).map(\.beacon)
                let expected = twin.facts.keys.filter { $0.observer == key.observer }.map(\.beacon).sorted()
                twin.facts = twin.facts.filter { $0.key.observer != key.observer }
                #expect(ended == expected, "step \(step)")
            }
            guard table.count == twin.facts.count else {
                Issue.record("step \(step): \(table.count) facts, expected \(twin.facts.count)")
                return
            }
            let ofObserver = Set(table.facts(of: key.observer).map(\.beacon))
            #expect(ofObserver == Set(twin.facts.keys.filter { $0.observer == key.observer }.map(\.beacon)))
            #expect(
                Set(table.facts(ofBeacon: key.beacon).map(\.observer))
                    == Set(twin.facts.keys.filter { $0.beacon == key.beacon }.map(\.observer)))
        }
        print("outcomes: \(outcomes)")
        #expect(outcomes.count == 4)
    }

    @Test("takes at most 220 bytes for each live pair")
    func memory() {
        let table = ProximityTable()
        for observer in 0..<200 {
            for beacon in 0..<100 {
                let sighting = Sighting(beacon: BeaconKey(high: 0, low: 0, major: 0, minor: 0), rssi: -70)
                _ = table.take(
                    sighting, by: UInt32(observer), of: UInt32(beacon), .standard, seenAt: 5_000, at: 5_000, maximum: 1000)
            }
        }
        #expect(table.count == 20_000)
        #expect(table.memoryBytes / table.count <= 220)
    }

    @Test("goes on where the clock is set back")
    func clockSetBack() {
        let table = ProximityTable()
        let sighting = Sighting(beacon: BeaconKey(high: 0, low: 0, major: 0, minor: 0), distance: 1)
        _ = table.take(sighting, by: 0, of: 0, .standard, seenAt: 10_000_000, at: 10_000_000, maximum: 10)
        guard case .changed = table.take(sighting, by: 0, of: 0, .standard, seenAt: 1_000_000, at: 1_000_000, maximum: 10) else {
            Issue.record("it is late for ever")
            return
        }
        #expect(table.expire(at: 1_089_000).isEmpty)
        #expect(table.expire(at: 1_091_000).count == 1)
    }
}
