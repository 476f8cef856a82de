import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Private positions")
struct PrivatePositionTests {
    private static let phone = "d/-/-/-/-/phone/position"
    private static let stray = "d/-/-/-/-/stray/position"

    /// ann's `phone` and nobody's `stray`, which stand next to each other in a dataset whose positions are private.
    private func harness(_ livePositions: String = "none", _ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness(adjust)
        _ = harness.request("dataset/create", #"{"livePositions":"\#(livePositions)"}"#, client: "admin")
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#, client: "ann")
        walk(harness)
        return harness
    }

    private func walk(_ harness: HubHarness, _ latitude: Double = 43.73) {
        harness.now += 1000
        harness.send(Self.phone, #"{"lat":\#(latitude),"lon":7.42}"#)
        harness.send(Self.stray, #"{"lat":\#(latitude),"lon":7.42}"#)
    }

    private func hide(_ harness: HubHarness, _ livePositions: String = "none") {
        _ = harness.request("dataset/update", #"{"livePositions":"\#(livePositions)"}"#, client: "admin")
    }

    private func live(_ harness: HubHarness) -> [String] {
        harness.published.filter { $0.topic.hasPrefix("live/") }.map(\.topic)
    }

    private func snapshot(_ harness: HubHarness, _ client: String) -> [String] {
        let updates = harness.result("live/snapshot", #"{"criteria":"d/#"}"#, client: client)?["updates"]?.elements ?? []
        return updates.compactMap { $0["itemId"]?.text }
    }

    @Test("Positions and sightings are neither published nor retained, those that gateways work out included")
    func nothingPublished() {
        let harness = harness()
        harness.send("d/v/b/1/r/gw/proximity", Sample.sighting(1, #""distance":2"#))
        harness.send("d/v/b/1/r/-/co2", #"{"co2":400}"#)
        _ = harness.request(
            "device/create", #"{"deviceType":"PinDevice","id":"gw","location":{"latitude":43.73,"longitude":7.42}}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"tag"}"#)
        _ = harness.request("device/update", #"{"id":"tag","carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}}"#)
        harness.send("d/v/b/1/r/gw/proximity", Sample.sighting(1, #""distance":2"#))
        harness.advance(milliseconds: 200)
        #expect(harness.result("device/get", #"{"id":"tag"}"#)?["location"]?["latitude"]?.number == 43.73)
        #expect(harness.retained.keys.filter { $0.hasPrefix("live/") } == ["live/d/v/b/1/r/-/co2"])
        harness.send(Self.phone, "")
        #expect(live(harness).isEmpty)
    }

    @Test("What a device sends leaves an area with the position that becomes private, and comes back with it")
    func companions() {
        let harness = harness("all")
        harness.send("d/v/-/-/-/stray/temperature", #"{"temperature":1}"#)
        func news() -> [Bool] {
            let messages = harness.published.filter { $0.topic == "geomatch/d/bob/live/l" }
            harness.published.removeAll()
            return messages.map { $0.json?["left"]?.asBool ?? false }
        }
        _ = harness.request(
            "live/subscribe",
            #"{"criteria":"d/+/+/+/+/+/temperature","within":{"bbox":[7,43,8,44]},"id":"l"}"#, client: "bob")
        #expect(news() == [false])
        harness.published.removeAll()
        hide(harness)
        #expect(news() == [true])
        hide(harness, "all")
        #expect(news() == [false])
    }

    @Test("OwnTracks' transitions and waypoints say where a device is, too")
    func transitions() {
        let harness = harness()
        for domain in ["transition", "waypoint"] {
            harness.send("d/-/-/-/-/stray/\(domain)", #"{"event":"enter","lat":43.73,"lon":7.42}"#)
        }
        #expect(live(harness).isEmpty)
        #expect(snapshot(harness, "bob").isEmpty && Set(snapshot(harness, "admin")) == ["phone", "stray"])
    }

    @Test("Transitions and waypoints that an older version retained stayed where they were: the next connection clears them")
    func retainedByAnOlderVersion() {
        let harness = harness()
        for domain in ["transition", "temperature"] {
            harness.send("d/-/-/-/-/stray/\(domain)", #"{"event":"enter","lat":43.73,"lon":7.42,"temperature":1}"#)
        }
        harness.restart()
        #expect(harness.payloads("live/d/-/-/-/-/stray/transition") == [""])
        #expect(harness.published.filter { $0.topic.hasPrefix("live/") }.count == 1)
        hide(harness, "all")
        harness.restart()
        #expect(live(harness).isEmpty)
    }

    @Test("A change to none clears what is retained, all publishes it again, and a restart keeps to it")
    func changing() {
        let harness = harness("all")
        let topics = ["live/" + Self.phone, "live/" + Self.stray]
        #expect(topics.allSatisfy { harness.retained[$0] != nil })
        hide(harness)
        #expect(topics.allSatisfy { harness.retained[$0] == nil && harness.payloads($0) == [""] })
        #expect(harness.result("dataset/get")?["livePositions"]?.text == "none")
        for killed in [false, true] {
            harness.restart(killed: killed)
            #expect(live(harness).isEmpty == !killed)
            walk(harness)
            #expect(topics.allSatisfy { harness.retained[$0] == nil })
        }
        hide(harness, "all")
        #expect(topics.allSatisfy { harness.retained[$0]?.contains("43.73") == true })
    }

    @Test("Matches from before positions became private show no longer where somebody else's device was")
    func oldMatches() throws {
        let harness = harness("all")
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"other"}"#, client: "bob")
        harness.send("d/-/-/-/-/other/position", #"{"lat":43.73,"lon":7.42}"#)
        _ = harness.request(
            "publication/create", #"{"deviceId":"phone","topic":"t","range":50,"duration":600}"#, client: "ann")
        _ = harness.request(
            "subscription/create", #"{"deviceId":"other","id":"s","topic":"t","range":50,"duration":600}"#, client: "bob")
        func match(_ client: String) -> JSONValue? {
            harness.result("match/list", #"{"deviceId":"other"}"#, client: client)?["matches"]?.elements.first
        }
        let before = try #require(match("bob"))
        #expect(before["publication"]?["location"] != nil && before["subscription"]?["location"] != nil)
        hide(harness)
        let id = try #require(before["id"]?.text)
        for after in [match("bob"), harness.result("match/get", "{\"id\":\"\(id)\"}", client: "bob")] {
            #expect(after?["publication"]?["location"] == nil && after?["subscription"]?["location"] != nil)
            #expect(after?["distance"] == before["distance"])
        }
        #expect(match("admin")?["publication"]?["location"] != nil)
    }

    @Test("A broker that was away while positions became private lets go of them when it is back")
    func brokerAway() {
        let harness = harness("all")
        let mark = harness.hub.liveNumber
        harness.loseBroker()
        hide(harness)
        walk(harness)
        harness.published.removeAll()
        harness.core.begin()
        harness.core.doorOpened(holding: mark)
        harness.end()
        harness.settle()
        #expect(harness.payloads("live/" + Self.phone) == [""] && harness.payloads("live/" + Self.stray) == [""])
        let known = harness.hub.liveNumber
        walk(harness)
        harness.published.removeAll()
        harness.core.begin()
        harness.core.doorOpened(holding: known)
        harness.end()
        harness.settle()
        #expect(live(harness).isEmpty, "once they are gone nothing is published again")
    }

    @Test("What a broker retained of a position over a kill is cleared, not taken back")
    func adopted() {
        let harness = harness("all")
        let reported = harness.retained["live/" + Self.phone] ?? ""
        hide(harness)
        harness.restart(killed: true)
        harness.adopt("live/" + Self.phone, reported)
        #expect(harness.payloads("live/" + Self.phone).last == "")
    }

    @Test("The store refuses the change: positions stay as they were")
    func refusedChange() {
        let harness = harness("all")
        harness.isDiskFull = true
        hide(harness)
        harness.heal()
        #expect(harness.retained["live/" + Self.phone] != nil)
        walk(harness, 43.74)
        #expect(harness.retained["live/" + Self.phone]?.contains("43.74") == true)
    }

    @Test("Snapshots and subscriptions show them to the owner and to administrators only")
    func liveData() {
        let harness = harness()
        #expect(snapshot(harness, "ann") == ["phone"])
        #expect(snapshot(harness, "eve") == [])
        #expect(snapshot(harness, "admin").sorted() == ["phone", "stray"])
        for client in ["ann", "eve", "admin"] {
            let reply = harness.result("live/subscribe", #"{"id":"l","criteria":"d/#"}"#, client: client)
            #expect(reply?["snapshot"]?.number == ["ann": 1, "eve": 0, "admin": 2][client])
        }
        harness.published.removeAll()
        walk(harness, 43.74)
        #expect(harness.payloads("geomatch/d/ann/live/l").count == 1)
        #expect(harness.payloads("geomatch/d/eve/live/l").isEmpty)
        #expect(harness.payloads("geomatch/d/admin/live/l").count == 2)
    }

    @Test("Who saw a position before it became private is notified that it left, and sees it again when it is public")
    func leaving() {
        let harness = harness("all")
        _ = harness.request("live/subscribe", #"{"id":"l","criteria":"d/#"}"#, client: "eve")
        _ = harness.request(
            "live/subscribe", #"{"id":"area","criteria":"d/#","within":{"bbox":[7,43,8,44]}}"#, client: "eve")
        hide(harness)
        for id in ["l", "area"] {
            let news = harness.payloads("geomatch/d/eve/live/\(id)")
            #expect(news.count == 2 && news.allSatisfy { $0.contains(#""left":true"#) })
        }
        harness.published.removeAll()
        walk(harness, 45)
        #expect(!harness.published.contains { $0.topic.hasPrefix("geomatch/d/eve/live/") })
        hide(harness, "all")
        #expect(harness.payloads("geomatch/d/eve/live/l").count == 2)
    }

    @Test("An area around what a device sends does not find out where it is")
    func areaOfOtherData() {
        let harness = harness()
        let filter = #"{"criteria":"d/+/+/+/+/+/battery","within":{"circle":{"latitude":43.73,"longitude":7.42,"radius":100}}}"#
        harness.send("d/-/-/-/-/phone/battery", #"{"percent":80}"#)
        for (client, count) in [("ann", 1), ("eve", 0), ("admin", 1)] {
            #expect(harness.result("live/snapshot", filter, client: client)?["updates"]?.elements.count == count, "\(client)")
        }
    }

    @Test("Devices without an owner have no location, and no candidates, for others than administrators")
    func devices() {
        let harness = harness()
        _ = harness.result(
            "place/import",
            #"""
            {"places":{"type":"FeatureCollection","features":[{"id":"bar","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{}}]}}
            """#, client: "ann")
        func location(_ id: String, _ client: String) -> JSONValue? {
            harness.result("device/get", #"{"id":"\#(id)"}"#, client: client)?["location"]
        }
        #expect(location("phone", "ann") != nil && location("phone", "admin") != nil && location("stray", "admin") != nil)
        #expect(location("stray", "ann") == nil && harness.result("device/get", #"{"id":"stray"}"#, client: "ann") != nil)
        let listed = harness.result("device/list", client: "ann")?["devices"]?.elements ?? []
        #expect(listed.map { $0["location"] != nil } == [true, false])
        let renamed = harness.result("device/update", #"{"id":"stray","name":"x"}"#, client: "ann")
        #expect(renamed?["name"]?.text == "x" && renamed?["location"] == nil)
        let candidates = { (id: String) in harness.refusal("place/candidates", #"{"deviceId":"\#(id)"}"#, client: "ann") }
        #expect(candidates("stray") == "forbidden deviceId" && candidates("phone") == nil)
    }

    @Test("A match and its explanation tell the location of one's own device only; distances stay")
    func matches() throws {
        let harness = harness()
        _ = harness.request(
            "publication/create", #"{"id":"p","deviceId":"stray","topic":"t","range":50,"duration":3600}"#, client: "bob")
        for (client, device, id) in [("ann", "phone", "s"), ("bob", "stray", "o"), ("admin", "stray", "a")] {
            _ = harness.request(
                "subscription/create",
                #"{"id":"\#(id)","deviceId":"\#(device)","topic":"t","range":50,"duration":3600,"matchTTL":0}"#, client: client)
        }
        harness.published.removeAll()
        walk(harness)
        func match(_ client: String) -> JSONValue? { harness.matches.last { $0.topic.hasPrefix("geomatch/d/\(client)/") }?.json }
        let ann = try #require(match("ann"))
        #expect(ann["distance"]?.number == 0 && ann["publication"]?["location"] == nil && ann["subscription"]?["location"] != nil)
        let bob = try #require(match("bob"))
        #expect(bob["publication"]?["location"] == nil && bob["subscription"]?["location"] == nil)
        #expect(try #require(match("admin"))["publication"]?["location"] != nil)
        let text = harness.request("match/explain", #"{"publicationId":"p","subscriptionId":"s"}"#, client: "ann")
        let checks = text?["result"]?["checks"]?.elements ?? []
        let detail = checks.first { $0["check"]?.text == "location" }?["detail"]?.text
        #expect(detail == "publication at a private position, subscription at 43.73, 7.42")
        #expect(checks.contains { $0["detail"]?.text?.hasPrefix("distance 0.0 m") == true })
    }

    @Test("Explaining a geofence said where a private device without an owner is")
    func explainedGeofence() {
        let harness = harness()
        func location(_ client: String) -> String? {
            let checks = harness.result(
                "geofence/explain", #"{"id":"\#(client == "admin" ? "bob/f" : "f")","deviceId":"stray"}"#, client: client)?[
                    "checks"]
            return checks?.elements.first { $0["check"]?.text == "location" }?["detail"]?.text
        }
        harness.fence(#","staleAfter":60"#, id: "f", client: "bob")
        #expect(location("bob") == "at a private position" && location("admin") == "at 43.73, 7.42")
        harness.now += 61_000
        #expect(location("bob") == "last at a private position, not heard of for 61 s")
    }

    @Test("A circumstance found out by presence in which geofence a private device without an owner is")
    func presenceInCircumstances() {
        let harness = harness()
        harness.fence(id: "f", client: "ann")
        _ = harness.request(
            "circumstance/register", #"{"id":"probe","expression":"(live presence geofence = \"f\")"}"#, client: "ann")
        func probed(_ id: String) -> JSONValue? {
            harness.result("circumstance/evaluate", #"{"id":"probe","deviceId":"\#(id)"}"#, client: "ann")?["value"]
        }
        #expect(probed("phone") == true && probed("stray") == .null)
    }

    @Test("Circumstances tell of devices without an owner, but not where they are; live data of theirs does not either")
    func circumstances() {
        let harness = harness()
        _ = harness.result(
            "place/import",
            #"""
            {"places":{"type":"FeatureCollection","features":[{"id":"bar","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{}}]}}
            """#, client: "ann")
        walk(harness, 43.9)
        _ = harness.request(
            "circumstance/register", #"{"id":"in","expression":"(at (= factual-id \"bar\"))","when":"arriving"}"#, client: "ann")
        _ = harness.request(
            "circumstance/register", #"{"id":"probe","expression":"(live position latitude > 1)"}"#, client: "ann")
        func probed(_ id: String) -> JSONValue? {
            harness.result("circumstance/evaluate", #"{"id":"probe","deviceId":"\#(id)"}"#, client: "ann")?["value"]
        }
        #expect(probed("phone") == true && probed("stray") == .null)
        harness.published.removeAll()
        walk(harness)
        let reported = harness.published.filter { $0.topic == "geomatch/d/ann/circumstance/in" }.compactMap(\.json)
        #expect(reported.map { $0["deviceId"]?.text } == ["phone", "stray"])
        #expect(reported.map { $0["location"] != nil } == [true, false])
    }

    @Test("Occupancy counts as ever")
    func occupancy() {
        let harness = harness()
        harness.importStructure(FloorPlan.house)
        _ = harness.request("dataset/update", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.send("d/v/h/0/a/stray/position", #"{"lat":43.73,"lon":7.42}"#)
        harness.advance(milliseconds: 2000)
        #expect(harness.retained["live/d/v/h/0/a/-/occupancy"]?.contains(#""nrOfPeople":1"#) == true)
        #expect(harness.retained["live/d/v/h/0/a/stray/position"] == nil)
    }

    @Test("What is lost of a client's matches is reported to that client alone")
    func diagnosticsOfDelivery() {
        let harness = HubHarness { $0.limits.pendingMatchesPerClient = 0 }
        harness.makePair()
        harness.move(metres: 1)
        #expect(harness.diagnostics("delivery", client: "alice").first?["topic"]?.text == "geomatch/d/alice/match/phone/s")
        #expect(!harness.published.contains { $0.topic.hasPrefix("geomatch/d/diagnostics/") })
    }
}
