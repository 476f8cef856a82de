import LiveTopics
import Testing
import Wire

@testable import Datasets

@Suite("Messages of other ecosystems")
struct AdaptedMessageTests {
    private static let owntracks = "owntracks/jane/phone"
    private static let location = #"{"_type":"location","lat":47.5,"lon":8.5,"tst":1700000000}"#

    private func adapters(dataset: String = "d") throws -> Adapters {
        Adapters([try AdapterRule([("filter", "owntracks/+/+/#"), ("format", "owntracks"), ("dataset", dataset)])])
    }

    private func diagnostics(_ harness: HubHarness, of dataset: String = "d") -> [JSONValue] {
        harness.published.filter { $0.topic == "geomatch/\(dataset)/diagnostics/update" }.compactMap(\.json)
    }

    @Test("What an adapter reads is a live update like any other: retained, counted, and it makes its device")
    func accepted() throws {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.adapt(Self.owntracks, Self.location, by: try adapters())
        let live = try #require(harness.retained["live/d/-/-/-/-/jane%2Fphone/position"])
        #expect(live.contains(#""itemId":"jane/phone","timestamp":1700000000000"#))
        #expect(harness.counters.updates.received == 1 && harness.counters.updates.accepted == 1)
        #expect(harness.hub.datasets["d"]?.devices["jane/phone"] != nil)
        harness.adapt(Self.owntracks, "", by: try adapters())
        #expect(harness.retained["live/d/-/-/-/-/jane%2Fphone/position"] == nil)
    }

    @Test("A refusal is reported like a live update's, with the topic as published, by the adapter or behind it")
    func refused() throws {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.adapt(Self.owntracks, #"{"_type":"location","lat":91,"lon":1}"#, by: try adapters())
        let seen = try #require(diagnostics(harness).first)
        #expect(seen["topic"]?.text == Self.owntracks && seen["field"]?.text == "lat" && seen["error"]?.text == "invalid")
        #expect(harness.counters.updates.received == 1 && harness.counters.updates.refused == 1)
        // Late and skewed name it, too.
        harness.adapt("owntracks/a/b", Self.location, by: try adapters())
        harness.adapt("owntracks/a/b", Self.location.replacing("1700000000", with: "1600000000"), by: try adapters())
        harness.adapt("owntracks/a/c", Self.location.replacing("1700000000", with: "1800000000"), by: try adapters())
        for (kind, topic) in [("late", "owntracks/a/b"), ("skewed", "owntracks/a/c")] {
            let seen = harness.published.last { $0.topic == "geomatch/d/diagnostics/\(kind)" }
            #expect(seen?.json?["topic"]?.text == topic)
        }
    }

    @Test("An unknown dataset is created where that is allowed, by an update that is right")
    func datasets() throws {
        let creating = HubHarness()
        creating.adapt(Self.owntracks, #"{"_type":"location"}"#, by: try adapters(dataset: "new"))
        #expect(creating.hub.datasets["new"] == nil)
        creating.adapt(Self.owntracks, Self.location, by: try adapters(dataset: "new"))
        #expect(creating.hub.datasets["new"] != nil)
        let strict = HubHarness { $0.autoCreateDatasets = false }
        strict.adapt(Self.owntracks, Self.location, by: try adapters(dataset: "new"))
        #expect(strict.hub.datasets["new"] == nil)
        #expect(diagnostics(strict, of: "new").first?["error"]?.text == "unknownDataset")
        #expect(diagnostics(strict, of: "new").first?["topic"]?.text == Self.owntracks)
    }

    @Test("A dataset cannot have the name that an adapter's topics begin with, by a request or by first use")
    func reserved() throws {
        let harness = HubHarness { $0.reservedDatasets = ["owntracks": "owntracks/+/+/#"] }
        let reply = harness.request("dataset/create", client: "admin", dataset: "owntracks")
        #expect(reply?["error"]?["error"]?.text == "invalid")
        harness.send("owntracks/-/-/-/-/x/co2", #"{"co2":1}"#)
        #expect(harness.hub.datasets["owntracks"] == nil)
    }

    @Test("What the broker replays replaces only what is older by its own word")
    func retained() throws {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.adapt(Self.owntracks, Self.location, by: try adapters())
        let live = harness.retained["live/d/-/-/-/-/jane%2Fphone/position"]
        for tst in ["1600000000", "1700000000"] {
            harness.adapt(
                Self.owntracks, Self.location.replacing("47.5", with: "1").replacing("1700000000", with: tst), retained: true,
                by: try adapters())
        }
        #expect(harness.retained["live/d/-/-/-/-/jane%2Fphone/position"] == live)
        #expect(harness.counters.updates.late == 0)
    }
}

extension HubHarness {
    /// A message as the daemon's loop handles it where an adapter's filter matches.
    func adapt(_ topic: String, _ payload: String, retained: Bool = false, by adapters: Adapters) {
        core.begin()
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { payload in
                guard let adapted = adapters.read(topic: topic, payload: payload, retained: retained) else { return }
                core.receive(adapted, published: topic, isRepeated: retained)
            }
        }
        end()
    }
}
