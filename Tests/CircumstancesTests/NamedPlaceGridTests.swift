import Geodesy
import SeededRandom
import Testing

@testable import Circumstances

@Suite("The places that an owner's circumstances name")
struct NamedPlaceGridTests {
    @Test(
        "Around a device stands each place within its reach and the foresight, at the poles and the antimeridian, too",
        arguments: [(48.0, 11.0), (0.001, -179.9995), (89.996, 20.0), (-86.42, 179.999), (75.522, -90.0), (88.3, 0.0)])
    func around(_ latitude: Double, _ longitude: Double) {
        var random = SplitMix64(seed: SplitMix64.seed())
        let grid = NamedPlaceGrid()
        var all: [UInt32: NamedPlace] = [:]
        func check() {
            var shown = 0
            for _ in 0..<60 {
                let at = position()
                let view = View(Fix(latitude: at.latitude, longitude: at.longitude, timestamp: 0), at: 0)
                var found: Set<UInt32> = []
                grid.forEach(around: view) { place, _ in #expect(found.insert(place.place).inserted) }
                // What was removed is found no more.
                #expect(found.allSatisfy { all[$0] != nil }, "\(at)")
                for place in all.values
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
            let place = NamedPlace(
                UInt32(number), extent, reach: [60, 110, 260, 700, 5000][number % 5], .one(Namer(1, isPrecondition: true)))
            all[place.place] = place
            grid.insert(place)
            if number == 300 { check() }
        }
        check()
        #expect(grid.foresight < CircumstanceEngine.safeMax)
        for number in 0..<UInt32(1000) { if let place = all.removeValue(forKey: number) { grid.remove(place) } }
        check()
        for place in all.values { grid.remove(place) }
        all.removeAll()
        #expect(grid.size == (0, 0))
    }

    @Test("Cells are about as wide as they are high, up to the poles: what looks 20 km around finds all that they can show")
    func nearThePoles() {
        for latitude in [0.0, 59.9, 60.1, 75, 83, 86.3, 86.5, 88, 89, 89.9, 89.99, 89.9999, -86.5, -89.99] {
            for shift: Int32 in 14...22 {
                let box = SurfaceGrid.Box(SurfaceGrid.steps(latitude), SurfaceGrid.steps(77), shift: shift)
                #expect(box.diagonal < 3 * SurfaceGrid.height(shift), "\(latitude) \(shift)")
            }
        }
    }

    private static let extent = PlaceExtent(latitude: 48, longitude: 11, radius: 0)

    private func found(_ named: NamedPlaces, _ owner: UInt32, metres: Double = 0) -> [NamedPlace] {
        var found: [NamedPlace] = []
        let view = View(Fix(latitude: 48 + metres / 111_000, longitude: 11, timestamp: 0), at: 0)
        named.grid(of: owner)?.forEach(around: view) { place, _ in found.append(place) }
        return found
    }

    @Test("A place that many circumstances name is there once for each owner, as far as the one that reaches farthest")
    func manyNamers() {
        var named = NamedPlaces()
        let place = NamedPlaces.Found(place: 7, extent: Self.extent)
        func naming(_ reach: Double) -> Naming { Naming(predicate: 3, reach: reach, isPrecondition: true) }
        for active in 0..<2000 { named.insert(naming(100), by: UInt32(active), of: 1, place) }
        named.insert(naming(900), by: 2000, of: 2, place)
        #expect([0, 1, 2].map { found(named, $0).count } == [1, 1, 1] && found(named, 3).isEmpty)
        #expect([0, 1, 2].map { named.namers(of: 3, $0).count } == [2001, 2000, 1])
        #expect([0, 1, 2].map { found(named, $0, metres: 1300).count } == [1, 0, 1])
        guard case .one(let namer)? = found(named, 2).first?.subject else {
            Issue.record("several name it")
            return
        }
        #expect(namer == Namer(2000, isPrecondition: true))
        for active in 0..<2000 { named.remove(naming(100), by: UInt32(active), of: 1) }
        #expect([0, 1, 2].map { found(named, $0).count } == [1, 0, 1] && named.namers(of: 3, 0) == [namer])
        named.hide(3, from: 0)
        #expect(found(named, 0).isEmpty)
        named.show(3, place, to: 0)
        named.show(3, place, to: 0)
        #expect(found(named, 0).count == 1)
        named.remove(naming(900), by: 2000, of: 2)
        #expect([0, 1, 2].allSatisfy { found(named, $0).isEmpty && named.grid(of: $0) == nil })
    }
}
