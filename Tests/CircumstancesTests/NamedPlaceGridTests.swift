import Geodesy
import SeededRandom
import Testing

@testable import Circumstances

@Suite("The places that an owner's circumstances name")
struct NamedPlaceGridTests {
    @Test(
        "Around a device stands each place within its reach and the foresight, at the poles and the antimeridian, too",
        arguments: [(48.0, 11.0), (0.001, -179.9995), (89.996, 20.0), (-86.42, 179.999), (75.522, -90.0)])
    func around(_ latitude: Double, _ longitude: Double) {
        var random = SplitMix64(seed: SplitMix64.seed())
        let grid = NamedPlaceGrid()
        var all: [NamedPlace] = []
        func check() {
            var shown = 0
            for _ in 0..<60 {
                let at = position()
                let view = View(Fix(latitude: at.latitude, longitude: at.longitude, timestamp: 0), at: 0)
                var found: Set<UInt32> = []
                grid.forEach(around: view) { place, _ in #expect(found.insert(place.place).inserted) }
                for place in all
                where view.distance(to: place.point) < place.reachSteps / GridPoint.unitsPerMetre + grid.foresight {
                    #expect(found.contains(place.place), "\(at)")
                    shown += 1
                }
            }
            #expect(shown > 0)
        }
        func position() -> (latitude: Double, longitude: Double) {
            let north = Double.random(in: -0.03...0.03, using: &random)
            let east = Double.random(in: -0.03...0.03, using: &random) / max(0.001, 90 - abs(latitude)) * 40
            let turned = longitude + east
            return (
                max(-90, min(90, latitude + north)), turned > 180 ? turned - 360 : turned < -180 ? turned + 360 : turned
            )
        }
        for number in 0..<1500 {
            let at = position()
            let extent = PlaceExtent(latitude: at.latitude, longitude: at.longitude, radius: [0, 0, 80, 30_000][number % 4])
            let naming = Naming(predicate: 1, reach: [60, 110, 260, 700, 5000][number % 5], isPrecondition: true)
            let place = NamedPlace(UInt32(number), extent, naming, of: UInt32(number))
            all.append(place)
            grid.insert(place)
            if number == 300 { check() }
        }
        check()
        #expect(grid.foresight < CircumstanceEngine.safeMax)
        for place in all[..<400] { grid.remove(place) }
        all.removeFirst(400)
        check()
        grid.keep { $0.active % 2 == 0 }
        all.removeAll { $0.active % 2 != 0 }
        check()
        var active = 0
        grid.forEach(around: View(Fix(latitude: latitude, longitude: longitude, timestamp: 0), at: 0)) { place, _ in
            active += Int(place.active)
        }
        #expect(active % 2 == 0)
    }
}
