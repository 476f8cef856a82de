import Synchronization
import Testing
import Wire

@testable import Datasets

@Suite("Live updates")
struct LiveUpdateTests {
    static let topic = "d/-/-/-/-/l/co2"
    static let live = "live/" + topic

    /// What is retained on `live/…` of the topic: the `co2` of the state.
    private func co2(_ harness: HubHarness) -> Double? {
        harness.retained[Self.live].flatMap { try? JSONValue.parse($0) }?["properties"]?["co2"]?.number
    }

    struct Step {
        /// nil: cleared.
        var co2: Int?
        /// Relative to the clock, in milliseconds; nil: not sent.
        var timestamp: Int64?
        var retained = false

        init(_ co2: Int?, _ timestamp: Int64? = nil, retained: Bool = false) {
            (self.co2, self.timestamp, self.retained) = (co2, timestamp, retained)
        }
    }

    struct Row: CustomTestStringConvertible {
        var testDescription: String
        var steps: [Step]
        /// The state at the end.
        var co2: Double?
        var late = 0
        var skewed = 0
        var accepted: Int
    }

    @Test(
        "An update counts by its timestamp",
        arguments: [
            Row(testDescription: "newer replaces", steps: [Step(1, -10), Step(2, -9)], co2: 2, accepted: 2),
            Row(testDescription: "equal replaces", steps: [Step(1, -10), Step(2, -10)], co2: 2, accepted: 2),
            Row(testDescription: "older is late", steps: [Step(1, -10), Step(2, -11)], co2: 1, late: 1, accepted: 1),
            Row(testDescription: "none is now", steps: [Step(1, -10), Step(2)], co2: 2, accepted: 2),
            Row(testDescription: "a little ahead makes nothing late", steps: [Step(1, 300_000), Step(2)], co2: 2, accepted: 2),
            Row(testDescription: "far ahead is now", steps: [Step(1, 300_001), Step(2)], co2: 2, skewed: 1, accepted: 2),
            Row(testDescription: "a replay is the first", steps: [Step(1, retained: true)], co2: 1, accepted: 1),
            Row(testDescription: "a replay without time", steps: [Step(1), Step(2, retained: true)], co2: 1, accepted: 1),
            Row(testDescription: "an older replay", steps: [Step(1, -5), Step(2, -6, retained: true)], co2: 1, accepted: 1),
            Row(testDescription: "an equal replay", steps: [Step(1, -5), Step(2, -5, retained: true)], co2: 1, accepted: 1),
            Row(testDescription: "a newer replay", steps: [Step(1, -5), Step(2, -4, retained: true)], co2: 2, accepted: 2),
            Row(
                testDescription: "a skewed replay has no time of its own",
                steps: [Step(1, 400_000), Step(2, 0), Step(1, 400_000, retained: true)], co2: 2, skewed: 1, accepted: 2),
            Row(testDescription: "cleared", steps: [Step(1), Step(nil)], co2: nil, accepted: 2),
            Row(testDescription: "cleared, then published again", steps: [Step(1), Step(nil), Step(2)], co2: 2, accepted: 3),
            Row(
                testDescription: "cleared, then replayed", steps: [Step(1), Step(nil), Step(2, retained: true)], co2: nil,
                accepted: 2),
            Row(
                testDescription: "cleared, then an older replay",
                steps: [Step(1, -9), Step(nil), Step(2, -1, retained: true)], co2: nil, accepted: 2),
            Row(
                testDescription: "cleared, then a newer replay",
                steps: [Step(1, -9), Step(nil), Step(2, 1, retained: true)], co2: 2, accepted: 3),
            Row(
                testDescription: "what is older than the clearing is late",
                steps: [Step(1, -9), Step(nil), Step(2, -1)], co2: nil, late: 1, accepted: 2),
            Row(testDescription: "nothing to clear", steps: [Step(nil)], co2: nil, accepted: 1),
        ])
    func byTimestamp(_ row: Row) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        var ignored = 0
        for step in row.steps {
            let before = harness.counters
            guard let co2 = step.co2 else {
                harness.send(Self.topic, "")
                continue
            }
            let timestamp = step.timestamp.map { ",\"timestamp\":\(harness.now + $0)" } ?? ""
            harness.send(Self.topic, "{\"co2\":\(co2)\(timestamp)}", retained: step.retained)
            if harness.counters == before { ignored += 1 }
        }
        #expect(co2(harness) == row.co2)
        let counters = harness.counters
        #expect(counters.updates.accepted == row.accepted)
        #expect(counters.updates.late == row.late)
        #expect(counters.updates.skewed == row.skewed)
        #expect(counters.updates.received == row.steps.count - ignored)
        #expect(counters.updates.received == counters.updates.accepted + counters.updates.late + counters.updates.refused)
        #expect(harness.diagnostics("late").count == row.late)
        #expect(harness.diagnostics("skewed").count == row.skewed)
    }

    @Test("The status says when a counter of losses last rose, and the dataset how much it may hold")
    func lastLosses() throws {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        func last() -> Double? {
            harness.published.last { $0.topic == "geomatch/d/status" }?.json?["last"]?["refused"]?.number
        }
        harness.advance(milliseconds: 11_000)
        #expect(harness.published.contains { $0.topic == "geomatch/d/status" } && last() == nil)
        harness.send(Self.topic, "rubbish")
        harness.advance(milliseconds: 11_000)
        let instant = try #require(last())
        #expect(abs(instant - Double(harness.now)) <= 11_000)
        harness.send(Self.topic, #"{"co2":1}"#)
        harness.advance(milliseconds: 11_000)
        #expect(last() == instant)
        harness.hub.repeatStatus()
        harness.advance(milliseconds: 1_000)
        #expect(last() == instant)
        #expect(harness.result("dataset/get")?["limits"]?["devices"]?.number == 1_000_000)
    }

    @Test("A skewed update has the time of its arrival")
    func skewed() {
        let harness = HubHarness()
        harness.send(Self.topic, #"{"co2":1,"timestamp":4000000000000}"#)
        #expect(harness.published.first { $0.topic == Self.live }?.json?["timestamp"]?.number == Double(harness.now))
    }

    @Test("Clearing an unknown topic clears what the broker may retain, and creates nothing")
    func clearsUnknown() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        harness.send("d/-/-/-/-/x/position", "")
        #expect(harness.payloads("live/d/-/-/-/-/x/position") == [""])
        #expect(harness.hub.liveStates.count == 0 && harness.hub.datasets["d"]?.devices.isEmpty == true)
        harness.send("e/-/-/-/-/x/position", "")
        #expect(harness.hub.datasets["e"] == nil)
    }

    @Test("A cleared state is known for thirty days, and then forgotten")
    func forgetsCleared() {
        let harness = HubHarness()
        harness.send(Self.topic, #"{"co2":1}"#)
        harness.send(Self.topic, "")
        harness.advance(milliseconds: 30 * 86_400_000 - 2_000, step: 3_600_000)
        harness.send(Self.topic, #"{"co2":2}"#, retained: true)
        #expect(co2(harness) == nil)
        harness.advance(milliseconds: 4_000)
        #expect(harness.hub.liveStates.count == 0 && harness.store.liveStateCount == 0)
        harness.send(Self.topic, #"{"co2":2}"#, retained: true)
        #expect(co2(harness) == 2)
    }

    @Test("Topics published and cleared do not fill the memory")
    func clearedStatesAreBounded() {
        let harness = HubHarness { $0.limits.liveTopics = 50 }
        for number in 0..<2000 {
            harness.send("d/-/-/-/-/\(number)/co2", #"{"co2":1}"#)
            harness.send("d/-/-/-/-/\(number)/co2", "")
        }
        #expect(harness.hub.liveStates.count <= 50)
        harness.advance(milliseconds: 1000)
        #expect(harness.store.liveStateCount <= 50)
        // The newest are those remembered.
        harness.send("d/-/-/-/-/1999/co2", #"{"co2":2}"#, retained: true)
        #expect(harness.retained["live/d/-/-/-/-/1999/co2"] == nil)
    }

    struct Refused: CustomTestStringConvertible {
        var domain: String
        var payload: String
        var refusal: String
        var testDescription: String { "\(domain) \(payload.prefix(40))" }

        init(_ domain: String, _ payload: String, _ refusal: String) {
            (self.domain, self.payload, self.refusal) = (domain, payload, refusal)
        }
    }

    @Test(
        "What is refused is reported, and has no effect",
        arguments: [
            Refused("position", "rubbish", "invalid"), Refused("position", "[]", "invalid"),
            Refused("position", "{}", "invalid latitude"),
            Refused("position", #"{"latitude":90.1,"longitude":0}"#, "invalid latitude"),
            Refused("position", #"{"latitude":0,"longitude":-180.1}"#, "invalid longitude"),
            Refused("position", #"{"latitude":"north","longitude":0}"#, "invalid latitude"),
            Refused("position", #"{"latitude":1e999,"longitude":0}"#, "invalid"),
            Refused("position", #"{"_type":"transition","lat":1,"lon":1}"#, "invalid _type"),
            Refused("availability", #"{"available":1}"#, "invalid available"),
            Refused("occupancy", #"{"nrOfPeople":-1}"#, "invalid nrOfPeople"),
            Refused("count", #"{"count":1.5}"#, "invalid count"),
            Refused("free", #"{"a":{"b":1}}"#, "invalid a"), Refused("free", #"{"a":[[1]]}"#, "invalid a"),
            Refused("co2", "{\"co2\":1,\"x\":\"" + String(repeating: "x", count: 65_536) + "\"}", "tooLarge"),
        ])
    func refuses(_ row: Refused) {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/l/\(row.domain)", row.payload)
        // Not even the dataset is created.
        #expect(harness.hub.datasets.isEmpty)
        #expect(harness.diagnostics().map(\.refusal) == [row.refusal])
        _ = harness.request("dataset/create", client: "admin")
        harness.published.removeAll()
        harness.send("d/-/-/-/-/l/\(row.domain)", row.payload)
        #expect(harness.diagnostics().map(\.refusal) == [row.refusal])
        #expect(harness.counters.updates.refused == 1 && harness.counters.updates.accepted == 0)
        #expect(harness.hub.liveStates.count == 0 && harness.hub.datasets["d"]?.devices.isEmpty == true)
        #expect(!harness.published.contains { $0.topic.hasPrefix("live/") })
    }

    @Test("A free domain takes scalars and arrays of scalars")
    func freeDomain() {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/l/Parking-Space", #"{"taken":true,"plate":"x","since":[1,null,"a"]}"#)
        let live = harness.published.first { $0.topic == "live/d/-/-/-/-/l/parking-space" }
        #expect(live?.json?["properties"] == ["taken": true, "plate": "x", "since": [1, nil, "a"]])
        #expect(harness.result("dataset/get")?["activeDomains"]?.elements.compactMap(\.text) == ["parking-space"])
        harness.send("d/-/-/-/-/l/Parking-Space", "")
        #expect(harness.result("dataset/get")?["activeDomains"]?.elements.isEmpty == true)
    }

    @Test("Without auto-creation an unknown dataset is reported, and its replays are not")
    func unknownDataset() {
        let harness = HubHarness { $0.autoCreateDatasets = false }
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(harness.published.isEmpty)
        harness.send(Self.topic, #"{"co2":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["unknownDataset dataset"])
        #expect(harness.hub.datasets.isEmpty)
    }

    @Test("A replay creates a dataset, but never a deleted one again")
    func deletedDataset() {
        let harness = HubHarness()
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(co2(harness) == 1)
        #expect(harness.result("dataset/delete", client: "admin")?["state"]?.text == "deleted")
        harness.settle()
        #expect(harness.retained.isEmpty)
        harness.send(Self.topic, #"{"co2":1,"timestamp":\#(harness.now + 9)}"#, retained: true)
        harness.restart()
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(harness.hub.datasets.isEmpty && harness.diagnostics().isEmpty)
        // A request that fails to create it does not change that.
        #expect(harness.refusal("device/create", "{}") == "invalid deviceType")
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(harness.hub.datasets.isEmpty)
        harness.send(Self.topic, #"{"co2":1}"#)
        #expect(harness.hub.datasetNames == ["d"])
    }

    @Test(
        "A replay brought back what a dataset held before it was deleted and made again", arguments: [false, true],
        ["co2", "proximity"])
    func datasetMadeAgain(restarts: Bool, domain: String) {
        let harness = HubHarness()
        let topic = "d/v/b/f/r/l/\(domain)"
        func replay(_ timestamp: Int64?) -> Bool {
            let facts =
                domain == "co2"
                ? #""co2":1"# : #""uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"distance":3"#
            let stated = timestamp.map { #","timestamp":\#($0)"# } ?? ""
            harness.send(topic, "{\(facts)\(stated)}", retained: true)
            return harness.hub.liveStates[topic]?.payload != nil
        }
        #expect(replay(nil))
        let former = harness.now
        harness.now += 100
        let deletedAt = harness.now
        _ = harness.request("dataset/delete", client: "admin")
        harness.settle()
        harness.now += 100
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"other"}"#)
        if restarts { harness.restart() }
        #expect(!replay(nil) && !replay(former) && !replay(deletedAt))
        #expect(harness.hub.datasets["d"]?.liveTopicCount == 0)
        // It was published since.
        #expect(replay(deletedAt + 1))
        // Nothing is wrong with what is no replay.
        harness.send("d/v/b/f/other/-/co2", #"{"co2":1,"timestamp":\#(former)}"#)
        #expect(harness.hub.liveStates["d/v/b/f/other/-/co2"]?.payload != nil)
    }

    @Test("A deletion of a dataset is remembered for thirty days, also where it was made again")
    func deletionIsForgotten() {
        let harness = HubHarness()
        harness.send(Self.topic, #"{"co2":1}"#)
        _ = harness.request("dataset/delete", client: "admin")
        harness.send("d/v/b/f/other/-/co2", #"{"co2":1}"#)
        #expect(harness.hub.deletedDatasetNames == ["d"])
        harness.now += 30 * 86_400_000 - 7_200_000
        harness.advance(milliseconds: 1000)
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(harness.hub.liveStates[Self.topic] == nil)
        harness.now += 3 * 3_600_000
        harness.advance(milliseconds: 1000)
        #expect(harness.hub.deletedDatasetNames.isEmpty)
        harness.restart()
        #expect(harness.hub.deletedDatasetNames.isEmpty)
        harness.send(Self.topic, #"{"co2":1}"#, retained: true)
        #expect(co2(harness) == 1)
    }

    @Test("Beyond the maxima nothing is created, and what is known goes on")
    func maxima() {
        let harness = HubHarness {
            $0.limits.liveTopics = 2
            $0.limits.datasets = 1
        }
        harness.send("d/a/-/-/-/x/position", #"{"lat":1,"lon":1}"#)
        harness.send(Self.topic, #"{"co2":1}"#)
        harness.send("d/-/-/-/-/m/co2", #"{"co2":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["limit"])
        harness.send(Self.topic, #"{"co2":2}"#)
        #expect(co2(harness) == 2)
        // One that takes the place of another is no more.
        harness.send("d/b/-/-/-/x/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.retained["live/d/b/-/-/-/x/position"] != nil && harness.retained["live/d/a/-/-/-/x/position"] == nil)
        harness.send("e/-/-/-/-/m/co2", #"{"co2":1}"#)
        #expect(harness.diagnostics(dataset: "e").map(\.refusal) == ["limit dataset"])
        #expect(
            harness.refusal("device/create", #"{"deviceType":"PinDevice","location":{"latitude":1,"longitude":1}}"#) == "limit")
        #expect(harness.hub.datasets["d"]?.devices.count == 1)
        #expect(harness.refusal("dataset/create", client: "admin", dataset: "e") == "limit dataset")
    }

    @Test("Each shard of a cluster had room for as many datasets as all of a daemon's")
    func datasetsElsewhere() {
        let elsewhere = Mutex(1)
        let harness = HubHarness {
            $0.limits.datasets = 3
            $0.datasetCountElsewhere = { elsewhere.withLock { $0 } }
        }
        func create(_ dataset: String) -> String? { harness.refusal("dataset/create", client: "admin", dataset: dataset) }
        #expect(create("a") == nil)
        elsewhere.withLock { $0 = 2 }
        #expect(create("b") == "limit dataset")
        harness.send("b/-/-/-/-/m/co2", #"{"co2":1}"#)
        #expect(harness.hub.datasetNames == ["a"])
        elsewhere.withLock { $0 = 1 }
        #expect(create("b") == nil && create("c") == "limit dataset")
    }

    @Test("A device that there is no room for is refused, and so is its position")
    func deviceMaximum() {
        let harness = HubHarness { $0.limits.devices = 1 }
        harness.send("d/-/-/-/-/a/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/b/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["limit location"])
        #expect(harness.retained.keys.sorted() == ["live/d/-/-/-/-/a/position"])
        #expect(harness.refusal("device/create", #"{"deviceType":"MobileDevice"}"#) == "limit")
    }
}
