import Testing
import Wire

@testable import Datasets

@Suite("What one client may hold, and all together")
struct ShareTests {
    private func create(_ harness: HubHarness, _ id: String, client: String = "eve") -> String? {
        harness.refusal("device/create", #"{"deviceType":"MobileDevice","id":"\#(id)"}"#, client: client)
    }

    @Test("One client fills half of a dataset's devices at most, over restarts; what it deletes it may make again")
    func devices() {
        let harness = HubHarness { $0.limits.devices = 6 }
        #expect(["a", "b", "c", "d"].map { create(harness, $0) } == [nil, nil, nil, "limit"])
        harness.restart()
        #expect(create(harness, "d") == "limit")
        #expect(create(harness, "x", client: "ann") == nil)
        #expect(harness.refusal("device/delete", #"{"id":"a"}"#, client: "eve") == nil)
        #expect(create(harness, "d") == nil && create(harness, "e") == "limit")
        #expect(["p", "q"].map { create(harness, $0, client: "admin") } == [nil, nil])
        #expect(create(harness, "y", client: "ann") == "limit", "there is no room for anybody")
    }

    @Test("Live topics count for the owner of their device, and for nobody without one")
    func liveTopics() {
        let harness = HubHarness { $0.limits.liveTopics = 8 }
        _ = create(harness, "eve1")
        for domain in ["a", "b", "c", "d"] { harness.send("d/-/-/-/-/eve1/\(domain)", #"{"x":1}"#) }
        #expect(harness.diagnostics().isEmpty)
        harness.send("d/-/-/-/-/eve1/e", #"{"x":1}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["limit"])
        for topic in ["d/v/-/-/-/-/e", "d/-/-/-/-/stray/e"] { harness.send(topic, #"{"x":1}"#) }
        #expect(harness.retained["live/d/v/-/-/-/-/e"] != nil && harness.retained["live/d/-/-/-/-/stray/e"] != nil)
        harness.send("d/-/-/-/-/eve1/a", "")
        harness.send("d/-/-/-/-/eve1/e", #"{"x":1}"#)
        #expect(harness.retained["live/d/-/-/-/-/eve1/e"] != nil)
    }

    @Test("One client fills half of a dataset's documents at most, over restarts")
    func documents() {
        let harness = HubHarness { $0.limits.documents = 4 }
        _ = harness.request("dataset/create", client: "admin")
        func push(_ id: String, _ client: String) -> [String] {
            harness.push(#"{"id":"\#(id)","type":"note","revision":"1-a"}"#, client: client)
        }
        #expect(["a", "b", "c"].flatMap { push($0, "eve") } == ["written", "written", "refused limit"])
        harness.restart()
        #expect(push("c", "eve") == ["refused limit"] && push("x", "ann") == ["written"] && push("y", "admin") == ["written"])
        #expect(push("z", "bob") == ["refused limit"], "there is no room for anybody")
    }

    @Test("One client fills half of a dataset's places and categories at most")
    func places() {
        let harness = HubHarness {
            $0.limits.places = 4
            $0.limits.categories = 4
        }
        func place(_ id: String, _ client: String) -> JSONValue? {
            let feature = #"{"id":"\#(id)","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{}}"#
            return harness.result(
                "place/import", #"{"places":{"type":"FeatureCollection","features":[\#(feature)]}}"#, client: client)
        }
        func refused(_ id: String, _ client: String) -> [String] {
            place(id, client)?["refused"]?.elements.compactMap { $0["error"]?.refusal } ?? []
        }
        #expect(["a", "b", "c"].map { refused($0, "eve") } == [[], [], ["limit"]])
        #expect(refused("a", "eve").isEmpty, "what it has it may change")
        #expect(refused("x", "ann").isEmpty && refused("y", "admin").isEmpty)
        func category(_ id: String, _ client: String) -> String? {
            harness.refusal("category/import", #"{"categories":[{"id":"\#(id)","name":"x"}]}"#, client: client)
        }
        #expect(["a", "b", "c"].map { category($0, "eve") } == [nil, nil, "limit"])
        #expect(category("a", "eve") == nil && category("x", "ann") == nil)
    }

    @Test("2,000 live topics of 64 kB took what memory there was: a dataset has so many bytes of live state")
    func liveBytes() {
        let harness = HubHarness { $0.limits.liveBytes = 100_000 }
        let long = String(repeating: "x", count: 30_000)
        for number in 0..<10 { harness.send("d/v/\(number)/-/-/-/note", #"{"text":"\#(long)"}"#) }
        #expect(harness.retained.keys.filter { $0.hasPrefix("live/") }.count == 3)
        #expect(harness.hub.datasets["d"]?.liveBytes ?? .max <= 100_000)
        harness.published.removeAll()
        harness.send("d/v/1/-/-/-/note", #"{"text":"\#(long)\#(long)"}"#)
        #expect(harness.diagnostics().map(\.refusal) == ["limit"])
        harness.send("d/v/1/-/-/-/note", #"{"text":"short"}"#)
        harness.send("d/v/9/-/-/-/note", #"{"text":"\#(long)"}"#)
        #expect(harness.retained["live/d/v/9/-/-/-/note"] != nil, "what became shorter makes room")
        let bytes = harness.hub.datasets["d"]?.liveBytes
        harness.restart()
        #expect(harness.hub.datasets["d"]?.liveBytes == bytes)
        for number in 0..<10 { harness.send("d/v/\(number)/-/-/-/note", "") }
        #expect(harness.hub.datasets["d"]?.liveBytes == 0)
    }

    @Test("A string of a publication has 4,096 bytes at most, all properties 16 KiB")
    func properties() {
        let harness = HubHarness()
        harness.makePair()
        func refusal(_ properties: String) -> String? {
            harness.refusal(
                "publication/create",
                #"{"deviceId":"pin","topic":"t","range":1,"duration":60,"properties":{\#(properties)}}"#)
        }
        func text(_ count: Int) -> String { "\"\(String(repeating: "x", count: count))\"" }
        #expect(refusal(#""a":\#(text(4096))"#) == nil)
        #expect(refusal(#""a":\#(text(4097))"#) == "invalid properties")
        #expect(refusal(#""a":["b",\#(text(4097))]"#) == "invalid properties")
        let many = (0..<5).map { #""p\#($0)":\#(text(4000))"# }.joined(separator: ",")
        #expect(refusal(many) == "invalid properties")
        #expect(
            harness.refusal("publication/update", #"{"id":"p","properties":{"a":\#(text(4097))}}"#) == "invalid properties")
        #expect(harness.refusal("publication/update", #"{"id":"p","properties":{"a":1}}"#) == nil)
    }

    @Test("Searches of LIKE beyond their budget are reported once a minute; 25 of them took 1.6 s of an update")
    func budget() {
        let harness = HubHarness()
        harness.send("d/v/-/-/-/-/note", #"{"p":"x"}"#)
        for id in 0..<25 {
            // None is evaluated with another.
            let condition = (0..<100).map { "p LIKE '%_\(id)b\($0)%'" }.joined(separator: " OR ")
            _ = harness.request("live/subscribe", #"{"id":"\#(id)","criteria":"d/#","where":"\#(condition)"}"#, client: "eve")
        }
        harness.published.removeAll()
        let update = #"{"p":"\#(String(repeating: "a", count: 60_000))"}"#
        harness.send("d/v/-/-/-/-/note", update)
        harness.advance(milliseconds: 1100)
        let reports = harness.diagnostics("overload")
        #expect(reports.count == 1 && reports.first?["count"]?.number ?? 0 >= 2500)
        #expect(reports.first?["topic"]?.text == "#" && reports.first?["error"]?.text == "limit")
        harness.send("d/v/-/-/-/-/note", update)
        harness.advance(milliseconds: 30_000)
        #expect(harness.diagnostics("overload").count == 1)
        harness.advance(milliseconds: 31_000)
        #expect(harness.diagnostics("overload").count == 2)
    }
}
