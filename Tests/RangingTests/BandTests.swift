import Ranging
import SeededRandom
import Testing

@Suite("Ranging")
struct BandTests {
    @Test(
        "a distance falls into a band",
        arguments: [
            (0.0, ProximityBand.immediate), (0.5, .immediate), (0.51, .near), (2.99, .near), (3, .far), (9_000, .far),
        ])
    func plain(_ distance: Double, _ band: ProximityBand) {
        #expect(ProximityBand(distance: distance) == band)
        #expect(ProximityBand.unknown.next(at: distance) == band)
    }

    @Test(
        "at a boundary the band stays until the distance is a tenth beyond it",
        arguments: [
            (ProximityBand.immediate, 0.55, ProximityBand.immediate), (.immediate, 0.56, .near), (.near, 0.46, .near),
            (.near, 0.45, .immediate), (.near, 3.29, .near), (.near, 3.3, .far), (.far, 2.7, .far), (.far, 2.69, .near),
            (.immediate, 3.29, .near), (.immediate, 4, .far), (.far, 0.46, .near), (.far, 0.4, .immediate),
        ])
    func hysteresis(_ from: ProximityBand, _ distance: Double, _ to: ProximityBand) {
        #expect(from.next(at: distance) == to)
    }

    @Test("path loss and its inverse agree, and absurd levels stay within bounds")
    func pathLoss() {
        #expect(PathLoss.distance(loss: 0, n: 2.7) == 1)
        #expect(abs(PathLoss.distance(loss: 27, n: 2.7) - 10) < 1e-9)
        for metres in [0.01, 0.5, 3, 50, 10_000] {
            #expect(abs(PathLoss.distance(loss: PathLoss.loss(distance: metres, n: 1.8), n: 1.8) - metres) < metres * 1e-9)
        }
        for loss in [-1e9, 1e9, .infinity, -.infinity] {
            #expect(PathLoss.distances.contains(PathLoss.distance(loss: loss, n: 2)))
        }
    }

    @Test(
        "a trimmed mean leaves out a tenth at each end, one at least from three on",
        arguments: [
            ([], nil), ([1], 1), ([1, 3], 2), ([1, 2, 9], 2), ([0, 1, 2, 3, 4, 5, 6, 7, 8, 100], 4.5),
            (Array(0..<20).map(Double.init) + [1000, -1000], 9.5),
        ] as [([Double], Double?)])
    func trimmed(_ values: [Double], _ mean: Double?) { #expect(TrimmedMean.of(values.shuffled()) == mean) }

    @Test("UUIDs are read in every written form and written in one")
    func keys() {
        let canonical = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        for text in [canonical, canonical.lowercased(), "f7826da64fa24e988024bc5b71e0893e", "f7-826da64fa24e988024bc5b71e0893E-"]
        {
            #expect(BeaconKey(uuid: text.utf8, major: 1, minor: 2)?.proximityUUID == canonical)
        }
        for text in [
            "", "f7826da64fa24e988024bc5b71e0893", canonical + "0", "G" + canonical.dropFirst(),
            String(repeating: "-", count: 99),
        ] {
            #expect(BeaconKey(uuid: text.utf8, major: 1, minor: 2) == nil)
        }
    }

    @Test("a region holds all beacons of a UUID, of a major, or one")
    func regions() {
        let key = BeaconKey(high: 1, low: 2, major: 3, minor: 4)
        #expect(BeaconRegion(uuid: key).contains(key) && BeaconRegion(uuid: key, major: 3).contains(key))
        #expect(
            BeaconRegion(uuid: key, major: 3, minor: 4).contains(key)
                && !BeaconRegion(uuid: key, major: 3, minor: 5).contains(key))
        #expect(!BeaconRegion(uuid: key, major: 4).contains(key))
        #expect(!BeaconRegion(uuid: BeaconKey(high: 1, low: 3, major: 0, minor: 0)).contains(key))
    }

    @Test("an observer leaves a region half a minute after its last sighting")
    func presence() {
        var presence = RegionPresence<String>()
        #expect(presence.see("a", at: 1_000) && !presence.see("a", at: 5_000) && presence.see("b", at: 6_000))
        #expect(presence.end(at: 34_999).isEmpty)
        #expect(presence.end(at: 35_000).map(\.observer) == ["a"])
        // A sighting that comes late changes nothing.
        #expect(!presence.see("b", at: 2_000) && presence.end(at: 35_999).isEmpty)
        #expect(presence.end(at: 36_000).map(\.at) == [36_000] && presence.count == 0)
    }

    @Test("the filters see what they are to see")
    func filters() {
        func distance(_ filter: RangingSettings.Filter, _ levels: [Double], step: Int64 = 1000) -> Double {
            var ranger = Ranger(RangingSettings(n: 2, filter: filter))
            let beacon = BeaconKey(high: 0, low: 0, major: 0, minor: 0)
            for (place, level) in levels.enumerated() {
                ranger.take(Sighting(beacon: beacon, rssi: level), at: 1_000_000 + Int64(place) * step)
            }
            return ranger.distance ?? -1
        }
        #expect(distance(.none, [-59, -79]) == 10)
        #expect(distance(.trimmedMean, [-59, -59, -79]) == 1)
        // After twenty seconds the former ones are forgotten.
        #expect(distance(.trimmedMean, [-59, -59, -79], step: 21_000) == 10)
        let smoothed = distance(.kalman, [-59, -59, -59, -59, -79])
        #expect(smoothed > 1 && smoothed < 5)
        #expect(distance(.kalman, Array(repeating: -79, count: 50)) > 9.9)
        #expect(distance(.trimmedMean, [0, 0]) == -1)
    }
}
