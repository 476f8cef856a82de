import SeededRandom
import Testing

@testable import Wire

@Suite("JSON")
struct JSONTests {
    struct Pair: Sendable {
        var text: String
        var value: JSONValue
    }

    @Test(
        "JSON becomes values",
        arguments: [
            Pair(text: "null", value: .null), Pair(text: " true ", value: true), Pair(text: "false", value: false),
            Pair(text: "0", value: 0), Pair(text: "-0", value: 0), Pair(text: "-17", value: -17), Pair(text: "7.0", value: 7.0),
            Pair(text: "1e3", value: 1000.0), Pair(text: "9223372036854775807", value: .integer(.max)),
            Pair(text: "-9223372036854775808", value: .integer(.min)),
            Pair(text: "9223372036854775808", value: 9223372036854775808.0),
            Pair(text: "18446744073709551616", value: 18446744073709551616.0),
            Pair(
                text: "[-9223372036854775809,\"12345678901234567890123\",1]",
                value: [-9223372036854775808.0, "12345678901234567890123", 1]),
            Pair(
                text: #"{"a\"1234567890123456789012":12345678901234567890123456789012}"#,
                value: ["a\"1234567890123456789012": 1.2345678901234567e31]),
            Pair(text: "\"\"", value: ""), Pair(text: #""a\n\u00e9\ud83e\udd8a\u0000\/""#, value: "a\né🦊\u{0}/"),
            Pair(text: "[]", value: []), Pair(text: "{}", value: [:]), Pair(text: "[1,[2,[]],{}]", value: [1, [2, []], [:]]),
            Pair(text: #"{"a":1,"b":{"c":[true,null]},"d":"x"}"#, value: ["a": 1, "b": ["c": [true, nil]], "d": "x"]),
            Pair(text: #"{"a":1,"b":2,"a":3}"#, value: ["a": 3, "b": 2]),
        ])
    func parses(_ pair: Pair) throws {
        let value = try JSONValue.parse(pair.text)
        #expect(value == pair.value)
        let written = value.serialised()
        #expect(try JSONValue.parse(written).serialised() == written)
    }

    @Test(
        "What is not strict JSON is refused",
        arguments: [
            "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "+1", ".5", "1.", "1e", "NaN", "Infinity", "-",
            "tru",
            "nul", "\"a", "\"\u{1}\"", "\"\\x\"", "\"\\ud800\"", "[1 2]", "1 2", "{\"a\"}", "{\"a\":}", "[1]]", "// x\n1",
            "1e999",
            "[1e400]", "12345678901234567890123x", "\u{FEFF}1", "[0123456789012345678901]",
        ])
    func refuses(_ text: String) {
        #expect(throws: JSONError.self) { try JSONValue.parse(text) }
    }

    @Test("Errors are distinguished")
    func errors() {
        #expect(throws: JSONError.empty) { try JSONValue.parse([UInt8]()) }
        #expect(throws: JSONError.notUTF8) { try JSONValue.parse([0x22, 0xFF, 0x22]) }
        #expect(throws: JSONError.number) { try JSONValue.parse("[1e999]") }
        #expect(throws: JSONError.string) { try JSONValue.parse("\"abc") }
        #expect(throws: JSONError.tooLarge) { try JSONValue.parse([UInt8](repeating: 0x20, count: (1 << 20) + 1)) }
        for error in [JSONError.empty, .tooLarge, .tooDeep, .notUTF8, .number, .string, .syntax, .outOfMemory] {
            #expect(!error.message.isEmpty)
            #expect(WireError(error).code == (error == .tooLarge ? .tooLarge : error == .outOfMemory ? .internal : .invalid))
        }
    }

    @Test("Containers nest 63 deep and never deeper than 64")
    func depth() throws {
        for open in ["[", "{\"a\":"] {
            let close = open == "[" ? "]" : "}"
            let text = { (depth: Int) in String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth) }
            _ = try JSONValue.parse(text(63))
            for depth in [65, 66, 100, 10_000, 100_000] {
                #expect(throws: JSONError.tooDeep) { try JSONValue.parse(text(depth)) }
            }
        }
        // The limit holds also after the buffers have grown and were given back.
        let parser = JSONParser()
        _ = try JSONValue.parse(Array(("[" + String(repeating: "1,", count: 400_000) + "1]").utf8), using: parser)
        _ = try JSONValue.parse([UInt8(ascii: "1")], using: parser)
        let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        #expect(throws: JSONError.tooDeep) { try JSONValue.parse(Array(deep.utf8), using: parser) }
    }

    @Test("One parser reads payloads of all sizes after each other")
    func reuse() throws {
        let parser = JSONParser()
        for size in [1, 10, 5_000, 3, 200_000, 1, 100_000, 400_000, 2] {
            let value = JSONValue.array((0..<size).map { .integer(Int64($0 % 7)) })
            #expect(try JSONValue.parse(value.serialised(), using: parser) == value)
        }
    }

    @Test("Padded bytes are read in place, and what lies behind does not matter")
    func padded() throws {
        let parser = JSONParser()
        let text = Array(#"{"a":[1,2.5,"x"],"b":-1}"#.utf8)
        for filler: UInt8 in [0x00, 0x20, 0x22, 0x30, 0x7D, 0xFF] {
            let bytes = text + [UInt8](repeating: filler, count: 64)
            let value = try bytes.withUnsafeBufferPointer { buffer throws(WireError) in
                try parser.parse(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<text.count]), padded: true) {
                    root throws(WireError) in
                    #expect(root["b"]?.asInt64 == -1)
                    #expect(root["a"]?.count == 3)
                    #expect(root["c"] == nil)
                    return JSONValue(root)
                }
            }
            #expect(value == ["a": [1, 2.5, "x"], "b": -1])
        }
    }

    @Test("Thousands of equal and different keys keep the last value at the first place")
    func duplicates() throws {
        var members: [String] = []
        for index in 0..<20_000 { members.append("\"k\(index % 9_000)\":\(index)") }
        let value = try JSONValue.parse("{" + members.joined(separator: ",") + "}")
        let object = try #require(value.asObject)
        #expect(object.count == 9_000)
        #expect(object.members[0] == JSONObject.Member(key: "k0", value: 18_000))
        #expect(object["k2000"] == 11_000)
        #expect(object["k1999"] == 19_999)
    }

    @Test("An object keeps its order, replaces in place and removes")
    func objects() {
        var object: JSONObject = ["b": 1, "a": 2]
        object["c"] = 3
        object["b"] = 4
        object["a"] = nil
        object["z"] = nil
        #expect(object.keys == ["b", "c"])
        #expect(object == ["b": 4, "c": 3])
        #expect(object != ["c": 3, "b": 4])
        object["e\u{301}"] = 1
        #expect(object["\u{E9}"] == nil)
    }

    @Test("Random values come back from their JSON")
    func randomRoundTrip() throws {
        var random = SplitMix64.forTest("JSON round trip")
        let parser = JSONParser()
        for _ in 0..<3_000 {
            let value = Self.randomValue(&random, depth: 4)
            #expect(try JSONValue.parse(value.serialised(), using: parser) == value)
        }
    }

    static func randomValue(_ random: inout SplitMix64, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: return .integer(Int64.random(in: -1000...1000, using: &random))
        case 4:
            // A whole double is written like an integer, so a fraction keeps the case.
            let value = Double(bitPattern: random.next())
            return .double(value.isFinite && value.whole == nil ? value : 0.5)
        case 5: return .string(randomText(&random))
        case 6: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in randomValue(&random, depth: depth - 1) })
        default:
            let members = (0..<Int.random(in: 0...4, using: &random)).map { index in
                ("\(index)" + randomText(&random), randomValue(&random, depth: depth - 1))
            }
            return .object(JSONObject(members))
        }
    }

    static func randomText(_ random: inout SplitMix64) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...10, using: &random) {
            let limits: ClosedRange<UInt32> = [0...0x7F, 0...0x2F, 0...0x10FFFF].randomElement(using: &random)!
            if let scalar = Unicode.Scalar(UInt32.random(in: limits, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }
}
