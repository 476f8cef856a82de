import Testing

import LiveTopics

@Suite("TopicFilter")
struct TopicFilterTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var filter: String
        var topic: String
        var matches: Bool
        var testDescription: String { "\(filter) \(matches ? "=" : "!")= \(topic)" }

        init(_ filter: String, _ topic: String, _ matches: Bool) {
            self.filter = filter
            self.topic = topic
            self.matches = matches
        }
    }

    @Test(
        "Filters match by the rules of MQTT",
        arguments: [
            Case("a/b", "a/b", true), Case("a/b", "a/B", false), Case("a", "a/b", false), Case("a/b", "a", false),
            Case("a", "a/", false), Case("a/", "a", false), Case("a/", "a/", true), Case("/a", "a", false),
            Case("/a", "/a", true), Case("+", "a", true), Case("+", "a/b", false), Case("+", "/a", false),
            Case("+/+", "/a", true), Case("/+", "/a", true), Case("+/", "a/", true), Case("a/+", "a/", true),
            Case("a/+", "a", false), Case("a/+/c", "a//c", true), Case("a/+/c", "a/b/c", true), Case("a/+/c", "a/b/d", false),
            Case("#", "a", true), Case("#", "a/b/c", true), Case("#", "/", true), Case("a/#", "a", true),
            Case("a/#", "a/", true), Case("a/#", "a/b/c", true), Case("a/#", "ab", false), Case("a/#", "b", false),
            Case("+/#", "a", true), Case("+/#", "a/b", true), Case("a/+/#", "a", false), Case("a/+/#", "a/b", true),
            Case("#", "$SYS/x", false), Case("+/x", "$SYS/x", false), Case("+/#", "$SYS/x", false),
            Case("$SYS/#", "$SYS/x", true),
            Case("$SYS/+", "$SYS/x", true), Case("$SYS/x", "$SYS/x", true), Case("a/#", "a/$x", true), Case("a/+", "a/$x", true),
            Case("é", "e\u{301}", false), Case("//", "//", true), Case("+/+/+", "//", true), Case("/", "/", true),
            Case("acme/+/+/+/+/+/position", "acme/v/-/-/-/x/position", true),
        ])
    func matching(_ row: Case) throws {
        #expect(try TopicFilter(row.filter).matches(row.topic) == row.matches)
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var text: String
        var error: TopicFilterError

        /// A text of 64 KiB says no more than its beginning.
        var testDescription: String { "\(text.prefix(40)) → \(error)" }
    }

    @Test(
        "What is no filter is refused with its reason",
        arguments: [
            Refused(text: "", error: .length(0)), Refused(text: String(repeating: "a", count: 65_536), error: .length(65_536)),
            Refused(text: "a\u{0}", error: .containsNUL), Refused(text: "a+", error: .partialSingleLevel),
            Refused(text: "a/+b/c", error: .partialSingleLevel), Refused(text: "++", error: .partialSingleLevel),
            Refused(text: "#/a", error: .misplacedMultiLevel), Refused(text: "a#", error: .misplacedMultiLevel),
            Refused(text: "a/#/", error: .misplacedMultiLevel), Refused(text: "##", error: .misplacedMultiLevel),
            Refused(text: "a/+#", error: .misplacedMultiLevel),
        ])
    func refuses(_ row: Refused) {
        #expect(throws: row.error) { try TopicFilter(row.text) }
        #expect(!row.error.message.isEmpty)
    }

    @Test("Topics have no wildcards, no U+0000 and 1 to 65535 bytes")
    func topics() throws {
        try TopicFilter.validateTopic("a/b//c d/é")
        try TopicFilter.validateTopic(String(repeating: "a", count: 65_535))
        #expect(throws: TopicFilterError.wildcardInTopic) { try TopicFilter.validateTopic("a/+") }
        #expect(throws: TopicFilterError.wildcardInTopic) { try TopicFilter.validateTopic("a#") }
        #expect(throws: TopicFilterError.containsNUL) { try TopicFilter.validateTopic("\u{0}") }
        #expect(throws: TopicFilterError.length(0)) { try TopicFilter.validateTopic("") }
        #expect(throws: TopicFilterError.length(65_536)) { try TopicFilter.validateTopic(String(repeating: "é", count: 32_768)) }
    }

    @Test("All small filters agree with a naive recursion on all small topics")
    func exhaustive() throws {
        let levels = ["", "a", "b", "$x"]
        let topics = Self.paths(levels, upTo: 3).filter { !$0.isEmpty }
        let filters = Self.paths(levels + ["+", "#"], upTo: 3)
        var checked = 0
        for text in filters {
            guard let filter = try? TopicFilter(text) else { continue }
            for topic in topics {
                let parts = topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                let pattern = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                let expected =
                    !(topic.hasPrefix("$") && (pattern[0] == "+" || pattern[0] == "#")) && Self.naive(pattern[...], parts[...])
                #expect(filter.matches(topic) == expected, "\(text) on \(topic)")
                checked += 1
            }
        }
        #expect(checked > 5_000)
    }

    private static func paths(_ levels: [String], upTo depth: Int) -> [String] {
        var all: [String] = []
        var current = levels
        for _ in 0..<depth {
            all += current
            current = current.flatMap { path in levels.map { "\(path)/\($0)" } }
        }
        return all
    }

    private static func naive(_ filter: ArraySlice<String>, _ topic: ArraySlice<String>) -> Bool {
        guard let first = filter.first else { return topic.isEmpty }
        if first == "#" { return true }
        guard let level = topic.first else { return false }
        return (first == "+" || first == level) && naive(filter.dropFirst(), topic.dropFirst())
    }
}
