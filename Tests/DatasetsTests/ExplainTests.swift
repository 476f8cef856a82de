import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Explaining why a pair matches or not")
struct ExplainTests {
    static let names = ["topic", "lifetime", "location", "floor", "range", "selector", "suppression"]

    private func explain(
        _ harness: HubHarness, _ publication: String = "p", _ subscription: String = "s", client: String = "alice"
    ) -> JSONValue? {
        harness.result(
            "match/explain", #"{"publicationId":"\#(publication)","subscriptionId":"\#(subscription)"}"#, client: client)
    }

    private func detail(_ explanation: JSONValue?, _ check: String) -> String {
        explanation?["checks"]?.elements.first { $0["check"]?.text == check }?["detail"]?.text ?? ""
    }

    private func failing(_ explanation: JSONValue?) -> [String] {
        let checks = explanation?["checks"]?.elements ?? []
        #expect(checks.map { $0["check"]?.text } == Self.names)
        #expect(checks.allSatisfy { $0.keys == ["check", "pass", "detail"] && $0["detail"]?.text?.isEmpty == false })
        let failing = checks.filter { $0["pass"] == false }.compactMap { $0["check"]?.text }
        #expect(explanation?["matches"] == .bool(failing.isEmpty))
        return failing
    }

    struct Row: CustomTestStringConvertible {
        var publication = ""
        var subscription = ""
        /// The phone's distance from the pin; nil: it stands nowhere.
        var metres: Double? = 20
        var extra = ""
        var failing: [String]
        var check: String
        var detail: String
        var testDescription: String { "\(check): \(detail)" }
    }

    @Test(
        "Each check fails by itself and tells its figures",
        arguments: [
            Row(failing: [], check: "topic", detail: "both have the topic `coffee`"),
            Row(
                subscription: #","topic":"tea""#, failing: ["topic"], check: "topic",
                detail: "the publication's topic is `coffee`, the subscription's `tea`"),
            Row(
                failing: [], check: "lifetime",
                detail: "publication lives for another 3600 s, subscription lives for another 3600 s"),
            Row(
                metres: nil, failing: ["location", "range"], check: "location",
                detail: "the subscription's device `phone` has no known position"),
            Row(
                metres: nil, failing: ["location", "range"], check: "range",
                detail: "without both positions there is no distance"),
            Row(
                extra: #","acc":5"#, failing: [], check: "location",
                detail: "publication at 43.73, 7.42, subscription at 43.73018, 7.42 ± 5.0 m"),
            Row(failing: [], check: "floor", detail: "any floor will do"),
            Row(
                subscription: #","floor":"same""#, failing: ["floor"], check: "floor", detail: "neither floor is known"),
            Row(
                subscription: #","accuracy":"possible""#, metres: 131.2, extra: #","acc":30"#, failing: ["range"], check: "range",
                detail: "distance 131.2 m less accuracies 30.0 m (none sent + 30.0) is 101.2 m, reach 100.0 m (50.0 + 50.0)"),
            Row(
                subscription: #","accuracy":"certain""#, metres: 90, extra: #","acc":30"#, failing: ["range"], check: "range",
                detail: "distance 90.0 m plus accuracies 30.0 m (none sent + 30.0) is 120.0 m, reach 100.0 m (50.0 + 50.0)"),
            Row(
                subscription: #","mode":"visit","accuracy":"likely""#, metres: 90, extra: #","acc":30"#, failing: ["range"],
                check: "range",
                detail:
                    "distance 90.0 m plus 15.0 m for likely accuracies (none sent + 30.0) is 105.0 m, reach 100.0 m (50.0 + 50.0)"
            ),
            Row(
                subscription: #","mode":"visit","accuracy":"likely""#, metres: 1, extra: #","acc":300"#, failing: ["range"],
                check: "range",
                detail: "likely: fixes of none sent + 300.0 m decide nothing here, it takes 100.0 m or better"),
            Row(metres: 131.2, failing: ["range"], check: "range", detail: "distance 131.2 m, reach 100.0 m (50.0 + 50.0)"),
            Row(metres: 100.2, failing: ["range"], check: "range", detail: "distance 100.206 m, reach 100.000 m (50.0 + 50.0)"),
            Row(
                publication: #","range":60.5"#, metres: 99, failing: [], check: "range",
                detail: "distance 99.0 m, reach 110.5 m (60.5 + 50.0)"),
            Row(
                publication: #","properties":{"price":600}"#, subscription: #","selector":"price < 500 OR kind = 'x'""#,
                failing: ["selector"], check: "selector", detail: "kind is missing, so kind = 'x' is unknown"),
            Row(
                publication: #","properties":{"price":600}"#, subscription: #","selector":"price < 500""#, failing: ["selector"],
                check: "selector", detail: "price 600 < 500 is false"),
            Row(failing: [], check: "selector", detail: "there is no selector: all properties will do"),
            Row(
                publication: #","properties":{"a":1}"#, subscription: #","topic":"tea","selector":"a = 2""#, metres: 900,
                failing: ["topic", "range", "selector"], check: "selector", detail: "a 1 = 2 is false"),
            Row(failing: [], check: "suppression", detail: "no earlier match prevents this one"),
        ])
    func rows(_ row: Row) {
        let harness = HubHarness()
        // No match has come between: the pair comes into being where it is.
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        harness.makePair(row.publication, row.subscription + #","matchTTL":0"#)
        if let metres = row.metres { harness.move(metres: metres, extra: row.extra) }
        let explanation = explain(harness)
        #expect(failing(explanation) == row.failing)
        if row.check != "suppression" { #expect(detail(explanation, row.check) == row.detail) }
    }

    @Test("The last match prevents another until its time or its place is left")
    func suppression() {
        let harness = HubHarness()
        harness.makePair("", #","matchTTL":60,"matchDTL":30"#)
        #expect(detail(explain(harness), "suppression") == "no earlier match prevents this one")
        harness.move(metres: 10)
        harness.advance(milliseconds: 12_000)
        harness.move(metres: 22.3)
        var explanation = explain(harness)
        #expect(failing(explanation) == ["suppression"])
        #expect(
            detail(explanation, "suppression")
                == "matched 12 s ago; again in 48 s (matchTTL), or when a side is 30.0 m (matchDTL) from where it was then; so far the publication has moved 0.0 m, the subscription 12.3 m"
        )
        harness.move(metres: 45)
        explanation = explain(harness)
        #expect(failing(explanation) == ["suppression"])
        #expect(detail(explanation, "suppression").hasPrefix("matched 0 s ago; again in 60 s"))
        _ = harness.request("subscription/update", #"{"id":"s","excludeSelf":true,"matchTTL":0,"topic":"tea"}"#)
        explanation = explain(harness)
        #expect(failing(explanation) == ["topic"])
        #expect(detail(explanation, "suppression") == "matched 0 s ago; matchTTL is 0: again with every movement")
        _ = harness.request(
            "publication/create", #"{"id":"own","deviceId":"phone","topic":"tea","range":5,"duration":60}"#)
        #expect(failing(explain(harness, "own")) == ["suppression"])
        #expect(
            detail(explain(harness, "own"), "suppression") == "both belong to the same device, and excludeSelf is set")
    }

    @Test("A visit under way prevents another, and so do its dwell and a silent side")
    func visits() {
        let harness = HubHarness()
        harness.makePair("", #","mode":"visit","dwell":30,"staleAfter":60"#)
        harness.move(metres: 900)
        #expect(failing(explain(harness)) == ["range", "suppression"])
        #expect(
            detail(explain(harness), "suppression") == "no visit is running, and one begins after 30 s in range (dwell)")
        harness.move(metres: 20)
        harness.advance(milliseconds: 12_000)
        #expect(failing(explain(harness)) == ["suppression"])
        #expect(
            detail(explain(harness), "suppression") == "in range for 12 s of 30 s (dwell): a visit begins in 18 s")
        harness.advance(milliseconds: 20_000)
        #expect(harness.matches.count == 1)
        #expect(detail(explain(harness), "suppression") == "a visit has been running for 2 s")
        harness.advance(milliseconds: 28_000)
        #expect(failing(explain(harness)) == ["suppression"])
        #expect(
            detail(explain(harness), "suppression")
                == "the subscription's device has not been heard of for 60 s, staleAfter is 60 s")
        _ = harness.request("subscription/update", #"{"id":"s","staleAfter":null,"dwell":null}"#)
        #expect(detail(explain(harness), "suppression") == "a visit has been running for 0 s")
        harness.move(metres: 900)
        #expect(failing(explain(harness)) == ["range"])
        #expect(detail(explain(harness), "suppression") == "no visit is running")
    }

    @Test("Floors are compared where they are known")
    func floors() {
        let harness = HubHarness()
        harness.makePair("", #","floor":"same","matchTTL":0"#)
        func at(_ device: String, _ levels: String) {
            harness.now += 1
            harness.send("d/\(levels)/-/\(device)/position", #"{"lat":43.73,"lon":7.42}"#)
        }
        at("phone", "v/b/1")
        #expect(detail(explain(harness), "floor") == "the floor of the publication's device is not known")
        at("pin", "v/b/2")
        #expect(failing(explain(harness)) == ["floor"])
        #expect(detail(explain(harness), "floor") == "the floors are not the same")
        at("phone", "-/-/-")
        #expect(detail(explain(harness), "floor") == "the floor of the subscription's device is not known")
        at("phone", "v/b/2")
        #expect(failing(explain(harness)).isEmpty)
        #expect(detail(explain(harness), "floor") == "both are on the same floor of the same building")
    }

    @Test("What ended within a day is explained still", arguments: [false, true])
    func ended(_ deletesDevice: Bool) {
        let harness = HubHarness()
        harness.makePair(#","duration":10,"properties":{"a":1}"#, #","selector":"a = 2""#)
        harness.move(metres: 20)
        harness.advance(milliseconds: 9_000)
        #expect(
            detail(explain(harness), "lifetime") == "publication lives for another 1 s, subscription lives for another 3591 s")
        // Over, though no timer has looked.
        harness.now += 1_000
        #expect(detail(explain(harness), "lifetime") == "publication expired 0 s ago")
        harness.advance(milliseconds: 12_000)
        #expect(failing(explain(harness)) == ["lifetime", "selector"])
        #expect(detail(explain(harness), "lifetime") == "publication expired 12 s ago")
        #expect(detail(explain(harness), "selector") == "a 1 = 2 is false")
        #expect(detail(explain(harness), "range").hasPrefix("distance 20.0 m"))
        if deletesDevice {
            _ = harness.request("device/delete", #"{"id":"phone"}"#)
        } else {
            _ = harness.request("subscription/delete", #"{"id":"s"}"#)
        }
        harness.advance(milliseconds: 3_000)
        let explanation = explain(harness)
        #expect(
            failing(explanation) == (deletesDevice ? ["lifetime", "location", "range", "selector"] : ["lifetime", "selector"]))
        #expect(detail(explanation, "lifetime") == "publication expired 15 s ago, subscription was deleted 3 s ago")
        if deletesDevice { #expect(detail(explanation, "location") == "the subscription's device `phone` is gone") }
        harness.advance(milliseconds: 86_400_000 - 3_000, step: 60_000)
        #expect(
            harness.refusal("match/explain", #"{"publicationId":"p","subscriptionId":"s"}"#) == "notFound subscriptionId")
    }

    @Test("What was compared once is explained still")
    func comparedOnce() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 900)
        _ = harness.request("publication/create", #"{"id":"once","deviceId":"pin","topic":"coffee","range":9,"duration":0}"#)
        harness.advance(milliseconds: 2_000)
        let explanation = explain(harness, "once")
        #expect(failing(explanation) == ["lifetime", "range"])
        #expect(detail(explanation, "lifetime") == "publication had the duration 0 and was compared once, 2 s ago")
    }

    @Test("An id that lives again is the living one's")
    func again() {
        let harness = HubHarness()
        harness.makePair()
        harness.move(metres: 20)
        _ = harness.request("publication/delete", #"{"id":"p"}"#)
        _ = harness.request("publication/create", #"{"id":"p","deviceId":"pin","topic":"tea","range":9,"duration":60}"#)
        #expect(failing(explain(harness)) == ["topic"])
    }

    @Test("What had ended with its device showed where another client's device of that id is")
    func takenID() {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"bike"}"#)
        _ = harness.request(
            "publication/create", #"{"id":"q","deviceId":"bike","topic":"coffee","range":50,"duration":3600}"#)
        for device in ["phone", "bike"] { harness.move(device, metres: 20) }
        #expect(detail(explain(harness, "q"), "location").hasPrefix("publication at 43.73"))
        for (device, side, publication) in [("bike", "publication", "q"), ("phone", "subscription", "p")] {
            _ = harness.request("device/delete", #"{"id":"\#(device)"}"#)
            _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(device)"}"#, client: "bob")
            harness.move(device, metres: 20)
            let explanation = explain(harness, publication)
            #expect(detail(explanation, "location") == "the \(side)'s device `\(device)` is gone")
            #expect(detail(explanation, "range") == "without both positions there is no distance")
        }
    }

    @Test("Only the newest that ended are remembered, and only so much of them")
    func bounds() {
        var memory = EndedMemory<Int>()
        for index in 0..<25_000 { memory.note(index, id: "\(index % 20_000)", bytes: 100, at: Int64(index)) }
        #expect(memory.count == EndedMemory<Int>.countMaximum)
        #expect(memory["4999"]?.record == 24_999 && memory["14999"] == nil && memory["15000"]?.record == 15_000)
        memory.note(-1, id: "large", bytes: EndedMemory<Int>.bytesMaximum - 200, at: 25_000)
        #expect(memory.count == 3)
        memory.expire(at: 24_999 + EndedMemory<Int>.lifetimeMilliseconds)
        #expect(memory.count == 1 && memory["large"] != nil)
        memory.expire(at: 25_000 + EndedMemory<Int>.lifetimeMilliseconds)
        #expect(memory.count == 0)
    }

    @Test("It belongs to the subscription's owner, and to administrators")
    func ownership() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"secret":41}"#, #","selector":"secret = 42""#)
        let request = #"{"publicationId":"p","subscriptionId":"s"}"#
        #expect(harness.refusal("match/explain", request, client: "bob") == "forbidden subscriptionId")
        #expect(failing(explain(harness, client: "admin")) == ["location", "range", "selector"])
        #expect(harness.refusal("match/explain", #"{"publicationId":"p"}"#) == "invalid subscriptionId")
        #expect(harness.refusal("match/explain", #"{"publicationId":"q","subscriptionId":"s"}"#) == "notFound publicationId")
        #expect(harness.refusal("match/explain", #"{"publicationId":"p","subscriptionId":"q"}"#) == "notFound subscriptionId")
        #expect(harness.refusal("match/explain", request, dataset: "e") == "unknownDataset dataset")
    }

    @Test("Another's publication shows figures and properties only where topic and range pass")
    func privacy() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"price":600},"topic":"hidden""#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"bobs"}"#, client: "bob")
        for topic in ["hidden", "coffee"] {
            _ = harness.request(
                "subscription/create",
                #"{"id":"\#(topic)","deviceId":"bobs","topic":"\#(topic)","range":50,"duration":700,"selector":"price < 500"}"#,
                client: "bob")
        }
        func details(_ subscription: String) -> String {
            (explain(harness, "p", subscription, client: "bob")?["checks"]?.elements ?? []).compactMap { $0["detail"]?.text }
                .joined(separator: "\n")
        }
        for (subscription, metres) in [("hidden", 900.0), ("coffee", 20), ("coffee", 900)] {
            harness.move("bobs", metres: metres)
            let seen = details(subscription)
            #expect(!seen.contains("600 "), "\(seen)")
            #expect(!seen.contains("43.73") && !seen.contains("7.42") && !seen.contains("distance") && !seen.contains("pin"))
            if subscription == "coffee" { #expect(!seen.contains("hidden")) }
        }
        harness.move("bobs", metres: 20)
        #expect(details("hidden").contains("price 600 < 500 is false") && details("hidden").contains("distance 20.0 m"))
        // One's own is always shown.
        #expect(detail(explain(harness), "topic").contains("hidden"))
    }

    @Test("Another's publication was read by trying: its properties by selectors, and where it is by moving")
    func withheld() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"price":600}"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"bobs"}"#, client: "bob")
        for topic in ["tea", "coffee"] {
            _ = harness.request(
                "subscription/create",
                #"{"id":"\#(topic)","deviceId":"bobs","topic":"\#(topic)","range":50,"duration":700,"selector":"price < 1"}"#,
                client: "bob")
        }
        func explain(_ subscription: String, _ selector: String, metres: Double, more: String = "") -> JSONValue? {
            _ = harness.request(
                "subscription/update", #"{"id":"\#(subscription)","selector":"\#(selector)"\#(more)}"#, client: "bob")
            harness.move("bobs", metres: metres)
            return self.explain(harness, "p", subscription, client: "bob")
        }
        let tried = [("price = 600", 20.0), ("price = 1", 20), ("price = 600", 900), ("price = 1", 900)]
        // Another topic: whatever is tried, the answer is the same.
        let answers = tried.map { explain("tea", $0, metres: $1, more: #","floor":"same""#) }
        #expect(Set(answers.compactMap { $0?.serialised() }).count == 1)
        #expect(failing(answers[0]) == ["topic", "floor", "range", "selector"])
        // Out of range, which a match would show, too.
        let away = tried.filter { $0.1 == 900 }.map { explain("coffee", $0.0, metres: $0.1) }
        #expect(Set(away.compactMap { $0?.serialised() }).count == 1)
        #expect(failing(away[0]) == ["range", "selector"] && detail(away[0], "range") == "out of range")
        #expect(detail(away[0], "selector").hasPrefix("not reported"))
        #expect(detail(explain("coffee", "price = 1", metres: 20), "selector") == "price 600 = 1 is false")
    }

    @Test("Explaining changes nothing")
    func changesNothing() {
        let harness = HubHarness()
        harness.makePair("", #","matchTTL":0"#)
        harness.move(metres: 20)
        let changes = harness.changes.count
        let matched = harness.counters.matches.matched
        for _ in 0..<3 { _ = explain(harness) }
        #expect(harness.changes.count == changes && harness.counters.matches.matched == matched && harness.matches.isEmpty)
    }

    @Test("It says a match would be made exactly where evaluating the pair makes one")
    func againstEngine() throws {
        var random = SplitMix64.forTest()
        var seen = (yes: 0, no: 0)
        for _ in 0..<30 {
            var world = ExplainWorld(&random)
            for _ in 0..<25 {
                world.step(&random)
                let publication = world.publications[random.below(world.publications.count)]
                var expected = Set<String>()
                for subscription in world.subscriptions {
                    let explanation = explain(world.harness, publication, subscription)
                    let failing = failing(explanation)
                    if failing.isEmpty { expected.insert(subscription) }
                }
                // Everything is as it was, and evaluated anew.
                _ = world.harness.request("publication/update", #"{"id":"\#(publication)"}"#)
                let made = world.harness.matches.compactMap { message -> String? in
                    guard message.json?["event"]?.text == "matched" else { return nil }
                    return message.json?["subscription"]?["id"]?.text
                }
                #expect(Set(made) == expected, "\(publication)")
                seen.yes += expected.count
                seen.no += world.subscriptions.count - expected.count
            }
        }
        #expect(seen.yes > 100 && seen.no > 500, "\(seen)")
    }
}

/// A few devices within some hundred metres, with publications and subscriptions of all kinds.
private struct ExplainWorld {
    let harness = HubHarness()
    let publications = (0..<5).map { "p\($0)" }
    let subscriptions = (0..<6).map { "s\($0)" }
    private let devices = (0..<5).map { "d\($0)" }

    init(_ random: inout SplitMix64) {
        for device in devices { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(device)"}"#) }
        for publication in publications {
            _ = harness.request(
                "publication/create",
                #"{"id":"\#(publication)","deviceId":"\#(random.pick(devices))",\#(Self.common(&random)),\#(Self.properties(&random))}"#
            )
        }
        for subscription in subscriptions {
            _ = harness.request(
                "subscription/create",
                #"{"id":"\#(subscription)","deviceId":"\#(random.pick(devices))",\#(Self.common(&random)),\#(Self.options(&random))}"#
            )
        }
    }

    mutating func step(_ random: inout SplitMix64) {
        for _ in 0..<(1 + random.below(3)) {
            let device = random.pick(devices)
            switch random.below(12) {
            case 0: harness.send("d/-/-/-/-/\(device)/position", "")
            case 1: harness.advance(milliseconds: Int64(random.below(40_000)), step: 5_000)
            case 2:
                let id = random.pick(subscriptions)
                _ = harness.request(
                    "subscription/update", #"{"id":"\#(id)",\#(Self.common(&random, lives: false)),\#(Self.options(&random))}"#)
            case 3:
                let id = random.pick(publications)
                _ = harness.request(
                    "publication/update", #"{"id":"\#(id)",\#(Self.common(&random, lives: false)),\#(Self.properties(&random))}"#)
            default:
                // The same topic per floor: a device has one position.
                let floor = random.pick(["-/-/-", "v/b/1", "v/b/2"])
                let accuracy = random.chance(50) ? #","acc":\#(random.below(60))"# : ""
                let latitude = 43.73 + Double(random.below(200)) / 111_100
                harness.send(
                    "d/\(floor)/-/\(device)/position", #"{"lat":\#(latitude),"lon":7.42\#(accuracy)}"#)
            }
        }
    }

    private static func common(_ random: inout SplitMix64, lives: Bool = true) -> String {
        let duration = lives ? #","duration":\#(random.pick([100, 400, 100_000]))"# : ""
        return #""topic":"\#(random.pick(["tea", "tea", "tea", "milk"]))","range":\#(random.pick([10, 40, 80]))\#(duration)"#
    }

    private static func properties(_ random: inout SplitMix64) -> String {
        #""properties":\#(random.pick([#"{"a":1}"#, #"{"a":2}"#, "{}"]))"#
    }

    private static func options(_ random: inout SplitMix64) -> String {
        let selector = random.pick(["", "", "a = 1", "a > 1 OR a IS NULL", "NOT a = 2"])
        return #"""
            "selector":"\#(selector)","matchTTL":\#(random.pick(["0", "20", "null"])),"matchDTL":\#(random.pick(["0", "30", "null"])),
            "excludeSelf":\#(random.chance(50)),"floor":"\#(floor(&random))","accuracy":"\#(accuracy(&random))","mode":"\#(mode(&random))",
            "dwell":\#(random.pick([0, 0, 30])),"staleAfter":\#(random.pick(["null", "null", "45"])),"exitMargin":\#(random.pick([0, 15]))
            """#
    }

    private static func floor(_ random: inout SplitMix64) -> String { random.pick(["any", "any", "any", "same"]) }
    private static func accuracy(_ random: inout SplitMix64) -> String {
        random.pick(["centre", "possible", "certain"])
    }
    private static func mode(_ random: inout SplitMix64) -> String { random.pick(["once", "visit"]) }
}
