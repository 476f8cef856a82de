import Testing
import Wire

@testable import Datasets

@Suite("The change feed")
struct ChangeFeedTests {
    @Test("Each object is in the feed once, as it is now, in the order of its last change")
    func rows() {
        let harness = HubHarness()
        harness.makePair(#","properties":{"a":1}"#)
        var feed = harness.feed()
        #expect(feed.map(\.shown) == ["1 device pin", "2 device phone", "3 publication p", "4 subscription s"])
        #expect(feed.map { $0["doc"]?["revision"] } == feed.map { $0["revision"] })
        #expect(feed.map { $0["doc"]?["type"]?.text } == ["device", "device", "publication", "subscription"])
        #expect(feed[2]["doc"]?["properties"] == ["a": 1])
        #expect(feed[0]["doc"]?["location"]?["latitude"]?.number == 43.73)
        #expect(feed[3]["doc"]?["delivery"] == nil)
        // Being somewhere changes no document.
        harness.move(metres: 1)
        #expect(harness.feed() == feed)
        _ = harness.request("device/update", #"{"id":"pin","name":"n"}"#)
        feed = harness.feed()
        #expect(feed.map(\.shown) == ["2 device phone", "3 publication p", "4 subscription s", "5 device pin"])
        #expect(feed[3]["revision"]?.text?.hasPrefix("2-") == true && feed[3]["doc"]?["name"]?.text == "n")
        harness.restart()
        #expect(harness.feed() == feed)
    }

    @Test("What is deleted, or went with its device, or expired, is reported as deleted")
    func deletions() {
        let harness = HubHarness()
        harness.makePair()
        _ = harness.request(
            "publication/create", #"{"id":"brief","deviceId":"phone","topic":"t","range":1,"duration":5}"#)
        let revision = harness.feed().first { $0["id"]?.text == "p" }?["revision"]?.text ?? ""
        _ = harness.request("device/delete", #"{"id":"pin"}"#)
        harness.advance(milliseconds: 6000)
        let feed = harness.feed()
        #expect(Set(feed.filter { $0["deleted"] == true }.compactMap { $0["id"]?.text }) == ["pin", "p", "brief"])
        let gone = feed.first { $0["id"]?.text == "p" }
        #expect(gone?["revision"]?.text?.hasPrefix("2-") == true && gone?["revision"]?.text != revision && gone?["doc"] == nil)
        // The id may be taken again.
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"pin"}"#)
        let again = harness.feed().last
        #expect(again?["id"]?.text == "pin" && again?["deleted"] == nil && again?["doc"]?["deviceType"]?.text == "MobileDevice")
    }

    @Test("A feed is read in pages that go on from where one ends")
    func paging() {
        let harness = HubHarness()
        let items = (0..<25).map { #"{"deviceType":"MobileDevice","id":"d\#($0)"}"# }.joined(separator: ",")
        _ = harness.request("device/create", #"{"items":[\#(items)]}"#)
        var since = 0.0
        var seen: [Double] = []
        for _ in 0..<3 {
            let page = harness.result("changes/get", #"{"since":\#(Int(since)),"limit":10}"#)
            seen += page?["rows"]?.elements.compactMap { $0["seq"]?.number } ?? []
            since = page?["last"]?.number ?? -1
            #expect(page?["more"] == (seen.count < 25 ? true : nil))
            #expect(since == seen.last)
        }
        #expect(seen == (1...25).map(Double.init))
        let end = harness.result("changes/get", #"{"since":25}"#)
        #expect(end?["rows"]?.elements.isEmpty == true && end?["last"]?.number == 25)
        #expect(harness.refusal("changes/get", #"{"since":26}"#) == "conflict since")
        #expect(harness.refusal("changes/get", #"{"since":-1}"#) == "invalid since")
        #expect(harness.refusal("changes/get", #"{"since":"x"}"#) == "invalid since")
        #expect(harness.refusal("changes/get", #"{"limit":0}"#) == "invalid limit")
        #expect(harness.refusal("changes/get", #"{"since":9223372036854775807}"#) == "conflict since")
    }

    @Test("A page stays below 256 KiB, and a page of one large document has it")
    func bytes() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        for index in 0..<5 {
            let text = String(repeating: "x", count: 100_000)
            let state = harness.push(#"{"id":"n\#(index)","type":"note","revision":"1-a","text":"\#(text)"}"#)
            #expect(state == ["written"])
        }
        var since = 0
        var counts: [Int] = []
        while counts.reduce(0, +) < 5, counts.count < 9 {
            _ = harness.request("changes/get", #"{"since":\#(since)}"#)
            let page = harness.result("changes/get", #"{"since":\#(since)}"#)
            #expect((page?.serialised().count ?? .max) < 256 << 10)
            counts.append(page?["rows"]?.elements.count ?? 0)
            since = Int(page?["last"]?.number ?? 0)
        }
        #expect(counts == [2, 2, 1])
    }

    @Test("The feed of another store, or of a dataset that was made again, begins at 0")
    func storeId() {
        let harness = HubHarness { $0.instance = "i" }
        harness.makePair()
        let id = harness.result("changes/get")?["storeId"]?.text ?? ""
        #expect(harness.result("changes/get", #"{"since":4,"storeId":"\#(id)"}"#)?["last"]?.number == 4)
        #expect(harness.refusal("changes/get", #"{"since":4,"storeId":"other"}"#) == "conflict storeId")
        #expect(harness.refusal("changes/follow", #"{"since":4,"storeId":"other"}"#) == "conflict storeId")
        _ = harness.request("dataset/delete", client: "admin")
        #expect(harness.refusal("changes/get") == "unknownDataset dataset")
        harness.advance(milliseconds: 100)
        harness.makePair()
        let again = harness.result("changes/get")
        #expect(again?["storeId"]?.text != id && again?["rows"]?.elements.count == 4 && again?["last"]?.number == 4)
        #expect(harness.refusal("changes/get", #"{"since":4,"storeId":"\#(id)"}"#) == "conflict storeId")
    }

    @Test("A client sees documents, beacons, its own objects and those without an owner; an administrator sees all")
    func visibility() {
        let harness = HubHarness()
        harness.makePair()
        harness.send("d/-/-/-/-/stray/position", #"{"lat":1,"lon":1}"#)
        _ = harness.request(
            "device/create",
            #"{"id":"ib","deviceType":"IBeaconDevice","uuid":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":2}"#)
        _ = harness.push(#"{"id":"n","type":"note","revision":"1-a"}"#)
        _ = harness.request("device/create", #"{"id":"own","deviceType":"MobileDevice"}"#, client: "bob")
        #expect(harness.feed(client: "bob").map(\.shown) == ["5 device stray", "6 device ib", "7 note n", "8 device own"])
        #expect(harness.result("changes/get", client: "bob")?["last"]?.number == 8)
        #expect(harness.feed(client: "admin").count == 8)
        #expect(harness.feed().map(\.shown).last == "7 note n")
        // The feed ends behind what others have.
        #expect(harness.result("changes/get")?["last"]?.number == 8)
        _ = harness.request("device/delete", #"{"id":"pin"}"#)
        #expect(harness.feed(client: "bob").count == 4)
        let first = harness.result("changes/get", #"{"limit":3}"#, client: "bob")
        #expect(first?["last"]?.number == 7 && first?["more"] == true)
    }

    @Test("Deletions are kept for 30 days; who has missed one that is kept no longer begins at 0")
    func tombstones() {
        let harness = HubHarness()
        for id in ["a", "b"] { _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#) }
        _ = harness.request("device/delete", #"{"id":"a"}"#)
        let day: Int64 = 86_400_000
        harness.advance(milliseconds: 30 * day, step: 3_600_000)
        #expect(harness.feed().map(\.shown) == ["2 device b", "3 device a"])
        #expect(harness.result("changes/get", #"{"since":2}"#)?["rows"]?.elements.first?["deleted"] == true)
        harness.advance(milliseconds: 2 * day, step: 3_600_000)
        #expect(harness.feed().map(\.shown) == ["2 device b"])
        #expect(harness.refusal("changes/get", #"{"since":2}"#) == "conflict since")
        #expect(harness.result("changes/get", #"{"since":3}"#)?["last"]?.number == 3)
        harness.restart()
        #expect(harness.refusal("changes/get", #"{"since":2}"#) == "conflict since")
    }
}

extension HubHarness {
    /// All rows a client sees from the beginning.
    func feed(client: String = "alice") -> [JSONValue] {
        result("changes/get", client: client)?["rows"]?.elements ?? []
    }

    /// Pushes documents; what became of each, with the error's name where it was refused.
    func push(_ documents: String..., client: String = "alice") -> [String] {
        let reply = result("changes/push", #"{"docs":[\#(documents.joined(separator: ","))]}"#, client: client)
        return (reply?["results"]?.elements ?? []).map { result in
            [result["state"]?.text, result["error"].map(\.refusal)].compactMap(\.self).joined(separator: " ")
        }
    }
}

extension JSONValue {
    /// `seq type id` of a row.
    var shown: String {
        "\(Int(self["seq"]?.number ?? -1)) \(self["type"]?.text ?? "-") \(self["id"]?.text ?? "-")"
    }
}
