import SeededRandom
import Testing
import Wire

@testable import geomatch

@Suite("Parameters on the command line")
struct RequestWordsTests {
    @Test(
        "Words become an object",
        arguments: [
            ([], "{}"),
            (
                ["range=50", "duration=1.5", "excludeSelf=true", "x=null"],
                #"{"range":50,"duration":1.5,"excludeSelf":true,"x":null}"#
            ),
            (
                ["id=123", "deviceId=7", "name=true", "selector=1", "after=5"],
                #"{"id":"123","deviceId":"7","name":"true","selector":"1","after":"5"}"#
            ),
            (["id:=123", "name:=null", #"name2="5""#], #"{"id":123,"name":null,"name2":"5"}"#),
            (["location.latitude=-1.5", "location.longitude=2"], #"{"location":{"latitude":-1.5,"longitude":2}}"#),
            (["properties.id=5", "criteria.location=5"], #"{"properties":{"id":5},"criteria":{"location":"5"}}"#),
            (["criteria=d/#"], #"{"criteria":"d/#"}"#), (["criteria={}"], #"{"criteria":{}}"#),
            ([#"criteria={"floor":"1"}"#, "criteria.room=5"], #"{"criteria":{"floor":"1","room":"5"}}"#),
            ([#"group=["a"]"#, #"properties={"a":1}"#, "properties.b=x"], #"{"group":["a"],"properties":{"a":1,"b":"x"}}"#),
            (["x=a=b", "y=", "selector=a = 'b'"], #"{"x":"a=b","y":"","selector":"a = 'b'"}"#),
            ([#" {"a":{"b":[1]}}"#], #"{"a":{"b":[1]}}"#),
        ] as [([String], String)])
    func object(_ words: [String], _ json: String) throws {
        let parameters = try RequestWords.parameters(words)
        #expect(String(decoding: JSONValue.object(parameters).serialised(), as: UTF8.self) == json)
    }

    @Test(
        "A word alone is the id where a request is about one object; durations take units, and device types are known by their first word",
        arguments: [
            ("device/get", ["cafe"], #"{"id":"cafe"}"#), ("device/update", ["7", "name=x"], #"{"id":"7","name":"x"}"#),
            ("geofence/inside", ["home"], #"{"id":"home"}"#), ("circumstance/enable", ["coffee"], #"{"id":"coffee"}"#),
            ("geofence/explain", ["home", "deviceId=7"], #"{"id":"home","deviceId":"7"}"#),
            ("geofence/explain", ["home", "phone"], #"{"id":"home","deviceId":"phone"}"#),
            ("circumstance/evaluate", ["coffee", "7", "debug=true"], #"{"id":"coffee","deviceId":"7","debug":true}"#),
            ("device/geofences", ["phone"], #"{"deviceId":"phone"}"#), ("live/snapshot", ["d/#"], #"{"criteria":"d/#"}"#),
            ("publication/create", ["duration=1h", "matchTTL=90s"], #"{"duration":3600,"matchTTL":90}"#),
            ("publication/create", ["duration=1.5min", "lease=2d", "x=1h"], #"{"duration":90,"lease":172800,"x":"1h"}"#),
            ("publication/create", ["duration=1w", "duration2=h"], #"{"duration":"1w","duration2":"h"}"#),
            (
                "publication/create", ["range=500m", "exitMargin=0.5km", "properties.radius=5m", "x=5m"],
                #"{"range":500,"exitMargin":500,"properties":{"radius":"5m"},"x":"5m"}"#
            ),
            ("geofence/create", ["area.circle.radius=2km"], #"{"area":{"circle":{"radius":2000}}}"#),
            ("publication/create", ["range=5mi"], #"{"range":"5mi"}"#),
            ("publication/create", ["deviceType=pin"], #"{"deviceType":"PinDevice"}"#),
            (
                "device/create", ["deviceType=Beacon", "properties.deviceType=pin"],
                #"{"deviceType":"IBeaconDevice","properties":{"deviceType":"pin"}}"#
            ),
        ])
    func short(_ request: String, _ words: [String], _ json: String) throws {
        let parameters = try RequestWords.parameters(words, of: request)
        #expect(String(decoding: JSONValue.object(parameters).serialised(), as: UTF8.self) == json)
    }

    @Test("An id alone goes with no id besides, and only first")
    func idTwice() {
        for words in [["a", "id=b"], ["name=x", "a"], ["a", "b"]] {
            #expect(throws: CommandFailure.self) { try RequestWords.parameters(words, of: "device/get") }
        }
        #expect(throws: CommandFailure.self) { try RequestWords.parameters(["a", "b", "c"], of: "geofence/explain") }
        #expect(throws: CommandFailure.self) { try RequestWords.parameters(["a"], of: "device/list") }
        #expect(throws: CommandFailure.self) { try RequestWords.parameters(["a"], of: "device/create") }
    }

    @Test(
        "A mistyped word is known again, another one is not",
        arguments: [("stauts", "status"), ("explian", "explain"), ("wacth", "watch"), ("device", nil), ("x", nil)]
            as [(String, String?)])
    func nearest(_ word: String, _ expected: String?) {
        #expect(Nearness.nearest(to: word, of: HelpTests.names(Geomatch.self)) == expected)
    }

    @Test(
        "An id is meant that differs in one letter of three or two of six, in any case and any order of the others",
        arguments: [
            ("phone", "phone1"), ("Phone1", "phone1"), ("hpone1", "phone1"), ("phone2", "phone1"), ("kitchn", "kitchen"),
            ("kitchen", nil), ("kitten", "kitchen"), ("kit", nil), ("ad", nil), ("abd", "ab"), ("", nil), ("secrte", nil),
        ] as [(String, String?)])
    func nearestID(_ id: String, _ expected: String?) {
        let ids = ["phone3", "phone1", "kitchen", "abc", "ab", "secret"]
        for ids in [ids, ids.reversed()] { #expect(Nearness.nearest(to: id, ofIDs: ids) { $0 != "secret" } == expected) }
    }

    @Test("A distance is cut off where it is too large, and right where it is not")
    func cutDistance() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<2000 {
            let (a, b) = (random.text(of: ["a", "b", "c"], upTo: 7), random.text(of: ["a", "b", "c"], upTo: 7))
            let whole = Nearness.distance(a, b)
            for most in 0...3 where whole <= most { #expect(Nearness.distance(a, b, atMost: most) == whole) }
            for most in 0...3 where whole > most { #expect(Nearness.distance(a, b, atMost: most) > most) }
        }
    }

    @Test(
        "Words that mean nothing are refused",
        arguments: [
            ["x"], ["=1"], [".a=1"], ["a.=1"], ["a..b=1"], ["a=1", "a=2"], ["a=1", "a.b=2"], ["a.b=1", "a=2"], ["a:=x"],
            ["{}", "a=1"], ["{"], ["[1]"], [String(repeating: "a.", count: 100) + "a=1"],
        ])
    func refused(_ words: [String]) {
        #expect { try RequestWords.parameters(words) } throws: { ($0 as? CommandFailure)?.code == 64 }
    }

    @Test("Random words are an object that JSON holds, or a usage error")
    func random() throws {
        var random = SplitMix64(seed: SplitMix64.seed())
        let parts = ["a", "b", ".", "=", ":=", "1", "\"", "{", "}", "[", "]", "id", "\\", "é", " "]
        var accepted = 0
        for _ in 0..<5000 {
            let words = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                String(decoding: random.text(of: parts, upTo: 8), as: UTF8.self)
            }
            do throws(CommandFailure) {
                let object = JSONValue.object(try RequestWords.parameters(words))
                #expect((try? JSONValue.parse(object.serialised())) != nil)
                accepted += 1
            } catch {
                #expect(error.code == 64)
            }
        }
        #expect(accepted > 100)
    }
}
