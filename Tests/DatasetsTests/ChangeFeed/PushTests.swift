import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Documents made offline")
struct PushTests {
    private func harness() -> HubHarness {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        return harness
    }

    @Test("A document is written, exists the second time, follows its parent, and is kept beside a better one")
    func states() {
        let harness = harness()
        let first = #"{"id":"n","type":"note","revision":"1-a","text":"one","nested":{"a":[1,null,"x"]}}"#
        #expect(harness.push(first) == ["written"])
        let feed = harness.feed()
        #expect(feed.count == 1 && feed[0]["doc"]?["text"]?.text == "one" && feed[0]["doc"]?["nested"]?["a"] == [1, nil, "x"])
        #expect(harness.push(first, first) == ["exists", "exists"])
        #expect(harness.feed() == feed)
        #expect(harness.push(#"{"id":"n","type":"note","revision":"2-b","parent":"1-a","text":"two"}"#) == ["written"])
        #expect(harness.push(#"{"id":"n","type":"note","revision":"2-a","parent":"1-a","text":"other"}"#) == ["conflict"])
        #expect(harness.push(first) == ["exists"])
        let row = harness.feed().last
        #expect(row?["revision"]?.text == "2-b" && row?["conflicts"] == ["2-a"] && row?["seq"]?.number == 3)
        #expect(row?["doc"] == ["id": "n", "type": "note", "revision": "2-b", "text": "two"])
        let conflicts = harness.result("changes/conflicts", #"{"type":"note","id":"n"}"#)?["conflicts"]
        #expect(conflicts == [["id": "n", "type": "note", "revision": "2-a", "text": "other"]])
        // Settled by deleting what lost.
        #expect(harness.push(#"{"id":"n","type":"note","revision":"3-x","parent":"2-a","deleted":true}"#) == ["written"])
        #expect(harness.feed().last?["revision"]?.text == "2-b" && harness.feed().last?["conflicts"] == nil)
        #expect(harness.refusal("changes/conflicts", #"{"type":"note","id":"absent"}"#) == "notFound id")
    }

    @Test("A pushed document that leaves an optional member out kept it: an `orientation`, or half of one")
    func replacement() throws {
        let harness = harness()
        harness.makePair()
        let dataset = try #require(harness.hub.datasets["d"])
        let rows: [(DocumentType, String, members: JSONObject, kept: Set<String>)] = [
            (.device, "phone", ["deviceType": "MobileDevice"], ["location"]),
            (.publication, "p", ["deviceId": "pin", "topic": "t", "range": 1, "duration": 9], []),
            // Nobody is shown a secret.
            (.subscription, "s", ["deviceId": "phone", "topic": "t", "range": 1, "duration": 9], ["secret"]),
        ]
        for (type, id, members, kept) in rows {
            let update = try dataset.replacement(type, id, members)
            let fields = try #require(RequestCatalogue.byName["\(type.rawValue)/update"]).fields.map(\.name)
            for name in fields where members[name] == nil && !kept.contains(name) && name != "id" && name != "revision" {
                #expect(update[name] == .null, "\(type.rawValue) \(name)")
            }
        }
        let turned = #"{"id":"phone","orientation":{"heading":90,"tilt":20},"ranging":{"n":3,"rssiOffset":5}}"#
        let first = harness.result("device/update", turned)?["revision"]?.text ?? ""
        let device = #"{"id":"phone","type":"device","deviceType":"MobileDevice""#
        let half = #","revision":"8-a","parent":"\#(first)","orientation":{"heading":10},"ranging":{"n":3}}"#
        #expect(harness.push(device + half) == ["written"])
        var phone = harness.result("device/get", #"{"id":"phone"}"#)
        #expect(phone?["orientation"]?["heading"]?.number == 10 && phone?["orientation"]?["tilt"]?.number == 0)
        #expect(phone?["ranging"]?["n"]?.number == 3 && phone?["ranging"]?["rssiOffset"]?.number == 0)
        #expect(harness.push(device + #","revision":"9-a","parent":"8-a"}"#) == ["written"])
        phone = harness.result("device/get", #"{"id":"phone"}"#)
        #expect(phone != nil && phone?["orientation"] == nil && phone?["ranging"] == nil)
    }

    @Test("The conflicts of a geofence were found by its path only")
    func conflictsOfGeofence() {
        let harness = harness()
        harness.fence()
        for (id, client, refusal) in [
            ("home", "alice", nil), ("alice/home", "alice", nil), ("alice/home", "admin", nil), ("home", "bob", "notFound id"),
            ("alice/home", "bob", "forbidden id"),
        ] as [(String, String, String?)] {
            let found = harness.refusal("changes/conflicts", #"{"type":"geofence","id":"\#(id)"}"#, client: client)
            #expect(found == refusal, "\(id) \(client)")
        }
    }

    @Test("What lost is read in pages that go on from where one ends, however large it is")
    func conflictPages() {
        let harness = harness()
        let pad = String(repeating: "x", count: 150 << 10)
        for hash in ["a", "b", "c", "d"] {
            #expect(harness.push(#"{"id":"n","type":"note","revision":"1-\#(hash)","pad":"\#(pad)"}"#) == ["written"])
        }
        var seen: [String] = []
        var after = ""
        repeat {
            let page = harness.result("changes/conflicts", #"{"type":"note","id":"n"\#(after)}"#)
            seen += page?["conflicts"]?.elements.compactMap { $0["revision"]?.text } ?? []
            after = page?["next"]?.text.map { #","after":"\#($0)""# } ?? ""
        } while !after.isEmpty && seen.count < 9
        #expect(seen == ["1-c", "1-b", "1-a"])
        #expect(harness.refusal("changes/conflicts", #"{"type":"note","id":"n","after":"1-z"}"#) == "notFound after")
    }

    @Test("A deletion takes effect with its parent, and loses against a live one without")
    func deletions() {
        let harness = harness()
        _ = harness.push(#"{"id":"a","type":"note","revision":"1-a"}"#, #"{"id":"b","type":"note","revision":"1-a"}"#)
        #expect(harness.push(#"{"id":"a","type":"note","revision":"2-d","parent":"1-a","deleted":true}"#) == ["written"])
        #expect(harness.push(#"{"id":"b","type":"note","revision":"2-d","deleted":true}"#) == ["conflict"])
        let feed = harness.feed()
        #expect(feed[0]["deleted"] == true && feed[0]["doc"] == nil && feed[0]["revision"]?.text == "2-d")
        #expect(feed[1]["deleted"] == nil && feed[1]["conflicts"] == nil)
        let lost = harness.result("changes/conflicts", #"{"type":"note","id":"b"}"#)?["conflicts"]
        #expect(lost == [["id": "b", "type": "note", "revision": "2-d", "deleted": true]])
        #expect(harness.push(#"{"id":"a","type":"note","revision":"3-l","parent":"2-d","text":"back"}"#) == ["written"])
        #expect(harness.feed().last?["doc"]?["text"]?.text == "back")
    }

    @Test("A pushed deletion of a geofence was answered as written, left a row without an id, and the geofence stayed")
    func geofences() {
        let harness = harness()
        let revision = harness.fence()?["revision"]?.text ?? ""
        let feed = harness.feed()
        for document in [
            #"{"id":"home","type":"geofence","revision":"9-d","parent":"\#(revision)","deleted":true}"#,
            #"{"id":"home","type":"geofence","revision":"9-e","deleted":true}"#,
            #"{"id":"none","type":"geofence","revision":"2-d","deleted":true}"#,
            #"{"id":"home","type":"geofence","revision":"9-u","parent":"\#(revision)","area":\#(HubHarness.circle())}"#,
        ] {
            #expect(harness.push(document) == ["refused unsupported type"])
        }
        for edit in [
            #""parent":"\#(revision)","deleted":true"#, #""deleted":true"#, #""parent":"\#(revision)","name":"x""#,
            #""name":"x""#,
        ] {
            let document = #"{"id":"home","type":"geofence",\#(edit)}"#
            let results = harness.result("changes/push", #"{"docs":[\#(document)],"edits":true}"#)?["results"]?.elements
            #expect(results?.first?["state"]?.text == "refused" && results?.first?["error"]?.refusal == "unsupported type")
        }
        #expect(harness.feed() == feed && harness.result("geofence/get", #"{"id":"home"}"#) != nil)
    }

    @Test(
        "A push with a document that is none is refused as a whole",
        arguments: [
            "7", "{}", #"{"id":"x","type":"note"}"#, #"{"id":"","type":"note","revision":"1-a"}"#,
            #"{"id":"-","type":"note","revision":"1-a"}"#, #"{"id":7,"type":"note","revision":"1-a"}"#,
            #"{"id":"x","revision":"1-a"}"#, #"{"id":"x","type":"note","revision":"0-a"}"#,
            #"{"id":"x","type":"note","revision":"a"}"#, #"{"id":"x","type":"note","revision":"9007199254740993-a"}"#,
            #"{"id":"x","type":"note","revision":"2-a","parent":"x"}"#,
        ])
    func malformed(_ document: String) {
        let harness = harness()
        let before = harness.feed()
        let good = #"{"id":"good","type":"note","revision":"1-a"}"#
        #expect(harness.refusal("changes/push", #"{"docs":[\#(good),\#(document)]}"#) == "invalid docs")
        #expect(harness.feed() == before)
    }

    @Test("`docs` is an array of at most a thousand")
    func counts() {
        let harness = harness()
        #expect(harness.refusal("changes/push", "{}") == "invalid docs")
        #expect(harness.refusal("changes/push", #"{"docs":{}}"#) == "invalid docs")
        #expect(harness.result("changes/push", #"{"docs":[]}"#)?["results"] == [])
        let many = (0...1000).map { #"{"id":"n\#($0)","type":"note","revision":"1-a"}"# }.joined(separator: ",")
        #expect(harness.refusal("changes/push", #"{"docs":[\#(many)]}"#) == "invalid docs")
        #expect(HubHarness().refusal("changes/push", #"{"docs":[]}"#) == "unknownDataset dataset")
    }

    @Test(
        "What is wrong with one document refuses it alone",
        arguments: [
            (#"{"id":"x","type":"note","revision":"2-a","parent":"2-b"}"#, "refused invalid parent"),
            (#"{"id":"x","type":"note","revision":"2-a","parent":"3-b"}"#, "refused invalid parent"),
            (#"{"id":"x","type":"note","revision":"2-a","parent":"2-a"}"#, "refused invalid parent"),
            (#"{"id":"x","type":"note","revision":"2-a","deleted":"yes"}"#, "refused invalid deleted"),
            (
                #"{"id":"x","type":"note","revision":"1-a","text":"\#(String(repeating: "x", count: 200_000))"}"#,
                "refused tooLarge"
            ),
            (#"{"id":"x","type":"place","revision":"1-a"}"#, "refused invalid geometry"),
            (#"{"id":"x","type":"device","revision":"1-a"}"#, "refused invalid deviceType"),
            (#"{"id":"x","type":"device","revision":"1-a","deviceType":"PinDevice"}"#, "refused invalid location"),
            (
                #"{"id":"x","type":"device","revision":"1-a","deviceType":"MobileDevice","owner":"bob"}"#,
                "refused forbidden owner"
            ),
            (
                #"{"id":"x","type":"publication","revision":"1-a","deviceId":"none","topic":"t","range":1,"duration":9}"#,
                "refused notFound deviceId"
            ),
        ])
    func refusedAlone(_ document: String, _ state: String) {
        let harness = harness()
        #expect(harness.push(#"{"id":"good","type":"note","revision":"1-a"}"#, document) == ["written", state])
        #expect(harness.feed().map { $0["id"]?.text } == ["good"])
        #expect(harness.hub.datasets["d"]?.devices.count == 0)
    }

    @Test("Documents belong to who wrote them first, also when they are deleted")
    func ownership() {
        let harness = harness()
        _ = harness.push(#"{"id":"n","type":"note","revision":"1-a"}"#)
        _ = harness.request("device/create", #"{"id":"x","deviceType":"MobileDevice"}"#)
        #expect(
            harness.push(#"{"id":"n","type":"note","revision":"2-b","parent":"1-a"}"#, client: "bob") == ["refused forbidden id"])
        let take = #"{"id":"x","type":"device","revision":"9-a","deviceType":"MobileDevice"}"#
        #expect(harness.push(take, client: "bob") == ["refused forbidden id"])
        #expect(harness.push(#"{"id":"n","type":"note","revision":"2-b","parent":"1-a"}"#, client: "admin") == ["written"])
        #expect(harness.push(#"{"id":"n","type":"note","revision":"3-c","parent":"2-b","deleted":true}"#) == ["written"])
        #expect(
            harness.push(#"{"id":"n","type":"note","revision":"4-d","parent":"3-c"}"#, client: "bob") == ["refused forbidden id"])
        #expect(harness.refusal("changes/conflicts", #"{"type":"device","id":"x"}"#, client: "bob") == "forbidden id")
        // A device of nobody is updated by anybody, and deleted by administrators.
        harness.send("d/-/-/-/-/stray/position", #"{"lat":1,"lon":1}"#)
        let revision = harness.feed().last?["revision"]?.text ?? ""
        let named =
            #"{"id":"stray","type":"device","revision":"2-n","parent":"\#(revision)","deviceType":"MobileDevice","name":"n"}"#
        #expect(harness.push(named, client: "bob") == ["written"])
        let gone = #"{"id":"stray","type":"device","revision":"3-d","parent":"2-n","deleted":true}"#
        #expect(harness.push(gone, client: "bob") == ["refused forbidden id"])
        #expect(harness.push(gone, client: "admin") == ["written"])
    }

    @Test("Objects of ours are made, changed and deleted by their documents, and match at once")
    func objects() {
        let harness = harness()
        harness.acknowledges = true
        let now = harness.now
        let states = harness.push(
            #"{"id":"p","type":"publication","revision":"1-p","deviceId":"pin","topic":"t","range":50,"duration":60,"createdAt":\#(now - 50_000)}"#,
            #"{"id":"s","type":"subscription","revision":"1-s","deviceId":"phone","topic":"t","range":50,"duration":60}"#,
            #"{"id":"pin","type":"device","revision":"1-a","deviceType":"PinDevice","location":{"lat":1,"lon":1}}"#,
            #"{"id":"phone","type":"device","revision":"1-b","deviceType":"MobileDevice","location":{"lat":1,"lon":1},"name":"n"}"#
        )
        #expect(states == ["written", "written", "written", "written"])
        #expect(harness.matches.count == 1)
        #expect(harness.result("publication/get", #"{"id":"p"}"#)?["revision"]?.text == "1-p")
        #expect(harness.feed().compactMap { $0["revision"]?.text } == ["1-a", "1-b", "1-p", "1-s"])
        // What a whole document leaves out is gone.
        let renamed = #"{"id":"phone","type":"device","revision":"2-c","parent":"1-b","deviceType":"MobileDevice"}"#
        #expect(harness.push(renamed) == ["written"])
        let phone = harness.result("device/get", #"{"id":"phone"}"#)
        #expect(phone?["name"]?.text == "" && phone?["revision"]?.text == "2-c" && phone?["owner"]?.text == "alice")
        // It lives from when it was made.
        harness.advance(milliseconds: 11_000)
        #expect(harness.refusal("publication/get", #"{"id":"p"}"#) == "notFound id")
        let over =
            #"{"id":"q","type":"publication","revision":"1-p","deviceId":"pin","topic":"t","range":50,"duration":60,"createdAt":5}"#
        #expect(harness.push(over) == ["refused invalid duration"])
        // A request goes on from there, and a push from that.
        let updated = harness.result("device/update", #"{"id":"phone","name":"m"}"#)?["revision"]?.text ?? ""
        #expect(updated.hasPrefix("3-"))
        #expect(harness.push(renamed) == ["exists"])
        #expect(
            harness.push(#"{"id":"phone","type":"device","revision":"4-d","parent":"\#(updated)","deleted":true}"#) == ["written"]
        )
        #expect(harness.refusal("device/get", #"{"id":"phone"}"#) == "notFound id")
        let gone = harness.feed().filter { $0["deleted"] == true }.compactMap { $0["id"]?.text }
        #expect(Set(gone) == ["p", "phone", "s"])
        harness.restart()
        #expect(harness.refusal("device/get", #"{"id":"phone"}"#) == "notFound id")
    }

    @Test("Places, categories and circumstances are documents as well, and what lost of them keeps its revision")
    func world() {
        let harness = harness()
        let place = #""id":"cafe","type":"place","geometry":{"type":"Point","coordinates":[7.42,43.73]},"categoryIds":["c"]"#
        let states = harness.push(
            #"{"id":"c","type":"category","revision":"1-c","name":"Cafés"}"#, #"{\#(place),"revision":"1-a","name":"A"}"#,
            #"{\#(place),"revision":"1-b","name":"B"}"#,
            #"{"id":"k","type":"circumstance","revision":"1-k","expression":"(at (= category-id \"c\"))","when":"arriving"}"#)
        #expect(states == ["written", "written", "written", "written"])
        #expect(harness.result("place/get", #"{"id":"cafe"}"#)?["name"]?.text == "B")
        let rows = harness.feed(client: "bob")
        #expect(rows.map { $0["id"]?.text } == ["c", "cafe"] && rows.last?["doc"]?["name"]?.text == "B")
        let lost = harness.result("changes/conflicts", #"{"type":"place","id":"cafe"}"#)?["conflicts"]?.elements
        #expect(lost?.map { $0["revision"]?.text } == ["1-a"] && lost?.first?["type"]?.text == "place")
        #expect(harness.push(#"{"id":"cafe","type":"place","revision":"2-d","parent":"1-b","deleted":true}"#) == ["written"])
        #expect(harness.result("place/get", #"{"id":"cafe"}"#)?["name"]?.text == "A")
        #expect(harness.result("circumstance/list")?["circumstances"]?.elements.count == 1)
        harness.restart()
        #expect(harness.feed().map(\.shown) == ["1 category c", "3 circumstance k", "4 place cafe"])
    }

    @Test("An object that lost is there again where what won is deleted, unless that cannot be")
    func resurrection() {
        let harness = harness()
        let made = #"{"id":"x","type":"device","revision":"1-a","deviceType":"MobileDevice","name":"one"}"#
        let other = #"{"id":"x","type":"device","revision":"1-b","deviceType":"MobileDevice","name":"two"}"#
        #expect(harness.push(made, other) == ["written", "written"])
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["name"]?.text == "two")
        #expect(harness.feed().last?["conflicts"] == ["1-a"])
        let conflicts = harness.result("changes/conflicts", #"{"type":"device","id":"x"}"#)?["conflicts"]?.elements
        #expect(conflicts?.first?["name"]?.text == "one")
        #expect(harness.push(#"{"id":"x","type":"device","revision":"2-d","parent":"1-b","deleted":true}"#) == ["written"])
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["name"]?.text == "one")
        #expect(harness.feed().last?["revision"]?.text == "1-a" && harness.feed().last?["conflicts"] == nil)
        harness.restart()
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["name"]?.text == "one")
        #expect(harness.feed().last?["doc"]?["name"]?.text == "one")
    }

    @Test("Too many leaves are refused; what replaces one is still taken")
    func leaves() {
        let harness = harness()
        for index in 0..<DocumentHistory.leavesMaximum {
            #expect(harness.push(#"{"id":"n","type":"note","revision":"1-\#(100 + index)"}"#) == ["written"])
        }
        #expect(harness.push(#"{"id":"n","type":"note","revision":"2-z"}"#) == ["refused limit"])
        #expect(harness.push(#"{"id":"n","type":"note","revision":"2-z","parent":"1-100"}"#) == ["written"])
        #expect(harness.feed().last?["conflicts"]?.elements.count == DocumentHistory.leavesMaximum - 1)
    }

    @Test("A dataset has so many documents at most, over restarts too; objects of ours have maxima of their own")
    func documents() {
        let harness = HubHarness {
            $0.limits.documents = 2
            $0.limits.clientShare = 100
        }
        _ = harness.request("dataset/create", client: "admin")
        func note(_ id: String, _ revision: String = "1-a") -> String {
            #"{"id":"\#(id)","type":"note","revision":"\#(revision)"}"#
        }
        #expect(harness.push(note("a"), note("b"), note("c")) == ["written", "written", "refused limit"])
        harness.restart()
        #expect(harness.push(note("c"), note("a", "2-b")) == ["refused limit", "written"])
        #expect(harness.push(#"{"id":"x","type":"device","revision":"1-a","deviceType":"MobileDevice"}"#) == ["written"])
    }

    @Test("The same documents pushed in any order and portion, by anybody and across restarts, end the same")
    func orders() {
        var random = SplitMix64.forTest()
        for round in 0..<25 {
            let documents = Self.randomDocuments(&random, count: 14)
            var outcomes: Set<String> = []
            for _ in 0..<4 {
                let harness = harness()
                var rest = documents.shuffled(using: &random)[...]
                while !rest.isEmpty {
                    let portion = rest.prefix(1 + random.below(5))
                    rest = rest.dropFirst(portion.count)
                    _ = harness.result("changes/push", #"{"docs":[\#(portion.joined(separator: ","))]}"#)
                    if random.chance(10) { harness.restart() }
                    if random.chance(20) { _ = harness.push(random.pick(documents)) }
                }
                outcomes.insert(Self.outcome(harness))
            }
            #expect(outcomes.count == 1, "round \(round): \(outcomes.sorted().joined(separator: "\n"))")
        }
    }

    private static func randomDocuments(_ random: inout SplitMix64, count: Int) -> [String] {
        var made: [(key: String, revision: String, generation: Int)] = []
        return (0..<count).map { index in
            let (type, id) = random.pick([("note", "n"), ("device", "x"), ("device", "y")])
            let generation = 1 + random.below(4)
            let revision = "\(generation)-\(random.pick(["a", "b"]))\(index)"
            let parents = made.filter { $0.key == type + id && $0.generation < generation }
            var text = #"{"id":"\#(id)","type":"\#(type)","revision":"\#(revision)","name":"\#(index)""#
            if type == "device" { text += #","deviceType":"MobileDevice","createdAt":1000,"updatedAt":\#(1000 + index)"# }
            if !parents.isEmpty, random.chance(75) { text += #","parent":"\#(random.pick(parents).revision)""# }
            if random.chance(25) { text += #","deleted":true"# }
            made.append((type + id, revision, generation))
            return text + "}"
        }
    }

    private static func outcome(_ harness: HubHarness) -> String {
        var rows: [String] = []
        for row in harness.feed() {
            var object = row.asObject ?? [:]
            object["seq"] = nil
            let conflicts = harness.result(
                "changes/conflicts", #"{"type":"\#(row["type"]?.text ?? "")","id":"\#(row["id"]?.text ?? "")"}"#)
            rows.append(
                String(decoding: JSONValue.object(object).serialised(), as: UTF8.self)
                    + String(decoding: conflicts?.serialised() ?? [], as: UTF8.self))
        }
        for id in ["x", "y"] {
            rows.append(harness.result("device/get", #"{"id":"\#(id)"}"#)?["name"]?.text ?? "no \(id)")
        }
        return rows.sorted().joined(separator: "\n")
    }

    @Test("A push that the store refuses leaves everything as it was")
    func refusedByStore() {
        let harness = harness()
        _ = harness.push(#"{"id":"x","type":"device","revision":"1-a","deviceType":"MobileDevice","name":"one"}"#)
        let before = harness.feed()
        harness.isDiskFull = true
        let push =
            #"{"docs":[{"id":"x","type":"device","revision":"2-b","parent":"1-a","deviceType":"MobileDevice","name":"two"}]}"#
        #expect(harness.refusal("changes/push", push) == "internal")
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["name"]?.text == "one")
        #expect(harness.feed() == before)
        harness.heal()
        #expect(harness.result("changes/push", push)?["results"]?.elements.first?["state"]?.text == "written")
        #expect(harness.result("device/get", #"{"id":"x"}"#)?["name"]?.text == "two")
    }

    @Test("The same requestId gets the first reply, and random bytes never trap")
    func repeatedAndRandom() {
        let harness = harness()
        let push = #"{"requestId":"r","docs":[{"id":"n","type":"note","revision":"1-a"}]}"#
        let first = harness.request("changes/push", push)
        #expect(first != nil && harness.request("changes/push", push) == first)
        var random = SplitMix64.forTest()
        let values = ["1-a", "\"x\"", "null", "[]", "{}", "true", "1e300", "\"note\"", "\"device\"", "\"1-a\"", "\"2-b\"", "-1"]
        let keys = [
            "id", "type", "revision", "parent", "deleted", "deviceType", "duration", "createdAt", "owner", "location", "name",
        ]
        var replies = 0
        for _ in 0..<1500 {
            var members: [String] = []
            for key in keys where random.chance(60) { members.append(#""\#(key)":\#(random.pick(values))"#) }
            if harness.request("changes/push", #"{"docs":[{\#(members.joined(separator: ","))}]}"#) != nil { replies += 1 }
        }
        #expect(replies == 1500)
    }
}
