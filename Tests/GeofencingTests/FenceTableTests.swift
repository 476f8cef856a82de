import Geodesy
import Testing

@testable import Geofencing

@Suite("The table of geofences")
struct FenceTableTests {
    private func square(_ longitude: Double, size: Double = 0.002) throws -> FenceArea {
        let corners = [(0.0, 0.0), (size, 0), (size, size), (0, size), (0, 0)]
        return FenceArea([
            try Area.Polygon(rings: [
                corners.map { Area.Polygon.Vertex(longitude: longitude + $0.0, latitude: 43.7 + $0.1) }
            ])
        ])
    }

    private func fence(_ area: FenceArea) -> Fence { Fence(rule: FenceRule(accuracy: .centre), area: area, owner: "me") }

    private func fix(_ longitude: Double) -> FenceFix {
        FenceFix(latitude: 43.701, longitude: longitude + 0.001, timestamp: 0, heardAt: 0)
    }

    @Test("What most positions are compared with is one line of the cache")
    func sizes() { #expect(MemoryLayout<FenceCore>.stride == 64) }

    @Test("Polygons that come where others went are decided by their own edges, and a copy of an engine keeps its own")
    func reused() throws {
        var engine = GeofenceEngine()
        var effects: [FenceEffect] = []
        engine.restore(0, FenceDevice(id: "d", owner: "me"), nil)
        for number in Int32(0)..<40 {
            engine.insert(number, fence(try square(7 + Double(number) * 0.01)), at: 0, into: &effects)
        }
        let former = engine
        // Every other one goes, becomes a circle, or another polygon in a place of its own.
        for number in stride(from: Int32(0), to: 40, by: 2) {
            switch number % 3 {
            case 0: engine.remove(number, into: &effects)
            case 1:
                let circle = try Area.Circle(latitude: 43.701, longitude: 8 + Double(number) * 0.01, radius: 50)
                engine.setArea(of: number, FenceArea(circle), at: 0, into: &effects)
            default:
                engine.setArea(of: number, try square(8 + Double(number) * 0.01, size: 0.003), at: 0, into: &effects)
            }
        }
        for number in Int32(40)..<50 {
            engine.insert(number, fence(try square(7 + Double(number) * 0.01)), at: 0, into: &effects)
        }
        func inside(_ engine: GeofenceEngine, _ longitude: Double) -> [Int32] {
            var engine = engine
            var effects: [FenceEffect] = []
            engine.move(0, to: fix(longitude), into: &effects)
            return engine.visits(of: 0).map(\.fence)
        }
        for number in Int32(0)..<50 {
            let (east, farther) = (7 + Double(number) * 0.01, 8 + Double(number) * 0.01)
            let stays = number >= 40 || number % 2 == 1
            #expect(inside(engine, east) == (stays ? [number] : []), "\(number)")
            let moved = number < 40 && number % 2 == 0 && number % 3 == 2
            #expect(inside(engine, farther) == (moved ? [number] : []), "\(number)")
            #expect(inside(former, east) == (number < 40 ? [number] : []), "\(number)")
        }
    }
}
