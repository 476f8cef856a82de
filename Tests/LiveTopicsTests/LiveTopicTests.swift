import SeededRandom
import Testing

@testable import LiveTopics

@Suite("LiveTopic")
struct LiveTopicTests {
    @Test("Seven levels are decoded in order")
    func decodes() throws {
        let topic = try LiveTopic(encoded: "acme/zürich/a%2Fb/2/204/tag-17/position")
        #expect(topic.dataset == "acme")
        #expect(topic.venue == "zürich")
        #expect(topic.building == "a/b")
        #expect(topic.floor == "2")
        #expect(topic.room == "204")
        #expect(topic.location == "tag-17")
        #expect(topic.domain == "position")
        #expect(topic.encoded == "acme/zürich/a%2Fb/2/204/tag-17/position")
    }

    struct Normal: Sendable {
        var given: String
        var canonical: String
    }

    @Test(
        "Each topic has one canonical form",
        arguments: [
            Normal(given: "d/////x/position", canonical: "d/-/-/-/-/x/position"),
            Normal(given: "d/-//-//x/CO2", canonical: "d/-/-/-/-/x/co2"),
            Normal(given: "d/v%2f%c2%80/-/-/-/-/Ünruhe", canonical: "d/v%2F%C2%80/-/-/-/-/ünruhe"),
            Normal(given: "D.1_-/V/B/F/R/L/Position", canonical: "D.1_-/V/B/F/R/L/position"),
        ])
    func normalises(_ row: Normal) throws {
        let topic = try LiveTopic(encoded: row.given)
        #expect(topic.encoded == row.canonical)
        #expect(try LiveTopic(encoded: row.canonical) == topic)
    }

    struct Refused: Sendable {
        var topic: String
        var error: LiveTopicError
        var field: String?
    }

    @Test(
        "What is no live topic is refused with its reason",
        arguments: [
            Refused(topic: "", error: .noDataset, field: "dataset"),
            Refused(topic: "/v/b/f/r/l/position", error: .noDataset, field: "dataset"),
            Refused(topic: "-/v/b/f/r/l/position", error: .noDataset, field: "dataset"),
            Refused(topic: "live/v/b/f/r/l/position", error: .reservedDataset("live"), field: "dataset"),
            Refused(topic: "geomatch/x", error: .reservedDataset("geomatch"), field: "dataset"),
            Refused(topic: "a b/v/b/f/r/l/position", error: .malformedDataset, field: "dataset"),
            Refused(topic: "a%2Fb/v/b/f/r/l/position", error: .malformedDataset, field: "dataset"),
            Refused(topic: "ä/v/b/f/r/l/position", error: .malformedDataset, field: "dataset"),
            Refused(topic: "d", error: .levelCount(1)), Refused(topic: "d/v/b/f/r/l", error: .levelCount(6)),
            Refused(topic: "d/v/b/f/r/l/position/x", error: .levelCount(8)),
            Refused(topic: "d/v/b/f/r/l/position/", error: .levelCount(8)),
            Refused(topic: "d/v/b/f/r/l/", error: .noDomain, field: "domain"),
            Refused(topic: "d/v/b/f/r/l/-", error: .noDomain, field: "domain"),
            Refused(topic: "d/-//-/-/-/position", error: .nothingBetween),
            Refused(topic: "d/v%41/b/f/r/l/position", error: .level(name: "venue", problem: .encoding), field: "venue"),
            Refused(topic: "d/v/b\u{7}/f/r/l/position", error: .level(name: "building", problem: .unencoded), field: "building"),
            Refused(topic: "d/v/b/+/r/l/position", error: .level(name: "floor", problem: .unencoded), field: "floor"),
            Refused(topic: "d/v/b/f/r%/l/position", error: .level(name: "room", problem: .encoding), field: "room"),
            Refused(
                topic: "d/v/b/f/r/\(String(repeating: "x", count: 129))/position",
                error: .level(name: "location", problem: .length(129)), field: "location"),
            Refused(
                topic: "d/v/b/f/r/l/\(String(repeating: "İ", count: 64))",
                error: .level(name: "domain", problem: .length(192)), field: "domain"),
        ])
    func refuses(_ row: Refused) {
        #expect(throws: row.error) { try LiveTopic(encoded: row.topic) }
        #expect(row.error.field == row.field)
        #expect(!row.error.message.isEmpty)
    }

    @Test("Bytes that are no UTF-8 are refused in every level")
    func refusesInvalidUTF8() {
        for level in 0..<7 {
            var levels = Array("d/v/b/f/r/l/position".utf8).split(separator: UInt8(ascii: "/")).map { Array($0) }
            levels[level].append(0xFF)
            let bytes = Array(levels.joined(separator: [UInt8(ascii: "/")]))
            let expected: LiveTopicError =
                level == 0 ? .malformedDataset : .level(name: LiveTopic.levelNames[level], problem: .notUTF8)
            #expect(throws: expected) { try LiveTopic(encoded: bytes) }
        }
    }

    @Test("An id of 128 bytes is the longest, counted decoded")
    func longestID() throws {
        let id = String(repeating: "/", count: 128)
        let topic = LiveTopic(dataset: "d", location: id, domain: "position")
        #expect(try LiveTopic(encoded: topic.encoded).location == id)
        let longer = LiveTopic(dataset: "d", location: id + "/", domain: "position")
        #expect(throws: LiveTopicError.level(name: "location", problem: .length(129))) {
            try LiveTopic(encoded: longer.encoded)
        }
    }

    @Test("Composed and decomposed characters are different topics, as they are to a broker")
    func bytesDecide() throws {
        let composed = try LiveTopic(encoded: "d/v/b/f/r/\u{E9}/position")
        let decomposed = try LiveTopic(encoded: "d/v/b/f/r/e\u{301}/position")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
        let shifted = [
            LiveTopic(dataset: "d", venue: "ab", building: "c", domain: "x"),
            LiveTopic(dataset: "d", venue: "a", building: "bc", domain: "x"),
        ]
        #expect(Set(shifted).count == 2)
    }

    @Test("The item is the location, or the last level before it that applies")
    func itemID() throws {
        let rows = [
            "d/v/b/f/r/l/x": "l", "d/v/b/f/r/-/x": "r", "d/v/b/f/-/-/x": "f", "d/v/b/-/-/-/x": "b", "d/v/-/-/-/-/x": "v",
            "d/v/-/-/r/-/x": "r",
        ]
        for (topic, item) in rows { #expect(try LiveTopic(encoded: topic).itemID == item) }
        #expect(LiveTopic(dataset: "d", domain: "x").itemID == "d")
    }

    @Test("Random topics come back from their encodings")
    func randomRoundTrip() throws {
        var random = SplitMix64.forTest("LiveTopic round trip")
        for _ in 0..<2_000 {
            let ids = (0..<5).map { _ in
                let text = LevelCodingTests.randomText(&random)
                return text.utf8.count > 128 ? "x" : text
            }
            let topic = LiveTopic(
                dataset: "d", venue: ids[0], building: ids[1], floor: ids[2], room: ids[3], location: ids[4] + "x",
                domain: "Count")
            #expect(try LiveTopic(encoded: topic.encoded) == topic)
            #expect(try LiveTopic(encoded: topic.encoded).encoded.utf8.elementsEqual(topic.encoded.utf8))
        }
    }
}

@Suite("Name")
struct NameTests {
    @Test("Datasets and clients are 1 to 64 plain characters and not reserved")
    func datasetsAndClients() {
        let longest = String(repeating: "a", count: 64)
        for name in ["a", "A-b_c.9", longest, "diagnosticss", "Live"] {
            #expect(Name.isDataset(name))
            #expect(Name.isClient(name))
        }
        for name in ["", longest + "a", "a b", "ä", "a/b", "a+", "a\u{0}", "a%"] {
            #expect(!Name.isDataset(name))
            #expect(!Name.isClient(name))
        }
        for name in ["live", "geomatch", "-"] { #expect(!Name.isDataset(name)) }
        for name in ["diagnostics", "status"] {
            #expect(!Name.isClient(name))
            #expect(Name.isDataset(name))
        }
    }

    @Test("Ids are 1 to 128 bytes and not the dash")
    func ids() {
        for id in ["a", "--", " ", "ä/+#", String(repeating: "é", count: 64)] { #expect(Name.isID(id)) }
        for id in ["", "-", String(repeating: "é", count: 64) + "x"] { #expect(!Name.isID(id)) }
    }
}
