import Geodesy
import Places
import SeededRandom
import Testing

@Suite("Lists of places are in the order of the ids' bytes")
struct PlaceListTests {
    /// Ids with long common beginnings, some of which begin others, and any bytes.
    private func id(_ random: inout SplitMix64) -> String {
        switch random.below(4) {
        case 0: "node/\(random.below(3000))"
        case 1: String(repeating: "a", count: 1 + random.below(120))
        case 2: random.pick(["é", "e\u{301}", "ñ", "日本", "\u{10FFFF}", "~", " "]) + "\(random.below(60))"
        default: "\(random.below(100_000))"
        }
    }

    @Test("Pages hold every place once and in order, with and without a filter, while places come and go")
    func pages() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        // By their bytes, as a dictionary of strings takes both forms of é for one.
        var naive: [[UInt8]: Place] = [:]
        try table.declare([Category(id: "c0", name: "all"), Category(id: "c1", name: "some", parentID: "c0")])
        for _ in 0..<8 {
            for _ in 0..<1200 {
                let id = id(&random)
                if random.chance(30) {
                    naive[Array(id.utf8)] = nil
                    table.remove(id)
                } else {
                    let at = NaivePlaces.position(near: NaivePlaces.sites[0], metres: 20_000, &random)
                    let place = Place(
                        id: id, categoryIDs: random.chance(50) ? ["c\(random.below(3))"] : [],
                        chainID: random.chance(10) ? "chain" : nil,
                        geometry: .point(latitude: at.latitude, longitude: at.longitude))
                    naive[Array(id.utf8)] = place
                    try table.upsert(place)
                }
            }
            let circle = try Area.Circle(latitude: 43.74, longitude: 7.43, radius: 4000)
            let box = try Area.Box(west: 7.3, south: 43.7, east: 7.5, north: 43.8)
            for filter in [
                PlaceFilter(), PlaceFilter(within: .circle(circle)), PlaceFilter(within: .box(box), categoryID: "c0"),
                PlaceFilter(categoryID: "c0"), PlaceFilter(categoryID: "c1", chainID: "chain"),
                PlaceFilter(chainID: "unknown"), PlaceFilter(categoryID: "unknown"),
            ] {
                let expected = naive.filter { matches($0.value, filter) }.keys.sorted { $0.lexicographicallyPrecedes($1) }
                #expect(listed(table, filter, limit: 1 + random.below(300)).map { Array($0.utf8) } == expected)
            }
        }
    }

    private func matches(_ place: Place, _ filter: PlaceFilter) -> Bool {
        guard case .point(let latitude, let longitude) = place.geometry else { return false }
        if let area = filter.area, !area.contains(latitude: latitude, longitude: longitude) { return false }
        if let chain = filter.chainID, place.chainID != chain { return false }
        guard let category = filter.categoryID else { return true }
        return place.categoryIDs.contains { $0 == category || category == "c0" && $0 == "c1" }
    }

    private func listed(_ table: PlaceTable, _ filter: PlaceFilter, limit: Int) -> [String] {
        var ids: [String] = []
        var after: String?
        repeat {
            let page = table.page(filter, after: after, limit: limit)
            #expect(page.handles.count <= limit)
            #expect(page.next == nil || page.handles.count == limit)
            ids += page.handles.map { table.id($0) }
            after = page.next
        } while after != nil
        return ids
    }

    @Test("A list goes on behind an id that no place has")
    func behindNothing() throws {
        let table = PlaceTable()
        for id in ["b", "d", "dd"] { try table.upsert(Place(id: id, geometry: .point(latitude: 0, longitude: 0))) }
        for (after, expected) in [("a", ["b", "d", "dd"]), ("b", ["d", "dd"]), ("c", ["d", "dd"]), ("d", ["dd"]), ("dd", [])] {
            #expect(table.page(after: after, limit: 10).handles.map { table.id($0) } == expected)
        }
        #expect(table.page(limit: 0).handles.isEmpty)
    }

    @Test("Ids that look the same but have other bytes are other places")
    func exactBytes() throws {
        let table = PlaceTable()
        #expect(try table.upsert(Place(id: "é", geometry: .point(latitude: 0, longitude: 0))) == .imported(0))
        #expect(try table.upsert(Place(id: "e\u{301}", geometry: .point(latitude: 0, longitude: 0))) == .imported(1))
        #expect(table.remove("é"))
        #expect(table.count == 1)
    }
}
