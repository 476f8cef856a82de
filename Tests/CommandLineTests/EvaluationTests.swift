import SeededRandom
import Testing

@testable import geomatch

@Suite("geomatch eval")
struct EvaluationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var words: [String]
        var out = ""
        var error = ""
        var code: Int32 = 0
        var testDescription: String { words.joined(separator: " ") }
    }

    @Test(
        "Arguments give a result on standard output, or an error on standard error and 1",
        arguments: [
            Row(words: ["selector", "price < 3", #"{"price":2.5}"#], out: "true\n"),
            Row(words: ["selector", "price < 3", #"{"price":4}"#], out: "false\n"),
            Row(words: ["selector", "price < 3", "{}"], out: "null\n"),
            Row(words: ["selector", "price IS NULL", #"{"price":null}"#], out: "true\n"),
            Row(words: ["selector", "", "{}"], out: "true\n"),
            Row(
                words: ["selector", "a ==", "{}"],
                error: """
                    invalid (400) selector 3: a value is expected, not "="; compare with a single =
                      a ==
                         ^

                    """, code: 1),
            Row(
                words: ["selector", "a = 'é' && b", "{}"],
                error: """
                    invalid (400) selector 8: "&&" is not an operator; use AND
                      a = 'é' && b
                              ^

                    """, code: 1),
            Row(
                words: ["selector", "a = 1", "[1]"],
                error: "invalid (400) properties: `properties` must be an object, not an array\n", code: 1),
            Row(words: ["topic", "a/+/#", "a/b"], out: "true\n"),
            Row(words: ["topic", "+", "$SYS"], out: "false\n"),
            Row(
                words: ["topic", "a/#/b", "a"],
                error: "invalid (400) filter: the filter is malformed: `#` must stand alone in the last level\n", code: 1),
            Row(
                words: ["topic", "a", "a/+"],
                error: "invalid (400) topic: the topic is malformed: a topic must not contain `+` or `#`\n", code: 1),
            Row(
                words: ["--json", "topic", "a", ""],
                error:
                    #"{"code":400,"error":"invalid","message":"the topic is malformed: must have 1 to 65535 bytes, not 0","field":"topic"}"#
                    + "\n", code: 1),
            Row(
                words: ["circumstance", "(and (at (= category-id 308)) (not is_open)) ; closed"],
                out: "(at (= category-id \"308\") (not is-open))\n"),
            Row(words: ["--json", "circumstance", "(at is_open)"], out: "\"(at is-open)\"\n"),
            Row(
                words: ["circumstance", "(at (= category_id 308))"],
                error: """
                    invalid (400) expression 7: unknown key category_id, did you mean category-id
                      (at (= category_id 308))
                             ^

                    """, code: 1),
            Row(words: ["distance", "48", "11", "48", "11"], out: "0\n"),
            Row(words: ["distance", "0", "0", "0", "1"], out: "111319.49079327358\n"),
            Row(words: ["distance", "0", "0", "0", "-1"], out: "111319.49079327358\n"),
            Row(words: ["distance", "--json", "--", "-0", "0", "-.0", "+1e0"], out: "111319.49079327358\n"),
            Row(
                words: ["distance", "91", "0", "0", "0"],
                error:
                    "invalid (400) from: `from` must have a latitude from -90 to 90 and a longitude from -180 to 180\n",
                code: 1),
            Row(
                words: ["distance", "0", "0", "nan", "0"],
                error: "invalid (400) to: `to` must be [latitude, longitude], two numbers\n", code: 1),
        ])
    func arguments(_ row: Row) throws {
        let said = try CommandLineRun(["eval"] + row.words).finish()
        #expect(said == Said(out: row.out, error: row.error, code: row.code))
    }

    @Test("Every line of standard input gets one line, whatever it holds")
    func lines() throws {
        let input = """
            {"id":1,"selector":"a = 1","properties":{"a":1}}
            {"id":"two","selector":"a = 1","properties":{"a":2}}

            {"selector":"a = 1"}
            nonsense
            [1]
            {"id":null,"selector":"a =","properties":{}}
            {"id":7,"selector":3}
            {"id":8}
            """
        let expected = #"""
            {"id":1,"result":true}
            {"id":"two","result":false}
            {"result":null}
            {"error":{"code":400,"error":"invalid","message":"the line is not JSON"}}
            {"error":{"code":400,"error":"invalid","message":"the line must be a JSON object"}}
            {"id":null,"error":{"code":400,"error":"invalid","message":"a value is expected at the end","field":"selector","position":3}}
            {"id":7,"error":{"code":400,"error":"invalid","message":"`selector` must be a string","field":"selector"}}
            {"id":8,"result":true}

            """#
        #expect(try geomatch("eval", "selector", "-", input: input) == Said(out: expected, error: "", code: 0))
    }

    @Test("Topics and distances are read from lines too")
    func otherLines() throws {
        #expect(
            try geomatch("eval", "topic", "-", input: "{\"filter\":\"a/#\",\"topic\":\"a\"}\n{\"id\":1,\"filter\":\"a\"}\n").out
                == """
                {"result":true}
                {"id":1,"error":{"code":400,"error":"invalid","message":"`topic` is required","field":"topic"}}

                """)
        #expect(
            try geomatch("eval", "distance", "-", input: "{\"from\":[0,0],\"to\":[0,1]}\n{\"from\":[0,0],\"to\":[\"0\",1]}").out
                == """
                {"result":111319.49079327358}
                {"error":{"code":400,"error":"invalid","message":"`to` must be [latitude, longitude], two numbers","field":"to"}}

                """)
    }

    @Test("A line is answered before the next one is read")
    func interactive() throws {
        var lines = LineStream()
        var seen: [String] = []
        for (chunk, isEnd) in [("a", false), ("b\nc\n\nd", false), ("", false), ("e\nf", false), ("", true)] {
            lines.take(Array(chunk.utf8)[...], isEnd: isEnd) { line in
                if case .bytes(let bytes) = line { seen.append(String(decoding: bytes, as: UTF8.self)) }
            }
        }
        #expect(seen == ["ab", "c", "", "de", "f"])
    }

    @Test("A line beyond 1 MiB is refused once, and its end is found")
    func longLine() {
        var lines = JSONLines(TopicEvaluation())
        var stream = LineStream()
        var answers: [String] = []
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 700_000)
        for chunk in [long, long, Array("x\n{\"filter\":\"#\",\"topic\":\"a\"}\n".utf8)] {
            stream.take(chunk[...], isEnd: false) { line in
                lines.answer(to: line).map { answers.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        #expect(
            answers == [
                #"{"error":{"code":413,"error":"tooLarge","message":"the line is longer than 1048576 bytes"}}"#,
                #"{"result":true}"#,
            ])
    }

    @Test("Random lines yield one answer each and the stream goes on")
    func randomLines() throws {
        var random = SplitMix64(seed: SplitMix64.seed())
        let parts = [
            "{", "}", "\"selector\":", "\"a = 1\"", "\"properties\":", "{\"a\":1}", ",", "\"id\":", "1", "[", "]", "null",
        ]
        var lines = JSONLines(SelectorEvaluation())
        for _ in 0..<5000 {
            let text = random.text(of: parts, upTo: 12).filter { $0 != UInt8(ascii: "\n") }
            let answer = text.withUnsafeBytes { lines.answer(to: .bytes($0)) }
            #expect((answer == nil) == !text.contains { $0 > 0x20 })
            #expect(answer?.contains(UInt8(ascii: "\n")) != true)
        }
    }
}
