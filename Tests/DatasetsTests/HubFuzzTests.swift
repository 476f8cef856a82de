import Foundation
import LiveTopics
import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Hostile input")
struct HubFuzzTests {
    static let valid: [(String, String)] = [
        ("d/v/b/f/r/l/position", #"{"lat":43.73,"lon":7.42,"timestamp":1700000000000}"#), ("d/-/-/-/-/l/co2", #"{"co2":400}"#),
        ("d/-/-/-/-/l/proximity", #"{"proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"rssi":-60}"#),
        ("d/-/-/-/-/l%2F/free", #"{"a":[1,"x",true],"b":null}"#), ("d/-/-/-/-/l/position", ""),
        (
            "geomatch/d/alice/request/device/create",
            #"{"requestId":"1","deviceType":"PinDevice","id":"x","location":{"lat":1,"lon":1}}"#
        ),
        ("geomatch/d/alice/request/device/update", #"{"id":"x","location":null,"group":["a"]}"#),
        (
            "geomatch/d/alice/request/publication/create",
            #"{"id":"p","deviceId":"x","topic":"t","range":50,"duration":0,"properties":{"a":1}}"#
        ),
        (
            "geomatch/d/alice/request/publication/create",
            #"{"id":"p","deviceId":"x","topic":"t","range":50,"duration":60,"properties":{"a":1}}"#
        ),
        (
            "geomatch/d/bob/request/subscription/create",
            #"{"id":"s","deviceId":"l","topic":"t","range":5000,"duration":1e300,"selector":"a = 1","matchTTL":0}"#
        ),
        ("geomatch/d/alice/request/match/list", #"{"deviceId":"x","limit":3}"#),
        ("geomatch/d/admin/request/dataset/delete", "{}"),
        ("geomatch/d/admin/request/dataset/list", #"{"after":"a"}"#), ("geomatch/d/alice/request/device/delete", #"{"id":"x"}"#),
    ]

    /// As many runs and messages as an audit had, which take minutes.
    private static let isThorough = ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil
    private static let runs: Range<UInt64> = isThorough ? 0..<28 : 0..<4
    private static let messages = isThorough ? 6000 : 4000

    /// Changes some bytes: another one, one more, one less, or a piece of another message.
    private func mutate(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let at = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
            case 2 where at < bytes.count: bytes.remove(at: at)
            default:
                let pieces = ["/", "{", "}", "[", "\"", "-", "1e308", "9223372036854775808", "null", "%2F", "\u{0}", "é", "-0.0"]
                bytes.insert(contentsOf: Array(pieces.randomElement(using: &random)!.utf8), at: at)
            }
        }
        return bytes
    }

    @Test("never stops the hub: random bytes and damaged messages, also over restarts and a full disk", arguments: runs)
    func survives(_ run: UInt64) {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        let harness = HubHarness()
        harness.acknowledges = true
        for number in 0..<Self.messages {
            let (topic, payload) = Self.valid.randomElement(using: &random)!
            var message = HubHarness.Message(bytes: mutate(Array(topic.utf8), &random), mutate(Array(payload.utf8), &random))
            if number % 10 == 0 {
                message.topic = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
                }
                message.payload = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            }
            message.retained = Int.random(in: 0..<5, using: &random) == 0
            if Int.random(in: 0..<5, using: &random) == 0 {
                message.responseTopic = mutate(Array("geomatch/d/alice/x".utf8), &random)
            }
            harness.batch([message])
            if number % 97 == 0 { harness.advance(milliseconds: 1000) }
            if number % 701 == 0 { harness.restart(killed: true) }
            if number % 1000 == 500 { harness.isDiskFull = true }
            if number % 1000 == 600 { harness.heal() }
            if number % 500 == 0 { harness.published.removeAll() }
        }
        for dataset in harness.hub.orderedDatasets {
            let counters = dataset.counters
            #expect(counters.updates.received == counters.updates.accepted + counters.updates.late + counters.updates.refused)
            #expect(counters.matches.matched == counters.matches.delivered + counters.matches.dropped + counters.matches.pending)
        }
        // It still does its work.
        #expect(harness.request("dataset/create", client: "admin", dataset: "after") != nil)
    }

    @Test("publishes no position of a dataset that keeps them private, whatever it is", arguments: runs)
    func privacy(_ run: UInt64) {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"livePositions":"none"}"#, client: "admin")
        _ = harness.request("live/subscribe", #"{"id":"l","criteria":"d/#"}"#, client: "eve")
        let valid = Self.valid.filter { !$0.0.hasSuffix("dataset/delete") }
        for number in 0..<Self.messages / 4 {
            let (topic, payload) = valid[random.below(valid.count)]
            harness.published.removeAll(keepingCapacity: true)
            harness.batch([.init(bytes: mutate(Array(topic.utf8), &random), mutate(Array(payload.utf8), &random))])
            if number % 211 == 0 { harness.restart(killed: number % 422 == 0) }
            let reported = harness.published.filter {
                $0.topic.hasPrefix("live/d/") && !$0.payload.isEmpty || $0.topic == "geomatch/d/eve/live/l"
            }
            #expect(!reported.contains { $0.payload.contains(#""latitude":"#) || $0.payload.contains(#""beacons":"#) })
        }
        #expect(harness.hub.datasets["d"]?.hidesPositions == true)
    }

    @Test("that comes without end fills no table")
    func bounded() {
        var random = SplitMix64(seed: SplitMix64.seed())
        let harness = HubHarness {
            $0.autoCreateDatasets = false
            $0.limits.rememberedReplies = 20
            $0.limits.rememberedReplyBytes = 200_000
            $0.limits.liveTopics = 100
            $0.limits.devices = 50
            $0.limits.pendingMatches = 50
        }
        _ = harness.request("dataset/create", client: "admin")
        for number in 0..<10_000 {
            let word = String(random.next(), radix: 36)
            switch number % 6 {
            case 0: harness.send("\(word)/-/-/-/-/l/co2", #"{"co2":1}"#)
            case 1: harness.send("d/-/-/-/-/\(word)/position", #"{"lat":1,"lon":1}"#)
            case 2: harness.send("d/-/-/-/-/\(word)/\(word)", "rubbish")
            case 3:
                harness.send(
                    "geomatch/\(word)/\(word)/request/device/create", #"{"requestId":"\#(word)","deviceType":"MobileDevice"}"#)
            case 4: harness.send("geomatch/d/\(word)/request/\(word)", #"{"requestId":"\#(word)"}"#)
            default: harness.send("geomatch/d/alice/request/device/get", #"{"requestId":"\#(word)","id":"\#(word)"}"#)
            }
            if number % 3 == 0 { harness.advance(milliseconds: 10) }
            harness.published.removeAll(keepingCapacity: true)
        }
        let hub = harness.hub
        let dataset = hub.datasets["d"]
        #expect(hub.datasets.count == 1 && hub.unknownDatasets.count <= 1000)
        #expect(hub.liveStates.count <= 200 && dataset?.devices.count ?? 0 <= 50)
        #expect(dataset?.replies.footprint ?? 0 < 4000)
        #expect(dataset?.counters.updates.refused ?? 0 > 1000)
        #expect(
            hub.liveStates.dirtyCount <= 200 && hub.live.resync.isSettled && hub.waitingForAnswer.isEmpty
                && hub.repliesOfDeleted.isEmpty)
        #expect(harness.published.isEmpty)
    }

    @Test("Live states are found as in a dictionary, however they come and go")
    func table() {
        var random = SplitMix64(seed: SplitMix64.seed())
        let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
        let table = LiveStates()
        var model: [String: LiveState] = [:]
        for _ in 0..<30_000 {
            let topic = "d/-/-/-/-/\(Int.random(in: 0..<600, using: &random))/co2"
            #expect(table[topic] === model[topic])
            if let state = model[topic] {
                guard Bool.random(using: &random) else { continue }
                table.remove(state)
                model[topic] = nil
                #expect(!state.isKnown)
            } else {
                guard let live = try? LiveTopic(encoded: topic) else { continue }
                let state = LiveState(dataset: dataset, live: live, topic: topic)
                table.insert(state)
                model[topic] = state
            }
        }
        #expect(table.count == model.count)
        for (topic, state) in model { #expect(table[topic] === state) }
        for (place, state) in table.all.enumerated() { #expect(state.slot == place) }
        for state in model.values where state.itemID.count == 3 { table.remove(state) }
        for (topic, state) in model { #expect((table[topic] === state) == (state.itemID.count != 3)) }
    }

    @Test(
        "Administrators are named by patterns of a client, or of a dataset and a client",
        arguments: [
            ("admin", "admin", "d", true), ("admin", "admin2", "d", false), ("ops-*", "ops-", "d", true),
            ("ops-*", "op", "d", false),
            ("*", "anybody", "d", true), ("d/admin", "admin", "d", true), ("d/admin", "admin", "e", false),
            ("*/a*c", "abbc", "x", true),
            ("*/a*c", "abcd", "x", false), ("m*/ops*x*", "opsax", "museum", true), ("m*/ops*x*", "opsa", "museum", false),
            ("", "a", "d", false),
        ])
    func administrators(_ row: (pattern: String, client: String, dataset: String, allows: Bool)) {
        #expect(AccessPatterns([row.pattern]).allow(client: row.client, in: row.dataset) == row.allows)
    }
}
