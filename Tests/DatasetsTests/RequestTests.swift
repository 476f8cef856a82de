import Testing
import Wire

@testable import Datasets

@Suite("Requests and replies")
struct RequestTests {
    struct Row: CustomTestStringConvertible {
        var client: String
        var request: String
        var payload: String
        var code: Double
        var refusal: String
        var position: Double?
        var testDescription: String { "\(client) \(request) \(payload.prefix(60))" }

        init(
            _ request: String, _ payload: String, _ code: Double, _ refusal: String, position: Double? = nil,
            client: String = "alice"
        ) {
            (self.request, self.payload, self.code, self.refusal, self.position, self.client) =
                (request, payload, code, refusal, position, client)
        }
    }

    @Test("An answer to a mistyped id names the one that may be meant, of those that the client may read")
    func nearID() {
        let harness = HubHarness()
        func make(_ id: String, client: String = "alice") {
            _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#, client: client)
        }
        make("phone-ann")
        make("phone-bob", client: "bob")
        harness.send("d/-/-/-/-/tracker-1/position", #"{"lat":43.73,"lon":7.42}"#)
        _ = harness.request(
            "publication/create", #"{"id":"offer","deviceId":"phone-ann","topic":"t","range":1,"duration":9}"#)
        _ = harness.request("geofence/create", #"{"id":"garden","area":{"around":"phone-ann","radius":9}}"#)
        _ = harness.request("circumstance/register", #"{"id":"at-home","expression":"true"}"#)
        _ = harness.request("live/subscribe", #"{"id":"all-rooms","criteria":{}}"#)
        let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        _ = harness.request("beacon/monitor", #"{"id":"gallery","proximityUUID":"\#(uuid)"}"#)
        let feature = #"{"type":"Feature","id":"park","geometry":{"type":"Point","coordinates":[7,43]},"properties":{}}"#
        _ = harness.request("place/import", #"{"places":{"type":"FeatureCollection","features":[\#(feature)]}}"#)
        func message(_ name: String, _ id: String, key: String = "id", client: String = "alice") -> String? {
            harness.request(name, #"{"\#(key)":"\#(id)"}"#, client: client)?["error"]?["message"]?.text
        }
        func meant(_ name: String, _ id: String, key: String = "id", client: String = "alice") -> String? {
            let parts = message(name, id, key: key, client: client)?.split(separator: "; did you mean `")
            return parts?.count == 2 ? parts.map { String($0[1].dropLast(2)) } : nil
        }
        #expect(message("device/get", "phone-amn") == "there is no device `phone-amn`; did you mean `phone-ann`?")
        #expect(meant("publication/list", "phone-amn", key: "deviceId") == "phone-ann")
        #expect(meant("device/get", "tracker-2", client: "eve") == "tracker-1")
        #expect(meant("publication/get", "ofer") == "offer")
        #expect(meant("geofence/get", "gardne") == "garden")
        #expect(meant("circumstance/enable", "at-hme") == "at-home")
        #expect(meant("live/renew", "all-room") == "all-rooms")
        #expect(meant("beacon/unmonitor", "galery") == "gallery")
        #expect(meant("place/get", "prak", client: "eve") == "park")
        // Another client's own is not named to it, but to an administrator.
        #expect(message("device/get", "phone-bb") == "there is no device `phone-bb`")
        #expect(meant("device/get", "phone-bb", client: "admin") == "phone-bob")
        #expect(message("publication/get", "ofer", client: "bob") == "there is no publication `ofer`")
        #expect(meant("geofence/get", "gardne", client: "bob") == nil && meant("live/renew", "all-room", client: "bob") == nil)
        #expect(meant("circumstance/enable", "at-hme", client: "bob") == nil)
        #expect(meant("beacon/unmonitor", "galery", client: "bob") == nil)
        #expect(message("device/get", "something") == "there is no device `something`")
        let area = harness.request("geofence/create", #"{"area":{"around":"phone-amn","radius":9}}"#)?["error"]
        #expect(area?["message"]?.text == "there is no device `phone-amn`; did you mean `phone-ann`?")
        #expect(area?.refusal == "notFound area.around")
        // Many at once are not worth as many looks.
        let items = harness.request(
            "publication/create", #"{"items":[{"deviceId":"phone-amn","topic":"t","range":1,"duration":9}]}"#)
        #expect(
            items?["result"]?["items"]?.elements.first?["error"]?["message"]?.text == "there is no device `phone-amn`")
    }

    @Test("In a large dataset nothing is looked for")
    func nearIDAmongMany() {
        let harness = HubHarness()
        for first in [0, 1000, 2000] {
            let items = (first..<first + 1000).map { #"{"deviceType":"MobileDevice","id":"device-\#($0)"}"# }
            _ = harness.request("device/create", #"{"items":[\#(items.joined(separator: ","))]}"#)
        }
        let reply = harness.request("device/get", #"{"id":"devcie-7"}"#)
        #expect(reply?["error"]?["message"]?.text == "there is no device `devcie-7`")
    }

    static let phone = #""deviceId":"phone","topic":"t","range":1,"duration":9"#

    @Test(
        "Each error has its name, code, field and position",
        arguments: [
            Row("device/list", "rubbish", 400, "invalid"), Row("device/list", "", 400, "invalid"),
            Row("device/list", "[]", 400, "invalid"),
            Row("device/list", "7", 400, "invalid"), Row("device/list", "null", 400, "invalid"),
            Row("device/list", #"{"requestId":7}"#, 400, "invalid requestId"),
            Row("device/list", "{\"requestId\":\"" + String(repeating: "é", count: 65) + "\"}", 400, "invalid requestId"),
            Row("device/list", "{\"x\":\"" + String(repeating: "x", count: 262_144) + "\"}", 413, "tooLarge"),
            Row("", "{}", 404, "notFound request"), Row("device", "{}", 404, "notFound request"),
            Row("device/frobnicate", "{}", 404, "notFound request"), Row("device/list/", "{}", 404, "notFound request"),
            Row("a/b/c/d/e/f/g", "rubbish", 404, "notFound request"), Row("/", "{}", 404, "notFound request"),
            Row("Device/list", "{}", 404, "notFound request"),
            Row("dataset/create", "{}", 401, "unauthorized"), Row("dataset/delete", "{}", 401, "unauthorized"),
            Row("dataset/list", "{}", 401, "unauthorized"), Row("dataset/update", "{}", 401, "unauthorized"),
            Row("dataset/create", "{}", 409, "conflict", client: "admin"),
            Row("dataset/update", #"{"policy":"closed"}"#, 400, "invalid policy", client: "admin"),
            Row("dataset/update", #"{"timeZone":"in a hurry"}"#, 400, "invalid timeZone", client: "admin"),
            Row("dataset/update", #"{"domains":["",7]}"#, 400, "invalid domains", client: "admin"),
            Row("dataset/update", #"{"autoCreateDevices":1}"#, 400, "invalid autoCreateDevices", client: "admin"),
            Row("dataset/update", #"{"revision":"1-0"}"#, 409, "conflict revision", client: "admin"),
            Row("device/create", "{}", 400, "invalid deviceType"),
            Row("device/create", #"{"deviceType":"Toaster"}"#, 400, "invalid deviceType"),
            Row("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#, 409, "conflict id"),
            Row("device/create", #"{"deviceType":"MobileDevice","id":"-"}"#, 400, "invalid id"),
            Row("device/create", #"{"deviceType":"MobileDevice","id":""}"#, 400, "invalid id"),
            Row("device/create", #"{"deviceType":"MobileDevice","id":7}"#, 400, "invalid id"),
            Row(
                "device/create", "{\"deviceType\":\"MobileDevice\",\"id\":\"" + String(repeating: "é", count: 65) + "\"}", 400,
                "invalid id"),
            Row("device/create", #"{"deviceType":"PinDevice"}"#, 400, "invalid location"),
            Row("device/create", #"{"deviceType":"PinDevice","location":{}}"#, 400, "invalid location.latitude"),
            Row("device/create", #"{"deviceType":"PinDevice","location":{"lat":91,"lon":0}}"#, 400, "invalid location.lat"),
            Row("device/create", #"{"deviceType":"PinDevice","location":"here"}"#, 400, "invalid location"),
            Row("device/create", #"{"deviceType":"MobileDevice","group":["a b"]}"#, 400, "invalid group"),
            Row("device/create", #"{"deviceType":"MobileDevice","group":["aaaaaaaaaaaaaaaaaaaaaaaaaa"]}"#, 400, "invalid group"),
            Row(
                "device/create",
                "{\"deviceType\":\"MobileDevice\",\"group\":[" + Array(repeating: "\"a\"", count: 26).joined(separator: ",")
                    + "]}", 400, "invalid group"),
            Row("device/create", #"{"deviceType":"IBeaconDevice"}"#, 400, "invalid proximityUUID"),
            Row(
                "device/create", #"{"deviceType":"IBeaconDevice","proximityUUID":"x","major":1,"minor":1}"#, 400,
                "invalid proximityUUID"),
            Row(
                "device/create",
                #"{"deviceType":"IBeaconDevice","proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":65536,"minor":1}"#,
                400, "invalid major"),
            Row(
                "device/create",
                #"{"deviceType":"IBeaconDevice","proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":0,"minor":-1}"#,
                400, "invalid minor"),
            Row(
                "device/create",
                #"{"deviceType":"IBeaconDevice","proximityID":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":2}"#, 409,
                "conflict proximityUUID"),
            Row(
                "device/create",
                #"{"deviceType":"IBeaconDevice","location":{"lat":1,"lon":1},"uuid":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":9}"#,
                400, "invalid location"),
            Row("device/get", "{}", 400, "invalid id"), Row("device/get", #"{"id":"nobody"}"#, 404, "notFound id"),
            Row("device/get", #"{"id":"phone"}"#, 403, "forbidden id", client: "bob"),
            Row("device/update", #"{"id":"phone"}"#, 403, "forbidden id", client: "bob"),
            Row("device/delete", #"{"id":"phone"}"#, 403, "forbidden id", client: "bob"),
            Row("device/update", #"{"id":"phone","revision":"1-0000000000000000"}"#, 409, "conflict revision"),
            Row("device/update", #"{"id":"pin","location":null}"#, 400, "invalid location"),
            Row("device/update", #"{"id":"phone","carries":{}}"#, 400, "invalid carries.proximityUUID"),
            Row("device/list", #"{"limit":0}"#, 400, "invalid limit"),
            Row("device/list", #"{"limit":"x"}"#, 400, "invalid limit"),
            Row("device/list", #"{"deviceType":"x"}"#, 400, "invalid deviceType"),
            Row("device/list", #"{"after":7}"#, 400, "invalid after"),
            Row("publication/create", #"{"deviceId":"phone","range":1,"duration":9}"#, 400, "invalid topic"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","duration":9}"#, 400, "invalid range"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","range":1}"#, 400, "invalid duration"),
            Row("publication/create", #"{"topic":"t","range":1,"duration":9}"#, 400, "invalid deviceId"),
            Row("publication/create", #"{"deviceId":"none","topic":"t","range":1,"duration":9}"#, 404, "notFound deviceId"),
            Row("publication/create", "{\(phone)}", 403, "forbidden deviceId", client: "bob"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","range":0.99,"duration":9}"#, 400, "invalid range"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","range":5000.01,"duration":9}"#, 400, "invalid range"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","range":"1","duration":9}"#, 400, "invalid range"),
            Row("publication/create", #"{"deviceId":"phone","topic":"t","range":1,"duration":-1}"#, 400, "invalid duration"),
            Row("publication/create", #"{"deviceId":"phone","topic":"","range":1,"duration":9}"#, 400, "invalid topic"),
            Row(
                "publication/create",
                "{\"deviceId\":\"phone\",\"topic\":\"" + String(repeating: "é", count: 129) + "\",\"range\":1,\"duration\":9}",
                400, "invalid topic"),
            Row("publication/create", "{\(phone),\"properties\":[]}", 400, "invalid properties"),
            Row("publication/create", "{\(phone),\"properties\":{\"a\":{}}}", 400, "invalid properties"),
            Row("publication/create", "{\(phone),\"properties\":{\"a\":[null]}}", 400, "invalid properties"),
            Row("publication/create", "{\(phone),\"properties\":{\"a\":[[1]]}}", 400, "invalid properties"),
            Row(
                "publication/create", "{\(phone),\"properties\":{" + (0..<65).map { "\"\($0)\":1" }.joined(separator: ",") + "}}",
                400, "invalid properties"),
            Row("publication/create", "{\(phone),\"id\":\"p\"}", 409, "conflict id"),
            Row("publication/get", #"{"id":"p"}"#, 403, "forbidden id", client: "bob"),
            Row("publication/get", #"{"id":"q"}"#, 404, "notFound id"), Row("publication/list", "{}", 400, "invalid deviceId"),
            Row("publication/list", #"{"deviceId":"pin"}"#, 403, "forbidden deviceId", client: "bob"),
            Row("publication/update", #"{"id":"p","deviceId":"phone"}"#, 400, "invalid deviceId"),
            Row("publication/update", #"{"id":"p","topic":null}"#, 400, "invalid topic"),
            Row("publication/update", #"{"id":"p","range":0}"#, 400, "invalid range"),
            Row("publication/update", #"{"id":"p","revision":"9-x"}"#, 409, "conflict revision"),
            Row("publication/update", #"{"id":"p"}"#, 403, "forbidden id", client: "bob"),
            Row("publication/delete", #"{"id":"p"}"#, 403, "forbidden id", client: "bob"),
            Row("publication/delete", #"{"id":"p","revision":"9-x"}"#, 409, "conflict revision"),
            Row("device/delete", #"{"id":"phone","revision":"9-x"}"#, 409, "conflict revision"),
            Row("dataset/delete", #"{"revision":"9-x"}"#, 409, "conflict revision", client: "admin"),
            Row("subscription/delete", #"{"id":"s","revision":"9-x"}"#, 409, "conflict revision"),
            Row("subscription/create", "{\(phone),\"selector\":\"a =\"}", 400, "invalid selector", position: 3),
            Row("subscription/create", "{\(phone),\"selector\":\"'é' = a = 1\"}", 400, "invalid selector", position: 8),
            Row("subscription/create", "{\(phone),\"selector\":7}", 400, "invalid selector"),
            Row(
                "subscription/create", "{\(phone),\"selector\":\"" + String(repeating: " ", count: 4097) + "\"}", 400,
                "invalid selector", position: 4096),
            Row("subscription/create", "{\(phone),\"matchTTL\":-1}", 400, "invalid matchTTL"),
            Row("subscription/create", "{\(phone),\"matchDTL\":\"x\"}", 400, "invalid matchDTL"),
            Row("subscription/create", "{\(phone),\"excludeSelf\":1}", 400, "invalid excludeSelf"),
            Row("subscription/create", "{\(phone),\"mode\":\"twice\"}", 400, "invalid mode"),
            Row("subscription/create", "{\(phone),\"floor\":true}", 400, "invalid floor"),
            Row("subscription/create", "{\(phone),\"accuracy\":\"center\"}", 400, "invalid accuracy"),
            Row("subscription/create", "{\(phone),\"exitMargin\":-0.1}", 400, "invalid exitMargin"),
            Row("subscription/create", "{\(phone),\"exitMargin\":100001}", 400, "invalid exitMargin"),
            Row("subscription/create", "{\(phone),\"dwell\":-1}", 400, "invalid dwell"),
            Row("subscription/create", "{\(phone),\"dwell\":\"5\"}", 400, "invalid dwell"),
            Row("subscription/create", "{\(phone),\"staleAfter\":0}", 400, "invalid staleAfter"),
            Row("subscription/create", "{\(phone),\"secret\":\"\"}", 400, "invalid secret"),
            Row("subscription/create", "{\(phone),\"secret\":7}", 400, "invalid secret"),
            Row("subscription/update", #"{"id":"s","staleAfter":-1}"#, 400, "invalid staleAfter"),
            Row("subscription/create", "{\(phone),\"pushers\":\"ws\"}", 400, "invalid pushers"),
            Row("subscription/create", "{\(phone),\"pushers\":[\"gopher://x\"]}", 400, "invalid pushers"),
            Row("subscription/create", "{\(phone),\"pushers\":[\"apns://x\"]}", 501, "unsupported pushers"),
            Row("subscription/create", "{\(phone),\"pushers\":[\"FCM://x\"]}", 501, "unsupported pushers"),
            Row("subscription/create", "{\(phone),\"pushers\":[7]}", 400, "invalid pushers"),
            Row(
                "subscription/create",
                "{\(phone),\"pushers\":[" + (0..<17).map { "\"mqtt:\($0)\"" }.joined(separator: ",") + "]}",
                400, "invalid pushers"),
            Row("subscription/update", #"{"id":"s","pushers":["mqtt:request"]}"#, 400, "invalid pushers"),
            Row("device/forget", "{}", 400, "invalid id"), Row("device/forget", #"{"id":"q"}"#, 404, "notFound id"),
            Row("device/forget", #"{"id":"phone"}"#, 403, "forbidden id", client: "bob"),
            Row("subscription/create", "{\(phone),\"id\":\"s\"}", 409, "conflict id"),
            Row("subscription/get", #"{"id":"s"}"#, 403, "forbidden id", client: "bob"),
            Row("subscription/update", #"{"id":"s"}"#, 403, "forbidden id", client: "bob"),
            Row("subscription/delete", #"{"id":"s"}"#, 403, "forbidden id", client: "bob"),
            Row("subscription/list", #"{"deviceId":"phone"}"#, 403, "forbidden deviceId", client: "bob"),
            Row("subscription/update", #"{"id":"s","selector":"("}"#, 400, "invalid selector", position: 1),
            Row("match/list", "{}", 400, "invalid deviceId"),
            Row("match/list", #"{"deviceId":"phone"}"#, 403, "forbidden deviceId", client: "bob"),
            Row("match/list", #"{"deviceId":"phone","after":"none"}"#, 404, "notFound after"),
            Row("match/get", #"{"id":"none"}"#, 404, "notFound id"), Row("match/get", "{}", 400, "invalid id"),
            Row("device/list", "{}", 401, "unauthorized", client: "status"),
            Row("device/list", "{}", 401, "unauthorized", client: "diagnostics"),
            Row("device/list", "rubbish", 401, "unauthorized", client: "al ice"),
            Row("device/list", "{}", 401, "unauthorized", client: ""),
            Row("device/list", "{}", 401, "unauthorized", client: "élise"),
            Row("x", "{}", 401, "unauthorized", client: String(repeating: "x", count: 65)),
        ])
    func errors(_ row: Row) {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.request(
            "device/create",
            #"{"deviceType":"IBeaconDevice","id":"beacon","proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2}"#
        )
        let before = harness.changes.count
        harness.published.removeAll()
        harness.send("geomatch/d/\(row.client)/request\(row.request.isEmpty ? "" : "/" + row.request)", row.payload)
        // Where it has not two levels it is reported on diagnostics, too.
        let replies = harness.published.filter { $0.topic != "geomatch/d/diagnostics/request" }
        #expect(replies.count == 1)
        let reply = replies.first
        #expect(reply?.topic == "geomatch/d/\(row.client)/reply" && reply?.qos == 1 && reply?.retain == false)
        let json = reply?.json
        #expect(json?["request"]?.text == row.request)
        #expect(json?["error"]?.refusal == row.refusal)
        #expect(json?["error"]?["code"]?.number == row.code)
        #expect(json?["error"]?["position"]?.number == row.position)
        #expect(json?["error"]?["message"]?.text?.isEmpty == false)
        #expect(json?["result"] == nil)
        #expect(harness.changes.count == before)
        #expect(harness.counters.requests.failed == 1)
    }

    @Test("What lies on a limit is accepted")
    func limits() {
        let harness = HubHarness()
        harness.makePair()
        let id = String(repeating: "é", count: 64)
        #expect(harness.result("device/create", "{\"deviceType\":\"MobileDevice\",\"id\":\"\(id)\"}")?["id"]?.text == id)
        let group = Array(repeating: "\"aZ0_aaaaaaaaaaaaaaaaaaaaa\"", count: 25).joined(separator: ",")
        #expect(
            harness.result("device/create", "{\"deviceType\":\"MobileDevice\",\"group\":[\(group)]}")?["group"]?.elements.count
                == 25)
        for range in ["1", "5000", "7.0"] {
            #expect(
                harness.result(
                    "publication/create", "{\"deviceId\":\"pin\",\"topic\":\"t\",\"range\":\(range),\"duration\":1e300}") != nil)
        }
        let topic = String(repeating: "é", count: 128)
        #expect(
            harness.result("publication/create", "{\"deviceId\":\"pin\",\"topic\":\"\(topic)\",\"range\":1,\"duration\":1}")
                != nil)
        let properties = (0..<64).map { "\"\($0)\":[1,\"a\",true]" }.joined(separator: ",")
        #expect(
            harness.result(
                "publication/create",
                "{\"deviceId\":\"pin\",\"topic\":\"t\",\"range\":1,\"duration\":1,\"properties\":{\(properties)}}")?[
                    "properties"]?.keys.count == 64)
        let selector = "a=1" + String(repeating: " ", count: 4093)
        #expect(
            harness.result(
                "subscription/create",
                "{\(Self.phone),\"selector\":\"\(selector)\",\"pushers\":[\"ws\",\"localhost\"],\"mode\":\"once\"}") != nil)
        let requestId = String(repeating: "é", count: 64)
        #expect(harness.request("device/list", "{\"requestId\":\"\(requestId)\"}")?["requestId"]?.text == requestId)
    }

    @Test("A parameter nobody knows is refused wherever it is, and nothing is made; a mistyped request gets its neighbour")
    func unknownParameters() {
        let harness = HubHarness()
        #expect(harness.refusal("device/create", #"{"deviceType":"MobileDevice","nmae":"x"}"#) == "invalid nmae")
        #expect(harness.hub.datasets.isEmpty)
        let made = harness.result(
            "device/create", #"{"items":[{"deviceType":"MobileDevice","id":"a"},{"deviceType":"MobileDevice","gruop":[]}]}"#)
        let second = made?["items"]?.elements[1]["error"]
        #expect(second?["field"]?.text == "gruop" && second?["message"]?.text?.hasSuffix("did you mean `group`?") == true)
        #expect(harness.refusal("device/update", #"{"id":"a","nmae":"x"}"#) == "invalid nmae")
        #expect(harness.refusal("dataset/create", #"{"polcy":"strict"}"#, client: "admin", dataset: "e") == "invalid polcy")
        #expect(harness.refusal("device/creat") == "notFound request")
        #expect(
            harness.request("device/creat")?["error"]?["message"]?.text
                == "there is no request `device/creat`; did you mean `device/create`?")
        for (asked, meant) in [
            ("venue/list", "structure/list"), ("rooms/list", "structure/list"), ("fence/create", "geofence/create"),
            ("circumstance/create", "circumstance/register"), ("rules/remove", "circumstance/unregister"),
            ("device/add", "device/create"), ("device/remove", "device/delete"), ("nothing/list", nil),
        ] {
            let message = harness.request(asked)?["error"]?["message"]?.text
            let advice = meant.map { "; did you mean `\($0)`?" } ?? ""
            #expect(message == "there is no request `\(asked)`\(advice)")
        }
    }

    @Test("Administrators list all datasets through any name in the topic")
    func listDatasets() {
        let harness = HubHarness()
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice"}"#) != nil)
        let listed = harness.result("dataset/list", client: "admin", dataset: "nowhere")
        #expect(listed?["datasets"]?.elements.map { $0["id"]?.text } == ["d"])
        #expect(harness.refusal("dataset/list", dataset: "nowhere") == "unauthorized")
        #expect(harness.hub.datasetNames == ["d"])
    }

    @Test("Administrators of one dataset list it through any name in the topic")
    func listDatasetsOfOne() {
        let harness = HubHarness {
            $0.administrators = AccessPatterns(["d/boss", "x*/ops"])
            $0.mayName = { dataset, _ in dataset == "d" }
        }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice"}"#)
        for dataset in ["d", "e", "nowhere"] {
            let listed = harness.result("dataset/list", client: "boss", dataset: dataset)
            #expect(listed?["datasets"]?.elements.map { $0["id"]?.text } == ["d"], "\(dataset)")
            #expect(harness.result("dataset/list", client: "ops", dataset: dataset)?["datasets"]?.elements.isEmpty == true)
            #expect(harness.refusal("dataset/list", dataset: dataset) == "unauthorized")
            #expect(harness.refusal("cluster/status", client: "boss", dataset: dataset) == "unauthorized")
        }
        #expect(harness.refusal("device/list", client: "boss", dataset: "e") == "unauthorized")
        #expect(harness.refusal("dataset/update", client: "ops") == "unauthorized")
    }

    @Test("What requests came to adds up to what the status counts, unknown and repeated ones included")
    func figures() {
        let harness = HubHarness()
        for _ in 0..<2 { _ = harness.request("device/create", #"{"requestId":"r","deviceType":"MobileDevice"}"#) }
        for name in ["device/get", "nope/nope", "such/nonsense"] { _ = harness.request(name, #"{"id":"none"}"#) }
        let figures = harness.hub.figures.first?.requests ?? []
        let counters = harness.counters.requests
        #expect(counters == RequestCounters(received: 5, failed: 3))
        #expect(figures.reduce(0) { $0 + $1.count } == counters.received)
        #expect(figures.filter { $0.outcome != "ok" }.reduce(0) { $0 + $1.count } == counters.failed)
        #expect(figures.map(\.request) == ["device/create", "device/get", "unknown/unknown"])
    }

    @Test("A request to an unknown dataset is refused at the client's reply topic, and only a creation creates it")
    func unknownDataset() {
        let harness = HubHarness()
        for row in RequestTable.rows
        where !row.createsDataset && !["dataset/list", "cluster/status"].contains(row.name) {
            #expect(harness.refusal(row.name, #"{"id":"x","deviceId":"x"}"#, client: "admin") == "unknownDataset dataset")
        }
        #expect(
            harness.refusal("publication/create", #"{"deviceId":"x","topic":"t","range":1,"duration":1}"#) == "notFound deviceId")
        #expect(harness.refusal("device/create", #"{"deviceType":"PinDevice"}"#) == "invalid location")
        #expect(harness.hub.datasets.isEmpty && harness.changes.isEmpty && harness.notices.isEmpty)
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice"}"#) != nil)
        #expect(harness.hub.datasetNames == ["d"] && harness.counters.requests.received == 1)
        for name in ["live", "geomatch", "a b", "-", String(repeating: "x", count: 65)] {
            #expect(
                harness.refusal("device/create", #"{"deviceType":"MobileDevice"}"#, dataset: name) == "unknownDataset dataset")
            #expect(harness.refusal("dataset/create", client: "admin", dataset: name) == "invalid dataset")
        }
        let closed = HubHarness { $0.autoCreateDatasets = false }
        #expect(closed.refusal("device/create", #"{"deviceType":"MobileDevice"}"#) == "unknownDataset dataset")
        #expect(closed.result("dataset/create", client: "admin")?["id"]?.text == "d")
    }

    @Test(
        "A first create, import or register creates its dataset, a refused one does not",
        arguments: [
            ("device/create", #"{"deviceType":"MobileDevice"}"#),
            ("place/import", #"{"places":{"type":"FeatureCollection","features":[]}}"#),
            ("category/import", #"{"categories":[]}"#),
            ("circumstance/register", #"{"id":"c","expression":"true","when":"arriving"}"#),
        ])
    func firstUse(_ request: String, _ parameters: String) {
        let harness = HubHarness()
        #expect(harness.refusal(request, "{}")?.hasPrefix("invalid ") == true)
        #expect(harness.hub.datasets.isEmpty && harness.changes.isEmpty && harness.notices.isEmpty)
        #expect(harness.result(request, parameters) != nil)
        harness.restart()
        #expect(harness.hub.datasetNames == ["d"])
    }

    @Test("A retained request is an old one and gets no answer")
    func retained() {
        let harness = HubHarness()
        harness.send("geomatch/d/alice/request/device/create", #"{"deviceType":"MobileDevice"}"#, retained: true)
        #expect(harness.published.isEmpty && harness.hub.datasets.isEmpty)
    }

    @Test(
        "What is below geomatch and no request gets no answer",
        arguments: ["geomatch", "geomatch/d/alice", "geomatch/status", "geomatch/d/alice/reply", "geomatch/d/alice/match/a/b"])
    func noRequest(_ topic: String) {
        let harness = HubHarness()
        harness.send(topic, "{}")
        #expect(harness.published.isEmpty)
    }

    struct Response: CustomTestStringConvertible {
        var asked: String
        var isHonoured: Bool
        var testDescription: String { String(asked.prefix(60)) }

        init(_ asked: String, _ isHonoured: Bool) { (self.asked, self.isHonoured) = (asked, isHonoured) }
    }

    @Test(
        "A response topic is honoured below the client's own tree, but not as a request",
        arguments: [
            Response("geomatch/d/alice/mine", true), Response("geomatch/d/alice/a/b/c", true),
            Response("geomatch/d/alice/requests", true),
            Response("geomatch/d/alice/request", false), Response("geomatch/d/alice/request/device/delete", false),
            Response("geomatch/d/alice/", false), Response("geomatch/d/alice", false), Response("geomatch/d/bob/mine", false),
            Response("geomatch/e/alice/mine", false), Response("live/d/-/-/-/-/l/co2", false), Response("", false),
            Response("geomatch/d/alice/a+b", false), Response("geomatch/d/alice/#", false),
            Response("geomatch/d/alice/a\u{0}b", false),
            Response("geomatch/d/alice/" + String(repeating: "x", count: 1024 - 17), true),
            Response("geomatch/d/alice/" + String(repeating: "x", count: 1025 - 17), false),
        ])
    func responseTopic(_ row: Response) {
        let harness = HubHarness()
        harness.send("geomatch/d/alice/request/device/list", "{}", responseTopic: row.asked, correlation: "\u{0}c")
        #expect(harness.published.map(\.topic) == [row.isHonoured ? row.asked : "geomatch/d/alice/reply"])
        #expect(harness.published.first?.correlation == [0, 0x63])
        harness.send(
            "geomatch/d/alice/request/device/create", #"{"deviceType":"MobileDevice"}"#, responseTopic: row.asked,
            correlation: "\u{0}c")
        #expect(harness.published.last?.topic == (row.isHonoured ? row.asked : "geomatch/d/alice/reply"))
        #expect(harness.published.last?.correlation == [0, 0x63])
    }

    @Test("The trees of no client are not written by a response topic", arguments: ["diagnostics", "status"])
    func responseTopicOfNoClient(_ name: String) {
        let harness = HubHarness()
        harness.send("geomatch/d/\(name)/request/device/list", "{}", responseTopic: "geomatch/d/\(name)/update")
        #expect(harness.published.map(\.topic) == ["geomatch/d/\(name)/reply"])
    }

    @Test("The requestId comes back wherever the payload is an object, also when that is too large")
    func echo() {
        let harness = HubHarness()
        let filler = String(repeating: "x", count: 300_000)
        #expect(harness.request("device/list", "{\"x\":\"\(filler)\",\"requestId\":\"r\"}")?["requestId"]?.text == "r")
        let tooMuch = String(repeating: "x", count: 1 << 20)
        let reply = harness.request("device/list", "{\"requestId\":\"r\",\"x\":\"\(tooMuch)\"}")
        #expect(reply?["error"]?.refusal == "tooLarge" && reply?["requestId"] == nil)
        #expect(harness.request("what/ever", #"{"requestId":"r"}"#)?["requestId"]?.text == "r")
        #expect(harness.request("device/list", #"{"requestId":null}"#)?.keys == ["request", "error"])
    }
}
