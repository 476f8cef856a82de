import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Circumstances")
struct CircumstanceTests {
    /// A hub with a café (open Mo-Fr 09:00-17:00 UTC) at 43.73 7.42 and a museum a kilometre north. The harness begins at a Tuesday, 22:13 UTC.
    private func harness(_ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness(adjust)
        _ = harness.result(
            "category/import",
            #"{"categories":[{"id":"food","name":"Food"},{"id":"cafe","name":"Café","parentId":"food"},{"id":"museum","name":"Museum"}]}"#
        )
        _ = harness.result(
            "place/import",
            #"""
            {"places":{"type":"FeatureCollection","features":[
            {"id":"bar","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{"name":"Bar","categoryIds":["cafe"],"chainId":"Q1","openingHours":"Mo-Fr 09:00-17:00"}},
            {"id":"art","geometry":{"type":"Point","coordinates":[7.42,43.739]},"properties":{"name":"Art","categoryIds":["museum"]}}]}}
            """#)
        return harness
    }

    private func register(_ harness: HubHarness, _ id: String, _ expression: String, _ more: String = #","when":"arriving""#)
        -> JSONValue?
    {
        let text = String(decoding: JSONValue.string(expression).serialised(), as: UTF8.self)
        return harness.request("circumstance/register", #"{"id":"\#(id)","expression":\#(text)\#(more)}"#)
    }

    private func incidents(_ harness: HubHarness, client: String = "alice") -> [JSONValue] {
        harness.published.filter { $0.topic.hasPrefix("geomatch/d/\(client)/circumstance/") }.compactMap(\.json)
    }

    private func ids(_ harness: HubHarness) -> [String] { incidents(harness).map { $0["circumstanceId"]?.text ?? "" } }

    private static let noon: Int64 = 1_700_049_600_000  // Wednesday 2023-11-15 12:00 UTC

    @Test("Arriving fires once when the value becomes true, departing when it becomes false after that")
    func fires() throws {
        let harness = harness()
        harness.move(metres: 500)
        #expect(
            register(harness, "in", #"(at (= category-id "food"))"#, #","when":"arriving","name":"Hungry","tags":["a","b"]"#)?[
                "result"] != nil)
        #expect(register(harness, "out", #"(at (= factual-id "bar"))"#, #","when":"departing""#)?["result"] != nil)
        #expect(incidents(harness).isEmpty)
        harness.published = []
        harness.move(metres: 5, extra: #","acc":10"#)
        let arrived = try #require(incidents(harness).first)
        #expect(ids(harness) == ["in"])
        #expect(harness.published.contains { $0.topic == "geomatch/d/alice/circumstance/in" && $0.qos == 1 && !$0.retain })
        #expect(arrived["incidentId"]?.text?.count == 36 && arrived["name"]?.text == "Hungry" && arrived["tags"] == ["a", "b"])
        #expect(arrived["when"]?.text == "arriving" && arrived["deviceId"]?.text == "phone" && arrived["trace"] == nil)
        #expect(arrived["atPlaces"]?.elements.map { $0["id"]?.text } == ["bar"])
        #expect(arrived["location"]?["horizontalAccuracy"]?.number == 10 && arrived["timestamp"]?.number == Double(harness.now))
        harness.published = []
        harness.move(metres: 6)
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 55)
        #expect(incidents(harness).isEmpty, "within the exit margin of 10 m")
        harness.move(metres: 70)
        #expect(ids(harness) == ["out"])
        #expect(incidents(harness).first?["name"] == .null, "a name is always there")
        harness.published = []
        harness.move(metres: 5)
        #expect(ids(harness) == ["in"])
    }

    @Test("A circumstance is not enabled or disabled by who knows another revision of it; revisions were ignored")
    func staleRevisions() {
        let harness = harness()
        let known = register(harness, "a", "true")?["result"]?["revision"]?.text ?? ""
        let off = harness.result("circumstance/disable", #"{"id":"a","revision":"\#(known)"}"#)
        #expect(off?["enabled"] == false)
        for request in ["circumstance/enable", "circumstance/disable"] {
            #expect(harness.refusal(request, #"{"id":"a","revision":"\#(known)"}"#) == "conflict revision")
        }
        let present = off?["revision"]?.text ?? ""
        #expect(harness.result("circumstance/enable", #"{"id":"a","revision":"\#(present)"}"#)?["enabled"] == true)
    }

    @Test("Arriving fires at registration where it is true, and enabling takes the present value silently")
    func registration() {
        let harness = harness()
        harness.move(metres: 5)
        _ = register(harness, "a", "(at any-factual-place)")
        #expect(ids(harness) == ["a"])
        harness.published = []
        #expect(harness.result("circumstance/disable", #"{"id":"a"}"#)?["enabled"] == false)
        harness.move(metres: 500)
        harness.move(metres: 5)
        #expect(harness.result("circumstance/enable", #"{"id":"a"}"#)?["enabled"] == true)
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 500)
        harness.move(metres: 5)
        #expect(ids(harness) == ["a"])
        _ = register(harness, "a", "(at any-factual-place)")
        #expect(ids(harness) == ["a"], "the same id again replaces it")
        #expect(harness.result("circumstance/list")?["circumstances"]?.elements.count == 1)
        #expect(harness.result("circumstance/unregister", #"{"id":"a"}"#) == ["id": "a", "state": "deleted"])
        harness.move(metres: 500)
        harness.move(metres: 5)
        #expect(incidents(harness).isEmpty)
        #expect(harness.refusal("circumstance/enable", #"{"id":"a"}"#) == "notFound id")
    }

    @Test("Time alone fires: opening hours, a minute of the day, dwelling")
    func time() {
        let harness = harness()
        harness.now = Self.noon - 3 * 3_600_000 - 90_000
        harness.move(metres: 5)
        _ = register(harness, "open", "(at is-open)")
        _ = register(harness, "late", "(and (at any-factual-place) (>= local-minute-of-day 600))")
        _ = register(harness, "stays", "(dwelling 600)")
        #expect(incidents(harness).isEmpty)
        harness.published = []
        harness.advance(milliseconds: 60_000)
        #expect(incidents(harness).isEmpty)
        harness.advance(milliseconds: 31_000, step: 1000)
        #expect(ids(harness) == ["open"])
        harness.published = []
        harness.advance(milliseconds: 600_000, step: 5000)
        #expect(ids(harness) == ["stays"])
        harness.published = []
        harness.advance(milliseconds: 3_000_000, step: 60_000)
        #expect(ids(harness) == ["late"])
    }

    @Test("A changed place, a new category and the zone of the dataset fire")
    func world() {
        let harness = harness()
        harness.move(metres: 5)
        _ = register(harness, "new", #"(at (= factual-id "kiosk"))"#)
        _ = register(harness, "fun", #"(at (= category-id "fun"))"#)
        harness.published = []
        let place = #"{"id":"kiosk","geometry":{"type":"Point","coordinates":[7.42,43.73005]},"properties":{}}"#
        harness.send("geomatch/d/alice/request/place/import", #"{"places":{"type":"FeatureCollection","features":[\#(place)]}}"#)
        #expect(ids(harness) == ["new"])
        #expect(incidents(harness).first?["atPlaces"]?.elements.first?["id"]?.text == "kiosk")
        harness.published = []
        harness.send(
            "geomatch/d/alice/request/category/import",
            #"{"categories":[{"id":"fun","name":"Fun"},{"id":"food","name":"Food","parentId":"fun"}]}"#)
        harness.advance(milliseconds: 200)
        #expect(ids(harness) == ["fun"])
        _ = harness.request("place/delete", #"{"id":"kiosk"}"#)
        #expect(incidents(harness).isEmpty)
    }

    @Test("A clock that is set otherwise counts for the next position already")
    func zone() {
        let harness = harness()
        harness.now = Self.noon - 4 * 3_600_000
        harness.move(metres: 5)
        _ = register(harness, "open", "(at is-open)")
        #expect(incidents(harness).isEmpty)
        harness.published = []
        harness.send("geomatch/d/admin/request/dataset/update", #"{"timeZone":"Europe/Athens"}"#)
        harness.move(metres: 5.5)
        #expect(ids(harness) == ["open"])
    }

    @Test("Live data of the device's room or location is compared, and its changes fire")
    func live() {
        let harness = harness()
        harness.send("d/v/b/f/room/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        _ = register(harness, "stuffy", "(live co2 co2 > 1000)")
        _ = register(harness, "empty", #"(live battery level < 0.2)"#)
        #expect(incidents(harness).isEmpty)
        harness.published = []
        harness.send("d/v/b/f/room/-/co2", #"{"co2":1500}"#)
        #expect(ids(harness) == ["stuffy"])
        harness.send("d/v/b/f/other/-/co2", #"{"co2":100}"#)
        harness.send("d/v/b/f/room/-/co2", #"{"co2":400}"#)
        harness.published = []
        harness.send("d/v/b/f/room/-/co2", #"{"co2":1600}"#)
        #expect(ids(harness) == ["stuffy"])
        harness.published = []
        harness.send("d/-/-/-/-/phone/battery", #"{"level":0.1}"#)
        #expect(ids(harness) == ["empty"])
    }

    @Test("Visits are remembered, and erased on demand")
    func visited() {
        let harness = harness()
        _ = register(harness, "again", #"(visited (= chain-id "Q1"))"#, "")
        func value() -> JSONValue? { harness.result("circumstance/evaluate", #"{"id":"again","deviceId":"phone"}"#)?["value"] }
        _ = register(harness, "watch", #"(and (near any-factual-place) (visited (= chain-id "Q1")))"#)
        harness.move(metres: 900)
        #expect(value() == false)
        harness.move(metres: 3)
        harness.now += 60_000
        harness.move(metres: 900)
        #expect(value() == true)
        harness.restart(killed: true)
        harness.advance(milliseconds: 100)
        #expect(value() == true)
        _ = harness.request("device/forget", #"{"id":"phone"}"#, client: "admin")
        #expect(harness.store.placeVisits.isEmpty)
        harness.move(metres: 900)
        #expect(value() == false)
        harness.restart(killed: true)
        #expect(value() == false)
    }

    @Test(
        "What is wrong is refused with its field and place",
        arguments: [
            ("circumstance/register", #"{"expression":"true"}"#, "invalid id"),
            ("circumstance/register", #"{"id":"a"}"#, "invalid expression"),
            ("circumstance/register", #"{"id":"a","expression":"(at"}"#, "invalid expression"),
            ("circumstance/register", #"{"id":"a","expression":"true","when":"leaving"}"#, "invalid when"),
            ("circumstance/register", #"{"id":"a","expression":"true","nearRadius":9}"#, "invalid nearRadius"),
            ("circumstance/register", #"{"id":"a","expression":"true","exitMargin":-1}"#, "invalid exitMargin"),
            ("circumstance/register", #"{"id":"a","expression":"true","tags":[1]}"#, "invalid tags"),
            ("circumstance/register", #"{"id":"a","expression":"true","devices":[""]}"#, "invalid devices"),
            ("circumstance/enable", #"{"id":"x"}"#, "notFound id"),
            ("circumstance/evaluate", #"{"id":"x","deviceId":"phone"}"#, "notFound id"),
            ("circumstance/evaluateAll", #"{"deviceId":"x"}"#, "notFound deviceId"),
        ])
    func refused(_ row: (name: String, payload: String, refusal: String)) {
        let harness = harness()
        harness.move(metres: 5)
        #expect(harness.refusal(row.name, row.payload) == row.refusal)
        #expect(harness.result("circumstance/list")?["circumstances"]?.elements.isEmpty == true)
    }

    @Test("An expression's error has its position and a hint, and what is not known yet is a warning")
    func hints() {
        let harness = harness()
        let error = register(harness, "a", "(at (= category_id 5))")?["error"]
        #expect(error?["position"]?.number == 7 && error?["message"]?.text?.contains("category-id") == true)
        let warned = register(harness, "a", #"(or (at (= factual-id "nowhere")) (near (any-of category-id "food" "x")))"#)?[
            "result"]
        #expect(warned?["warnings"]?.elements.count == 2 && warned?["enabled"] == true && warned?["owner"]?.text == "alice")
        #expect(warned?["nearRadius"]?.number == 250 && warned?["exitMargin"]?.number == 10)
    }

    @Test("A first registration creates its dataset, unless something is wrong with it")
    func createsDataset() {
        let harness = HubHarness()
        #expect(harness.refusal("circumstance/register", #"{"id":"a","expression":"(at"}"#) == "invalid expression")
        #expect(harness.hub.datasets.isEmpty && harness.changes.isEmpty)
        #expect(harness.result("circumstance/register", #"{"id":"a","expression":"true"}"#)?["id"]?.text == "a")
        #expect(harness.hub.datasetNames == ["d"])
        harness.restart()
        #expect(harness.result("circumstance/list")?["circumstances"]?.elements.count == 1)
    }

    @Test("Circumstances belong to who registered them, and reach own devices and those without an owner only")
    func ownership() {
        let harness = harness { $0.limits.circumstances = 2 }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"bobs","group":["staff"]}"#, client: "bob")
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"mine","group":["staff"]}"#)
        _ = register(harness, "all", "(at any-factual-place)")
        _ = register(harness, "staff", "(at any-factual-place)", #","when":"arriving","devices":["staff"]"#)
        #expect(harness.refusal("circumstance/register", #"{"id":"third","expression":"true"}"#) == "limit")
        for (name, payload) in [
            ("register", #"{"id":"all","expression":"true"}"#), ("enable", #"{"id":"all"}"#), ("disable", #"{"id":"all"}"#),
            ("unregister", #"{"id":"all"}"#), ("evaluate", #"{"id":"all","deviceId":"bobs"}"#),
        ] {
            #expect(harness.refusal("circumstance/\(name)", payload, client: "bob") == "forbidden id")
        }
        #expect(harness.result("circumstance/list", client: "bob")?["circumstances"]?.elements.isEmpty == true)
        #expect(harness.result("circumstance/list", client: "admin")?["circumstances"]?.elements.count == 2)
        harness.published = []
        for device in ["bobs", "mine", "stray"] { harness.move(device, metres: 5) }
        let reported = incidents(harness).map { "\($0["circumstanceId"]?.text ?? "") \($0["deviceId"]?.text ?? "")" }
        #expect(reported == ["all mine", "staff mine", "all stray"])
        #expect(harness.refusal("circumstance/evaluate", #"{"id":"all","deviceId":"bobs"}"#) == "forbidden deviceId")
        _ = harness.request("device/update", #"{"id":"mine","group":[]}"#)
        harness.move("mine", metres: 500)
        harness.published = []
        harness.move("mine", metres: 5)
        #expect(incidents(harness).map { $0["circumstanceId"]?.text } == ["all"])
    }

    @Test("Asked for, a circumstance has a value, its places, and where wanted a trace")
    func evaluation() {
        let harness = harness()
        harness.move("here", metres: 5)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"lost"}"#)
        _ = register(harness, "near", #"(near (= category-id "cafe"))"#, "")
        _ = register(harness, "open", "(at is-open)", "")
        _ = register(harness, "reported", "true")
        func value(_ id: String, _ device: String, _ more: String = "") -> JSONValue? {
            harness.result("circumstance/evaluate", #"{"id":"\#(id)","deviceId":"\#(device)"\#(more)}"#)
        }
        #expect(value("near", "here")?["value"] == true && value("near", "lost")?["value"] == JSONValue.null)
        #expect(value("near", "here")?["nearPlaces"]?.elements.map { $0["id"]?.text } == ["bar"])
        #expect(value("open", "here")?["value"] == false)
        let trace = value("open", "here", #","debug":true"#)?["trace"]?.elements
        #expect(trace?.first?["value"] == false && trace?.count == 2 && trace?.last?["depth"]?.number == 1)
        let all = harness.result("circumstance/evaluateAll", #"{"deviceId":"here"}"#)?["results"]?.elements
        #expect(all?.map { $0["id"]?.text } == ["near", "open"] && all?.map { $0["value"] } == [true, false])
    }

    @Test("Debugged, a message has the trace of its expression")
    func trace() {
        let harness = harness()
        harness.move(metres: 5)
        _ = register(harness, "a", #"(and (at (= chain-id "Q1")) true)"#, #","when":"arriving","debug":true"#)
        let trace = incidents(harness).first?["trace"]?.elements
        #expect(trace?.first?["value"] == true && (trace?.count ?? 0) >= 3)
    }

    @Test("Without a position nothing fires, and unknown keeps what was")
    func unknown() {
        let harness = harness()
        _ = register(harness, "out", "(at any-factual-place)", #","when":"departing""#)
        harness.move(metres: 5)
        harness.published = []
        harness.send("d/-/-/-/-/phone/position", "")
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 500)
        #expect(ids(harness) == ["out"])
    }

    @Test(
        "A place that is deleted and imported again fires nothing: departing fired while the value was null, and arriving again",
        arguments: [false, true])
    func importedAgain(restarts: Bool) {
        let harness = harness()
        let place =
            #"{"id":"c1","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{"categoryIds":["k"],"chainId":"q"}}"#
        let collection = #"{"places":{"type":"FeatureCollection","features":[\#(place)]}}"#
        _ = harness.result("place/import", collection)
        harness.move(metres: 2000)
        let expressions = [#"(at (= factual-id "c1"))"#, #"(near (= category-id "k"))"#, #"(near (= chain-id "q"))"#]
        for (number, text) in expressions.enumerated() {
            for when in ["arriving", "departing"] {
                _ = register(harness, "\(when)\(number)", text, #","when":"\#(when)""#)
            }
        }
        harness.published = []
        harness.move(metres: 5)
        #expect(Set(ids(harness)) == ["arriving0", "arriving1", "arriving2"])
        for message in harness.published where message.topic.contains("/circumstance/") { harness.acknowledge(message.token) }
        harness.published = []
        harness.send("geomatch/d/alice/request/place/delete", #"{"id":"c1"}"#)
        harness.advance(milliseconds: 200)
        #expect(incidents(harness).isEmpty)
        if restarts { harness.restart() }
        harness.advance(milliseconds: 200)
        #expect(incidents(harness).isEmpty)
        for number in expressions.indices {
            let answer = harness.result("circumstance/evaluate", #"{"id":"departing\#(number)","deviceId":"phone"}"#)
            #expect(answer?["value"] == .null)
        }
        harness.published = []
        harness.send("geomatch/d/alice/request/place/import", collection)
        harness.advance(milliseconds: 200)
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 5000)
        harness.advance(milliseconds: 200)
        #expect(Set(ids(harness)) == ["departing0", "departing1", "departing2"])
    }

    @Test("A backlog of a walk does not dwell: arriving fired with its first fix, and it never departed")
    func backlog() {
        let harness = harness()
        _ = register(harness, "in", "(dwelling 300)")
        _ = register(harness, "out", "(dwelling 300)", #","when":"departing""#)
        harness.published = []
        for step in 0..<6 {
            let timestamp = harness.now - 3_600_000 + Int64(step) * 10_000
            harness.move(metres: Double(step) * 60, extra: #","timestamp":\#(timestamp)"#)
        }
        harness.advance(milliseconds: 200)
        #expect(incidents(harness).isEmpty)
        harness.restart()
        harness.advance(milliseconds: 200)
        #expect(incidents(harness).isEmpty)
        harness.advance(milliseconds: 301_000, step: 1000)
        #expect(ids(harness) == ["in"])
    }

    // MARK: Durability

    @Test(
        "A restart invents nothing and loses nothing: what is undelivered comes again, under the same id",
        arguments: [true, false])
    func restart(killed: Bool) {
        let harness = harness()
        _ = register(harness, "in", "(at any-factual-place)")
        _ = register(harness, "out", "(at any-factual-place)", #","when":"departing""#)
        _ = register(harness, "off", "true")
        _ = harness.request("circumstance/disable", #"{"id":"off"}"#)
        harness.move(metres: 5)
        let sent = incidents(harness)
        #expect(sent.count == 1)
        let list = harness.result("circumstance/list")
        harness.restart(killed: killed)
        #expect(incidents(harness).map { $0["incidentId"] } == sent.map { $0["incidentId"] })
        harness.acknowledge(harness.published.first { $0.topic.contains("/circumstance/") }?.token ?? 0)
        harness.advance(milliseconds: 1000)
        #expect(incidents(harness).count == 1 && harness.store.incidents.isEmpty)
        #expect(harness.result("circumstance/list") == list)
        harness.restart(killed: killed)
        harness.move(metres: 5)
        harness.advance(milliseconds: 1000)
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 500)
        #expect(ids(harness) == ["out"])
    }

    @Test("What time did while the daemon was away is reported when it is back")
    func away() {
        let harness = harness()
        harness.now = Self.noon - 4 * 3_600_000
        harness.move(metres: 5)
        _ = register(harness, "open", "(at is-open)")
        harness.advance(milliseconds: 1000)
        harness.now = Self.noon
        harness.restart()
        harness.advance(milliseconds: 200)
        #expect(ids(harness) == ["open"])
    }

    @Test("Deleted devices and datasets take what was theirs along")
    func deletion() {
        let harness = harness()
        _ = register(harness, "in", #"(and (at any-factual-place) (or true (visited any-factual-place)))"#)
        harness.move(metres: 5)
        #expect(harness.store.held.count == 1 && harness.store.placeVisits.count == 1)
        _ = harness.request("device/delete", #"{"id":"phone"}"#, client: "admin")
        #expect(harness.store.held.isEmpty && harness.store.placeVisits.isEmpty)
        harness.published = []
        harness.move(metres: 5)
        #expect(ids(harness) == ["in"])
        _ = harness.request("dataset/delete", client: "admin")
        harness.restart()
        #expect(incidents(harness).isEmpty)
        _ = harness.request("dataset/create", client: "admin")
        #expect(harness.result("circumstance/list")?["circumstances"]?.elements.isEmpty == true)
    }

    @Test(
        "A store that refuses changes nothing of circumstances",
        arguments: [
            ("circumstance/register", #"{"id":"new","expression":"(at any-factual-place)","when":"arriving"}"#),
            ("circumstance/register", #"{"id":"in","expression":"true","when":"arriving"}"#),
            ("circumstance/disable", #"{"id":"in"}"#), ("circumstance/unregister", #"{"id":"in"}"#),
            ("circumstance/enable", #"{"id":"off"}"#),
            ("place/delete", #"{"id":"bar"}"#), ("device/update", #"{"id":"phone","location":{"lat":10,"lon":10}}"#),
        ])
    func refusedByStore(_ row: (name: String, payload: String)) {
        let harness = harness()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = register(harness, "in", "(at any-factual-place)")
        _ = register(harness, "out", "(at any-factual-place)", #","when":"departing""#)
        _ = register(harness, "off", "(at any-factual-place)")
        _ = harness.request("circumstance/disable", #"{"id":"off"}"#)
        harness.move(metres: 5)
        let before = harness.result("circumstance/list")
        harness.isDiskFull = true
        harness.published = []
        #expect(harness.refusal(row.name, row.payload) == "internal")
        #expect(incidents(harness).isEmpty)
        #expect(harness.result("circumstance/list") == before)
        harness.heal()
        harness.advance(milliseconds: 300)
        #expect(incidents(harness).isEmpty)
        harness.move(metres: 500)
        #expect(ids(harness) == ["out"])
        harness.published = []
        harness.move(metres: 5)
        #expect(ids(harness) == ["in"])
    }

    @Test("A place with a time zone alone has no opening hours")
    func onlyZone() {
        let harness = harness()
        _ = harness.result(
            "place/import",
            #"""
            {"places":{"type":"FeatureCollection","features":[
            {"id":"zone","geometry":{"type":"Point","coordinates":[7.42,43.77]},"properties":{"timeZone":"Europe/Monaco"}}]}}
            """#)
        harness.move(metres: 4444)
        _ = register(harness, "hours", "(at has-open-hours)", "")
        _ = register(harness, "open", "(at is-open)", "")
        _ = register(harness, "place", #"(at (= factual-id "zone"))"#, "")
        func value(_ id: String) -> JSONValue? {
            harness.result("circumstance/evaluate", #"{"id":"\#(id)","deviceId":"phone"}"#)?["value"]
        }
        #expect(value("place") == true && value("hours") == false && value("open") == .null)
    }

    @Test("What cannot be reported because its trace is too long is reported as a failure, and not traced when asked")
    func longTrace() throws {
        let harness = harness()
        harness.move(metres: 5)
        var expression = "(any-of factual-id " + (0..<700).map { #""place-number-\#($0)""# }.joined(separator: " ") + ")"
        // Not at any of the unknown ones, and at the café.
        expression = "(or (at \(expression)) (at (= factual-id \"bar\")))"
        for _ in 0..<54 { expression = "(not \(expression))" }
        #expect(register(harness, "long", expression, #","when":"arriving","debug":true,"tags":["t"]"#)?["result"] != nil)
        let failure = try #require(incidents(harness).last)
        #expect(failure["error"]?["error"]?.text == "limit" && failure["error"]?["code"]?.number == 403)
        #expect(failure["incidentId"]?.text?.count == 36 && failure["tags"] == ["t"] && failure["deviceId"]?.text == "phone")
        #expect(failure["atPlaces"] == nil && failure["trace"] == nil)
        #expect(
            harness.request("circumstance/evaluate", #"{"id":"long","deviceId":"phone","debug":true}"#)?["error"]?.refusal
                == "limit debug")
        #expect(harness.result("circumstance/evaluate", #"{"id":"long","deviceId":"phone"}"#)?["value"] != nil)
    }

    @Test("The dataset's status and description count places and circumstances")
    func counts() {
        let harness = harness()
        _ = register(harness, "in", "true")
        let counts = harness.result("dataset/get")?["counts"]
        #expect(counts?["places"]?.number == 2 && counts?["circumstances"]?.number == 1 && counts?["categories"]?.number == 3)
        harness.advance(milliseconds: 11_000, step: 1000)
        let status = harness.retained["geomatch/d/status"].flatMap { try? JSONValue.parse($0) }
        #expect(status?["places"]?.number == 2 && status?["circumstances"]?.number == 1)
    }
}
