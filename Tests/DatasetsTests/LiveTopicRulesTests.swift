import Testing
import Wire

@testable import Datasets

@Suite("Live topics")
struct LiveTopicRulesTests {
    struct Row: CustomTestStringConvertible {
        var published: String
        /// The seven levels on `live/…`; nil where it is refused.
        var topic: String?
        var itemID: String?
        /// Of the diagnostic: `error` and `field`.
        var refusal: String?

        init(_ published: String, _ topic: String, _ itemID: String) {
            (self.published, self.topic, self.itemID) = (published, topic, itemID)
        }

        init(_ published: String, refused: String) { (self.published, refusal) = (published, refused) }

        var testDescription: String { published }
    }

    static let long = String(repeating: "x", count: 128)

    @Test(
        "A topic is read, normalised and named by its item",
        arguments: [
            Row("d/v/b/f/r/l/co2", "d/v/b/f/r/l/co2", "l"),
            Row("d/v/b/f/r/-/co2", "d/v/b/f/r/-/co2", "r"),
            Row("d/v/b/f/-/-/co2", "d/v/b/f/-/-/co2", "f"),
            Row("d/v/-/-/-/-/co2", "d/v/-/-/-/-/co2", "v"),
            Row("d//////co2", refused: "invalid"),
            Row("d/-/-/-/-/-/co2", refused: "invalid"),
            Row("d/////l/co2", "d/-/-/-/-/l/co2", "l"),
            Row("d/v///r//CO2", "d/v/-/-/r/-/co2", "r"),
            Row("d/-/-/-/-/a%2fb/co2", "d/-/-/-/-/a%2Fb/co2", "a/b"),
            Row("d/-/-/-/-/a%2Bb/co2", "d/-/-/-/-/a%2Bb/co2", "a+b"),
            Row("d/-/-/-/-/%25/co2", "d/-/-/-/-/%25/co2", "%"),
            Row("d/-/-/-/-/a%41/co2", refused: "invalid location"),
            Row("d/-/-/-/-/a%GG/co2", refused: "invalid location"),
            Row("d/-/-/-/-/a%/co2", refused: "invalid location"),
            Row("d/v%41/-/-/-/a/co2", refused: "invalid venue"),
            Row("d/-/-/-/-/l/", refused: "invalid domain"),
            Row("d/-/-/-/-/l/-", refused: "invalid domain"),
            Row("d/-/-/-/-/\(long)/co2", "d/-/-/-/-/\(long)/co2", long),
            Row("d/-/-/-/-/\(long)x/co2", refused: "invalid location"),
            Row("d", refused: "invalid"),
            Row("d/-/-/-/l/co2", refused: "invalid"),
            Row("d/-/-/-/-/-/l/co2", refused: "invalid"),
            Row("d/-/-/-/-/l/co2/", refused: "invalid"),
        ])
    func reads(_ row: Row) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        harness.send(row.published, #"{"co2":400}"#)
        let live = harness.published.filter { $0.topic.hasPrefix("live/") }
        #expect(live.map(\.topic) == (row.topic.map { ["live/" + $0] } ?? []))
        #expect(live.first?.json?["topic"]?.text == row.topic)
        #expect(live.first?.json?["itemId"]?.text == row.itemID)
        #expect(harness.diagnostics().map(\.refusal) == (row.refusal.map { [$0] } ?? []))
        if row.refusal != nil {
            #expect(harness.diagnostics().first?["topic"]?.text == row.published)
            #expect(harness.hub.liveStates.count == 0)
            #expect(harness.counters.updates.refused == 1)
        }
        #expect(harness.counters.updates.received == 1)
    }

    @Test("Two ids of the same look and other bytes are two topics and two devices")
    func bytes() {
        let harness = HubHarness()
        for id in ["\u{E9}", "e\u{301}"] {
            harness.send("d/-/-/-/-/\(id)/position", #"{"lat":1,"lon":1}"#)
            #expect(
                harness.published.last { $0.topic.hasPrefix("live/") }?.topic.utf8.elementsEqual(
                    "live/d/-/-/-/-/\(id)/position".utf8) == true)
        }
        #expect(harness.hub.datasets["d"]?.devices.count == 2)
        #expect(harness.result("dataset/get")?["counts"]?["liveTopics"]?.number == 2)
        let listed = harness.result("device/list")?["devices"]?.elements.compactMap { $0["id"]?.text } ?? []
        #expect(listed.map { Array($0.utf8) } == [Array("e\u{301}".utf8), Array("\u{E9}".utf8)])
        #expect(
            harness.result("publication/create", #"{"id":"é","deviceId":"\#("\u{E9}")","topic":"t","range":1,"duration":9}"#)
                != nil)
        #expect(
            harness.result(
                "publication/create", #"{"id":"\#("e\u{301}")","deviceId":"\#("\u{E9}")","topic":"t","range":1,"duration":9}"#)
                != nil)
        #expect(harness.result("publication/list", #"{"deviceId":"\#("\u{E9}")"}"#)?["publications"]?.elements.count == 2)
    }

    @Test(
        "A malformed or reserved dataset is counted and reported nowhere",
        arguments: ["", "-", "a b", "é", "a%2Fb", "$SYS", String(repeating: "x", count: 65)])
    func malformedDataset(_ name: String) {
        let harness = HubHarness()
        harness.send("\(name)/-/-/-/-/l/co2", #"{"co2":400}"#)
        #expect(harness.published.isEmpty)
        #expect(harness.hub.datasets.isEmpty)
        harness.advance(milliseconds: 1000)
        #expect(harness.notices == ["live updates refused: malformed dataset level count=1"])
    }

    @Test("What comes in below `live` or `geomatch` is no live update", arguments: ["live", "geomatch"])
    func reserved(_ name: String) {
        let harness = HubHarness()
        for topic in ["\(name)/-/-/-/-/l/co2", name, "\(name)/d/-/-/-/-/l/co2"] { harness.send(topic, #"{"co2":400}"#) }
        harness.advance(milliseconds: 2000)
        #expect(harness.published.isEmpty && harness.hub.datasets.isEmpty)
    }

    @Test("Invalid UTF-8 in a topic is refused and does not pass for another topic")
    func invalidUTF8() {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/\u{FFFD}/co2", #"{"co2":1}"#)
        let bytes = Array("d/-/-/-/-/".utf8) + [0xFF] + Array("/co2".utf8)
        harness.batch([HubHarness.Message(bytes: bytes, Array(#"{"co2":2}"#.utf8))])
        #expect(harness.diagnostics().map(\.refusal) == ["invalid location"])
        #expect(harness.retained["live/d/-/-/-/-/\u{FFFD}/co2"]?.contains(#""co2":1"#) == true)
    }

    @Test("A prefix stands before each of the three trees and in no `topic` field")
    func prefix() {
        let harness = HubHarness(prefix: "acme/geo/")
        harness.send("acme/geo/d/-/-/-/-/l/co2", #"{"co2":400}"#)
        harness.send("acme/geo/d/-/-/-/-/l/co2", "rubbish")
        harness.send("acme/geo/geomatch/d/alice/request/device/list", "{}")
        harness.send("d/-/-/-/-/m/co2", #"{"co2":400}"#)
        #expect(
            harness.published.map(\.topic) == [
                "acme/geo/live/d/-/-/-/-/l/co2", "acme/geo/geomatch/d/diagnostics/update", "acme/geo/geomatch/d/alice/reply",
            ])
        #expect(harness.published[0].json?["topic"]?.text == "d/-/-/-/-/l/co2")
        #expect(harness.published[1].json?["topic"]?.text == "d/-/-/-/-/l/co2")
        harness.published.removeAll()
        harness.send(
            "acme/geo/geomatch/d/alice/request/device/list", "{}", responseTopic: "acme/geo/geomatch/d/alice/mine")
        #expect(harness.published.map(\.topic) == ["acme/geo/geomatch/d/alice/mine"])
    }

    @Test("A live message has the fields of the contract, in native types")
    func message() {
        let harness = HubHarness()
        harness.send(
            "d/v/-/-/-/l/OCCUPANCY", #"{"numberOfPeople":"7","timestamp":1600000000000,"originSourceId":"x","more":[1]}"#)
        #expect(
            harness.published.first?.payload
                == #"{"topic":"d/v/-/-/-/l/occupancy","domainType":"occupancy","itemId":"l","timestamp":1600000000000,"receivedAt":1700000000000,"properties":{"nrOfPeople":7,"more":[1]},"originSourceId":"x"}"#
        )
        #expect(harness.published.first?.retain == true && harness.published.first?.qos == 0)
    }

    @Test("Live messages go out with the QoS that is configured")
    func qos() {
        let harness = HubHarness(liveQoS: 1)
        harness.send("d/-/-/-/-/l/co2", #"{"co2":400}"#)
        #expect(harness.published.first?.qos == 1)
    }
}
