import Records
import Synchronization
import Testing
import Wire

@testable import Datasets

@Suite("Devices, publications and subscriptions")
struct ObjectTests {
    @Test("A device is answered with what it has")
    func device() {
        let harness = HubHarness()
        let pin = harness.result(
            "device/create",
            #"{"deviceType":"PinDevice","id":"a/b","name":"N","group":["g"],"location":{"lat":"1.5","lng":2,"alt":3}}"#)
        #expect(pin?.keys == ["id", "deviceType", "name", "group", "createdAt", "updatedAt", "owner", "revision", "location"])
        #expect(pin?["location"] == ["latitude": 1.5, "longitude": 2, "altitude": 3, "timestamp": 1_700_000_000_000])
        #expect(harness.payloads("live/d/-/-/-/-/a%2Fb/position").count == 1)
        let beacon = harness.result(
            "device/create", #"{"deviceType":"IBeaconDevice","uuid":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":65535}"#)
        #expect(beacon?["proximityUUID"]?.text == "F7826DA6-4FA2-4E98-8024-BC5B71E0893E" && beacon?["minor"]?.number == 65_535)
        #expect(beacon?["id"]?.text?.utf8.count == 36)
        let mobile = harness.result(
            "device/create", #"{"deviceType":"MobileDevice","platform":"iOS","deviceToken":"t"}"#, client: "bob")
        #expect(mobile?["platform"]?.text == "iOS" && mobile?["owner"]?.text == "bob" && mobile?["location"] == nil)
    }

    @Test("An update changes only what it names, null removes, and each has a new revision")
    func updates() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"a":1}"#, #","selector":"a = 1","matchTTL":7,"matchDTL":8,"excludeSelf":true"#)
        _ = harness.request("device/update", #"{"id":"phone","name":"n","platform":"x","group":["g"]}"#)
        harness.advance(milliseconds: 10)
        let phone = harness.result("device/update", #"{"id":"phone","platform":null}"#)
        #expect(phone?["name"]?.text == "n" && phone?["platform"] == nil && phone?["group"]?.elements.count == 1)
        #expect(phone?["updatedAt"]?.number == Double(harness.now) && phone?["createdAt"]?.number != Double(harness.now))
        let revision = phone?["revision"]?.text ?? ""
        #expect(revision.hasPrefix("3-"))
        let moved = harness.result("device/update", #"{"id":"phone","revision":"\#(revision)","location":{"lat":1,"lon":1}}"#)
        #expect(moved?["revision"]?.text?.hasPrefix("4-") == true)
        #expect(harness.refusal("device/update", #"{"id":"phone","revision":"\#(revision)"}"#) == "conflict revision")

        let publication = harness.result("publication/update", #"{"id":"p","range":60}"#)
        #expect(
            publication?["properties"] == ["a": 1] && publication?["topic"]?.text == "coffee"
                && publication?["range"]?.number == 60)
        #expect(harness.result("publication/update", #"{"id":"p","properties":null}"#)?["properties"] == [:])

        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["matchTTL"]?.number == 7)
        let subscription = harness.result(
            "subscription/update", #"{"id":"s","range":70,"selector":null,"matchTTL":null,"matchDTL":null,"excludeSelf":null}"#)
        #expect(subscription?["selector"]?.text == "" && subscription?["matchTTL"]?.number == 3600)
        #expect(subscription?["matchDTL"]?.number == 140 && subscription?["excludeSelf"] == false)
        #expect(subscription?["delivery"]?.keys == ["matched", "delivered", "retried", "expired", "dropped", "pending"])
        harness.restart()
        #expect(harness.result("subscription/get", #"{"id":"s"}"#) == subscription)
    }

    @Test("An update is evaluated at once")
    func evaluated() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"a":1}"#, #","selector":"a = 2""#)
        harness.move(metres: 150)
        #expect(harness.result("publication/update", #"{"id":"p","range":140}"#) != nil && harness.matches.isEmpty)
        #expect(harness.result("publication/update", #"{"id":"p","properties":{"a":2}}"#) != nil && harness.matches.count == 1)
        #expect(harness.result("subscription/update", #"{"id":"s","topic":"tea"}"#) != nil && harness.matches.isEmpty)
    }

    struct Deletion: CustomTestStringConvertible {
        var request: String
        var testDescription: String { request }
    }

    @Test("A deletion deletes child objects, ends matches, and is durable", arguments: [true, false])
    func deletions(_ restarts: Bool) {
        let harness = HubHarness()
        harness.makePair()
        #expect(harness.result("publication/delete", #"{"id":"p"}"#) == ["id": "p", "state": "deleted"])
        #expect(harness.refusal("publication/get", #"{"id":"p"}"#) == "notFound id")
        harness.move(metres: 1)
        #expect(harness.matches.isEmpty)
        if restarts { harness.restart(killed: true) }
        #expect(harness.result("device/delete", #"{"id":"phone"}"#) == ["id": "phone", "state": "deleted"])
        if restarts { harness.restart(killed: true) }
        for request in ["device/get", "subscription/get"] {
            #expect(harness.refusal(request, #"{"id":"\#(request == "device/get" ? "phone" : "s")"}"#) == "notFound id")
        }
        #expect(harness.refusal("match/list", #"{"deviceId":"phone"}"#) == "notFound deviceId")
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)?["location"] == nil)
    }

    @Test("Deletions and what follows them in one batch are handled in order")
    func deletionInBatch() {
        let harness = HubHarness()
        harness.makePair()
        harness.published.removeAll()
        let tree = "geomatch/d/alice/request/"
        harness.batch([
            .init(tree + "device/delete", #"{"id":"phone"}"#), .init(tree + "device/get", #"{"id":"phone"}"#),
            .init(tree + "device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#),
            .init(tree + "subscription/get", #"{"id":"s"}"#),
            .init("geomatch/d/admin/request/dataset/delete", "{}"), .init(tree + "device/list", "{}"),
        ])
        let replies = harness.published.filter { $0.topic.hasSuffix("/reply") }.compactMap(\.json)
        #expect(replies.map { $0["error"]?["error"]?.text } == [nil, "notFound", nil, "notFound", nil, "unknownDataset"])
    }

    @Test("Deleting a dataset takes everything, and its retained messages")
    func deletesDataset() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 1)
        harness.advance(milliseconds: 1100)
        #expect(harness.retained["geomatch/d/status"] != nil)
        #expect(harness.result("dataset/delete", client: "admin") == ["id": "d", "state": "deleted"])
        harness.settle()
        #expect(harness.retained.isEmpty)
        for match in harness.matches { harness.acknowledge(match.token) }
        #expect(harness.hub.liveStates.count == 0 && harness.hub.outbox.pending.isEmpty && harness.hub.outbox.inflight == 0)
        harness.advance(milliseconds: 11_000)
        #expect(harness.retained.isEmpty)
        harness.restart()
        #expect(harness.hub.datasets.isEmpty && harness.retained.isEmpty)
        #expect(harness.result("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#) != nil)
        #expect(harness.result("match/list", #"{"deviceId":"phone"}"#)?["matches"]?.elements.isEmpty == true)
    }

    @Test("The retained messages of a deleted dataset are cleared although the daemon is killed at once")
    func clearsAfterCrash() {
        let harness = HubHarness()
        harness.makePair()
        harness.advance(milliseconds: 1100)
        #expect(harness.retained.count == 2)
        _ = harness.request("dataset/delete", client: "admin")
        harness.restart(killed: true)
        #expect(harness.retained.isEmpty)
        #expect(harness.store.liveStateCount == 0)
    }

    @Test("A deleted dataset leaves memory")
    func leavesMemory() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 1)
        harness.send("d/-/-/-/-/phone/co2", #"{"co2":1}"#)
        harness.send("d/-/-/-/-/phone/co2", "")
        weak let dataset = harness.hub.datasets["d"]
        weak let device = dataset?.devices["phone"]
        #expect(dataset != nil && device != nil)
        _ = harness.request("dataset/delete", client: "admin")
        harness.settle()
        #expect(dataset == nil && device == nil)
    }

    @Test("Something lives as long as its duration, and its id is free afterwards")
    func expiry() {
        let harness = HubHarness()
        harness.makePair(#","duration":10"#, #","duration":20"#)
        harness.advance(milliseconds: 9_900)
        #expect(harness.result("publication/get", #"{"id":"p"}"#) != nil)
        // One instant later, before any timer was looked at.
        harness.now += 100
        #expect(harness.refusal("publication/get", #"{"id":"p"}"#) == "notFound id")
        harness.move(metres: 1)
        #expect(harness.matches.isEmpty)
        let again = #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":10}"#
        #expect(harness.result("publication/create", again) != nil && harness.matches.count == 1)
        harness.advance(milliseconds: 15_000)
        #expect(harness.result("subscription/list", #"{"deviceId":"phone"}"#)?["subscriptions"]?.elements.isEmpty == true)
        #expect(harness.hub.datasets["d"]?.geomatching.publications.isEmpty == true)
        harness.restart(killed: true)
        #expect(harness.result("dataset/get")?["counts"]?["subscriptions"]?.number == 0)
    }

    @Test("What is made longer lives longer, and what is made shorter than its age is over")
    func changedDuration() {
        let harness = HubHarness()
        harness.makePair(#","duration":10"#)
        _ = harness.request("publication/update", #"{"id":"p","duration":30}"#)
        harness.advance(milliseconds: 20_000)
        #expect(harness.result("publication/get", #"{"id":"p"}"#) != nil)
        _ = harness.request("publication/update", #"{"id":"p","duration":5}"#)
        #expect(harness.refusal("publication/get", #"{"id":"p"}"#) == "notFound id")
    }

    @Test("A duration of 0 is compared once, answered, and not stored", arguments: [true, false])
    func durationZero(_ isPublication: Bool) {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.request("publication/delete", #"{"id":"p"}"#)
        harness.move(metres: 10)
        if isPublication {
            let reply = harness.result(
                "publication/create", #"{"id":"z","deviceId":"pin","topic":"coffee","range":50,"duration":0}"#)
            #expect(reply?["id"]?.text == "z" && reply?["duration"]?.number == 0)
            #expect(harness.matches.count == 1)
        } else {
            _ = harness.request("publication/create", #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":9}"#)
            let reply = harness.result(
                "subscription/create", #"{"id":"z","deviceId":"phone","topic":"coffee","range":50,"duration":0}"#)
            #expect(reply?["id"]?.text == "z" && reply?["delivery"]?["matched"]?.number == 1)
            #expect(harness.matches.map(\.topic) == ["geomatch/d/alice/match/phone/z"])
        }
        let match = harness.matches.first?.json?["id"]?.text ?? ""
        #expect(harness.result("match/get", #"{"id":"\#(match)"}"#) != nil)
        #expect(harness.refusal("\(isPublication ? "publication" : "subscription")/get", #"{"id":"z"}"#) == "notFound id")
        // Two of them never meet.
        _ = harness.request("publication/delete", #"{"id":"p"}"#)
        _ = harness.request("subscription/delete", #"{"id":"s"}"#)
        harness.published.removeAll()
        let tree = "geomatch/d/alice/request/"
        harness.batch([
            .init(tree + "publication/create", #"{"deviceId":"pin","topic":"coffee","range":50,"duration":0}"#),
            .init(tree + "subscription/create", #"{"deviceId":"phone","topic":"coffee","range":50,"duration":0}"#),
        ])
        #expect(harness.matches.isEmpty && harness.published.count == 2)
    }

    @Test("A device has so many publications and as many subscriptions; those of duration 0 are not counted")
    func attachments() {
        let harness = HubHarness { $0.limits.attachmentsPerDevice = 2 }
        harness.makePair()
        for kind in ["publication", "subscription"] {
            let device = kind == "publication" ? "pin" : "phone"
            let create = { (duration: Int) in #"{"deviceId":"\#(device)","topic":"t","range":50,"duration":\#(duration)}"# }
            #expect(harness.refusal("\(kind)/create", create(9)) == nil)
            #expect(harness.refusal("\(kind)/create", create(9)) == "limit deviceId")
            #expect(harness.refusal("\(kind)/create", create(0)) == nil)
            harness.advance(milliseconds: 9_000)
            #expect(harness.refusal("\(kind)/create", create(9)) == nil)
        }
    }

    @Test("Who may do what: owners, clients of ownerless devices, administrators")
    func ownership() {
        let harness = HubHarness { $0.administrators = AccessPatterns(["root", "d/ops-*"]) }
        harness.makePair()
        harness.send("d/-/-/-/-/free/position", #"{"lat":43.73,"lon":7.42}"#)
        for client in ["bob", "carol"] {
            let create = #"{"id":"\#(client)","deviceId":"free","topic":"x","range":1,"duration":99}"#
            #expect(harness.result("publication/create", create, client: client) != nil)
            #expect(harness.result("subscription/create", create, client: client) != nil)
            let listed = harness.result("publication/list", #"{"deviceId":"free"}"#, client: client)?["publications"]?.elements
            #expect(listed?.compactMap { $0["id"]?.text } == [client])
        }
        #expect(harness.refusal("subscription/get", #"{"id":"bob"}"#, client: "carol") == "forbidden id")
        #expect(harness.result("device/list", client: "bob")?["devices"]?.elements.compactMap { $0["id"]?.text } == ["free"])
        #expect(harness.result("device/list", client: "ops-1")?["devices"]?.elements.count == 3)
        #expect(
            harness.result("publication/list", #"{"deviceId":"free"}"#, client: "ops-1")?["publications"]?.elements.count == 2)
        #expect(harness.result("subscription/update", #"{"id":"bob","range":2}"#, client: "root")?["owner"]?.text == "bob")
        #expect(harness.refusal("dataset/create", client: "ops-1", dataset: "e") == "unauthorized")
        #expect(harness.result("dataset/create", client: "root", dataset: "e") != nil)
        #expect(
            harness.result("dataset/list", client: "root")?["datasets"]?.elements.compactMap { $0["id"]?.text } == ["d", "e"])
        #expect(harness.result("dataset/list", client: "ops-1")?["datasets"]?.elements.compactMap { $0["id"]?.text } == ["d"])
    }

    @Test("What a dataset holds is shared where it changed, and listed with those that are elsewhere")
    func contentsElsewhere() throws {
        let shared = Mutex<[String: [UInt8]?]>([:])
        let owner = HubHarness { $0.noteContents = { dataset, contents in shared.withLock { $0[dataset] = .some(contents) } } }
        func sharedNow() -> [UInt8]? {
            owner.advance(milliseconds: 1100)
            defer { shared.withLock { $0 = [:] } }
            return shared.withLock { $0["d"] ?? nil }
        }
        owner.send("d/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
        let first = try #require(sharedNow())
        #expect(sharedNow() == nil)
        owner.send("d/-/-/-/-/phone/noise", #"{"loud":true}"#)
        let second = try #require(sharedNow())
        #expect(first != second)
        var record = DatasetRecord(id: "d", createdAt: 1, updatedAt: 1, revision: "1-a")
        record.name = "elsewhere"
        let asked = Mutex<[[String]]>([])
        let lister = HubHarness {
            $0.datasetsElsewhere = { [record] in [record, DatasetRecord(id: "e", createdAt: 1, updatedAt: 1, revision: "1-b")] }
            $0.contentsElsewhere = { datasets in
                asked.withLock { $0.append(datasets) }
                return ["d": second]
            }
        }
        let listed = lister.result("dataset/list", client: "admin", dataset: "none")?["datasets"]?.elements ?? []
        #expect(listed.map { $0["name"]?.text } == ["elsewhere", nil])
        let reported = owner.result("dataset/get")
        #expect(listed.first?["counts"] == reported?["counts"] && listed.first?["activeDomains"] == reported?["activeDomains"])
        #expect(reported?["counts"]?["devices"]?.number == 1 && listed.last?["counts"] == nil)
        // No more is read than a page shows.
        _ = lister.result("dataset/list", #"{"limit":1,"after":"d"}"#, client: "admin", dataset: "none")
        #expect(asked.withLock { $0 } == [["d", "e"], ["e"]])
        // As many domains as before, and others.
        owner.send("d/-/-/-/-/phone/noise", "")
        owner.send("d/-/-/-/-/phone/light", #"{"on":true}"#)
        let third = try #require(sharedNow())
        #expect(String(decoding: third, as: UTF8.self).contains("light"))
        _ = owner.request("dataset/delete", client: "admin")
        #expect(shared.withLock { $0["d"] } == .some(.none))
    }

    @Test("A match belongs to its subscription's owner, also on an ownerless device")
    func matchOwnership() {
        let harness = HubHarness()
        harness.makePair()
        harness.send("d/-/-/-/-/free/position", #"{"lat":43.73,"lon":7.42}"#)
        _ = harness.request(
            "subscription/create", #"{"id":"b","deviceId":"free","topic":"coffee","range":1,"duration":99}"#, client: "bob")
        let match = harness.matches.first
        #expect(match?.topic == "geomatch/d/bob/match/free/b")
        let id = match?.json?["id"]?.text ?? ""
        #expect(harness.refusal("match/get", #"{"id":"\#(id)"}"#) == "forbidden id")
        #expect(harness.result("match/get", #"{"id":"\#(id)"}"#, client: "bob") == match?.json)
        #expect(harness.result("match/get", #"{"id":"\#(id)"}"#, client: "admin") == match?.json)
        #expect(harness.result("match/list", #"{"deviceId":"free"}"#)?["matches"]?.elements.isEmpty == true)
        #expect(harness.result("match/list", #"{"deviceId":"free"}"#, client: "bob")?["matches"]?.elements.count == 1)
    }

    @Test("Lists come in pages in the order of bytes, below 256 KiB, with next where there is more")
    func pages() {
        let harness = HubHarness()
        let ids = ["B", "a", "a-", "b", "é", "z", "\u{1F600}"]
        for id in ids.shuffled() { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#) }
        _ = harness.result("device/list")
        _ = harness.request("device/delete", #"{"id":"b"}"#)
        _ = harness.request("device/create", #"{"deviceType":"PinDevice","id":"c","location":{"lat":1,"lon":1}}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"b"}"#)
        func all(_ request: String, _ key: String, _ parameters: String, limit: Int) -> [String] {
            var found: [String] = []
            var after = ""
            while true {
                let result = harness.result(request, "{\"limit\":\(limit)\(parameters)\(after)}")
                let page = result?[key]?.elements.compactMap { $0["id"]?.text } ?? []
                #expect(page.count <= limit)
                found += page
                guard let next = result?["next"]?.text else { return found }
                #expect(page.last == next && page.count == limit)
                after = ",\"after\":\"\(next)\""
            }
        }
        for limit in [1, 2, 3, 100, 5000] {
            #expect(all("device/list", "devices", "", limit: limit) == ["B", "a", "a-", "b", "c", "z", "é", "\u{1F600}"])
            #expect(all("device/list", "devices", #","deviceType":"PinDevice""#, limit: limit) == ["c"])
        }
        #expect(harness.result("device/list", #"{"after":"aa"}"#)?["devices"]?.elements.first?["id"]?.text == "b")
        let filler = String(repeating: "x", count: 4000)
        let properties = ["a", "b", "c", "d"].map { "\"\($0)\":\"\(filler)\"" }.joined(separator: ",")
        for number in 0..<20 {
            _ = harness.request(
                "publication/create",
                "{\"id\":\"\(number + 10)\",\"deviceId\":\"c\",\"topic\":\"t\",\"range\":1,\"duration\":99,\"properties\":{\(properties)}}"
            )
        }
        harness.published.removeAll()
        harness.send("geomatch/d/alice/request/publication/list", #"{"deviceId":"c"}"#)
        #expect(harness.published[0].payload.utf8.count < 256 << 10)
        let page = harness.takeReply()?["result"]
        let count = page?["publications"]?.elements.count ?? 0
        #expect((14...16).contains(count) && page?["next"]?.text == "\(9 + count)")
        #expect(all("publication/list", "publications", #","deviceId":"c""#, limit: 2).count == 20)
    }
}
