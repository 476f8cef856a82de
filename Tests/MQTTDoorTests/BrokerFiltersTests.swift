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
                // A client called `request` may have its topics taken for malformed ones.
                guard !topic.isEmpty, !(levels.count > 3 && levels[0] == "geomatch" && levels[2] == "request") else { continue }
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
            for malformed in ["d/request", "d/request/x", "d/request/x/y", "d/alice/requests", "d/alice/requests/x/y"] {
                #expect(isRead("geomatch/" + malformed))
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
                let isAssured = filter.filter.hasPrefix("p/geomatch/")
                let isOptional = BrokerFilters.isOptional(filter.filter, prefix: "p/")
                #expect(filter.qos == (isOptional ? 0 : isAssured ? 1 : quality), "\(filter)")
            }
        }
    }
}
