import Synchronization
import Testing
import Wire

@testable import Datasets

@Suite("What a client may name and see")
struct AccessTests {
    private func harness(_ reach: LiveReach = .all) -> HubHarness {
        let harness = HubHarness {
            $0.mayName = { dataset, client in client == "admin" || dataset == "d" && client != "stranger" }
            $0.reads = { _, client in client == "admin" ? .all : reach }
        }
        harness.send("d/-/-/-/-/alice/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/bob/position", #"{"lat":2,"lon":2}"#)
        _ = harness.request("device/create", #"{"id":"watch","deviceType":"MobileDevice"}"#)
        harness.send("d/-/-/-/-/watch/position", #"{"lat":3,"lon":3}"#)
        return harness
    }

    @Test("A dataset that a client may not name is unauthorized, whatever it asks and whether it exists or not")
    func naming() {
        let harness = harness()
        for name in ["device/list", "device/create", "no/such"] {
            #expect(harness.refusal(name, client: "stranger") == "unauthorized")
            #expect(harness.refusal(name, dataset: "other") == "unauthorized")
        }
        #expect(harness.hub.datasetNames == ["d"])
        #expect(harness.result("device/list") != nil)
    }

    @Test("Who sees its own sees the topics of its name and of its devices, in snapshots and subscriptions")
    func own() {
        let harness = harness(.own)
        let updates = harness.result("live/snapshot", #"{"criteria":"d/#"}"#)?["updates"]?.elements ?? []
        #expect(updates.compactMap { $0["itemId"]?.text } == ["alice", "watch"])
        #expect(harness.result("live/subscribe", #"{"id":"l","criteria":"d/#","snapshot":false}"#)?["snapshot"]?.number == 0)
        harness.published.removeAll()
        for device in ["alice", "bob", "watch"] { harness.send("d/-/-/-/-/\(device)/position", #"{"lat":4,"lon":4}"#) }
        let news = harness.payloads("geomatch/d/alice/live/l")
        #expect(news.count == 2 && !news.joined().contains("bob"))
        #expect(harness.result("live/snapshot", #"{"criteria":"d/#"}"#, client: "admin")?["updates"]?.elements.count == 3)
    }

    @Test("Who sees nothing asks for live data in vain")
    func nothing() {
        let harness = harness(.none)
        #expect(harness.refusal("live/snapshot", #"{"criteria":"d/#"}"#) == "unauthorized")
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#"}"#) == "unauthorized")
    }

    @Test("Where devices without an owner are is reported to those who read such live data")
    func strayDevices() {
        for (reach, ids) in [(LiveReach.all, ["alice", "bob", "watch"]), (.own, ["alice", "watch"]), (.none, ["watch"])] {
            let devices = harness(reach).result("device/list")?["devices"]?.elements ?? []
            #expect(devices.filter { $0["location"] != nil }.compactMap { $0["id"]?.text } == ids, "\(reach)")
        }
    }

    @Test("Events and explanations of geofences and circumstances said where devices are to those who may not read live data")
    func strayEvents() throws {
        for (reach, isShown) in [(LiveReach.all, true), (.own, false), (.none, false)] {
            let harness = harness(reach)
            harness.fence(#","accuracy":"centre""#)
            _ = harness.request(
                "circumstance/register",
                #"{"id":"c","expression":"(live noise loud = true)","when":"arriving"}"#)
            for (device, isShown) in [("bob", isShown), ("watch", true)] {
                harness.published.removeAll()
                harness.move(device, metres: 0)
                harness.send("d/-/-/-/-/\(device)/noise", #"{"loud":true}"#)
                for topic in ["geofence/home", "circumstance/c"] {
                    let event = try #require(
                        harness.payloads("geomatch/d/alice/\(topic)").first.flatMap { try? JSONValue.parse($0) })
                    #expect((event["location"] != nil) == isShown, "\(reach) \(device) \(topic)")
                }
                let checks = harness.result("geofence/explain", #"{"id":"home","deviceId":"\#(device)"}"#)?["checks"]?.elements
                let detail = checks?.first { $0["check"]?.text == "location" }?["detail"]?.text
                #expect(detail == (isShown ? "at 43.73, 7.42" : "at a position that may not be shown"), "\(reach) \(device)")
            }
        }
    }

    @Test("Circumstances compared positions, sightings and presence of devices whose live data their owner may not read")
    func strayComparisons() {
        for (reach, isKnown) in [(LiveReach.all, true), (.own, false), (.none, false)] {
            let harness = harness(reach)
            harness.fence()
            for device in ["bob", "watch"] {
                harness.move(device, metres: 0)
                harness.send("d/-/-/-/-/\(device)/temperature", #"{"temperature":21}"#)
            }
            func value(_ expression: String, _ device: String, client: String = "alice") -> JSONValue? {
                let id = "\(client)-probe"
                _ = harness.request(
                    "circumstance/register", #"{"id":"\#(id)","expression":"\#(expression)"}"#, client: client)
                return harness.result("circumstance/evaluate", #"{"id":"\#(id)","deviceId":"\#(device)"}"#, client: client)?[
                    "value"]
            }
            for expression in ["(live position latitude > 43)", #"(live presence geofence = \"home\")"#] {
                #expect(value(expression, "watch") == true, "\(reach) \(expression)")
                #expect(value(expression, "bob") == (isKnown ? true : .null), "\(reach) \(expression)")
                #expect(value(expression, "bob", client: "admin") == true, "\(reach) \(expression)")
            }
            #expect(value("(live temperature temperature > 20)", "bob") == true, "\(reach)")
        }
    }

    @Test("A request moves a device without an owner only where its client may publish that")
    func moving() {
        let harness = HubHarness { $0.writes = { _, client in client == "eve" ? .own : .all } }
        harness.send("d/-/-/-/-/stray/position", #"{"lat":1,"lon":1}"#)
        harness.send("d/-/-/-/-/eve/position", #"{"lat":1,"lon":1}"#)
        let place = #""location":{"latitude":2,"longitude":2}"#
        #expect(harness.refusal("device/update", #"{"id":"stray",\#(place)}"#, client: "eve") == "unauthorized location")
        #expect(harness.refusal("device/update", #"{"id":"stray","location":null}"#, client: "eve") == "unauthorized location")
        #expect(harness.refusal("device/update", #"{"id":"eve",\#(place)}"#, client: "eve") == nil)
        #expect(harness.refusal("device/update", #"{"id":"stray",\#(place)}"#, client: "bob") == nil)
    }

    @Test("A request put a position on the topic of another's name, for who owned a device of that name")
    func movingAnothersName() {
        let harness = HubHarness { $0.writes = { _, client in client == "eve" ? .own : client == "zoe" ? .none : .all } }
        let place = #""location":{"latitude":2,"longitude":2}"#
        func create(_ members: String, _ client: String) -> String? {
            harness.refusal("device/create", "{\(members)}", client: client)
        }
        for (client, id) in [("eve", "bob"), ("zoe", "zoe")] {
            #expect(create(#""id":"\#(id)","deviceType":"MobileDevice",\#(place)"#, client) == "unauthorized location")
            #expect(create(#""id":"\#(id)","deviceType":"MobileDevice""#, client) == nil)
            #expect(harness.refusal("device/update", #"{"id":"\#(id)",\#(place)}"#, client: client) == "unauthorized location")
            let pushed = #"{"id":"\#(id)","type":"device","revision":"9-z","deviceType":"MobileDevice",\#(place)}"#
            #expect(harness.push(pushed, client: client) == ["refused unauthorized location"])
            #expect(harness.retained["live/d/-/-/-/-/\(id)/position"] == nil)
        }
        // Its own name, and an id that is nobody's name.
        #expect(create(#""id":"eve","deviceType":"MobileDevice",\#(place)"#, "eve") == nil)
        #expect(harness.refusal("device/update", #"{"id":"eve",\#(place)}"#, client: "eve") == nil)
        let made = harness.result("device/create", #"{"deviceType":"PinDevice",\#(place)}"#, client: "eve")?["id"]?.text ?? ""
        #expect(harness.refusal("device/update", #"{"id":"\#(made)",\#(place)}"#, client: "eve") == nil)
        #expect(create(#""id":"eve/phone","deviceType":"MobileDevice",\#(place)"#, "eve") == nil)
        #expect(create(#""id":"stop","deviceType":"PinDevice",\#(place)"#, "eve") == nil)
        #expect(create(#""deviceType":"PinDevice",\#(place)"#, "zoe") == "unauthorized location")
        #expect(create(#""id":"car","deviceType":"MobileDevice",\#(place)"#, "bob") == nil)
    }
}

@Suite("Access that changes while the daemon runs")
struct AccessChangeTests {
    /// What clients other than `admin` may see, as it is by now.
    private final class Reach: Sendable {
        private let state = Mutex((reach: LiveReach.all, version: 0))

        var version: Int { state.withLock { $0.version } }
        var reach: LiveReach { state.withLock { $0.reach } }

        func change(to reach: LiveReach) { state.withLock { $0 = (reach, $0.version + 1) } }
    }

    private let reach = Reach()

    private func harness() -> HubHarness {
        let harness = HubHarness { [reach] in
            $0.reads = { _, client in client == "admin" ? .all : reach.reach }
            $0.accessVersion = { reach.version }
        }
        for device in ["alice", "bob"] { harness.send("d/-/-/-/-/\(device)/position", #"{"lat":0.5,"lon":0.5}"#) }
        return harness
    }

    @Test("Feeds and monitors went on, also after a restart, when their client could not name the dataset any more")
    func naming() {
        for restarts in [false, true] {
            reach.change(to: .all)
            let harness = HubHarness { [reach] in
                $0.mayName = { _, client in client == "admin" || reach.reach != .none }
                $0.accessVersion = { reach.version }
            }
            harness.acknowledges = true
            _ = harness.request("dataset/create", client: "admin")
            for client in ["alice", "admin"] {
                #expect(harness.refusal("changes/follow", #"{"since":0}"#, client: client) == nil)
                #expect(harness.refusal("beacon/monitor", #"{"id":"m","uuid":"\#(Sample.uuid)"}"#, client: client) == nil)
            }
            _ = harness.push(#"{"id":"before","type":"note","revision":"1-a"}"#, client: "admin")
            reach.change(to: .none)
            if restarts {
                // What was sent last is sent again.
                harness.restart(killed: true)
            } else {
                harness.advance(milliseconds: 200)
                harness.published.removeAll()
            }
            harness.send(
                "geomatch/d/admin/request/changes/push", #"{"docs":[{"id":"after","type":"note","revision":"1-a"}]}"#)
            harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""rssi":-60"#))
            harness.advance(milliseconds: 2000)
            for topic in ["changes", "beacon/m"] {
                #expect(harness.payloads("geomatch/d/alice/\(topic)").isEmpty, "\(topic), restarts: \(restarts)")
                #expect(!harness.payloads("geomatch/d/admin/\(topic)").isEmpty, "\(topic), restarts: \(restarts)")
            }
            // They are gone for good.
            reach.change(to: .all)
            harness.advance(milliseconds: 1000)
            #expect(harness.hub.followers["d", "alice"] == nil && harness.hub.followers["d", "admin"] != nil)
            #expect(harness.refusal("beacon/unmonitor", #"{"id":"m"}"#) == "notFound id")
        }
    }

    private func subscribe(_ harness: HubHarness, _ id: String, client: String = "alice", extra: String = "") {
        #expect(harness.refusal("live/subscribe", #"{"id":"\#(id)","criteria":"d/#"\#(extra)}"#, client: client) == nil)
        harness.settle()
        harness.published.removeAll()
    }

    private func change(to reach: LiveReach, _ harness: HubHarness) {
        self.reach.change(to: reach)
        harness.published.removeAll()
        harness.advance(milliseconds: 1000)
        harness.settle()
    }

    @Test("Live subscriptions went on, and were renewed, when their client could read nothing any more")
    func nothing() {
        let harness = harness()
        subscribe(harness, "l")
        subscribe(harness, "a", client: "admin")
        change(to: .none, harness)
        harness.send("d/-/-/-/-/bob/position", #"{"lat":0.6,"lon":0.5}"#)
        #expect(harness.payloads("geomatch/d/alice/live/l").isEmpty)
        #expect(harness.payloads("geomatch/d/admin/live/a").count == 1)
        #expect(harness.refusal("live/renew", #"{"id":"l"}"#) == "unauthorized")
        // It is gone for good.
        change(to: .all, harness)
        #expect(harness.refusal("live/renew", #"{"id":"l"}"#) == "notFound id")
        #expect(harness.refusal("live/renew", #"{"id":"a"}"#, client: "admin") == nil)
        harness.restart()
        #expect(harness.refusal("live/renew", #"{"id":"l"}"#) == "notFound id")
    }

    @Test("Live subscriptions went on with all topics when their client could see its own only, and the other way round")
    func own() {
        let harness = harness()
        subscribe(harness, "l")
        subscribe(harness, "box", extra: #","within":{"bbox":[0,0,1,1]}"#)
        subscribe(harness, "slow", extra: #","minInterval":5000"#)
        harness.send("d/-/-/-/-/bob/position", #"{"lat":0.7,"lon":0.5}"#)
        change(to: .own, harness)
        let left = harness.payloads("geomatch/d/alice/live/box")
        #expect(left.count == 1 && left[0].contains(#""itemId":"bob""#) && left[0].contains(#""properties":{}"#), "\(left)")
        harness.published.removeAll()
        for device in ["alice", "bob"] { harness.send("d/-/-/-/-/\(device)/position", #"{"lat":0.8,"lon":0.5}"#) }
        harness.advance(milliseconds: 10_000)
        for id in ["l", "box", "slow"] {
            let news = harness.payloads("geomatch/d/alice/live/\(id)")
            #expect(!news.isEmpty && news.allSatisfy { $0.contains(#""itemId":"alice""#) }, "\(id): \(news)")
        }
        change(to: .all, harness)
        for id in ["l", "box", "slow"] {
            #expect(harness.payloads("geomatch/d/alice/live/\(id)").contains { $0.contains(#""itemId":"bob""#) }, "\(id)")
        }
    }

    @Test("What left an area while the broker was away showed where it is to a client that could see its own only by then")
    func ownMeanwhile() {
        let harness = harness()
        subscribe(harness, "box", extra: #","within":{"bbox":[0,0,1,1]}"#)
        let mark = harness.hub.liveNumber
        harness.loseBroker()
        harness.send("d/-/-/-/-/bob/position", #"{"lat":0.9,"lon":0.5}"#)
        change(to: .own, harness)
        harness.published.removeAll()
        harness.core.begin()
        harness.core.doorOpened(holding: mark)
        harness.end()
        harness.settle()
        let news = harness.payloads("geomatch/d/alice/live/box").filter { $0.contains("bob") }
        #expect(news.count == 1 && news[0].contains(#""properties":{}"#), "\(news)")
    }
}
