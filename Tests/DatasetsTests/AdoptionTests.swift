import Testing

@testable import Datasets
@testable import Records

@Suite("Live state that only the broker remembers after a kill")
struct AdoptionTests {
    /// What a broker would retain of what the hub published.
    private func retained(_ harness: HubHarness) -> [String: String] {
        var retained: [String: String] = [:]
        for message in harness.published where message.topic.hasPrefix("live/") && message.retain {
            retained[message.topic] = message.payload.isEmpty ? nil : message.payload
        }
        return retained
    }

    @Test("A position published in the last second before a kill comes back, and meets what it has not met")
    func positionComesBack() throws {
        let harness = HubHarness()
        harness.makePair()
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
        harness.send("d/-/-/-/-/stranger/position", #"{"latitude":1,"longitude":1}"#)
        harness.send("d/v/b/f/r/-/co2", #"{"co2":400}"#)
        let broker = retained(harness)
        #expect(broker.count == 2)
        harness.restart(killed: true)
        #expect(harness.hub.liveStates["d/v/b/f/r/-/co2"] == nil)
        for (topic, payload) in broker.sorted(by: { $0.key < $1.key }) { harness.adopt(topic, payload) }
        let reported = retained(harness)
        for (topic, payload) in broker { #expect(reported[topic] == payload) }
        #expect(
            harness.hub.liveStates["d/v/b/f/r/-/co2"]?.payload.map { String(decoding: $0, as: UTF8.self) }
                == broker["live/d/v/b/f/r/-/co2"])
        #expect(harness.result("device/get", #"{"id":"stranger"}"#)?["location"]?["latitude"]?.number == 1)
    }

    @Test("The position of a device whose creation was lost with a kill made it, and the creation asked for again was a conflict")
    func lostCreation() throws {
        let harness = HubHarness()
        harness.makePair()
        harness.isDiskSlow = true
        harness.published.removeAll()
        let creation = #"{"requestId":"r","deviceType":"PinDevice","id":"new","location":{"latitude":1,"longitude":1}}"#
        harness.send("geomatch/d/alice/request/device/create", creation)
        let broker = retained(harness)
        #expect(broker.count == 1 && harness.takeReply() == nil)
        harness.restart(killed: true)
        harness.isDiskSlow = false
        for (topic, payload) in broker { harness.adopt(topic, payload) }
        #expect(harness.refusal("device/get", #"{"id":"new"}"#) == "notFound id")
        let created = try #require(harness.result("device/create", creation))
        #expect(created["deviceType"]?.text == "PinDevice" && created["location"]?["latitude"]?.number == 1)
        harness.published.removeAll()
        harness.send("d/-/-/-/-/new/position", #"{"latitude":2,"longitude":2}"#)
        #expect(harness.result("device/get", #"{"id":"new"}"#)?["location"]?["latitude"]?.number == 2)
    }

    @Test("What is known and as new stays, and a foreign message is cleared")
    func knownStays() throws {
        let harness = HubHarness()
        harness.send("d/v/b/f/r/-/co2", #"{"co2":400,"timestamp":1699999999000}"#)
        let old = try #require(retained(harness)["live/d/v/b/f/r/-/co2"])
        harness.now += 5
        harness.send("d/v/b/f/r/-/co2", #"{"co2":500}"#)
        let new = try #require(retained(harness)["live/d/v/b/f/r/-/co2"])
        harness.published.removeAll()
        harness.adopt("live/d/v/b/f/r/-/co2", old)
        harness.adopt("live/d/v/b/f/r/-/co2", new)
        harness.adopt("live/d/v/b/f/r/-/co2", "rubbish")
        #expect(harness.published.isEmpty)
        #expect(harness.hub.liveStates["d/v/b/f/r/-/co2"]?.payload == Array(new.utf8))
        harness.adopt("live/d/v/b/f/x/-/co2", "rubbish")
        #expect(harness.payloads("live/d/v/b/f/x/-/co2") == [""])
        harness.adopt("live/other/v/b/f/x/-/co2", new)
        harness.adopt("live/d", new)
        harness.adopt("d/v/b/f/x/-/co2", new)
        #expect(harness.hub.liveStates.count == 1)
    }

    @Test(
        "A broker that came back retained positions of a deleted dataset for good", arguments: [false, true],
        ["nothing", "restart", "kill"])
    func deletedDataset(restores: Bool, between: String) {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/phone/position", #"{"latitude":1,"longitude":1}"#)
        harness.send("kept/-/-/-/-/phone/position", #"{"latitude":2,"longitude":2}"#)
        harness.advance(milliseconds: 12_000)
        let old = harness.retained
        #expect(old.keys.contains("geomatch/d/status") && old.keys.contains("live/d/-/-/-/-/phone/position"))
        _ = harness.request("dataset/delete", client: "admin")
        harness.settle()
        switch between {
        case "restart": harness.restart()
        case "kill": harness.restart(killed: true)
        default: break
        }
        harness.published.removeAll()
        for (topic, payload) in old.sorted(by: { $0.key < $1.key }) { harness.adopt(topic, payload, restores: restores) }
        // Other software's, or another node's.
        harness.adopt("live/strange/-/-/-/-/phone/position", old["live/d/-/-/-/-/phone/position"] ?? "", restores: restores)
        harness.reconnect()
        harness.settle()
        #expect(harness.payloads("live/d/-/-/-/-/phone/position") == [""])
        #expect(harness.payloads("geomatch/d/status") == [""])
        #expect(!harness.published.contains { $0.topic.hasPrefix("live/strange/") })
        #expect(harness.retained["live/kept/-/-/-/-/phone/position"] == old["live/kept/-/-/-/-/phone/position"])
        #expect(harness.hub.datasetNames == ["kept"])
    }

    @Test(
        "A broker that came back had a device of a deleted dataset stand in the one made again", arguments: [false, true],
        [false, true])
    func datasetMadeAgain(restores: Bool, restarts: Bool) throws {
        let harness = HubHarness()
        for device in ["old", "both"] { harness.send("d/-/-/-/-/\(device)/position", #"{"latitude":1,"longitude":1}"#) }
        let old = retained(harness)
        _ = harness.request("dataset/delete", client: "admin")
        harness.settle()
        harness.now += 10
        for device in ["new", "both"] { harness.send("d/-/-/-/-/\(device)/position", #"{"latitude":2,"longitude":2}"#) }
        harness.advance(milliseconds: 2000)
        if restarts { harness.restart() }
        let new = try #require(harness.retained["live/d/-/-/-/-/new/position"])
        harness.published.removeAll()
        for (topic, payload) in old.sorted(by: { $0.key < $1.key }) { harness.adopt(topic, payload, restores: restores) }
        harness.adopt("live/d/-/-/-/-/new/position", new, restores: restores)
        harness.settle()
        #expect(harness.published.map(\.topic) == ["live/d/-/-/-/-/old/position"])
        #expect(harness.payloads("live/d/-/-/-/-/old/position") == [""])
        harness.reconnect()
        harness.settle()
        #expect(!harness.payloads("geomatch/d/status").contains(""))
        #expect(harness.refusal("device/get", #"{"id":"old"}"#) == "notFound id")
        #expect(harness.result("device/get", #"{"id":"both"}"#)?["location"]?["latitude"]?.number == 2)
    }

    @Test("A device has one position after the adoption, too: the newest")
    func onePosition() {
        let harness = HubHarness()
        harness.send("d/v/b/f/r1/phone/position", #"{"latitude":1,"longitude":1,"timestamp":1699999990000}"#)
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
        harness.send("d/v/b/f/r2/phone/position", #"{"latitude":2,"longitude":2,"timestamp":1699999991000}"#)
        let broker = retained(harness)
        harness.restart(killed: true)
        for (topic, payload) in broker { harness.adopt(topic, payload) }
        #expect(harness.hub.liveStates["d/v/b/f/r1/phone/position"]?.payload == nil)
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"]?["latitude"]?.number == 2)
    }

    @Test("A movement that was matched before a kill is not matched again with matchTTL 0; one that was not is")
    func movementIsReportedOnce() {
        let harness = HubHarness()
        harness.makePair("", #","matchTTL":0"#)
        harness.advance(milliseconds: 2000)
        harness.published.removeAll()
        harness.move(metres: 10)
        #expect(harness.matches.count == 1)
        harness.matches.forEach { harness.acknowledge($0.token) }
        let broker = retained(harness)
        harness.restart(killed: true)
        for (topic, payload) in broker { harness.adopt(topic, payload) }
        #expect(harness.matches.isEmpty)
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"] != nil)
        harness.published.removeAll()
        harness.move(metres: 11)
        #expect(harness.matches.count == 1)
        harness.matches.forEach { harness.acknowledge($0.token) }
        harness.published.removeAll()
        // The broker knows of a movement after the last match that was kept.
        let topic = "live/d/-/-/-/-/phone/position"
        harness.adopt(
            topic,
            #"{"topic":"d/-/-/-/-/phone/position","domainType":"position","itemId":"phone","timestamp":\#(harness.now + 1),"#
                + #""receivedAt":\#(harness.now + 1),"properties":{"latitude":43.7301,"longitude":7.42}}"#)
        #expect(harness.matches.count == 1)
    }
}
