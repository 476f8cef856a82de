import SeededRandom
import Testing

@testable import LiveTopics

@Suite("Filters that overlap")
struct FilterOverlapTests {
    private static let levels = ["a", "b", "+"]

    /// Every filter of up to three levels.
    private static let filters: [String] = {
        var all = ["#"]
        var longer = [""]
        for _ in 0..<3 {
            longer = longer.flatMap { base in levels.map { base.isEmpty ? $0 : base + "/" + $0 } }
            all += longer + longer.map { $0 + "/#" }
        }
        return all
    }()

    /// Every topic of up to five levels: enough for two filters of four.
    private static let topics: [String] = {
        var all: [String] = []
        var longer = [""]
        for _ in 0..<5 {
            longer = longer.flatMap { base in ["a", "b"].map { base.isEmpty ? $0 : base + "/" + $0 } }
            all += longer
        }
        return all
    }()

    @Test("Two filters overlap exactly where some topic is matched by both")
    func exhaustive() throws {
        let parsed = try Self.filters.map { filter in
            let filter = try TopicFilter(filter)
            return (filter, Set(Self.topics.filter { filter.matches($0) }))
        }
        for (left, its) in parsed {
            for (right, others) in parsed { #expect(left.overlaps(right) == !its.isDisjoint(with: others)) }
        }
    }

    @Test("Wildcards yield what stands for them, exactly where the filter matches")
    func wildcards() throws {
        for text in Self.filters {
            let filter = try TopicFilter(text)
            for topic in Self.topics {
                let found = filter.wildcards(in: topic.split(separator: "/").map(String.init))
                #expect((found != nil) == filter.matches(topic), "\(text) \(topic)")
                guard var rest = found else { continue }
                #expect(rest.count == filter.wildcardCount)
                // Put back where the wildcards stand they make the topic again.
                let made = text.split(separator: "/").map { $0 == "+" || $0 == "#" ? rest.removeFirst() : String($0) }
                #expect(made.filter { !$0.isEmpty }.joined(separator: "/") == topic)
            }
        }
    }

    @Test("A wildcard in the first level finds nothing of the broker's own")
    func brokersOwn() throws {
        let system = try TopicFilter("$SYS/#")
        #expect(try !TopicFilter("#").overlaps(system) && !system.overlaps(TopicFilter("+/a")))
        #expect(try system.overlaps(TopicFilter("$SYS/+")))
        #expect(try TopicFilter("+/a").wildcards(in: ["$SYS", "a"]) == nil)
        #expect(try TopicFilter("#").wildcards(in: ["a"]) == ["a"])
    }
}
