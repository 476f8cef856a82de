import Foundation
import SeededRandom
import Testing
import Wire

@testable import geomatch

@Suite("Importing places")
struct PlaceImportTests {
    /// A reader that gets the text in pieces of so many bytes at most.
    private func reader(_ text: [UInt8], pieces: @escaping () -> Int = { .max }) -> FeatureReader {
        var place = 0
        return FeatureReader { buffer in
            let count = min(buffer.count, pieces(), text.count - place)
            buffer.copyBytes(from: text[place..<(place + count)])
            place += count
            return count
        }
    }

    private func features(_ text: [UInt8], pieces: @escaping () -> Int = { .max }) throws -> [FeatureReader.Element] {
        let reader = reader(text, pieces: pieces)
        var elements: [FeatureReader.Element] = []
        while let element = try reader.next() { elements.append(element) }
        return elements
    }

    private func texts(_ elements: [FeatureReader.Element]) -> [String] {
        elements.map { if case .feature(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "too long" } }
    }

    @Test(
        "Features are found in collections, on lines and in sequences",
        arguments: [
            (#"{"type":"FeatureCollection","features":[]}"#, []),
            (#" { "features" : [ {"a":"]}"} , {"b":[2,{}]} ] , "x":{"y":[1]} } "#, [#"{"a":"]}"}"#, #"{"b":[2,{}]}"#]),
            (#"{"metadata":{"features":[1]},"features":[{"a":"\""},{}]}"#, [#"{"a":"\""}"#, "{}"]),
            ("{\"a\":1}\n{\"b\":{}}\n", [#"{"a":1}"#, #"{"b":{}}"#]),
            ("\u{1E}{\"a\":1}\n\u{1E}{\"b\":2}\n", [#"{"a":1}"#, #"{"b":2}"#]),
            (#"{"features":[{"a":1}]}{"features":[{"b":2}]}"#, [#"{"a":1}"#, #"{"b":2}"#]),
            ("\u{FEFF}{\"features\":[{}]}", ["{}"]), ("", []), (" \n", []),
            (#"{"features":[1,"x",null]}"#, ["1", #""x""#, "null"]),
        ])
    func found(_ row: (text: String, features: [String])) throws {
        let bytes = Array(row.text.utf8)
        #expect(texts(try features(bytes)) == row.features)
        #expect(texts(try features(bytes) { 1 }) == row.features)
    }

    @Test(
        "What is not JSON is reported with its place",
        arguments: [
            "[]", "x", #"{"features":[{}"#, #"{"features":[{"a]}"#, #"{"a""#, #"{"a":}"#, #"{"features":[{}:1]}"#, "{\"a",
        ])
    func refused(_ text: String) {
        #expect { try features(Array(text.utf8)) } throws: { error in
            (error as? FeatureReader.Failure)?.reason.contains("not JSON at byte") == true
        }
    }

    @Test("In whatever pieces a file comes, its features are those the parser finds, and damage ends in a refusal")
    func pieces() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<60 {
            let values = (0..<random.below(20)).map { _ in
                JSONValue.object([
                    "id": .integer(Int64(random.below(1000))),
                    "t": .string(String(decoding: random.text(of: ["]", "}", "\"", "\\", "é", ","], upTo: 8), as: UTF8.self)),
                ])
            }
            let text = JSONValue.object(["type": "FeatureCollection", "features": .array(values)]).serialised()
            var pieces = random
            let found = try features(text) { 1 + pieces.below(40) }
            let parsed = try texts(found).map { try JSONValue.parse($0) }
            #expect(parsed == values)
            let damaged = random.damaged(
                String(decoding: text, as: UTF8.self), with: ["{", "}", "[", "]", "\"", ",", ":"], times: 3)
            _ = try? features(Array(damaged))
        }
    }

    @Test("A feature that is too long is left out, and the next one is found")
    func tooLong() throws {
        let long = String(repeating: "x", count: 3 << 20)
        let found = try features(Array(#"{"features":[{"a":"\#(long)"},{"b":1}]}"#.utf8))
        #expect(found == [.tooLong(bytes: long.utf8.count + 8), .feature(Array(#"{"b":1}"#.utf8))])
    }

    // MARK: OpenStreetMap

    private func place(_ text: String) throws -> OSMPlace? { OSMPlace(try JSONValue.parse(text)) }

    @Test("Tags become categories, a chain and opening hours, whether they are the properties or stand in `tags`")
    func tags() throws {
        let tags =
            #""amenity":"fast_food","cuisine":"burger","brand":"McDonald's","brand:wikidata":"Q38076","opening_hours":"24/7","name":"M""#
        for properties in ["{\(tags)}", #"{"name":"M","opening_hours":null,"tags":{\#(tags)}}"#] {
            let found = try #require(
                try place(#"{"id":"node/1","properties":\#(properties),"geometry":{"type":"Point","coordinates":[7,43]}}"#))
            let own = found.feature.member("properties")
            #expect(own?.member("id") == "node/1" && own?.member("name") == "M" && own?.member("openingHours") == "24/7")
            #expect(own?.member("categoryIds") == ["amenity=fast_food"])
            #expect(own?.member("chainId") == "Q38076")
            #expect(found.feature.member("geometry")?.member("type") == "Point")
            #expect(
                found.categories == [
                    .init(id: "amenity", name: "Amenity", parentID: nil),
                    .init(id: "amenity=fast_food", name: "Fast food", parentID: "amenity"),
                ])
        }
    }

    @Test(
        "Each main key counts, several values too, and what is no place is left out",
        arguments: [
            (#"{"shop":"bakery;cafe"}"#, ["shop=bakery", "shop=cafe"]), (#"{"shop":"yes"}"#, ["shop"]),
            (#"{"amenity":"pub","tourism":"hotel"}"#, ["amenity=pub", "tourism=hotel"]),
            (#"{"category":"leisure=park"}"#, ["leisure=park"]), (#"{"railway":"station"}"#, ["railway=station"]),
            (#"{"railway":"rail"}"#, nil), (#"{"building":"yes"}"#, nil), (#"{"amenity":"no"}"#, nil), ("{}", nil),
            (#"{"shop":" ; "}"#, nil),
        ])
    func categories(_ row: (tags: String, ids: [String]?)) throws {
        let found = try place(#"{"id":1,"properties":\#(row.tags)}"#)
        let ids = found?.feature.member("properties")?.member("categoryIds")?.asArray?.compactMap(\.asString)
        #expect(ids == row.ids)
    }

    @Test("Places of one brand are one chain, those too that came before the only item of that name was known")
    func brands() throws {
        let lines = [
            (#""1","properties":{"shop":"a","brand":"Mc Donald’s"}"#, "Q38076"),
            (#""2","properties":{"shop":"a","brand":"McDonald's","brand:wikidata":"Q38076"}"#, "Q38076"),
            (#""3","properties":{"shop":"a","brand":"CAFÉ Noir"}"#, "Q2"),
            (#""4","properties":{"shop":"a","chain":"cafe noir","chain_wikidata":"Q2"}"#, "Q2"),
            // Two items of one name: nobody knows which.
            (#""5","properties":{"shop":"a","brand":"Total"}"#, "Total"),
            (#""6","properties":{"shop":"a","brand":"Total","brand:wikidata":"Q3"}"#, "Q3"),
            (#""7","properties":{"shop":"a","brand":"total","brand:wikidata":"Q4"}"#, "Q4"),
            (#""8","properties":{"shop":"a","brand":"Alone"}"#, "Alone"),
            (#""9","properties":{"shop":"a","brand":"+"}"#, "+"),
            (#""10","properties":{"shop":"a"}"#, nil),
        ]
        let text = lines.map { #"{"id":\#($0.0),"geometry":null}"# }.joined(separator: "\n")
        var requests = PlaceRequests([reader(Array(text.utf8))], .init(isOSM: true))
        #expect(try chains(&requests) == Dictionary(uniqueKeysWithValues: zip(1...10, lines.map(\.1)).map { ("\($0)", $1) }))
    }

    @Test("Of a place that comes twice the later one counts, whether it was held for its brand or not")
    func heldTwice() throws {
        let text = """
            {"id":1,"properties":{"shop":"a","brand":"A"}}
            {"id":1,"properties":{"shop":"a"}}
            {"id":2,"properties":{"shop":"a"}}
            {"id":2,"properties":{"shop":"a","brand":"B"}}
            {"id":3,"properties":{"shop":"a","brand":"C"}}
            {"id":3,"properties":{"shop":"a","brand":"D"}}
            """
        var requests = PlaceRequests([reader(Array(text.utf8))], .init(isOSM: true))
        #expect(try chains(&requests) == ["1": nil, "2": "B", "3": "D"])
    }

    /// The chain that each place has at last, by its id.
    private func chains(_ requests: inout PlaceRequests) throws -> [String: String?] {
        var chains: [String: String?] = [:]
        while let request = try requests.next() {
            let payload = try JSONValue.parse([UInt8(ascii: "{")] + request.parameters.dropFirst() + [UInt8(ascii: "}")])
            for feature in payload.member("places")?.member("features")?.asArray ?? [] {
                let own = feature.member("properties")
                let id = own?.member("id")?.asString ?? "\(own?.member("id")?.asInt64 ?? 0)"
                chains[id] = .some(own?.member("chainId")?.asString)
            }
        }
        return chains
    }

    // MARK: Requests

    @Test("Requests hold as many features as fit, categories come first and once, and a zone is given to who has none")
    func requests() throws {
        let filler = String(repeating: "x", count: 60_000)
        let lines = (0..<10).map {
            #"{"id":"n/\#($0)","properties":{"amenity":"\#($0 < 9 ? "cafe" : "bar")","opening_hours":"\#(filler)"},"geometry":null}"#
        }
        var requests = PlaceRequests(
            [reader(Array(lines.joined(separator: "\n").utf8))], .init(isOSM: true, timeZone: "Europe/Monaco"))
        var order: [String] = []
        var ids: [String] = []
        while let request = try requests.next() {
            order.append(request.resource)
            #expect(request.parameters.count < 250 << 10)
            let payload = try JSONValue.parse([UInt8(ascii: "{")] + request.parameters.dropFirst() + [UInt8(ascii: "}")])
            for feature in payload.member("places")?.member("features")?.asArray ?? [] {
                ids.append(feature.member("properties")?.member("id")?.asString ?? "")
                #expect(feature.member("properties")?.member("timeZone") == "Europe/Monaco")
            }
            if let categories = payload.member("categories")?.asArray {
                #expect(categories.count == (order.count == 1 ? 2 : 1))
            }
        }
        #expect(ids == (0..<10).map { "n/\($0)" })
        #expect(order.filter { $0 == "category" }.count == 2 && order.first == "category" && requests.unreadableCount == 0)
    }

    @Test("A feature without an id that is refused is reported by its place in the input, not in its request")
    func refusedWithoutID() throws {
        let filler = String(repeating: "x", count: 100_000)
        let text = (0..<5).map { #"{"properties":{"shop":"a\#($0 == 0 ? #"","brand":"B"# : "")"},"n":"\#(filler)"}"# }
        func numbers(isOSM: Bool) throws -> [[String]] {
            var requests = PlaceRequests([reader(Array(text.joined(separator: "\n").utf8))], .init(isOSM: isOSM))
            var all: [[String]] = []
            while let request = try requests.next() {
                guard request.resource == "place" else { continue }
                all.append(
                    try request.numbers.indices.map { place in
                        let refusal = try JSONValue.parse(
                            Array(#"{"id":null,"error":{"message":"`id` is required (feature \#(place))"}}"#.utf8))
                        return PlaceRequests.located(refusal, in: request).member("error")?.member("message")?.asString ?? ""
                    })
            }
            return all
        }
        func said(_ numbers: [Int]) -> [String] { numbers.map { "`id` is required (feature \($0))" } }
        #expect(try numbers(isOSM: false) == [said([0, 1]), said([2, 3]), said([4])])
        // The one that waits for what may be said of its brand goes last.
        #expect(try numbers(isOSM: true) == [said([1, 2, 3, 4, 0])])
        let named: JSONValue = ["id": "a", "error": ["message": "m (feature 0)"]]
        #expect(PlaceRequests.located(named, in: .init(resource: "place", parameters: [], numbers: [7])) == named)
    }

    @Test("The command keeps several requests on their way, asks again what a store refused, and names what was refused")
    func command() throws {
        let filler = String(repeating: "x", count: 100_000)
        let features = (0..<8).map { #"{"type":"Feature","properties":{"id":"r\#($0)","note":"\#(filler)"},"geometry":null}"# }
        let file = NSTemporaryDirectory() + "geomatch-places-\(UInt32.random(in: 0 ... .max)).geojson"
        try #"{"type":"FeatureCollection","features":[\#(features.joined(separator: ",")),{"a":01}]}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let refusals = Refusals()
        try withDaemon(
            filters: ["geomatch/d/cli/request/#"],
            answer: { daemon, message, correlation in
                let request = try? JSONValue.parse(message.payload)
                let count = request?.member("places")?.member("features")?.asArray?.count ?? 0
                let id = request?.member("requestId")?.asString ?? ""
                let reply =
                    refusals.isFirst(id)
                    ? #""error":{"code":500,"error":"internal","message":"disk full"}"#
                    : #""result":{"imported":\#(count - 1),"replaced":0,"refused":[{"id":"r","error":{"error":"invalid","code":400,"message":"m"}}],"warnings":[]}"#
                daemon.publish(
                    "geomatch/d/cli/reply", #"{"requestId":"\#(id)","request":"place/import",\#(reply)}"#,
                    correlation: correlation)
            }
        ) { broker, _ in
            let said = try CommandLineRun(["--broker", broker.url, "--dataset", "d", "import", "places", file]).finish()
            #expect(said.out == "imported 4, replaced 0\n")
            #expect(said.error.contains("refused: r: invalid (400): m") && said.error.contains("5 features were refused"))
            #expect(said.error.contains("refused: a feature: invalid (400): ") && said.error.contains("(feature 8)"))
            #expect(said.code == 1)
        }
    }

    @Test("What cannot be read ends with the usage code and says why")
    func unreadable() throws {
        let said = try CommandLineRun(["import", "places", "/nowhere.geojson"]).finish()
        #expect(said.code == 64 && said.error.contains("/nowhere.geojson"))
        #expect(try CommandLineRun(["import", "places", "/"]).finish().error.contains("folder"))
        #expect(try CommandLineRun(["places", "near", "91", "7"]).finish().code == 64)
        let zone = try CommandLineRun(["import", "places", "--time-zone", "Mars/Phobos", "/dev/null"]).finish()
        #expect(zone.code == 64 && zone.error.contains("Mars/Phobos"))
    }
}

/// Which ids came before.
private final class Refusals: @unchecked Sendable {
    private let lock = NSLock()
    private var known: Set<String> = []

    func isFirst(_ id: String) -> Bool { lock.withLock { known.insert(id).inserted && known.count == 1 } }
}
