import Testing
import Wire

@testable import Datasets

@Suite("Live subscriptions and faults")
struct LiveSubscriptionFaultTests {
    private func news(_ harness: HubHarness) -> [String] { LiveSubscriptionTests.news(harness) }

    private func lose(_ harness: HubHarness) { harness.loseBroker() }

    /// The broker is back and holds what was published up to a number.
    private func comeBack(_ harness: HubHarness, holding number: Int64) {
        harness.published.removeAll()
        harness.hub.doorHolds(through: number)
        harness.connect()
        harness.settle()
    }

    @Test("After a restart a subscription goes on with a fresh snapshot, and its lease with it")
    func restart() {
        let harness = LiveSubscriptionTests.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/v/b/0/#","where":"temperature > 21","lease":60,"id":"l"}"#)
        harness.restart()
        #expect(news(harness) == ["hall 22"])
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":30}"#)
        #expect(news(harness) == ["hall 22", "hall 30"])
        harness.advance(milliseconds: 61_000)
        harness.restart()
        harness.advance(milliseconds: 200)
        #expect(news(harness).isEmpty)
        #expect(harness.result("live/list")?["subscriptions"]?.elements.isEmpty == true)
    }

    @Test("What left an area after a restart, before the broker was reached, is reported as left", arguments: [true, false])
    func leftBeforeTheBroker(snapshot: Bool) {
        let harness = HubHarness()
        let subscription = #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"snapshot":\#(snapshot),"id":"l"}"#
        func move(_ id: String, _ latitude: Double) {
            harness.send("d/-/-/-/-/\(id)/position", #"{"latitude":\#(latitude),"longitude":0}"#)
        }
        move("d", 8)
        _ = harness.request("live/subscribe", subscription)
        for id in ["a", "b", "c"] { move(id, 0.5) }
        harness.advance(milliseconds: 2000)
        harness.restart {
            move("a", 7)
            harness.send("d/-/-/-/-/c/position", "")
            move("d", 9)
        }
        #expect(Set(news(harness)) == (snapshot ? ["a 7 left", "b 0.5", "c 0.5 left"] : ["a 7 left", "c 0.5 left"]))
    }

    @Test("After a kill nothing left an area without a snapshot that had entered in the last second")
    func leftAfterKill() {
        let harness = HubHarness()
        func move(_ latitude: Double) {
            harness.send("d/-/-/-/-/a/position", #"{"latitude":\#(latitude),"longitude":0}"#)
        }
        harness.send("d/v/b/f/r/a/temperature", #"{"temperature":1}"#)
        move(8)
        _ = harness.request(
            "live/subscribe", #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"snapshot":false,"id":"l"}"#)
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
        move(0.5)
        #expect(news(harness) == ["a 0.5", "a 1"])
        let (number, kept) = (harness.hub.liveNumber, harness.retained)
        harness.restart(killed: true, holding: number) {
            for (topic, payload) in kept.sorted(by: { $0.key < $1.key }) where topic.hasPrefix("live/") {
                harness.adopt(topic, payload)
            }
        }
        #expect(harness.hub.liveNumber == number)
        harness.published.removeAll()
        move(7)
        #expect(news(harness) == ["a 7 left", "a 1 left"])
    }

    @Test("After each connection a subscription without a snapshot was sent what is older than itself", arguments: [false, true])
    func olderThanItself(hasArea: Bool) {
        let harness = HubHarness()
        func move(_ id: String, _ latitude: Double) {
            harness.send("d/-/-/-/-/\(id)/position", #"{"latitude":\#(latitude),"longitude":0}"#)
        }
        for id in ["a", "b"] { harness.send("d/v/b/f/r/\(id)/temperature", #"{"temperature":1}"#) }
        move("a", 0.5)
        move("b", 8)
        let area = hasArea ? #""within":{"bbox":[-1,0,1,1]},"# : ""
        _ = harness.request("live/subscribe", #"{"criteria":"d/#",\#(area)"snapshot":false,"id":"l"}"#)
        move("b", 0.6)
        harness.published.removeAll()
        harness.reconnect()
        harness.settle()
        // What came into the area with its item is newer.
        #expect(Set(news(harness)) == (hasArea ? ["b 0.6", "b 1"] : ["b 0.6"]))
        harness.published.removeAll()
        move("a", 8)
        #expect(news(harness) == (hasArea ? [] : ["a 8"]))
    }

    @Test("After a restart nobody goes on reading who may not read any more")
    func restartOfOthers() {
        let harness = LiveSubscriptionTests.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        harness.adjust { $0.reads = { AccessPatterns(["bob"]).allow(client: $1, in: $0) ? .all : .none } }
        harness.restart()
        #expect(news(harness).isEmpty)
        harness.advance(milliseconds: 200)
        #expect(harness.hub.liveSubscribers.all.map(\.record.id).isEmpty)
    }

    @Test("What changed while the broker was away is reported once it is back, the newest only, and what left")
    func brokerAway() {
        let harness = HubHarness()
        func move(_ id: String, _ latitude: Double) {
            harness.send("d/-/-/-/-/\(id)/position", #"{"latitude":\#(latitude),"longitude":0}"#)
        }
        for id in ["a", "b", "c", "d"] { move(id, 0.5) }
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"id":"l"}"#)
        move("d", 0.6)
        let mark = harness.hub.liveNumber
        lose(harness)
        harness.published.removeAll()
        for step in 1...9 { move("a", 0.5 + Double(step) / 100) }
        move("b", 7)
        harness.send("d/-/-/-/-/c/position", "")
        #expect(news(harness).isEmpty)
        comeBack(harness, holding: mark)
        #expect(news(harness) == ["a 0.59", "b 7 left", "c 0.5 left"])
    }

    @Test("A message on its way when the connection was lost is sent again, also that something left")
    func lostOnTheWay() {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/a/position", #"{"latitude":0.5,"longitude":0}"#)
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"id":"l"}"#)
        harness.send("d/-/-/-/-/b/position", #"{"latitude":0.5,"longitude":0}"#)
        let mark = harness.hub.liveNumber
        harness.send("d/-/-/-/-/a/position", #"{"latitude":8,"longitude":0}"#)
        harness.send("d/-/-/-/-/b/position", #"{"latitude":0.6,"longitude":0}"#)
        lose(harness)
        comeBack(harness, holding: mark)
        #expect(news(harness) == ["a 8 left", "b 0.6"])
    }

    @Test("A snapshot that a lost broker cut short begins anew")
    func brokerLostInSnapshot() {
        let harness = HubHarness()
        for number in 0..<3000 { harness.send("d/v/b/0/r\(number)/-/count", #"{"count":\#(number)}"#) }
        let reply = harness.result("live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        #expect(reply?["snapshot"]?.number == 3000)
        #expect(news(harness).count == 1000)
        lose(harness)
        harness.send("d/v/b/0/r2999/-/count", #"{"count":-1}"#)
        comeBack(harness, holding: harness.hub.liveNumber)
        let reported = news(harness)
        #expect(reported.count == 3000)
        #expect(reported.contains("r2999 -1") && reported.contains("r0 0"))
    }

    @Test("An update that comes in the middle of a snapshot follows what the snapshot says of its topic")
    func updateInSnapshot() {
        let harness = HubHarness()
        for number in 0..<2500 { harness.send("d/v/b/0/r\(number)/-/count", #"{"count":\#(number)}"#) }
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        harness.send("d/v/b/0/r2400/-/count", #"{"count":-1}"#)
        harness.send("d/v/b/0/r2400/-/count", #"{"count":-2}"#)
        harness.send("d/v/b/0/r3/-/count", #"{"count":-3}"#)
        harness.send("d/v/b/0/new/-/count", #"{"count":-4}"#)
        harness.send("d/v/b/0/r2401/-/count", "")
        harness.settle()
        let reported = news(harness)
        #expect(reported.filter { $0.hasPrefix("r2400 ") } == ["r2400 2400", "r2400 -1", "r2400 -2"])
        #expect(reported.filter { $0.hasPrefix("r3 ") } == ["r3 3", "r3 -3"])
        #expect(reported.filter { $0.hasPrefix("new ") } == ["new -4"])
        #expect(reported.filter { $0.hasPrefix("r2401 ") } == ["r2401 2401", "r2401 2401 left"])
        #expect(reported.count == 2500 + 5)
    }

    @Test("Where the link cannot keep up, the newest of each topic waits and the rest is counted")
    func overload() {
        let harness = LiveSubscriptionTests.harness { $0.limits.liveBacklog = 10 }
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","snapshot":false,"id":"l"}"#)
        harness.backlog = 100
        for value in 1...50 { harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":\#(value)}"#) }
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":7}"#)
        harness.advance(milliseconds: 500)
        #expect(news(harness).isEmpty)
        harness.backlog = 0
        harness.advance(milliseconds: 100)
        #expect(news(harness) == ["hall 50", "office 7"])
        let listed = harness.result("live/list")?["subscriptions"]?.elements.first
        #expect(listed?["conflated"]?.number == 49)
        #expect(listed?["delivered"]?.number == 2)
    }

    @Test("Beyond the bound of what is held, messages are dropped and counted, and a new snapshot makes it good")
    func overflow() {
        let harness = LiveSubscriptionTests.harness {
            $0.limits.liveBacklog = 10
            $0.limits.heldLiveTopics = 1
        }
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        harness.backlog = 100
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":1}"#)
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":2}"#)
        harness.published.removeAll()
        harness.backlog = 0
        harness.advance(milliseconds: 2000)
        harness.settle()
        #expect(news(harness).contains("hall 1") && news(harness).contains("office 2"))
        #expect(harness.result("live/list")?["subscriptions"]?.elements.first?["dropped"]?.number == 1)
    }

    @Test("What the link did not take is counted as dropped and sent anew")
    func returned() throws {
        let harness = LiveSubscriptionTests.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/v/b/0/hall/#","qos":1,"id":"l"}"#)
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":1}"#)
        let message = try #require(harness.published.last { $0.topic == "geomatch/d/alice/live/l" })
        #expect(message.qos == 1 && message.token != 0)
        harness.hub.returned(message.token)
        harness.published.removeAll()
        harness.advance(milliseconds: 1100)
        harness.settle()
        #expect(news(harness) == ["hall 1"])
        harness.acknowledge(message.token, reason: 0x97)
        #expect(harness.result("live/list")?["subscriptions"]?.elements.first?["dropped"]?.number == 2)
    }

    @Test("A store that refuses takes a subscription back, and brings back the one it replaced")
    func refusedByStore() {
        let harness = LiveSubscriptionTests.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/v/b/1/#","id":"l"}"#)
        harness.isDiskFull = true
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#","id":"l"}"#) == "internal")
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#","id":"other"}"#) == "internal")
        #expect(harness.refusal("live/unsubscribe", #"{"id":"l"}"#) == "internal")
        #expect(harness.result("live/list")?["subscriptions"]?.elements.compactMap { $0["criteria"]?.text } == ["d/v/b/1/#"])
        harness.published.removeAll()
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":2}"#)
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":1}"#)
        // Made again, it begins with a snapshot.
        #expect(news(harness) == ["office 21", "office 2"])
        harness.heal()
        #expect(harness.result("live/unsubscribe", #"{"id":"l"}"#)?["state"]?.text == "deleted")
    }
}
