import Testing
import Wire

@testable import Datasets

@Suite("Matches")
struct MatchTests {
    @Test("A match has the fields of the contract, on the topic of its subscription's owner")
    func shape() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"price":3}"#)
        harness.published.removeAll()
        harness.move(metres: 80, extra: #","acc":5,"alt":7"#)
        #expect(harness.matches.map(\.topic) == ["geomatch/d/alice/match/phone/s"])
        #expect(harness.matches.first?.qos == 1 && harness.matches.first?.retain == false && harness.matches.first?.token != 0)
        let match = harness.matches.first?.json
        #expect(match?.keys == ["id", "event", "createdAt", "distance", "publication", "subscription"])
        #expect(match?["event"]?.text == "matched" && match?["createdAt"]?.number == Double(harness.now))
        #expect(abs((match?["distance"]?.number ?? 0) - 80) < 0.5)
        let publication = match?["publication"]
        let subscription = match?["subscription"]
        #expect(publication?["location"] == ["latitude": 43.73, "longitude": 7.42])
        #expect(subscription?["location"]?.keys == ["latitude", "longitude", "altitude", "horizontalAccuracy"])
        func withoutLocation(_ value: JSONValue?) -> [String] { (value?.keys ?? []).filter { $0 != "location" } }
        #expect(withoutLocation(publication) == harness.result("publication/get", #"{"id":"p"}"#)?.keys)
        #expect(
            withoutLocation(subscription)
                == harness.result("subscription/get", #"{"id":"s"}"#)?.keys.filter { $0 != "delivery" && $0 != "hints" })
        #expect(publication?["properties"] == ["price": 3])
    }

    @Test("Ids are percent-encoded in the topic of a match")
    func oddIds() {
        let harness = HubHarness()
        _ = harness.request("device/create", #"{"deviceType":"PinDevice","id":"a/+#% é","location":{"lat":1,"lon":1}}"#)
        _ = harness.request("publication/create", #"{"deviceId":"a/+#% é","topic":"t","range":1,"duration":9}"#)
        _ = harness.request("subscription/create", #"{"id":"\u0001/","deviceId":"a/+#% é","topic":"t","range":1,"duration":9}"#)
        #expect(harness.matches.map(\.topic) == ["geomatch/d/alice/match/a%2F%2B%23%25 é/%01%2F"])
    }

    struct Suppression: CustomTestStringConvertible {
        var testDescription: String
        var options: String
        /// Milliseconds to wait, then metres from the pin to move to (nil: not at all), and matches so far.
        var steps: [(wait: Int64, metres: Double?, matches: Int)]
    }

    @Test(
        "A pair matches again after matchTTL, or at matchDTL from where it matched",
        arguments: [
            Suppression(
                testDescription: "default: once", options: "", steps: [(0, 0, 1), (1000, 10, 1), (1000, 99, 1), (60_000, 0, 1)]),
            Suppression(
                testDescription: "leaving and coming back alone changes nothing", options: #","matchDTL":500"#,
                steps: [(0, 0, 1), (9, 300, 1), (9, 1, 1)]),
            Suppression(
                testDescription: "default distance: twice the range", options: "", steps: [(0, -50, 1), (9, 49.5, 1), (9, 51, 2)]),
            Suppression(
                testDescription: "distance", options: #","matchDTL":20"#,
                steps: [(0, 0, 1), (9, 19.9, 1), (9, 20.1, 2), (9, 30, 2)]),
            Suppression(
                testDescription: "far but out of range", options: #","matchDTL":20"#, steps: [(0, 0, 1), (9, 200, 1), (9, 99, 2)]),
            Suppression(
                testDescription: "time alone", options: #","matchTTL":5"#,
                steps: [(0, 0, 1), (4900, nil, 1), (200, nil, 2), (5000, nil, 3)]),
            Suppression(
                testDescription: "time, out of range", options: #","matchTTL":5"#,
                steps: [(0, 0, 1), (0, 500, 1), (9000, nil, 1), (0, 1, 2)]),
            Suppression(
                testDescription: "0: every movement", options: #","matchTTL":0"#,
                steps: [(0, 0, 1), (0, 0, 2), (0, 1, 3), (5000, nil, 3), (0, 500, 3)]),
        ], [false, true])
    func suppression(_ row: Suppression, restarts: Bool) {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair("", row.options)
        var count = 0
        for step in row.steps {
            harness.published.removeAll()
            harness.advance(milliseconds: step.wait)
            if let metres = step.metres { harness.move(metres: metres) }
            count += harness.matches.count
            #expect(count == step.matches)
            if restarts { harness.restart() }
        }
    }

    @Test("A device may match itself, unless it excludes that")
    func itself() {
        for excludes in [false, true] {
            let harness = HubHarness()
            harness.makePair()
            _ = harness.request(
                "subscription/create", #"{"deviceId":"pin","topic":"coffee","range":1,"duration":9,"excludeSelf":\#(excludes)}"#)
            #expect(harness.matches.count == (excludes ? 0 : 1))
        }
    }

    @Test("A comparison that can only be false is said once, as a hint, and is still known after a restart")
    func hints() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"price":"3"}"#, #","selector":"price < 5""#)
        harness.move(metres: 1)
        let hints = harness.result("subscription/get", #"{"id":"s"}"#)?["hints"]
        #expect(hints?.elements.count == 1)
        harness.restart(killed: true)
        #expect(harness.result("subscription/get", #"{"id":"s"}"#)?["hints"] == hints)
    }

    @Test("The newest hundred of a device are listed, oldest first, in pages")
    func list() {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair("", #","matchTTL":0"#)
        var ids: [String] = []
        for _ in 0..<130 {
            harness.published.removeAll()
            harness.move(metres: 1)
            ids += harness.matches.compactMap { $0.json?["id"]?.text }
        }
        #expect(Set(ids).count == 130)
        func list(_ parameters: String) -> (ids: [String], next: String?) {
            let result = harness.result("match/list", #"{"deviceId":"phone"\#(parameters)}"#)
            return (result?["matches"]?.elements.compactMap { $0["id"]?.text } ?? [], result?["next"]?.text)
        }
        for _ in 0..<2 {
            #expect(list("").ids == Array(ids.suffix(100)) && list("").next == nil)
            #expect(list(#","limit":2"#).ids == [ids[30], ids[31]] && list(#","limit":2"#).next == ids[31])
            #expect(list(#","after":"\#(ids[126])""#).ids == Array(ids.suffix(3)))
            #expect(list(#","after":"\#(ids[129])""#).ids == [])
            #expect(harness.refusal("match/list", #"{"deviceId":"phone","after":"\#(ids[29])"}"#) == "notFound after")
            #expect(harness.refusal("match/get", #"{"id":"\#(ids[29])"}"#) == "notFound id")
            #expect(harness.result("match/get", #"{"id":"\#(ids[30])"}"#)?["id"]?.text == ids[30])
            harness.restart(killed: true)
        }
    }

    @Test("Large matches come in pages below 256 KiB")
    func largeMatches() {
        let harness = HubHarness()
        let filler = String(repeating: "x", count: 4000)
        let properties = ["a", "b", "c", "d"].map { "\"\($0)\":\"\(filler)\"" }.joined(separator: ",")
        harness.makePair(#","properties":{\#(properties)}"#, #","matchTTL":0"#)
        for _ in 0..<20 { harness.move(metres: 1) }
        harness.published.removeAll()
        harness.send("geomatch/d/alice/request/match/list", #"{"deviceId":"phone"}"#)
        #expect((harness.published.first?.payload.utf8.count ?? 0) < 256 << 10)
        #expect(harness.takeReply()?["result"]?["matches"]?.elements.count == 15)
    }
}
