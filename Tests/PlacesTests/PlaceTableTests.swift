import Geodesy
import Places
import SeededRandom
import Testing

@Suite("Places are found by id, by position and in order")
struct PlaceTableTests {
    @Test("A place comes out as it was put in")
    func roundTrip() throws {
        let table = PlaceTable()
        let ring = [(7.41, 43.73), (7.42, 43.73), (7.42, 43.74), (7.41, 43.74), (7.41, 43.73)]
            .map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
        let place = Place(
            id: "node/1", name: "Café", categoryIDs: ["a", "b"], chainID: "c", openingHours: "24/7", timeZone: "Europe/Monaco",
            placerank: 12.5, geometry: try PlaceGeometry(polygons: [[ring]]), owner: "me", revision: "1-ab")
        #expect(try table.upsert(place) == .imported(0))
        #expect(table["node/1"] == place)
        #expect(try table.upsert(place) == .replaced(0))
        #expect(table["node/1"] == place)
        #expect(table.nearest(latitude: 43.735, longitude: 7.415, radius: 50).map(\.isInside) == [true])
        #expect(table.remove("node/1"))
        #expect(table["node/1"] == nil)
        #expect(table.nearest(latitude: 43.735, longitude: 7.415, radius: 50).isEmpty)
    }
}
