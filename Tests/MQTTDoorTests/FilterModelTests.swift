import LiveTopics
import SeededRandom
import Testing

@testable import MQTTDoor

/// What the contract says the daemon reads, written without filters.
private struct Reading {
    var datasets: [String]
    var readsEveryDataset: Bool
    var prefix: String
    var mark: String

    func reads(_ topic: String) -> Bool {
        guard topic.hasPrefix(prefix) else { return false }
        let rest = String(topic.dropFirst(prefix.count))
        let levels = rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if rest == mark || datasets.contains(levels[0]) { return true }
        if levels[0] == "geomatch", levels.count >= 4, levels[3] == "request" { return true }
        // Requests on topics that are none.
        if levels[0] == "geomatch", (3...5).contains(levels.count), levels[2] == "request" { return true }
        // What begins with `$` is the broker's, and no wildcard finds it.
        return readsEveryDataset && levels.count == 7 && !topic.hasPrefix("$")
    }

    /// It is a request of a client called `request`, which also looks like one on a topic that is none.
    func isAmbiguous(_ topic: String) -> Bool {
        let levels = topic.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        return topic.hasPrefix(prefix) && levels.count > 3 && levels[0] == "geomatch" && levels[2] == "request"
            && levels[3] == "request"
    }

    func filters() throws -> [(text: String, filter: TopicFilter)] {
        try BrokerFilters.wanted(
            datasets: datasets, readsEveryDataset: readsEveryDataset, prefix: prefix, inputQoS: 0, mark: prefix + mark
        ).map { ($0.filter, try TopicFilter($0.filter)) }
    }
}

@Suite("What the daemon reads")
struct FilterModelTests {
    private static let names = ["d", "e", "request", "mark", "reply", "match", "-", "d.e", "status", "x"]
    private static let words = names + ["geomatch", "live", "", "$SYS", "p", "q", "i", "D", "position", "é"]

    @Test("Random topics come by exactly one filter where they are to be read, and by none where they are not")
    func once() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<40 {
            let reading = Reading(
                datasets: Array(Set((0..<random.below(5)).map { _ in random.pick(Self.names) }).subtracting(["-"])).sorted(),
                readsEveryDataset: random.chance(50), prefix: random.pick(["", "p/", "p/q/", "geomatch/", "live/d/"]),
                mark: "geomatch/geomatch/mark/i")
            let filters = try reading.filters()
            #expect(Set(filters.map(\.text)).count == filters.count)
            for _ in 0..<600 {
                let topic = random.topic(of: Self.words, below: reading.prefix)
                if reading.isAmbiguous(topic) { continue }
                let met = filters.filter { $0.filter.matches(topic) }.map(\.text)
                #expect(met.count == (reading.reads(topic) ? 1 : 0), "\(topic) of \(reading): \(met)")
            }
        }
    }

    @Test("Requests of anybody and topics of known datasets are read however long they are", arguments: ["", "site/1/"])
    func anyLength(prefix: String) throws {
        for readsEveryDataset in [true, false] {
            let reading = Reading(datasets: ["d", "e"], readsEveryDataset: readsEveryDataset, prefix: prefix, mark: "m")
            let filters = try reading.filters()
            for count in 0..<40 {
                let below = String(repeating: "/x", count: count)
                for topic in ["geomatch/d/alice/request", "geomatch/unknown/-/request", "d", "e"].map({ prefix + $0 + below }) {
                    #expect(filters.filter { $0.filter.matches(topic) }.count == 1, "\(topic)")
                }
            }
        }
    }

    @Test("What the daemon says itself does not come back to it, but for its mark", arguments: [true, false])
    func ownVoice(readsEveryDataset: Bool) throws {
        let mark = "geomatch/geomatch/mark/i"
        let filters = try Reading(datasets: ["d"], readsEveryDataset: readsEveryDataset, prefix: "", mark: mark).filters()
        for topic in [
            "geomatch/status", "geomatch/d/status", "geomatch/d/diagnostics/update", "geomatch/d/alice/reply",
            "geomatch/d/alice/match/device/subscription", "geomatch/d/alice/live/id", "live/d/-/-/-/-/device/position",
        ] {
            #expect(!filters.contains { $0.filter.matches(topic) }, "\(topic)")
        }
        #expect(filters.contains { $0.filter.matches(mark) })
    }
}

extension SplitMix64 {
    /// Mostly below the prefix, and often of a form that some filter could take.
    fileprivate mutating func topic(of words: [String], below prefix: String) -> String {
        var levels = (0..<1 + below(10)).map { _ in pick(words) }
        if chance(30) {
            levels.replaceSubrange(..<min(4, levels.count), with: ["geomatch", pick(words), pick(words), "request"])
        }
        if chance(5) { levels = ["geomatch", "geomatch", "mark", "i"] }
        let topic = (chance(90) ? prefix : "") + levels.joined(separator: "/")
        return topic.isEmpty ? "x" : topic
    }
}
