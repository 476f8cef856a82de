import Testing
import Wire

@testable import geomatch

@Suite("geomatch explain")
struct ExplainTests {
    private static let result = """
        {"matches":false,"checks":[{"check":"topic","pass":true,"detail":"both have the topic `tea`"},\
        {"check":"range","pass":false,"detail":"distance 131.2 m, reach 110.0 m (60.0 + 50.0)"},\
        {"check":"selector","pass":false,"detail":"price 600 < 500 is false"},{"check":"suppression","pass":true,"detail":"none"}]}
        """

    /// Answers for the publication `p`, and knows no other.
    private static let answer: FakeDaemon.Answer = { daemon, message, correlation in
        let object = (try? JSONValue.parse(message.payload))?.asObject
        let isKnown = object?["publicationId"] == "p" && object?["subscriptionId"] == "5"
        let error = #""error":{"code":404,"error":"notFound","message":"no such","field":"publicationId"}"#
        daemon.publish(
            "geomatch/d/cli/reply",
            #"{"request":"match/explain",\#(isKnown ? #""result":\#(result)"# : error)}"#, correlation: correlation)
    }

    private func explain(_ words: String...) throws -> Said {
        try withDaemon(filters: ["geomatch/d/cli/request/match/explain"], answer: Self.answer) { broker, _ in
            try CommandLineRun(["--broker", broker.url, "--dataset", "d"] + words).finish()
        }
    }

    @Test("People get a line for each check, and last why not")
    func people() throws {
        #expect(
            try explain("explain", "p", "5")
                == Said(
                    out: """
                        ✓ topic        both have the topic `tea`
                        ✗ range        distance 131.2 m, reach 110.0 m (60.0 + 50.0)
                        ✗ selector     price 600 < 500 is false
                        ✓ suppression  none
                        No match now, because of range and selector.

                        """, error: "", code: 0))
    }

    @Test("--json prints the result, also where it stands first")
    func json() throws {
        #expect(try explain("explain", "p", "5", "--json") == Said(out: Self.result + "\n", error: "", code: 0))
        #expect(try explain("--json", "explain", "p", "5").out == Self.result + "\n")
    }

    @Test("What cannot be explained ends with 1")
    func refused() throws {
        #expect(
            try explain("explain", "q", "5")
                == Said(out: "", error: "notFound (404) publicationId: no such\n", code: 1))
        #expect(try explain("explain", "q").code == 64)
    }

    @Test("A conclusion names what failed, and bears what a newer daemon may say")
    func conclusions() throws {
        func text(_ json: String) throws -> String { ExplanationText.of(try JSONValue.parse(json)) }
        #expect(try text(#"{"matches":true,"checks":[]}"#) == "They match: evaluated now, they make a match.")
        #expect(try text("{}") == "No match now.")
        #expect(
            try text(#"{"matches":false,"checks":[{"check":"a\u001b","pass":false,"detail":5},{"check":"b"},7,{"check":"c"}]}"#)
                == "✗ a\\u001b  5\n✗ b        \n✗ c        \nNo match now, because of a\\u001b, b and c.")
    }
}
