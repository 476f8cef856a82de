import Testing
import Wire

@testable import Datasets

@Suite("Regions of beacons are monitored")
struct BeaconMonitorTests {
    private let harness = HubHarness()

    init() {
        // Nothing waits for the broker, to come again after a restart.
        harness.acknowledges = true
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone","group":["staff"]}"#)
    }

    private func see(_ minor: Int = 1, observer: String = "phone") {
        harness.send("d/-/-/-/-/\(observer)/proximity", Sample.sighting(minor, #""rssi":-60"#))
    }

    private func monitor(_ more: String = "", id: String = "m", client: String = "alice") -> JSONValue? {
        harness.result("beacon/monitor", #"{"id":"\#(id)","uuid":"\#(Sample.uuid.lowercased())"\#(more)}"#, client: client)
    }

    private func events(_ id: String = "m", client: String = "alice") -> [String] {
        harness.payloads("geomatch/d/\(client)/beacon/\(id)").compactMap { (try? JSONValue.parse($0))?["event"]?.text }
    }

    @Test("a device enters with its first beacon and leaves thirty seconds after the last sighting of any")
    func enterAndExit() {
        #expect(monitor(#","major":7"#)?["proximityUUID"]?.text == Sample.uuid)
        see(1)
        let event = harness.payloads("geomatch/d/alice/beacon/m").first.flatMap { try? JSONValue.parse($0) }
        #expect(event?.keys == ["event", "deviceId", "proximityUUID", "major", "timestamp"])
        #expect(event?["deviceId"]?.text == "phone" && event?["timestamp"]?.number == Double(harness.now))
        harness.advance(milliseconds: 20_000, step: 1000)
        see(2)
        harness.advance(milliseconds: 29_900)
        #expect(events() == ["entered"])
        harness.advance(milliseconds: 200)
        #expect(events() == ["entered", "exited"])
        see(1)
        #expect(events() == ["entered", "exited", "entered"])
    }

    @Test("by UUID, major and minor")
    func regions() {
        _ = monitor("", id: "all")
        _ = monitor(#","major":8"#, id: "other")
        _ = monitor(#","major":7,"minor":2"#, id: "one")
        see(1)
        #expect(events("all") == ["entered"] && events("other") == [] && events("one") == [])
        see(2)
        #expect(events("one") == ["entered"])
    }

    @Test("for the devices and groups that are named, and for those the client reaches")
    func devices() {
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"theirs"}"#, client: "bob")
        _ = monitor(#","devices":["staff"]"#, id: "staff")
        _ = monitor("", id: "mine")
        _ = monitor("", id: "bobs", client: "bob")
        #expect(
            harness.refusal("beacon/monitor", #"{"id":"x","uuid":"\#(Sample.uuid)","devices":["theirs"]}"#) == "forbidden devices"
        )
        see()
        see(1, observer: "theirs")
        see(1, observer: "nobodys")
        #expect(events("staff").count == 1 && events("mine").count == 2 && events("bobs", client: "bob").count == 2)
    }

    @Test("who is in the region when it is asked for is reported, and a restart reports nobody twice")
    func present() {
        see()
        _ = monitor()
        harness.advance(milliseconds: 200)
        #expect(events() == ["entered"])
        harness.restart()
        see()
        harness.advance(milliseconds: 1000)
        #expect(events() == [])
        harness.advance(milliseconds: 30_000, step: 500)
        #expect(events() == ["exited"])
    }

    @Test("an exit was reported again at each restart within ninety seconds of the last sighting")
    func exitOnce() {
        _ = monitor()
        see()
        harness.advance(milliseconds: 32_000, step: 500)
        #expect(events() == ["entered", "exited"])
        for killed in [true, false] {
            harness.restart(killed: killed)
            harness.advance(milliseconds: 2000)
            #expect(events() == [])
        }
    }

    @Test("an exit that no daemon was there to report comes once, however late", arguments: [40_000, 100_000] as [Int64])
    func exitWhileAway(_ milliseconds: Int64) {
        _ = monitor()
        see()
        harness.advance(milliseconds: 2000)
        #expect(events() == ["entered"])
        harness.now += milliseconds
        harness.restart(killed: true)
        harness.advance(milliseconds: 2000)
        #expect(events() == ["exited"])
        harness.restart()
        harness.advance(milliseconds: 2000)
        #expect(events() == [])
    }

    @Test("who had left before a monitor was asked for does not exit at a restart")
    func neverEntered() {
        see()
        harness.advance(milliseconds: 32_000, step: 500)
        _ = monitor()
        harness.advance(milliseconds: 2000)
        harness.restart()
        harness.advance(milliseconds: 2000)
        #expect(events() == [])
    }

    @Test("what happens while the broker is away is reported once it is back, in order, also after a restart")
    func brokerAway() {
        _ = monitor()
        harness.loseBroker()
        see()
        harness.advance(milliseconds: 31_000, step: 1000)
        #expect(events() == [])
        harness.connect()
        #expect(events() == ["entered", "exited"])
        harness.loseBroker()
        see()
        harness.restart()
        #expect(events() == ["entered"])
        harness.restart()
        #expect(events() == [])
    }

    @Test("what a broker does not take for long is bounded, counted and reported")
    func bounded() {
        let harness = HubHarness { $0.limits.pendingMatchesPerClient = 3 }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = harness.request("beacon/monitor", #"{"id":"m","uuid":"\#(Sample.uuid)"}"#)
        harness.loseBroker()
        for _ in 0..<4 {
            harness.send("d/-/-/-/-/phone/proximity", Sample.sighting(1, #""rssi":-60"#))
            harness.advance(milliseconds: 31_000, step: 1000)
        }
        harness.connect()
        let events = harness.payloads("geomatch/d/alice/beacon/m").compactMap { (try? JSONValue.parse($0))?["event"]?.text }
        #expect(events == ["entered", "exited", "entered"])
        #expect(harness.diagnostics("delivery", client: "alice").contains { $0["topic"]?.text == "geomatch/d/alice/beacon/m" })
    }

    @Test(
        "what is wrong with a monitor is said",
        arguments: [
            ("{}", "invalid id"), (#"{"id":"m"}"#, "invalid proximityUUID"), (#"{"id":"m","uuid":"x"}"#, "invalid uuid"),
            (#"{"id":"m","uuid":"\#(Sample.uuid)","minor":1}"#, "invalid minor"),
            (#"{"id":"m","uuid":"\#(Sample.uuid)","major":65536}"#, "invalid major"),
        ])
    func wrong(_ parameters: String, _ refusal: String) {
        #expect(harness.refusal("beacon/monitor", parameters) == refusal)
    }

    @Test("a client has so many, ends them, and a restart keeps the others")
    func limits() {
        let harness = HubHarness { $0.limits.beaconMonitors = 2 }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        func ask(_ id: String) -> String? { harness.refusal("beacon/monitor", #"{"id":"\#(id)","uuid":"\#(Sample.uuid)"}"#) }
        #expect(ask("a") == nil && ask("b") == nil && ask("b") == nil && ask("c") == "limit")
        #expect(harness.result("beacon/unmonitor", #"{"id":"a"}"#)?["state"]?.text == "deleted")
        #expect(harness.refusal("beacon/unmonitor", #"{"id":"a"}"#) == "notFound id")
        harness.restart()
        #expect(ask("c") == nil && ask("d") == "limit")
    }

    @Test("a monitor the store refused never was")
    func refused() {
        harness.isDiskFull = true
        #expect(harness.refusal("beacon/monitor", #"{"id":"m","uuid":"\#(Sample.uuid)"}"#) == "internal")
        harness.heal()
        see()
        #expect(events() == [])
    }
}
