import SeededRandom
import Testing

@testable import LiveTopics

@Suite("Criteria")
struct CriteriaTests {
    @Test(
        "A text is read as a filter and written the same way",
        arguments: [
            "d/#", "d/v/#", "d/+/b/+/+/+/temperature", "d/v/b/f/r/l/position", "d/v/b/f/r/l/#", "d/-/-/-/-/x/position",
            "d/a%2Fb/#",
        ])
    func roundTrip(_ text: String) throws {
        #expect(try Criteria(encoded: text).encoded == text)
    }

    @Test(
        "A text that is no criteria is refused with the rule it breaks",
        arguments: [
            ("", CriteriaError.levelCount(1)), ("d", .levelCount(1)), ("#", .openDataset), ("+/v/#", .openDataset),
            ("d/v/b", .levelCount(3)), ("d/#/b/f/r/l/x", .misplacedWildcard), ("d/v#/#", .misplacedWildcard),
            ("d/1/2/3/4/5/6/7", .levelCount(8)), ("live/#", .level(.reservedDataset("live"))),
            ("d/%41/#", .level(.level(name: "venue", problem: .encoding))),
        ])
    func refusals(_ row: (text: String, error: CriteriaError)) {
        #expect(throws: row.error) { try Criteria(encoded: row.text) }
    }

    @Test("Random bytes are criteria or refused, and what is accepted reads back")
    func fuzz() {
        var random = SplitMix64.forTest()
        let pieces = ["d", "v", "+", "#", "/", "%2F", "%2f", "%", "-", "é", "\u{0}", "live", "x"]
        var accepted = 0
        for _ in 0..<30_000 {
            let text = (0..<random.below(16)).map { _ in random.pick(pieces) }.joined(separator: random.chance(50) ? "/" : "")
            guard let criteria = try? Criteria(encoded: text) else { continue }
            accepted += 1
            #expect((try? Criteria(encoded: criteria.encoded))?.levels == criteria.levels, "\(text)")
        }
        #expect(accepted > 50)
    }

    @Test("The index finds exactly what a scan of all criteria finds, while criteria come and go")
    func twin() throws {
        var random = SplitMix64.forTest()
        var index = CriteriaIndex()
        var standing: [UInt32: (criteria: Criteria, pattern: CriteriaPattern)] = [:]
        // By bytes: two topics that only look equal are two topics.
        var memos: [[UInt8]: CriteriaMemo] = [:]
        func level() -> String { random.pick(["a", "b", "-", "é", "e\u{301}", "x/y"]) }
        for step in 0..<20_000 {
            if standing.count < 300, random.chance(60) {
                let open = random.below(64)
                func given(_ bit: Int) -> String? { open & (1 << bit) != 0 ? nil : level() }
                let criteria = try Criteria(
                    dataset: "d", venue: given(0), building: given(1), floor: given(2), room: given(3), location: given(4),
                    domain: given(5))
                let pattern = CriteriaPattern(criteria)
                var handle = UInt32(random.below(600))
                while standing[handle] != nil { handle = UInt32(random.below(600)) }
                index.insert(pattern, handle)
                standing[handle] = (criteria, pattern)
            } else if let handle = standing.keys.sorted().randomElement(using: &random), let known = standing[handle] {
                index.remove(known.pattern, handle)
                standing[handle] = nil
            }
            let topic = LiveTopic(
                dataset: "d", venue: level(), building: level(), floor: level(), room: level(), location: level(), domain: level()
            )
            let wanted = standing.filter { $0.value.criteria.matches(topic) }.map(\.key).sorted()
            var found: [UInt32] = []
            index.find(LevelKeys(topic), topic: topic.encoded, into: &found)
            #expect(found.sorted() == wanted, "step \(step)")
            var remembered: [UInt32] = []
            index.find(
                LevelKeys(topic), topic: topic.encoded, remembering: &memos[Array(topic.encoded.utf8), default: CriteriaMemo()],
                into: &remembered)
            #expect(remembered == wanted, "step \(step)")
            for (_, known) in standing.prefix(5) {
                #expect(known.pattern.matches(LevelKeys(topic), topic: topic.encoded) == known.criteria.matches(topic))
            }
        }
        for (handle, known) in standing { index.remove(known.pattern, handle) }
        #expect(index.count == 0)
    }

    @Test("A result too long to be remembered is found each time")
    func longResults() throws {
        var index = CriteriaIndex()
        let pattern = CriteriaPattern(try Criteria(dataset: "d"))
        for handle in 0..<1000 { index.insert(pattern, UInt32(handle)) }
        let topic = LiveTopic(dataset: "d", venue: "v", domain: "count")
        var memo = CriteriaMemo()
        for _ in 0..<3 {
            var found: [UInt32] = []
            index.find(LevelKeys(topic), topic: topic.encoded, remembering: &memo, into: &found)
            #expect(found == (0..<1000).map(UInt32.init))
        }
    }
}
