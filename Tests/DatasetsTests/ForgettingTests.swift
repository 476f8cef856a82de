import Testing
import Wire

@testable import Datasets

@Suite("device/forget")
struct ForgettingTests {
    private func met() -> HubHarness {
        let harness = HubHarness()
        harness.makePair()
        harness.send("d/hall/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        harness.send("d/hall/-/-/-/phone/proximity", #"{"sightings":[]}"#)
        harness.send("d/hall/-/-/-/phone/temperature", #"{"temperature":20}"#)
        return harness
    }

    @Test("erases where a device is and what it matched, and keeps the device and its child objects", arguments: [false, true])
    func erases(restarts: Bool) {
        let harness = met()
        let matches = harness.matches
        #expect(matches.count == 1)
        #expect(harness.request("device/forget", #"{"id":"phone"}"#)?["result"] == ["id": "phone", "state": "forgotten"])
        #expect(harness.payloads("live/d/hall/-/-/-/phone/position") == [""])
        if restarts { harness.restart(killed: true) }
        #expect(!harness.retained.keys.contains { $0.hasSuffix("/position") && $0.contains("phone") })
        #expect(harness.retained.keys.contains("live/d/hall/-/-/-/phone/temperature"))
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"] == nil)
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"] == [])
        #expect(harness.refusal("match/get", #"{"id":"\#(matches[0].json?["id"]?.text ?? "")"}"#) == "notFound id")
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["delivery"]?["matched"] == 1)
        // What was on its way is owed all the same.
        harness.acknowledge(matches[0].token)
        #expect(harness.store.pendingMatches.isEmpty && harness.counters.matches.pending == 0)
        // Nobody remembers that the two met.
        harness.published.removeAll()
        harness.move(metres: 1)
        #expect(harness.matches.count == 1)
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.count == 1)
    }

    @Test("of a publisher lets its subscribers meet it anew")
    func publisher() {
        let harness = met()
        _ = harness.request("device/forget", #"{"id":"pin"}"#)
        harness.published.removeAll()
        _ = harness.request("device/update", #"{"id":"pin","location":{"lat":43.73,"lon":7.42}}"#)
        #expect(harness.matches.count == 1)
        // The subscriber's list is its own.
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.count == 2)
    }

    @Test("takes where the device was out of replies that are given again, and nothing is done again", arguments: [false, true])
    func replies(restarts: Bool) {
        let harness = HubHarness()
        let location = #""location":{"latitude":43.73,"longitude":7.42}"#
        let requests = [
            ("device/create", #"{"requestId":"1","deviceType":"MobileDevice","id":"phone",\#(location)}"#),
            ("device/update", #"{"requestId":"2","id":"phone",\#(location)}"#),
            ("device/get", #"{"requestId":"3","id":"phone"}"#),
        ]
        let other = #"{"requestId":"4","deviceType":"MobileDevice","id":"other",\#(location)}"#
        #expect(harness.result("device/create", other)?["location"] != nil)
        for (request, parameters) in requests { #expect(harness.result(request, parameters)?["location"] != nil, "\(request)") }
        _ = harness.request("device/forget", #"{"id":"phone"}"#)
        if restarts { harness.restart(killed: true) }
        for (request, parameters) in requests {
            let again = harness.result(request, parameters)
            #expect(again?["id"]?.text == "phone" && again?["location"] == nil, "\(request)")
        }
        #expect(harness.result("device/get", #"{"id":"phone"}"#)?["location"] == nil)
        #expect(harness.result("device/create", other)?["location"] != nil)
    }

    @Test("is for the owner, and for administrators where there is none")
    func owners() {
        let harness = met()
        harness.send("d/-/-/-/-/stray/position", #"{"lat":1,"lon":1}"#)
        #expect(harness.refusal("device/forget", #"{"id":"stray"}"#) == "forbidden id")
        #expect(harness.refusal("device/forget", #"{"id":"stray"}"#, client: "admin") == nil)
        #expect(harness.refusal("device/forget", #"{"id":"stray"}"#, client: "admin") == nil)
    }

    @Test("What a broker retains of a forgotten device's own messages is cleared, once that is durable")
    func retainedInput() {
        let harness = HubHarness()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        harness.send("d/v/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""distance":2"#))
        harness.send("d/-/-/-/-/other/position", #"{"lat":1,"lon":1}"#)
        harness.isDiskSlow = true
        harness.published.removeAll()
        harness.send("geomatch/d/alice/request/device/forget", #"{"id":"phone"}"#)
        #expect(!harness.published.contains { $0.topic.hasPrefix("d/") })
        harness.isDiskSlow = false
        let cleared = harness.published.filter { $0.topic.hasPrefix("d/") && $0.retain && $0.payload.isEmpty }.map(\.topic)
        #expect(cleared.sorted() == ["d/-/-/-/-/phone/proximity", "d/v/-/-/-/phone/position"])
    }
}
