import LiveTopics
import SeededRandom
import Testing

@testable import MQTTDoor

@Suite("The filters held at the broker")
struct BrokerFiltersTests {
    private static let mark = "geomatch/geomatch/mark/x"

    private func filters(_ datasets: [String], every: Bool, prefix: String = "") -> [String] {
        BrokerFilters.wanted(datasets: datasets, readsEveryDataset: every, prefix: prefix, inputQoS: 0, mark: prefix + Self.mark)
            .map(
                \.filter)
    }

    @Test("No message is read twice: random topics match at most one filter")
    func noOverlap() throws {
        var random = SplitMix64.forTest()
        let words = ["geomatch", "live", "d", "e", "other", "request", "mark", "x", "alice", "", "status", "geo", "-"]
        for (datasets, every, prefix) in [
            (["d", "e"], true, ""), (["d", "e"], false, ""), ([], true, ""), (["d", "request", "mark"], true, "p/q/"),
            (["d"], false, "p/"),
        ] {
            let all = try filters(datasets, every: every, prefix: prefix).map { (text: $0, filter: try TopicFilter($0)) }
            for _ in 0..<8000 {
                let levels = (0..<Int.random(in: 1...10, using: &random)).map { _ in
                    words[Int.random(in: 0..<words.count, using: &random)]
                }
                let topic = prefix + levels.joined(separator: "/")
                guard !topic.isEmpty else { continue }
                let matching = all.filter { $0.filter.matches(topic) }.map(\.text)
                #expect(matching.count <= 1, "\(topic): \(matching)")
            }
        }
    }

    @Test("Requests of every dataset with any number of levels are read, and live topics of the known ones")
    func covers() throws {
        for every in [true, false] {
            let all = try filters(["d"], every: every).map { try TopicFilter($0) }
            func isRead(_ topic: String) -> Bool { all.contains { $0.matches(topic) } }
            for levels in 0...8 {
                let below = String(repeating: "/x", count: levels)
                #expect(isRead("geomatch/d/alice/request" + below))
                #expect(isRead("geomatch/unknown/alice/request" + below))
                #expect(isRead("d" + below))
                #expect(isRead("stranger" + below) == (every && levels == 6))
                #expect(isRead("live/d" + below) == (every && levels == 5))
            }
            #expect(isRead(Self.mark))
            #expect(!isRead("geomatch/d/alice/reply") && !isRead("geomatch/d/alice/match/p/s") && !isRead("geomatch/status"))
        }
    }

    @Test("Requests are read at QoS 1, live topics as configured")
    func qualities() {
        for quality in [Int32(0), 1] {
            let wanted = BrokerFilters.wanted(
                datasets: ["d"], readsEveryDataset: true, prefix: "p/", inputQoS: quality, mark: "p/" + Self.mark)
            for filter in wanted {
                #expect(filter.filter.hasPrefix("p/"))
                #expect(filter.qos == (filter.filter.hasPrefix("p/geomatch/") ? 1 : quality), "\(filter)")
            }
        }
    }
}
