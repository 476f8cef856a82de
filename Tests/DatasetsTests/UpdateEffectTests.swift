import Testing
import Wire

@testable import Datasets

@Suite("An update takes effect at once")
struct UpdateEffectTests {
    struct Row: CustomTestStringConvertible {
        var publication = ""
        var subscription = ""
        var metres = 20.0
        var request: String
        var change: String
        var testDescription: String { "\(request) \(change)" }
    }

    private static let rows = [
        Row(publication: #","topic":"tea""#, request: "publication/update", change: #""topic":"coffee""#),
        Row(metres: 150, request: "publication/update", change: #""range":110"#),
        Row(
            publication: #","properties":{"a":1}"#, subscription: #","selector":"a = 2""#, request: "publication/update",
            change: #""properties":{"a":2}"#),
        Row(
            publication: #","properties":{"a":1}"#, subscription: #","selector":"a IS NULL""#, request: "publication/update",
            change: #""properties":null"#),
        Row(subscription: #","topic":"tea""#, request: "subscription/update", change: #""topic":"coffee""#),
        Row(metres: 150, request: "subscription/update", change: #""range":110"#),
        Row(subscription: #","selector":"a = 2""#, request: "subscription/update", change: #""selector":"a IS NULL""#),
        Row(subscription: #","selector":"a = 2""#, request: "subscription/update", change: #""selector":null"#),
        Row(
            subscription: #","accuracy":"certain","exitMargin":0"#, metres: 99, request: "subscription/update",
            change: #""accuracy":null"#),
        Row(subscription: #","floor":"same""#, request: "subscription/update", change: #""floor":"any""#),
    ]

    @Test("What it makes possible matches without another movement, and what it forbids no longer does", arguments: rows)
    func matching(_ row: Row) {
        for mode in ["once", "visit"] {
            let harness = HubHarness()
            harness.makePair(row.publication, row.subscription + #","matchTTL":0,"exitMargin":0,"mode":"\#(mode)""#)
            harness.move(metres: row.metres, extra: #","acc":5"#)
            #expect(harness.counters.matches.matched == 0)
            let id = row.request.hasPrefix("publication") ? "p" : "s"
            #expect(harness.result(row.request, #"{"id":"\#(id)",\#(row.change)}"#)?["revision"]?.text?.hasPrefix("2-") == true)
            #expect(harness.matches.map { $0.json?["event"]?.text } == ["matched"])
            // And back: what stood before is made again.
            let former = (id == "p" ? row.publication : row.subscription).dropFirst()
            let back = former.isEmpty ? #""range":50"# : String(former)
            #expect(harness.result(row.request, #"{"id":"\#(id)",\#(back)}"#) != nil)
            #expect(harness.matches.compactMap { $0.json?["reason"]?.text } == (mode == "visit" ? ["left"] : []))
            let matched = harness.counters.matches.matched
            harness.now += 1
            harness.move(metres: row.metres + 0.5, extra: #","acc":5"#)
            #expect(harness.counters.matches.matched == matched)
        }
    }

    @Test("A shorter duration ends what lives, at once or in its time, and a longer one keeps it", arguments: ["p", "s"])
    func duration(_ id: String) {
        let request = id == "p" ? "publication" : "subscription"
        let harness = HubHarness()
        harness.makePair("", #","mode":"visit""#)
        harness.move(metres: 20)
        harness.advance(milliseconds: 100_000)
        harness.published.removeAll()
        #expect(harness.result("\(request)/update", #"{"id":"\#(id)","duration":120}"#)?["duration"]?.number == 120)
        harness.advance(milliseconds: 19_000)
        #expect(harness.result("\(request)/update", #"{"id":"\#(id)","duration":200}"#) != nil)
        harness.advance(milliseconds: 50_000)
        #expect(harness.result("\(request)/get", #"{"id":"\#(id)"}"#) != nil && harness.matches.isEmpty)
        // Its time is over by now, were it so short.
        #expect(harness.result("\(request)/update", #"{"id":"\#(id)","duration":150}"#)?["duration"]?.number == 150)
        harness.published.removeAll()
        harness.advance(milliseconds: 100)
        #expect(harness.matches.compactMap { $0.json?["reason"]?.text } == ["expired"])
        #expect(harness.refusal("\(request)/get", #"{"id":"\#(id)"}"#) == "notFound id")
        harness.restart(killed: true)
        #expect(harness.refusal("\(request)/get", #"{"id":"\#(id)"}"#) == "notFound id")
    }

    @Test("A stale revision changes nothing, and neither does a refused value")
    func refused() {
        let harness = HubHarness()
        harness.makePair("", #","topic":"tea""#)
        harness.move(metres: 20)
        for (request, id) in [("publication/update", "p"), ("subscription/update", "s")] {
            let get = request.replacing("update", with: "get")
            let before = harness.result(get, #"{"id":"\#(id)"}"#)
            for (change, refusal) in [
                (#""revision":"1-0000000000000000","topic":"milk""#, "conflict revision"),
                (#""topic":"tea","range":0"#, "invalid range"),
                (#""topic":"tea","duration":-1"#, "invalid duration"), (#""topic":null"#, "invalid topic"),
                (#""topic":"tea","deviceId":"phone""#, "invalid deviceId"), (#""range":null"#, "invalid range"),
            ] {
                #expect(harness.refusal(request, #"{"id":"\#(id)",\#(change)}"#) == refusal)
            }
            #expect(harness.result(get, #"{"id":"\#(id)"}"#) == before && harness.counters.matches.matched == 0)
            let revision = before?["revision"]?.text ?? ""
            #expect(harness.result(request, #"{"id":"\#(id)","revision":"\#(revision)","range":60}"#)?["range"]?.number == 60)
        }
    }
}
