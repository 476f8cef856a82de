import Geodesy
import SeededRandom
import Selectors
import Testing

@testable import Wire

@Suite("Request")
struct RequestTests {
    private func refusal(_ payload: String) -> Request.Refusal? {
        guard case .failure(let refusal) = Request.parse(Array(payload.utf8)) else { return nil }
        return refusal
    }

    @Test("A payload gives its id and its parameters")
    func parses() throws {
        #expect(
            try Request.parse(Array(#"{"a":1,"requestId":"r","b":[]}"#.utf8)).get()
                == Request(id: "r", parameters: ["a": 1, "b": []]))
        #expect(try Request.parse(Array("{}".utf8)).get() == Request(parameters: [:]))
        #expect(try Request.parse(Array(#"{"requestId":null}"#.utf8)).get() == Request(parameters: [:]))
        let longest = String(repeating: "é", count: 64)
        #expect(try Request.parse(Array("{\"requestId\":\"\(longest)\"}".utf8)).get().id == longest)
    }

    @Test(
        "What is no object, or has no proper id, is invalid without an id",
        arguments: ["", "x", "[]", "7", "\"requestId\"", #"{"requestId":"r"#])
    func refuses(_ payload: String) {
        #expect(refusal(payload)?.error.code == .invalid)
        #expect(refusal(payload)?.id == nil)
    }

    @Test(
        "What cannot be read as a whole is answered to who waits for it",
        arguments: [
            (#"{"requestId":"r","x":1e999}"#, "r"), (#"{"x":NaN, "requestId" : "é\u0041" }"#, "éA"),
            (#"{"requestId":"r","places":"#, "r"),
            (#"{"a":{"requestId":"no"},"b":["\"",{"requestId":"no"}],"requestId":"r",}"#, "r"),
            (#"{"a":"requestId","b":NaN,"requestId":"r"}"#, "r"), (#"{"requestId":7,"x":NaN}"#, nil),
            (#"[{"requestId":"r"},NaN]"#, nil),
            (#"NaN{"requestId":"r"}"#, nil), (#"{"x":NaN}{"requestId":"r"}"#, nil), (#"{"x":"\"#, nil),
            ("{\"a\":" + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + ",\"requestId\":\"r\"}", "r"),
            (#"{"requestId":"\ud800","x":NaN}"#, nil),
        ] as [(String, String?)])
    func unreadable(_ payload: String, id: String?) {
        #expect(refusal(payload)?.error.code == .invalid)
        #expect(refusal(payload)?.id == id)
    }

    @Test("An id that is no string of at most 64 characters is not echoed")
    func wrongID() {
        for id in ["7", "true", "{}", "\"\(String(repeating: "x", count: 65))\""] {
            let refusal = refusal("{\"requestId\":\(id)}")
            #expect(refusal?.error.code == .invalid)
            #expect(refusal?.error.field == "requestId")
            #expect(refusal?.id == nil)
        }
    }

    @Test("A request above 256 KiB is too large, and its id found up to 1 MiB")
    func tooLarge() throws {
        func payload(_ size: Int) -> String {
            let frame = #"{"requestId":"r","a":""}"#
            return #"{"a":""# + String(repeating: "x", count: size - frame.utf8.count) + #"","requestId":"r"}"#
        }
        #expect(try Request.parse(Array(payload(262_144).utf8)).get().id == "r")
        for (size, id) in [(262_145, "r"), (1_048_576, "r"), (1_048_577, nil)] as [(Int, String?)] {
            let refusal = refusal(payload(size))
            #expect(refusal?.error.code == .tooLarge)
            #expect(refusal?.id == id)
        }
        #expect(refusal(String(repeating: "[", count: 300_000))?.error.code == .tooLarge)
        #expect(refusal("[" + String(repeating: " ", count: 300_000) + "]")?.error.code == .tooLarge)
    }

    @Test("Of an object that cannot be read the id is found at its top, and only there")
    func unreadable() {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let objects = String(repeating: #"{"requestId":"inner","a":"#, count: 100) + "1" + String(repeating: "}", count: 100)
        for (payload, id) in [
            (#"{"requestId":"r","a":\#(deep)}"#, "r"), (#" {"a":\#(deep),"b":"}\"]","requestId" : "r" } "#, "r"),
            (#"{"request\u0049d":"\u00e9\"","a":\#(objects)}"#, "é\""), (#"{"requestId":"r","a":\#(deep),"requestId":"s"}"#, "s"),
            (#"{"a":\#(objects)}"#, nil), (#"{"requestId":7,"a":\#(deep)}"#, nil), (#"{"requestId":"r","a":\#(deep)"#, "r"),
            (#"{"x":"requestId","y":"r","a":\#(deep)}"#, nil), (#"["requestId","r",\#(deep)]"#, nil),
            (#"{"requestId":"\#(String(repeating: "x", count: 65))","a":\#(deep)}"#, nil),
            (#"{"requestId":"r","a":\#(deep)}}"#, "r"), (#"{"a":1e400,"requestId":"r"}"#, "r"),
            (#"{"a":"\ud800","requestId":"r"}"#, "r"), (#"{"requestId":"\ud800"}"#, nil),
        ] as [(String, String?)] {
            let refusal = refusal(payload)
            #expect(refusal?.error.code == .invalid)
            #expect(refusal?.id == id, "\(payload.prefix(60))")
        }
    }

    @Test("Whatever bytes come, the id at the top is that of the parser or none")
    func topLevelFuzz() {
        var random = SplitMix64.forTest()
        let parser = JSONParser()
        let pieces = [
            "{", "}", "[", "]", ":", ",", "\"requestId\"", "\"a\"", "\"\\u0061\"", "\"", "\\", "1", "null", " ", "é", "\u{1}",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0..<14, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                .joined()
            let payload = Array((Bool.random(using: &random) ? "{\"requestId\":\"r\"," + text : text).utf8)
            let found = payload.withUnsafeBytes { TopLevelText.last("requestId", of: $0, using: parser) }
            guard case .success(let request) = Request.parse(payload, using: parser) else { continue }
            #expect(found == request.id, "\(text)")
        }
    }
}

@Suite("Parameters")
struct ParametersTests {
    private let parameters = Parameters([
        "text": "é1", "empty": "", "number": 9000, "half": 0.5, "whole": 7.0, "yes": true, "none": nil, "list": ["a", "b"],
        "object": ["x": 5],
        "dash": "-",
    ])

    private func error(_ read: (Parameters) throws -> Any?) -> WireError? {
        do {
            _ = try read(parameters)
            return nil
        } catch {
            return error as? WireError
        }
    }

    @Test("Parameters are read by type")
    func reads() throws {
        #expect(try parameters.string("text", characters: 1...2) == "é1")
        #expect(try parameters.string("text", bytes: 3...3) == "é1")
        #expect(try parameters.string("empty") == "")
        #expect(try parameters.id("text") == "é1")
        #expect(try parameters.number("number", in: 1...9000) == 9000)
        #expect(try parameters.number("half", in: 0...) == 0.5)
        #expect(try parameters.integer("whole", in: 7...7) == 7)
        #expect(try parameters.bool("yes"))
        #expect(try parameters.word("dash", of: ["-", "+"]) == "-")
        #expect(try parameters.optionalStrings("list", count: 1...2) == ["a", "b"])
        #expect(try parameters.array("list") == ["a", "b"])
        #expect(try parameters.nested("object").integer("x", in: 0...9) == 5)
        #expect(parameters.value("half") == 0.5)
    }

    @Test("Absent and null are distinguished only where asked")
    func absent() throws {
        for key in ["none", "missing"] {
            #expect(try parameters.optionalString(key) == nil)
            #expect(try parameters.optionalNumber(key, in: 0...1) == nil)
            #expect(try parameters.optionalInteger(key, in: 0...1) == nil)
            #expect(try parameters.optionalBool(key) == nil)
            #expect(try parameters.optionalStrings(key) == nil)
            #expect(try parameters.optionalNested(key) == nil)
            #expect(try parameters.optionalWord(key, of: []) == nil)
            #expect(error { try $0.string(key) } == WireError(.invalid, "`\(key)` is required", field: key))
        }
        #expect(parameters.isNull("none"))
        #expect(parameters.has("none"))
        #expect(!parameters.isNull("missing"))
        #expect(!parameters.has("missing"))
    }

    @Test("Errors name the parameter, the rule and the value")
    func errors() {
        let rows: [((Parameters) throws -> Any?, String)] = [
            ({ try $0.number("number", in: 1...5000, unit: "metres") }, "`number` must be from 1 to 5000 metres, not 9000"),
            ({ try $0.number("half", in: 1...) }, "`half` must be at least 1, not 0.5"),
            ({ try $0.number("text", in: 0...1) }, "`text` must be from 0 to 1, not \"é1\""),
            ({ try $0.integer("half", in: 0...65_535) }, "`half` must be a whole number from 0 to 65535, not 0.5"),
            (
                { try $0.integer("whole", in: 8...Int.max, unit: "seconds") },
                "`whole` must be a whole number from 8 on seconds, not 7"
            ),
            ({ try $0.string("number") }, "`number` must be a string, not 9000"),
            ({ try $0.string("text", bytes: 1...2) }, "`text` must have 1 to 2 bytes, not 3"),
            ({ try $0.string("text", characters: 0...1) }, "`text` must have at most 1 characters, not 2"),
            ({ try $0.string("empty", characters: 1...Int.max) }, "`empty` must have at least 1 characters, not 0"),
            ({ try $0.id("dash") }, "`dash` must be an id, not \"-\""),
            ({ try $0.id("empty") }, "`empty` must have 1 to 128 bytes, not 0"),
            ({ try $0.bool("number") }, "`number` must be true or false, not 9000"),
            ({ try $0.word("text", of: ["any", "same"]) }, "`text` must be \"any\" or \"same\", not \"é1\""),
            ({ try $0.array("object") }, "`object` must be an array, not an object"),
            ({ try $0.array("list", count: 0...1) }, "`list` must have at most 1 entries, not 2"),
            ({ try $0.nested("list") }, "`list` must be an object, not an array"),
        ]
        for (read, message) in rows { #expect(error(read)?.message == message) }
        #expect(
            error { try $0.nested("object").string("x") }
                == WireError(.invalid, "`object.x` must be a string, not 5", field: "object.x"))
        #expect(error { try Parameters(["list": ["a", 1]]).optionalStrings("list") ?? $0.value("x") }?.field == "list")
    }

    @Test("A list's limit is 1 to 1000, more means 1000")
    func listLimit() throws {
        #expect(try Parameters([:]).listLimit() == 1000)
        #expect(try Parameters(["limit": 1]).listLimit() == 1)
        #expect(try Parameters(["limit": 5000]).listLimit() == 1000)
        for limit: JSONValue in [0, -1, 1.5, "5"] {
            #expect(throws: WireError.self) { try Parameters(["limit": limit]).listLimit() }
        }
    }
}

@Suite("Properties and locations of requests")
struct PropertyCodingTests {
    @Test("Properties come back as they were sent")
    func properties() throws {
        let text = #"{"b":true,"i":-7,"d":1.5,"s":"\"é","a":["x",1,false,2.5],"e":[]}"#
        let properties = try PropertiesCoding.decode(try JSONValue.parse(text))
        #expect(String(decoding: PropertiesCoding.encode(properties), as: UTF8.self) == text)
        #expect(properties["i"] == .integer(-7))
        #expect(properties["a"] == .array([.string("x"), .integer(1), .boolean(false), .double(2.5)]))
        for absent in [nil, JSONValue.null, [:], ["a": nil]] as [JSONValue?] {
            #expect(String(decoding: PropertiesCoding.encode(try PropertiesCoding.decode(absent)), as: UTF8.self) == "{}")
        }
    }

    @Test("Properties beyond scalars and arrays of them, or beyond 64, are refused")
    func wrongProperties() throws {
        func entries(_ count: Int) -> JSONValue { .object(JSONObject((0..<count).map { ("k\($0)", JSONValue.integer(1)) })) }
        #expect(try PropertiesCoding.decode(entries(64)).entries.count == 64)
        // A null is left out, and none of them.
        var withNull = try #require(entries(64).asObject)
        withNull["none"] = .null
        #expect(try PropertiesCoding.decode(.object(withNull)).entries.count == 64)
        for wrong in [[1], "x", 7, ["a": [:]], ["a": [[1]]], ["a": [nil]], entries(65)] as [JSONValue] {
            #expect {
                try PropertiesCoding.decode(wrong)
            } throws: {
                ($0 as? WireError)?.code == .invalid && ($0 as? WireError)?.field == "properties"
            }
        }
    }

    @Test("A location in a request follows the rules of a live position")
    func location() throws {
        let location = try LocationCoding.decode(["lat": "47.5", "lon": 8, "acc": 5, "floorIndex": 2, "tst": 7, "x": "y"])
        #expect(location.position == Position(latitude: 47.5, longitude: 8, altitude: nil, horizontalAccuracy: 5))
        #expect(location.floorIndex == 2)
        #expect(location.timestamp == 7000)
        #expect(
            String(decoding: location.properties, as: UTF8.self)
                == #"{"latitude":47.5,"longitude":8,"horizontalAccuracy":5,"floorIndex":2,"x":"y"}"#)
    }

    @Test("A wrong location names the way to what is wrong")
    func wrongLocation() {
        let rows: [(JSONValue, String)] = [
            ("here", "location"), ([1, 2], "location"), (["latitude": 91, "longitude": 0], "location.latitude"),
            ([:], "location.latitude"),
        ]
        for (value, field) in rows {
            #expect {
                try LocationCoding.decode(value, field: "location")
            } throws: {
                ($0 as? WireError)?.code == .invalid && ($0 as? WireError)?.field == field
            }
        }
    }
}
