import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Following the change feed")
struct FollowTests {
    private func harness() -> HubHarness {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair()
        return harness
    }

    private func rows(_ harness: HubHarness, client: String = "alice") -> [String] {
        harness.published.filter { $0.topic == "geomatch/d/\(client)/changes" }
            .flatMap { $0.json?["rows"]?.elements.map(\.shown) ?? [] }
    }

    @Test("What is there comes first, then each change, until it is unfollowed")
    func stream() {
        let harness = harness()
        let reply = harness.result("changes/follow", #"{"since":2}"#)
        #expect(reply?["last"]?.number == 4 && reply?["storeId"]?.text != nil)
        #expect(rows(harness) == ["3 publication p", "4 subscription s"])
        #expect(harness.published.last?.qos == 1 && harness.published.last?.retain == false)
        harness.published.removeAll()
        _ = harness.request("device/update", #"{"id":"pin","name":"n"}"#)
        #expect(rows(harness) == ["5 device pin"])
        let message = harness.published.first { $0.topic == "geomatch/d/alice/changes" }?.json
        #expect(message?["last"]?.number == 5 && message?["storeId"] == reply?["storeId"])
        harness.published.removeAll()
        _ = harness.request("device/create", #"{"id":"other","deviceType":"MobileDevice"}"#, client: "bob")
        #expect(rows(harness).isEmpty)
        _ = harness.request("changes/unfollow")
        _ = harness.request("device/update", #"{"id":"pin","name":"m"}"#)
        #expect(rows(harness).isEmpty && harness.hub.followers.isEmpty)
    }

    @Test("A page waits until the broker has taken the one before, and is sent again over a new connection")
    func pages() throws {
        let harness = HubHarness()
        for prefix in ["a", "b"] {
            let items = (0..<999).map { #"{"deviceType":"MobileDevice","id":"\#(prefix)\#($0)"}"# }.joined(separator: ",")
            _ = harness.request("device/create", #"{"items":[\#(items)]}"#)
        }
        _ = harness.request("changes/follow", #"{"since":0}"#)
        var seen: [String] = []
        for _ in 0..<20 {
            let waiting = harness.published.filter { $0.topic == "geomatch/d/alice/changes" }
            #expect(waiting.count <= 1)
            guard var page = waiting.first else { break }
            #expect(page.payload.utf8.count < 256 << 10)
            if seen.isEmpty {
                harness.loseBroker()
                harness.published.removeAll()
                harness.connect()
                #expect(rows(harness) == page.json?["rows"]?.elements.map(\.shown))
                // The broker's word on the first is none on the second.
                harness.acknowledge(page.token)
                page = try #require(harness.published.first { $0.topic == "geomatch/d/alice/changes" })
            }
            seen += page.json?["rows"]?.elements.map(\.shown) ?? []
            harness.published.removeAll()
            harness.acknowledge(page.token)
        }
        #expect(seen.count == 1998 && Set(seen).count == 1998)
    }

    @Test("It survives a restart and goes on from where the broker had it, with nothing left out")
    func restart() {
        let harness = harness()
        _ = harness.request("changes/follow", "{}")
        harness.advance(milliseconds: 1500)
        harness.acknowledges = false
        _ = harness.request("device/update", #"{"id":"pin","name":"n"}"#)
        #expect(rows(harness) == ["5 device pin"])
        harness.acknowledges = true
        harness.restart(killed: true)
        #expect(rows(harness) == ["5 device pin"])
        harness.published.removeAll()
        harness.advance(milliseconds: 1500)
        harness.restart()
        #expect(rows(harness).isEmpty)
    }

    @Test("A lease ends; following again renews it without sending again")
    func leases() {
        let harness = harness()
        _ = harness.request("changes/follow", #"{"lease":5}"#)
        harness.advance(milliseconds: 4000)
        _ = harness.request("changes/follow", #"{"lease":5}"#)
        #expect(rows(harness).isEmpty)
        harness.advance(milliseconds: 4000)
        harness.published.removeAll()
        _ = harness.request("device/update", #"{"id":"pin","name":"n"}"#)
        #expect(rows(harness) == ["5 device pin"])
        harness.advance(milliseconds: 7000)
        _ = harness.request("device/update", #"{"id":"pin","name":"m"}"#)
        #expect(rows(harness).isEmpty && harness.hub.followers.isEmpty)
        #expect(harness.refusal("changes/follow", #"{"lease":86401}"#) == "limit lease")
        #expect(harness.refusal("changes/follow", #"{"lease":0}"#) == "invalid lease")
        #expect(harness.refusal("changes/follow", #"{"since":99}"#) == "conflict since")
        harness.restart()
        #expect(harness.hub.followers.isEmpty)
    }

    @Test("A deleted dataset has no followers")
    func deleted() {
        let harness = harness()
        _ = harness.request("changes/follow")
        _ = harness.request("dataset/delete", client: "admin")
        #expect(harness.hub.followers.isEmpty)
        harness.advance(milliseconds: 10)
        harness.makePair()
        #expect(rows(harness).isEmpty)
    }

    @Test("Over random edits, acknowledgements, lost brokers and restarts a follower ends with what the feed says")
    func twin() {
        var random = SplitMix64.forTest()
        for round in 0..<8 {
            let harness = harness()
            _ = harness.request("changes/follow", #"{"since":0,"lease":86400}"#)
            var replica: [String: String] = [:]
            var waiting: [UInt64] = []
            func collect() {
                for message in harness.published where message.topic == "geomatch/d/alice/changes" {
                    for row in message.json?["rows"]?.elements ?? [] {
                        replica[row["id"]?.text ?? ""] = row["deleted"] == true ? nil : row["revision"]?.text
                    }
                    if message.token != 0 { waiting.append(message.token) }
                }
                harness.published.removeAll()
            }
            for step in 0..<120 {
                harness.acknowledges = random.chance(60)
                collect()
                switch random.below(8) {
                case 0, 1: harness.send("geomatch/d/alice/request/device/update", #"{"id":"pin","name":"\#(step)"}"#)
                case 2:
                    harness.send(
                        "geomatch/d/alice/request/device/create", #"{"id":"d\#(random.below(9))","deviceType":"MobileDevice"}"#)
                case 3: harness.send("geomatch/d/alice/request/device/delete", #"{"id":"d\#(random.below(9))"}"#)
                case 4:
                    let note =
                        #"{"id":"n\#(random.below(4))","type":"note","revision":"\#(step + 1)-a","deleted":\#(random.chance(30))}"#
                    harness.send("geomatch/d/alice/request/changes/push", #"{"docs":[\#(note)]}"#)
                case 5:
                    harness.loseBroker()
                    waiting = []
                    harness.connect()
                case 6:
                    harness.restart(killed: random.chance(50))
                    waiting = []
                default:
                    for token in waiting { harness.acknowledge(token) }
                    waiting = []
                }
                collect()
            }
            harness.acknowledges = true
            for token in waiting { harness.acknowledge(token) }
            harness.advance(milliseconds: 2000)
            collect()
            var expected: [String: String] = [:]
            for row in harness.feed() where row["deleted"] != true { expected[row["id"]?.text ?? ""] = row["revision"]?.text }
            #expect(replica == expected, "round \(round)")
        }
    }
}
