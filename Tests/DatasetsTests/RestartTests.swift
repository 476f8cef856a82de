import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

/// The same random history in two daemons, of which one is restarted again and again.
@Suite("A restart")
struct RestartTests {
    private struct History {
        var random: SplitMix64

        mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }

        private var latitude: Double { mutating get { 43.73 + Double.random(in: 0...0.004, using: &random) } }

        private mutating func location() -> String { #"{"lat":\#(latitude),"lon":7.42}"# }

        /// A message of any client on anything, ids being few enough that they meet.
        mutating func message(_ now: Int64, _ number: Int) -> HubHarness.Message {
            let dataset = pick(["d", "d", "d", "e"])
            let client = pick(["alice", "alice", "bob", "admin"])
            let device = pick(["a", "b", "c", "x/é"])
            if Bool.random(using: &random) {
                let room = pick(["-", "r1", "r2"])
                let timestamp = pick(["", ",\"timestamp\":\(now - Int64.random(in: -500_000...2000, using: &random))"])
                let topic = "\(dataset)/-/-/-/\(room)/\(device.replacing("/", with: "%2F"))/"
                switch Int.random(in: 0..<10, using: &random) {
                case 0: return .init(topic + "position", "")
                case 1: return .init(topic + "co2", "{\"co2\":\(number)\(timestamp)}")
                case 2: return .init(topic + "position", "{\"lat\":\(latitude),\"lon\":7.42\(timestamp)}", retained: true)
                default: return .init(topic + "position", "{\"lat\":\(latitude),\"lon\":7.42\(timestamp)}")
                }
            }
            let id = pick(["1", "2", "3"])
            let duration = pick(["0", "5", "60", "3600"])
            let requestId = pick(["", "", "\"requestId\":\"\(Int.random(in: 0..<40, using: &random))\","])
            let request: (String, String)
            switch Int.random(in: 0..<17, using: &random) {
            case 0: request = ("device/create", #""id":"\#(device)","deviceType":"PinDevice","location":\#(location())"#)
            case 1: request = ("device/create", #""id":"\#(device)","deviceType":"MobileDevice""#)
            case 2: request = ("device/update", #""id":"\#(device)","location":\#(pick([location(), "null"]))"#)
            case 3: request = ("device/delete", #""id":"\#(device)""#)
            case 4, 5, 6:
                let range = pick(["10", "50", "150"])
                request = (
                    "publication/create",
                    #""id":"\#(id)","deviceId":"\#(device)","topic":"t","range":\#(range),"duration":\#(duration),"properties":{"n":\#(number)}"#
                )
            case 7, 8, 9:
                let options = pick([
                    "", #","matchTTL":0"#, #","matchTTL":3"#, #","matchDTL":40"#, #","selector":"n > 100","excludeSelf":true"#,
                ])
                request = (
                    "subscription/create",
                    #""id":"\#(id)","deviceId":"\#(device)","topic":"t","range":50,"duration":\#(duration)\#(options)"#
                )
            case 10: request = ("publication/update", #""id":"\#(id)","range":\#(pick(["20", "200"]))"#)
            case 11: request = ("subscription/update", #""id":"\#(id)","matchTTL":\#(pick(["null", "1"]))"#)
            case 12: request = ("publication/delete", #""id":"\#(id)""#)
            case 13: request = ("subscription/delete", #""id":"\#(id)""#)
            case 14: request = ("dataset/update", #""autoCreateDevices":\#(pick(["true", "false"]))"#)
            case 15 where Int.random(in: 0..<10, using: &random) == 0: request = ("dataset/delete", "")
            default: request = ("subscription/get", #""id":"\#(id)""#)
            }
            // The reply of a read is not remembered across a restart.
            let payload = "{" + (request.0.hasSuffix("get") ? "" : requestId) + request.1 + "}"
            return .init("geomatch/\(dataset)/\(client)/request/\(request.0)", payload.replacing(",}", with: "}"))
        }
    }

    /// What was published, without what is random (ids of matches). Matches of one movement have no order a client could know.
    private func outcome(_ harness: HubHarness) -> [String] {
        harness.published.filter { $0.topic.hasSuffix("/reply") || $0.topic.contains("/match/") }.map { message in
            var text = message.payload
            if message.topic.contains("/match/"), case .object(var match)? = message.json {
                match["id"] = nil
                text = String(decoding: JSONValue.object(match).serialised(), as: UTF8.self)
            }
            // What was taken in the moment of a crash may be sent again.
            return message.topic + " " + text.replacing(/"retried":\d+/, with: "")
        }.sorted()
    }

    private func retained(_ harness: HubHarness) -> [String] {
        harness.retained.filter { $0.key.hasPrefix("live/") }.map { $0.key + " " + $0.value }.sorted()
    }

    private func compare(seed: UInt64, killed: Bool) {
        var history = History(random: SplitMix64(seed: seed))
        let straight = HubHarness()
        let restarted = HubHarness()
        for harness in [straight, restarted] { harness.acknowledges = true }
        for number in 0..<400 {
            let messages = (0..<history.pick([1, 1, 2, 5])).map { history.message(straight.now, number * 8 + $0) }
            for harness in [straight, restarted] {
                harness.published.removeAll()
                harness.batch(messages)
            }
            let outcomes = (outcome(straight), outcome(restarted))
            let states = (retained(straight), retained(restarted))
            guard outcomes.0 == outcomes.1, states.0 == states.1 else {
                Issue.record(
                    """
                    seed \(seed), step \(number): \(messages.map { String(decoding: $0.topic + Array(" ".utf8) + $0.payload, as: UTF8.self) })
                    \(outcomes.0.filter { !outcomes.1.contains($0) }) was \(outcomes.1.filter { !outcomes.0.contains($0) })
                    \(states.0.filter { !states.1.contains($0) }) was \(states.1.filter { !states.0.contains($0) })
                    """)
                return
            }
            if Int.random(in: 0..<6, using: &history.random) == 0 {
                // A crash loses at most the last second of live state.
                let pause = history.pick([1_100, 3_000, 20_000])
                for harness in [straight, restarted] { harness.advance(milliseconds: Int64(pause)) }
                restarted.restart(killed: killed)
            } else if Bool.random(using: &history.random) {
                for harness in [straight, restarted] { harness.advance(milliseconds: 100) }
                if !killed { restarted.restart() }
            }
            // Clearing a deleted dataset's retained messages is paced.
            for harness in [straight, restarted] { harness.settle() }
            for dataset in straight.hub.orderedDatasets {
                let other = restarted.hub.datasets[dataset.id]
                #expect(other?.liveTopicCount == dataset.liveTopicCount && other?.activeDomains == dataset.activeDomains)
                let deliveries = dataset.geomatching.subscriptions.keys.map {
                    dataset.geomatching.subscriptions[$0]?.record.delivery
                }
                for delivery in deliveries { #expect(delivery?.pending == 0) }
            }
        }
        #expect(straight.counters.updates.received > 0)
    }

    @Test("changes nothing that a client can see", arguments: 0..<12)
    func changesNothing(_ run: UInt64) {
        let seed = SplitMix64.seed() &+ run
        compare(seed: seed, killed: false)
        compare(seed: seed, killed: true)
    }

    @Test("with matches still waiting delivers each of them, and the counters add up", arguments: 0..<10)
    func waitingMatches(_ run: UInt64) {
        var history = History(random: SplitMix64(seed: SplitMix64.seed() &+ 1000 &+ run))
        let harness = HubHarness { $0.limits.inflightMatches = 3 }
        var waiting: [String: UInt64] = [:]
        var taken = Set<String>()
        for number in 0..<300 {
            if number == 100 { harness.isDiskFull = true }
            if number == 150 { harness.heal() }
            harness.batch([history.message(harness.now, number), history.message(harness.now, number + 1000)])
            if Int.random(in: 0..<3, using: &history.random) == 0 { harness.advance(milliseconds: 300) }
            if Int.random(in: 0..<20, using: &history.random) == 0, !harness.isDiskFull {
                harness.advance(milliseconds: 200)
                harness.restart(killed: Bool.random(using: &history.random))
                waiting = [:]
            }
            while let match = harness.matches.first {
                harness.published.removeAll { $0 == match }
                let body = match.payload
                #expect(!taken.contains(body), "delivered again although it was taken")
                waiting[body] = match.token
            }
            for (body, token) in waiting.sorted(by: { $0.value < $1.value })
            where Int.random(in: 0..<3, using: &history.random) == 0 {
                waiting[body] = nil
                taken.insert(body)
                harness.acknowledge(token)
            }
            for dataset in harness.hub.orderedDatasets {
                let counters = dataset.counters
                #expect(
                    counters.matches.pending >= 0
                        && counters.matches.matched == counters.matches.delivered + counters.matches.dropped
                            + counters.matches.expired + counters.matches.pending
                )
                for id in dataset.geomatching.subscriptions.keys {
                    let delivery = dataset.geomatching.subscriptions[id]?.record.delivery
                    #expect((delivery?.pending ?? 0) >= 0)
                }
            }
        }
        #expect(!taken.isEmpty)
        for _ in 0..<2000 where !harness.hub.outbox.pending.isEmpty {
            for match in harness.matches { waiting[match.payload] = match.token }
            harness.published.removeAll()
            for token in waiting.values.sorted() { harness.acknowledge(token) }
            waiting = [:]
        }
        #expect(harness.hub.outbox.pending.isEmpty && harness.hub.outbox.inflight == 0)
        #expect(harness.store.pendingMatches.isEmpty)
        for dataset in harness.hub.orderedDatasets {
            for id in dataset.geomatching.subscriptions.keys {
                #expect(dataset.geomatching.subscriptions[id]?.record.delivery.pending == 0)
            }
        }
    }
}
