import Foundation
import Logging
import SeededRandom
import Testing

@testable import geomatchd

@Suite("Lines of the log")
struct LogLineTests {
    private static let letters: [Unicode.Scalar] = [
        "a", "\"", "\\", "\n", "\r", "\t", "\u{0}", "\u{1B}", " ", "=", "é", "😀", "\u{7F}", "\u{85}", "\u{2028}", "{", "}", ",",
    ]

    private func text(_ random: inout SplitMix64) -> String {
        var text = ""
        for _ in 0..<random.below(8) { text.unicodeScalars.append(random.pick(Self.letters)) }
        return text
    }

    private func isOneLine(_ line: String) -> Bool {
        line.unicodeScalars.last == "\n"
            && !line.unicodeScalars.dropLast().contains {
                $0.value < 32 || (0x7F...0x9F).contains($0.value) || $0.value == 0x2028
            }
    }

    @Test("Any record is one line of JSON from which everything said is read back")
    func json() throws {
        var random = SplitMix64.forTest()
        let handler = LineLogHandler(format: .json)
        for _ in 0..<3000 {
            let message = text(&random)
            let metadata = ["a": text(&random), "k" + text(&random): text(&random)]
            let line = handler.line(at: "T", random.pick(Logger.Level.allCases), message, metadata.mapValues { "\($0)" })
            #expect(isOneLine(line), "\(line)")
            let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
            #expect(record.count == 3 + metadata.count && record["time"] == "T")
            #expect(record["message"].map { $0.unicodeScalars.elementsEqual(message.unicodeScalars) } == true, "\(line)")
            for (key, value) in metadata { #expect(record[key].map { $0.utf8.elementsEqual(value.utf8) } == true, "\(line)") }
        }
    }

    @Test("Any record is one line of text, with nothing in it that a terminal obeys")
    func plain() {
        var random = SplitMix64.forTest()
        let handler = LineLogHandler(format: .text)
        for _ in 0..<3000 {
            let line = handler.line(at: "T", .info, text(&random), ["a": "\(text(&random))", "b": "\(text(&random))"])
            #expect(isOneLine(line) && line.hasPrefix("T info    "), "\(line)")
        }
    }

    @Test("The levels that can be asked for stand in one column")
    func levels() {
        let handler = LineLogHandler(format: .text)
        for level in Logger.Level.allCases where level != .critical {
            let line = handler.line(at: "T", level, "m", [:])
            #expect(line == "T " + level.rawValue + String(repeating: " ", count: 7 - level.rawValue.count) + " m\n")
        }
    }

    @Test("A value is quoted where it would otherwise be taken for two, or for none")
    func quoting() {
        let handler = LineLogHandler(format: .text)
        for (value, shown) in [
            ("x", "x"), ("a b", "\"a b\""), ("", "\"\""), ("a\"b", "\"a\\\"b\""), ("1:2", "1:2"), ("a\nb", "\"a\\nb\""),
        ] {
            #expect(handler.line(at: "T", .info, "m", ["k": "\(value)"]) == "T info    m k=\(shown)\n")
        }
    }

    @Test("A logger's own metadata is logged too, and a record's goes before it")
    func ownMetadata() {
        var handler = LineLogHandler(format: .text)
        #expect(handler[metadataKey: "a"] == nil)
        handler[metadataKey: "a"] = "1"
        #expect(handler[metadataKey: "a"] == "1" && handler.metadata == ["a": "1"])
    }
}
