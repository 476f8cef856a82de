import SeededRandom
import Testing

@testable import Wire

@Suite("JSONWriter")
struct JSONWriterTests {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    struct Number: Sendable {
        var value: Double
        var text: String
    }

    @Test(
        "Doubles are written in their shortest form",
        arguments: [
            Number(value: 0, text: "0"), Number(value: -0.0, text: "0"), Number(value: 7, text: "7"),
            Number(value: -7, text: "-7"),
            Number(value: 0.1, text: "0.1"), Number(value: -0.5, text: "-0.5"), Number(value: 47.3768866, text: "47.3768866"),
            Number(value: 100.25, text: "100.25"), Number(value: 1e-7, text: "0.0000001"),
            Number(value: 0.30000000000000004, text: "0.30000000000000004"),
            Number(value: 9_007_199_254_740_991, text: "9007199254740991"), Number(value: 1e300, text: "1e+300"),
            Number(value: .leastNonzeroMagnitude, text: "5e-324"), Number(value: .nan, text: "null"),
            Number(value: .infinity, text: "null"),
            Number(value: 13.88888888888889, text: "13.88888888888889"),
            Number(value: 99_999_999.9999999, text: "99999999.9999999"),
            Number(value: 10.01, text: "10.01"), Number(value: 1700000000.5, text: "1700000000.5"),
        ])
    func doubles(_ row: Number) {
        #expect(written { $0.double(row.value) } == row.text)
    }

    @Test("Integers are written to the ends of their range")
    func integers() {
        for value in [0, 7, -7, 10, 100, Int64.max, .min] { #expect(written { $0.integer(value) } == "\(value)") }
    }

    @Test("Random doubles read back as themselves and are as short as Swift's own form")
    func randomDoubles() {
        var random = SplitMix64.forTest("JSONWriter doubles")
        for round in 0..<40_000 {
            let value: Double
            switch round % 4 {
            case 0: value = Double(bitPattern: random.next())
            case 1: value = Double(Int.random(in: -1_800_000_000...1_800_000_000, using: &random)) / 1e7
            case 2: value = Double.random(in: -180...180, using: &random)
            default: value = Double(Int.random(in: -99_999...99_999, using: &random)) / 100
            }
            guard value.isFinite else { continue }
            let text = written { $0.double(value) }
            #expect(Double(text) == value, "\(value)")
            if value.magnitude > 0.001, value.magnitude < 1e15 {
                let digits = { (text: String) in text.utf8.count { $0 != UInt8(ascii: "-") } }
                let own = value.description
                #expect(digits(text) <= digits(own), "\(value)")
            }
        }
    }

    @Test("Only what JSON demands is escaped")
    func strings() {
        #expect(written { $0.string("a\"b\\c/d") } == #""a\"b\\c/d""#)
        #expect(
            written { $0.string("\u{0}\u{1F}\u{8}\t\n\u{C}\r\u{7F}é🦊\u{2028}") }
                == "\"\\u0000\\u001f\\b\\t\\n\\f\\r\u{7F}é🦊\u{2028}\"")
        #expect(written { $0.string("") } == "\"\"")
    }

    @Test("Commas come between values and nowhere else")
    func commas() {
        let text = written {
            $0.beginObject()
            $0.key("a")
            $0.beginArray()
            $0.endArray()
            $0.key("b")
            $0.beginArray()
            $0.integer(1)
            $0.bool(true)
            $0.null()
            $0.beginObject()
            $0.endObject()
            $0.raw(Array("{\"x\":1}".utf8))
            $0.string("s")
            $0.endArray()
            $0.key("c")
            $0.double(1.5)
            $0.endObject()
        }
        #expect(text == #"{"a":[],"b":[1,true,null,{},{"x":1},"s"],"c":1.5}"#)
    }

    @Test("An error is written with what it has")
    func errors() {
        #expect(
            written { WireError(.invalid, "m", field: "f", position: 3).encode(into: &$0) }
                == #"{"code":400,"error":"invalid","message":"m","field":"f","position":3}"#)
        #expect(written { WireError(.internal, "m").encode(into: &$0) } == #"{"code":500,"error":"internal","message":"m"}"#)
        let codes = ErrorCode.allCases.map { "\($0.rawValue) \($0.code)" }
        #expect(
            codes == [
                "invalid 400", "unauthorized 401", "forbidden 403", "limit 403", "notFound 404", "unknownDataset 404",
                "conflict 409", "tooLarge 413", "unsupported 501", "internal 500",
            ])
    }
}
