import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Live subscriptions")
struct LiveSubscriptionTests {
    /// What came on the topic of a live subscription, as `itemId value` with `left` behind what left.
    static func news(_ harness: HubHarness, _ id: String = "l", client: String = "alice") -> [String] {
        harness.payloads("geomatch/d/\(client)/live/\(id)").map { payload in
            let message = (try? JSONValue.parse(payload)) ?? .null
            let properties = message["properties"]?.asObject
            let value = properties?.members.first.map { String(decoding: $0.value.serialised(), as: UTF8.self) } ?? "-"
            return "\(message["itemId"]?.text ?? "?") \(value)" + (message["left"]?.asBool == true ? " left" : "")
        }
    }

    static func harness(_ adjust: (inout HubConfiguration) -> Void = { _ in }) -> HubHarness {
        let harness = HubHarness(adjust)
        for (index, room) in ["kitchen", "office", "hall"].enumerated() {
            harness.send("d/v/b/\(index % 2)/\(room)/-/temperature", #"{"temperature":\#(20 + index)}"#)
        }
        harness.send("d/v/b/0/kitchen/-/occupancy", #"{"nrOfPeople":3}"#)
        return harness
    }

    @Test("A subscription names its topic, tells how many updates are known, and sends those first")
    func subscribing() {
        let harness = Self.harness()
        let reply = harness.result("live/subscribe", #"{"criteria":"d/v/b/0/#","id":"l"}"#)
        #expect(reply?["id"]?.text == "l")
        #expect(reply?["topic"]?.text == "geomatch/d/alice/live/l")
        #expect(reply?["criteria"]?.text == "d/v/b/0/#")
        #expect(reply?["leaseUntil"]?.number == Double(harness.now + 3_600_000))
        #expect(reply?["snapshot"]?.number == 3)
        #expect(Self.news(harness) == ["kitchen 20", "hall 22", "kitchen 3"])
        harness.published.removeAll()
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":23}"#)
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":1}"#)
        #expect(Self.news(harness) == ["hall 23"])
        let message = harness.published.last { $0.topic == "geomatch/d/alice/live/l" }
        #expect(message?.payload == harness.retained["live/d/v/b/0/hall/-/temperature"])
        #expect(message?.qos == 0 && message?.retain == false)
    }

    @Test(
        "Criteria may be an object of levels or a topic, with any level open",
        arguments: [
            (#"{"room":"kitchen"}"#, "d/+/+/+/kitchen/#", 2), (#"{"domain":"Temperature"}"#, "d/+/+/+/+/+/temperature", 3),
            (#"{}"#, "d/#", 4), (#""d/#""#, "d/#", 4), (#"{"dataset":"d","floor":"1","building":null}"#, "d/+/+/1/#", 1),
            (#"{"location":"-","domainType":"occupancy"}"#, "d/+/+/+/+/-/occupancy", 1),
            (#""d/+/+/+/+/+/+""#, "d/+/+/+/+/+/+", 4), (#""d/v/b/0/kitchen//OCCUPANCY""#, "d/v/b/0/kitchen/-/occupancy", 1),
            (#"{"venue":"a/b"}"#, "d/a%2Fb/#", 0),
        ])
    func criteria(_ row: (given: String, text: String, count: Int)) {
        let reply = Self.harness().result("live/subscribe", #"{"criteria":\#(row.given)}"#)
        #expect(reply?["criteria"]?.text == row.text)
        #expect(reply?["snapshot"]?.number == Double(row.count))
    }

    @Test("A misspelt level had all levels listed instead of the one that was meant")
    func misspeltLevel() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        func message(_ level: String) -> String? {
            harness.request("live/snapshot", #"{"criteria":{"\#(level)":"x"}}"#)?["error"]?["message"]?.text
        }
        #expect(message("flor")?.hasSuffix("`criteria.flor` is no level; did you mean `criteria.floor`?") == true)
        #expect(message("zzz")?.contains("there are `criteria.dataset`, `criteria.venue`") == true)
    }

    @Test(
        "A misspelt property, a misspelt domain or a text in double quotes was silent",
        arguments: [
            ("d/#", "latitde > 1", ["`latitde` is no property of an update of a known domain; did you mean `latitude`?"]),
            ("d/#", "lat > 1", ["`lat` is no property of an update of a known domain; did you mean `latitude`?"]),
            (
                "d/+/+/+/+/+/occupancy", "nrOfPeple > capacty",
                [
                    "`nrOfPeple` is no property of an update of a known domain; did you mean `nrOfPeople`?",
                    "`capacty` is no property of an update of a known domain; did you mean `capacity`?",
                ]
            ),
            ("d/#", #"kind = "x""#, [#""x" in double quotes is the name of a property; write 'x' for a text."#]),
            ("d/+/+/+/+/+/positon", "", ["`positon` is a domain of its own; did you mean `position`?"]),
            // What is right, of a domain of the user's own, of another domain, or far from all of them.
            ("d/#", "latitude > 1 and nrOfPeople = 2 and level = 'x'", []), ("d/+/+/+/+/+/noise", "latitde > 1", []),
            ("d/+/+/+/+/+/temperature", "latitde > 1", []), ("d/+/+/+/+/+/noise", "", []),
        ] as [(String, String, [String])])
    func hints(criteria: String, condition: String, hints: [String]) {
        let harness = Self.harness()
        let parameters = String(
            decoding: JSONValue.object(["criteria": .string(criteria), "where": .string(condition)]).serialised(), as: UTF8.self)
        for request in ["live/subscribe", "live/snapshot"] {
            let result = harness.result(request, parameters)
            #expect(result?["hints"]?.elements.compactMap(\.text) ?? [] == hints)
            #expect(result?["hints"] != nil || hints.isEmpty)
        }
    }

    @Test("A domain that the dataset declares is meant, however near it is to a known one; a further page has no hints")
    func hintsOnce() {
        let harness = Self.harness()
        _ = harness.request("dataset/update", #"{"domains":["positon"]}"#, client: "admin")
        #expect(harness.result("live/snapshot", #"{"criteria":{"domain":"positon"}}"#)?["hints"] == nil)
        let question = #""criteria":"d/#","where":"temprature > 1 or temperature > 1","limit":1"#
        let first = harness.result("live/snapshot", "{\(question)}")
        #expect(first?["hints"]?.elements.count == 1)
        let next = first?["next"]?.text ?? ""
        let second = harness.result("live/snapshot", #"{\#(question),"after":"\#(next)"}"#)
        #expect(second?["updates"]?.elements.count == 1 && second?["hints"] == nil)
    }

    @Test(
        "What is wrong is refused with its field",
        arguments: [
            (#"{}"#, "invalid criteria"), (#"{"criteria":7}"#, "invalid criteria"), (#"{"criteria":"d/v"}"#, "invalid criteria"),
            (#"{"criteria":"d/v/#/b"}"#, "invalid criteria"), (#"{"criteria":"d/v+/#"}"#, "invalid criteria"),
            (#"{"criteria":"+/#"}"#, "invalid criteria"), (##"{"criteria":"#"}"##, "invalid criteria"),
            (#"{"criteria":"d/%41/#"}"#, "invalid criteria"), (#"{"criteria":"d/1/2/3/4/5/6/7"}"#, "invalid criteria"),
            (#"{"criteria":""}"#, "invalid criteria"), (#"{"criteria":{"venue":5}}"#, "invalid criteria.venue"),
            (#"{"criteria":{"vneue":"v"}}"#, "invalid criteria.vneue"), (#"{"criteria":"other/#"}"#, "forbidden criteria"),
            (#"{"criteria":{"dataset":"other"}}"#, "forbidden criteria"),
            (#"{"criteria":{"dataset":"a b"}}"#, "invalid criteria.dataset"),
            (#"{"criteria":"d/#","where":"a >"}"#, "invalid where"), (#"{"criteria":"d/#","where":7}"#, "invalid where"),
            (#"{"criteria":"d/#","within":[1]}"#, "invalid within"), (#"{"criteria":"d/#","within":{}}"#, "invalid within"),
            (#"{"criteria":"d/#","within":{"bbox":[1,2,3]}}"#, "invalid within.bbox"),
            (#"{"criteria":"d/#","within":{"bbox":[1,5,3,4]}}"#, "invalid within.bbox"),
            (#"{"criteria":"d/#","within":{"circle":{"latitude":1,"longitude":2}}}"#, "invalid within.circle.radius"),
            (
                #"{"criteria":"d/#","within":{"circle":{"latitude":91,"longitude":2,"radius":1}}}"#,
                "invalid within.circle.latitude"
            ),
            (#"{"criteria":"d/#","within":{"circle":{"latitude":1,"longitude":2,"radius":0}}}"#, "invalid within.circle.radius"),
            (#"{"criteria":"d/#","within":{"bbox":[1,2,3,4],"circle":{}}}"#, "invalid within"),
            (#"{"criteria":"d/#","within":{"type":"Point","coordinates":[1,2]}}"#, "invalid within.type"),
            (
                #"{"criteria":"d/#","within":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}}"#,
                "invalid within.coordinates"
            ),
            (
                #"{"criteria":"d/#","within":{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,1]]]}}"#,
                "invalid within.coordinates"
            ),
            (
                #"{"criteria":"d/#","within":{"type":"Polygon","coordinates":[[["0",0],[1,1],[0,1],[0,0]]]}}"#,
                "invalid within.coordinates"
            ),
            (#"{"criteria":"d/#","minInterval":-1}"#, "invalid minInterval"),
            (#"{"criteria":"d/#","minInterval":"fast"}"#, "invalid minInterval"), (#"{"criteria":"d/#","qos":2}"#, "invalid qos"),
            (#"{"criteria":"d/#","snapshot":"yes"}"#, "invalid snapshot"), (#"{"criteria":"d/#","lease":0}"#, "invalid lease"),
            (#"{"criteria":"d/#","lease":86401}"#, "limit lease"), (#"{"criteria":"d/#","id":"-"}"#, "invalid id"),
            (#"{"criteria":"d/#","id":""}"#, "invalid id"),
        ])
    func refusals(_ row: (parameters: String, refusal: String)) {
        let harness = Self.harness()
        #expect(harness.refusal("live/subscribe", row.parameters) == row.refusal)
        #expect(harness.result("live/list")?["subscriptions"]?.elements.isEmpty == true)
    }

    @Test("A mistake in `where` is reported with its position, and a huge polygon is refused")
    func conditionErrors() {
        let harness = Self.harness()
        let error = harness.request("live/subscribe", #"{"criteria":"d/#","where":"nrOfPeople > > 2"}"#)?["error"]
        #expect(error?["position"]?.number == 13)
        let positions = (0...1001).map { "[\(Double($0) / 100),\(Double($0 * $0) / 1_000_000)]" } + ["[0,0]"]
        let polygon = #"{"type":"Polygon","coordinates":[[\#(positions.joined(separator: ","))]]}"#
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#","within":\#(polygon)}"#) == "invalid within.coordinates")
    }

    @Test("Only readers see managed live data, and no request about it creates a dataset")
    func readers() {
        let readers = AccessPatterns(["alice", "other/*"])
        let harness = Self.harness { $0.reads = { readers.allow(client: $1, in: $0) ? .all : .none } }
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#"}"#, client: "bob") == "unauthorized")
        #expect(harness.refusal("live/snapshot", #"{"criteria":"d/#"}"#, client: "bob") == "unauthorized")
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#"}"#) == nil)
        for name in ["live/subscribe", "live/snapshot", "live/list", "live/renew", "live/unsubscribe"] {
            #expect(harness.refusal(name, #"{"criteria":"new/#","id":"x"}"#, dataset: "new") == "unknownDataset dataset")
        }
        #expect(harness.hub.datasetNames == ["d"])
    }

    @Test("`where` alone is a plain filter; what is cleared is reported to those who saw it")
    func plainFilter() {
        let harness = Self.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","where":"temperature > 21 OR nrOfPeople > 5","id":"l"}"#)
        #expect(Self.news(harness) == ["hall 22"])
        harness.published.removeAll()
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":19}"#)
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":25}"#)
        harness.send("d/v/b/0/kitchen/-/occupancy", "")
        harness.send("d/v/b/0/hall/-/temperature", "")
        #expect(Self.news(harness) == ["hall 25", "hall 25 left"])
    }

    @Test("An area is followed in and out")
    func within() {
        let harness = HubHarness()
        func move(_ id: String, _ latitude: Double, _ more: String = "") {
            harness.send("d/-/-/-/-/\(id)/position", #"{"latitude":\#(latitude),"longitude":0\#(more)}"#)
        }
        move("a", 0.5)
        move("b", 5)
        let count = harness.result(
            "live/subscribe", #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"where":"speed IS NULL OR speed < 9","id":"l"}"#)
        #expect(count?["snapshot"]?.number == 1)
        #expect(Self.news(harness) == ["a 0.5"])
        harness.published.removeAll()
        move("a", 0.6)
        move("a", 2)
        move("a", 3)
        move("b", 1)
        move("b", 0.9, #","speed":10"#)
        move("b", 0.8)
        harness.send("d/-/-/-/-/b/position", "")
        move("b", 0.7)
        // Moves to another topic: it leaves the one before it is on the other.
        harness.send("d/v/-/-/-/b/position", #"{"latitude":0.1,"longitude":0}"#)
        #expect(
            Self.news(harness) == [
                "a 0.6", "a 2 left", "b 1", "b 0.9 left", "b 0.8", "b 0.8 left", "b 0.7", "b 0.7 left", "b 0.1",
            ])
    }

    @Test("What is no position is where its own coordinates say, else where the device of its id is")
    func positionOfOthers() {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/pump/position", #"{"latitude":0.5,"longitude":0}"#)
        _ = harness.request(
            "live/subscribe", #"{"criteria":"d/#","within":{"circle":{"latitude":0.5,"longitude":0,"radius":9}},"id":"l"}"#)
        harness.published.removeAll()
        harness.send("d/v/-/-/-/pump/temperature", #"{"temperature":1}"#)
        harness.send("d/v/-/-/-/stranger/temperature", #"{"temperature":2}"#)
        harness.send("d/v/-/-/pump/-/temperature", #"{"temperature":3}"#)
        harness.send("d/v/-/-/-/own/noise", #"{"dB":4,"latitude":0.50001,"longitude":0}"#)
        #expect(Self.news(harness) == ["pump 1", "own 4"])
    }

    @Test("What an item sends comes into an area with the item, and leaves it with it")
    func companions() {
        let harness = HubHarness()
        func move(_ latitude: Double) { harness.send("d/-/-/-/-/pump/position", #"{"latitude":\#(latitude),"longitude":0}"#) }
        move(0.5)
        harness.send("d/v/-/-/-/pump/temperature", #"{"temperature":1}"#)
        func subscribe(_ id: String, _ domain: String) {
            _ = harness.request(
                "live/subscribe", #"{"criteria":"d/+/+/+/+/+/\#(domain)","within":{"bbox":[-1,0,1,1]},"id":"\#(id)"}"#)
        }
        func news(_ id: String) -> [String] {
            let news = Self.news(harness, id)
            harness.published.removeAll { $0.topic.hasSuffix("/live/\(id)") }
            return news
        }
        subscribe("all", "+")
        #expect(Set(news("all")) == ["pump 0.5", "pump 1"])
        subscribe("cold", "temperature")
        #expect(news("cold") == ["pump 1"])
        move(0.6)
        #expect(news("all") == ["pump 0.6"] && news("cold").isEmpty)
        move(2)
        #expect(news("all") == ["pump 2 left", "pump 1 left"] && news("cold") == ["pump 1 left"])
        harness.send("d/v/-/-/-/pump/temperature", #"{"temperature":3}"#)
        #expect(news("all").isEmpty && news("cold").isEmpty)
        move(0.7)
        #expect(news("all") == ["pump 0.7", "pump 3"] && news("cold") == ["pump 3"])
        harness.send("d/-/-/-/-/pump/position", "")
        #expect(news("all") == ["pump 0.7 left", "pump 3 left"] && news("cold") == ["pump 3 left"])
    }

    @Test("`minInterval` leaves the newest of each topic, when the interval is over")
    func interval() {
        let harness = Self.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","snapshot":false,"minInterval":1000,"id":"l"}"#)
        for value in 1...5 {
            harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":\#(value)}"#)
            harness.send("d/v/b/1/office/-/temperature", #"{"temperature":\#(value * 10)}"#)
        }
        #expect(Self.news(harness) == ["hall 1", "office 10"])
        harness.advance(milliseconds: 900)
        #expect(Self.news(harness).count == 2)
        harness.advance(milliseconds: 200)
        #expect(Self.news(harness) == ["hall 1", "office 10", "hall 5", "office 50"])
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":6}"#)
        #expect(Self.news(harness).count == 4)
        harness.advance(milliseconds: 3000)
        #expect(Self.news(harness).suffix(1) == ["hall 6"])
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":7}"#)
        #expect(Self.news(harness).suffix(1) == ["hall 7"])
        let listed = harness.result("live/list")?["subscriptions"]?.elements.first
        #expect(listed?["delivered"]?.number == 6)
        #expect(listed?["conflated"]?.number == 6)
        #expect(listed?["dropped"]?.number == 0)
    }

    @Test("What `minInterval` held back was lost when the daemon ended")
    func heldAtTheEnd() {
        let harness = Self.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","snapshot":false,"minInterval":60000,"id":"l"}"#)
        for value in 1...3 { harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":\#(value)}"#) }
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":1}"#)
        #expect(Self.news(harness) == ["hall 1", "office 1"])
        harness.core.finish()
        #expect(Self.news(harness) == ["hall 1", "office 1", "hall 3"])
    }

    @Test("With `minInterval` what came back and left again within it was left twice")
    func heldLeftTwice() {
        let harness = Self.harness()
        _ = harness.request(
            "live/subscribe",
            #"{"criteria":"d/#","snapshot":false,"minInterval":1000,"id":"l","where":"temperature < 5","within":{"bbox":[6,42,8,44]}}"#
        )
        harness.send("d/-/-/-/-/pump/position", #"{"lat":43,"lon":7}"#)
        func heat(_ value: Int) { harness.send("d/v/-/-/-/pump/temperature", #"{"temperature":\#(value)}"#) }
        heat(1)
        harness.advance(milliseconds: 1100)
        heat(9)
        #expect(Self.news(harness) == ["pump 1", "pump 9 left"])
        heat(2)
        heat(8)
        harness.advance(milliseconds: 3000)
        #expect(Self.news(harness).count == 2)
        heat(3)
        #expect(Self.news(harness).suffix(1) == ["pump 3"])
    }

    @Test("Leases end without a word, are counted in the status, and are renewed")
    func leases() {
        let harness = Self.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","lease":60,"id":"short"}"#)
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","lease":61,"id":"long"}"#)
        harness.advance(milliseconds: 50_000)
        let until = harness.result("live/renew", #"{"id":"long"}"#)?["leaseUntil"]?.number
        #expect(until == Double(harness.now + 61_000))
        harness.advance(milliseconds: 11_000)
        harness.published.removeAll()
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":7}"#)
        #expect(Self.news(harness, "short").isEmpty)
        #expect(Self.news(harness, "long") == ["hall 7"])
        #expect(harness.refusal("live/renew", #"{"id":"short"}"#) == "notFound id")
        #expect(harness.result("live/list")?["subscriptions"]?.elements.compactMap { $0["id"]?.text } == ["long"])
        harness.advance(milliseconds: 11_000)
        let status = try? JSONValue.parse(harness.retained["geomatch/d/status"] ?? "")
        #expect(status?["liveSubscriptions"]?.number == 1)
        #expect(harness.refusal("live/renew", #"{"id":"long","lease":90000}"#) == "limit lease")
    }

    @Test("An id is its client's own, and subscribing again under it replaces the former with a new snapshot")
    func identity() {
        let harness = Self.harness()
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","id":"l"}"#)
        _ = harness.request("live/subscribe", #"{"criteria":"d/v/b/1/#","id":"l"}"#, client: "bob")
        #expect(Self.news(harness, client: "bob") == ["office 21"])
        #expect(harness.refusal("live/unsubscribe", #"{"id":"l"}"#, client: "carol") == "notFound id")
        let again = harness.result("live/subscribe", #"{"criteria":"d/v/b/1/#","id":"l"}"#)
        #expect(again?["snapshot"]?.number == 1)
        #expect(Self.news(harness) == ["office 21"])
        harness.published.removeAll()
        harness.send("d/v/b/0/hall/-/temperature", #"{"temperature":7}"#)
        #expect(Self.news(harness).isEmpty)
        #expect(harness.result("live/unsubscribe", #"{"id":"l"}"#)?["state"]?.text == "deleted")
        #expect(harness.refusal("live/unsubscribe", #"{"id":"l"}"#) == "notFound id")
        harness.send("d/v/b/1/office/-/temperature", #"{"temperature":8}"#)
        #expect(Self.news(harness).isEmpty)
        #expect(Self.news(harness, client: "bob") == ["office 8"])
        let generated = harness.result("live/subscribe", #"{"criteria":"d/#","snapshot":false}"#)
        #expect(generated?["id"]?.text?.count == 36)
        #expect(generated?["snapshot"]?.number == 0)
    }

    @Test("Each client has so many live subscriptions and no more, and every request is answered")
    func limit() {
        let harness = Self.harness { $0.limits.liveSubscriptions = 50 }
        var refused = 0
        for number in 0..<200 {
            let reply = harness.request("live/subscribe", #"{"criteria":"d/#","id":"n\#(number)","snapshot":false}"#)
            #expect(reply != nil)
            if reply?["error"]?["error"]?.text == "limit" { refused += 1 }
        }
        #expect(refused == 150)
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#","id":"n7"}"#) == nil)
        #expect(harness.refusal("live/subscribe", #"{"criteria":"d/#"}"#, client: "bob") == nil)
        let page = harness.result("live/list", #"{"limit":20,"after":"n2"}"#)
        #expect(page?["subscriptions"]?.elements.count == 20)
        #expect(page?["next"]?.text == page?["subscriptions"]?.elements.last?["id"]?.text)
    }

    @Test("A snapshot is read page by page, in the order of topics")
    func snapshotPages() {
        let harness = HubHarness()
        for number in 0..<50 { harness.send("d/v/b/0/r\(number)/-/count", #"{"count":\#(number)}"#) }
        var seen: [String] = []
        var after: String?
        repeat {
            let behind = after.map { #","after":"\#($0)""# } ?? ""
            let page = harness.result(
                "live/snapshot", #"{"criteria":{"domain":"count"},"where":"count < 40","limit":7\#(behind)}"#)
            seen += page?["updates"]?.elements.compactMap { $0["topic"]?.text } ?? []
            after = page?["next"]?.text
        } while after != nil
        #expect(seen == (0..<40).map { "d/v/b/0/r\($0)/-/count" }.sorted())
        let one = harness.result("live/snapshot", #"{"criteria":"d/v/b/0/r3/-/count"}"#)?["updates"]?.elements.first
        #expect(one?["properties"]?["count"]?.number == 3)
        #expect(harness.refusal("live/snapshot", "{}") == "invalid criteria")
        #expect(harness.refusal("live/snapshot", #"{"criteria":"d/#","limit":0}"#) == "invalid limit")
    }

    @Test("Deleting the dataset ends its live subscriptions, and what stood inside an area leaves")
    func deletion() {
        let harness = HubHarness()
        harness.send("d/-/-/-/-/a/position", #"{"latitude":0.5,"longitude":0}"#)
        _ = harness.request("live/subscribe", #"{"criteria":"d/#","within":{"bbox":[-1,0,1,1]},"id":"l"}"#)
        harness.published.removeAll()
        harness.send("geomatch/d/admin/request/dataset/delete", "{}")
        #expect(Self.news(harness) == ["a 0.5 left"])
        #expect(harness.hub.liveSubscribers.all.map(\.record.id).isEmpty)
        #expect(harness.store.restored().allSatisfy { if case .put(is LiveSubscriptionRecord) = $0 { false } else { true } })
    }
}

@Suite("Live subscriptions of strict datasets")
struct StrictLiveSubscriptionTests {
    @Test(
        "What a strict dataset does not declare cannot be subscribed to",
        arguments: [
            (#""d/v/#""#, nil), (#""d/x/#""#, "notFound venue"), (#""d/v/b/#""#, "notFound building"),
            (#"{"domain":"co2"}"#, "notFound domain"), (#"{"domain":"count"}"#, nil), (#"{"room":"r"}"#, "notFound room"),
            (#"{"location":"desk"}"#, nil),
        ] as [(String, String?)])
    func declared(_ row: (criteria: String, refusal: String?)) {
        let harness = HubHarness()
        _ = harness.request("dataset/create", #"{"policy":"strict","domains":["count"]}"#, client: "admin")
        let venue = #"{"type":"Feature","geometry":null,"properties":{"level":"venue","id":"v"}}"#
        let structure = #"{"structure":{"type":"FeatureCollection","features":[\#(venue)]}}"#
        _ = harness.request("dataset/import", structure, client: "admin")
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"desk"}"#)
        #expect(harness.refusal("live/subscribe", #"{"criteria":\#(row.criteria)}"#) == row.refusal)
    }
}
