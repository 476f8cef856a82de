import Testing

@testable import Datasets

@Suite("The log at debug")
struct LogTests {
    private func harness() -> HubHarness {
        let harness = HubHarness()
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        harness.logLevel = .debug
        return harness
    }

    @Test("A refused request is logged with who asked, what was wrong and how long it took; one that succeeds is not")
    func requests() {
        let harness = harness()
        _ = harness.request("device/get", #"{"id":"phone"}"#)
        #expect(harness.notices.filter { $0.hasPrefix("request") } == [])
        _ = harness.request("device/get", #"{"id":"nobody"}"#, client: "eve")
        let line = harness.notices.last { $0.hasPrefix("request refused") } ?? ""
        for part in ["client=eve", "dataset=d", "error=notFound", "request=device/get", "milliseconds=", "reason="] {
            #expect(line.contains(part), "\(line)")
        }
    }

    @Test("Why a live update was refused is logged as the diagnostics have it, and only at debug")
    func updates() {
        let harness = harness()
        harness.send("d/-/-/-/-/phone/position", #"{"lat":430,"lon":7}"#)
        let line = harness.notices.last { $0.hasPrefix("input refused") } ?? ""
        for part in [
            "kind=update", "dataset=d", "topic=d/-/-/-/-/phone/position", "error=invalid", "field=lat", "count=1",
        ] {
            #expect(line.contains(part), "\(line)")
        }
        harness.logLevel = .info
        let count = harness.notices.count
        harness.send("d/-/-/-/-/other/position", #"{"lat":430,"lon":7}"#)
        #expect(harness.notices.count == count)
    }

    @Test("A first update of a domain that is spelled nearly as a known one is accepted, with a hint")
    func nearDomain() {
        let harness = harness()
        harness.send("d/-/-/-/-/phone/positon", #"{"lat":43,"lon":7}"#)
        #expect(harness.counters.updates.accepted == 1)
        let hints = harness.diagnostics("hint")
        #expect(hints.count == 1 && hints.first?["message"]?.text?.contains("did you mean `position`?") == true)
        harness.advance(milliseconds: 5000)
        harness.published.removeAll()
        for topic in ["d/-/-/-/-/phone/positon", "d/-/-/-/-/phone/weather", "d/-/-/-/-/phone/position"] {
            harness.send(topic, #"{"lat":43,"lon":7}"#)
        }
        #expect(harness.diagnostics("hint").isEmpty)
    }

    @Test("A category that nobody knows is a warning with the one that was meant")
    func category() {
        let harness = harness()
        _ = harness.request(
            "place/import",
            #"{"places":{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"a","categoryIds":["amenity=cafe"]},"geometry":{"type":"Point","coordinates":[7.42,43.73]}}]}}"#
        )
        for (written, meant) in [("cafe", "amenity=cafe"), ("amenity=caffe", "amenity=cafe")] {
            let result = harness.result(
                "circumstance/register", #"{"id":"c","expression":"(at (= category-id \"\#(written)\"))"}"#)
            #expect(
                result?["warnings"]?.elements.compactMap(\.text)
                    == ["the category-id `\(written)` is not known yet; did you mean `\(meant)`?"])
        }
    }

    @Test("A refusal names the dataset that was meant to administrators who mistype it, and to nobody else")
    func nearDataset() {
        let harness = harness()
        _ = harness.request("dataset/create", client: "admin", dataset: "museum")
        func message(_ client: String) -> String? {
            harness.request("device/list", client: client, dataset: "musuem")?["error"]?["message"]?.text
        }
        #expect(message("admin") == "there is no dataset `musuem`; did you mean `museum`?")
        #expect(message("eve") == "there is no dataset `musuem`")
    }
}
