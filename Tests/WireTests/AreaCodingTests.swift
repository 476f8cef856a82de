import Geodesy
import LiveTopics
import SeededRandom
import Testing

@testable import Wire

@Suite("Areas and criteria in requests")
struct AreaCodingTests {
    private static let seeds = [
        #"{"bbox":[1,2,3,4]}"#, #"{"circle":{"latitude":1,"longitude":2,"radius":3}}"#,
        #"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]],"bbox":[0,0,4,4]}"#,
        #"{"venue":"v","room":null,"domainType":"count"}"#, #""d/v/+/+/#""#,
    ]

    @Test("A Polygon may carry a bbox and altitudes of its own")
    func polygon() throws {
        let area = try AreaCoding.decode(
            JSONValue.parse(#"{"type":"Polygon","bbox":[9,9,9,9],"coordinates":[[[0,0,5],[4,0,5],[4,4,5],[0,0,5]]]}"#))
        #expect(area.contains(latitude: 1, longitude: 3))
        #expect(!area.contains(latitude: 3, longitude: 1))
    }

    @Test("Mutated areas and criteria never trap, and what is accepted is sound")
    func fuzz() {
        var random = SplitMix64.forTest()
        let pieces = [
            "0", "-181", "1e309", "1e-320", "[", "]", "{", "}", ",", "null", "\"", ":", "90.0000001", "+", "#", "/", "%2F",
        ]
        var areas = 0
        var criteria = 0
        for _ in 0..<20_000 {
            var text = random.pick(Self.seeds)
            for _ in 0..<random.below(4) {
                let place = text.index(text.startIndex, offsetBy: random.below(text.count))
                if random.chance(50) { text.remove(at: place) } else { text.insert(contentsOf: random.pick(pieces), at: place) }
            }
            guard let value = try? JSONValue.parse(text) else { continue }
            if let area = try? AreaCoding.decode(value) {
                areas += 1
                let bounds = area.bounds
                #expect(bounds.south >= -90 && bounds.north <= 90 && bounds.south <= bounds.north)
                _ = area.contains(latitude: 90, longitude: 180)
            }
            if let wanted = try? CriteriaCoding.decode(value, dataset: "d") {
                criteria += 1
                #expect((try? Criteria(encoded: wanted.encoded))?.levels == wanted.levels, "\(text)")
            }
        }
        #expect(areas > 100 && criteria > 100)
    }
}
