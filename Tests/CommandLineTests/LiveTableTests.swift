import SeededRandom
import Testing
import Wire

@testable import geomatch

@Suite("Live rows and their table")
struct LiveTableTests {
    private func message(_ topic: String, _ more: String = "", receivedAt: Int64 = 0, left: Bool = false) -> [UInt8] {
        Array(
            #"{"topic":"\#(topic)","timestamp":\#(receivedAt),"receivedAt":\#(receivedAt),"properties":{\#(more)}\#(left ? #","left":true"# : "")}"#
                .utf8)
    }

    private func apply(_ rows: inout LiveRows, _ bytes: [UInt8], now: Int64 = 0) -> LiveRows.Change {
        bytes.withUnsafeBytes { rows.apply($0, now: now) }
    }

    @Test("Rows come, change and leave; what is no update does nothing")
    func rows() {
        var rows = LiveRows()
        #expect(apply(&rows, message("d/a")) == .updated)
        #expect(apply(&rows, message("d/a", #""x":1"#)) == .updated)
        #expect(rows.count == 1 && rows.all.first?.text == "x 1")
        #expect(apply(&rows, message("d/b", left: true)) == .none)
        #expect(apply(&rows, message("d/a", left: true)) == .left)
        for junk in ["", "x", "[]", "{}", #"{"topic":1}"#] { #expect(apply(&rows, Array(junk.utf8)) == .none) }
        #expect(rows.count == 0)
    }

    @Test("Known properties have their units, and a position as many decimals as it is worth")
    func units() {
        func text(_ topic: String, _ properties: String) -> String? {
            var rows = LiveRows()
            _ = apply(&rows, message(topic, properties))
            return rows.all.first?.text
        }
        #expect(text("d/-/-/-/-/r/co2", #""co2":421"#) == "co2 421 ppm")
        #expect(text("d/-/-/-/-/r/temperature", #""temperature":-2.5,"co2":1"#) == "temperature -2.5 °C  co2 1")
        #expect(
            text("d/-/-/-/-/p/position", #""latitude":-43.123456789,"longitude":7,"horizontalAccuracy":5,"speed":null"#)
                == "latitude -43.12346  longitude 7.00000  horizontalAccuracy 5 m  speed null")
        #expect(text("d/-/-/-/-/p/engine", #""temperature":80"#) == "temperature 80")
    }

    @Test("What left unseen is taken out, with the message that the daemon would have sent")
    func removed() {
        var rows = LiveRows()
        _ = apply(&rows, message("d/b", receivedAt: 10))
        #expect(rows.remove("d/a") == nil)
        #expect(rows.remove("d/b")?.leftMessage == message("d/b", receivedAt: 10, left: true))
        #expect(rows.count == 0)
    }

    private func table(_ topics: [String], columns: Int = 60, rows: Int = 10, colours: Bool = false) -> [String] {
        var live = LiveRows()
        for (number, topic) in topics.enumerated() { _ = apply(&live, message(topic, #""n":\#(number)"#), now: Int64(number)) }
        return LiveTable(columns: columns, rows: rows, hasColours: colours).lines(
            live.all, LiveTable.Frame(title: "T", note: "N"), now: 125_000)
    }

    @Test("The table has a column for each level in which topics differ, an age and the properties")
    func columns() {
        #expect(
            table(["d/v/b/1/r/-/co2", "d/v/b/2/r/-/co2", "d/v/b/2/long room/-/count"]).map {
                String($0.reversed().drop { $0 == " " }.reversed())
            } == [
                "T   dataset d, venue v, building b",
                "floor  room       domain    age  properties",
                "1      r          co2        2m  n 0",
                "2      long room  count      2m  n 2",
                "2      r          co2        2m  n 1",
                "N",
            ])
    }

    @Test("Where not all rows fit, those that changed last are shown and the rest is counted")
    func tall() {
        let lines = table((10..<30).map { "d/v/b/1/r\($0)/-/co2" }, rows: 6)
        #expect(lines.count == 6)
        #expect(lines[2...4].map { $0.prefix(3) } == ["r27", "r28", "r29"])
        #expect(lines[5].hasPrefix("… and 17 more"))
    }

    @Test("Whatever comes in, no line is wider or the table higher than the window, and nothing moves the cursor")
    func fits() {
        var random = SplitMix64.forTest()
        let parts = ["a", "/", "\\u001b[2J", "字", "é", "e\\u0301", "👩‍👩‍👧", "%2F", "%1B", "\\n", "d/v/b/1/", " ", "\\u202e"]
        for _ in 0..<500 {
            let topics = (0..<random.below(8)).map { _ in (0..<random.below(12)).map { _ in random.pick(parts) }.joined() }
            let (columns, rows) = (1 + random.below(100), 1 + random.below(12))
            let lines = table(topics, columns: columns, rows: rows)
            #expect(lines.count <= rows)
            for line in lines {
                #expect(DisplayWidth.of(line) == columns)
                #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E || $0.value == 0x7F })
            }
        }
    }

    @Test("Attributes only where colours are wanted")
    func colours() {
        #expect(table(["d/a"], colours: true)[1].hasPrefix("\u{1B}[7m"))
        #expect(!table(["d/a"]).joined().contains("\u{1B}"))
    }

    @Test(
        "Ages are short",
        arguments: [
            (-5, "0s"), (0, "0s"), (99_999, "99s"), (100_000, "1m"), (5_999_999, "99m"), (6_000_000, "1h"),
            (172_799_000, "47h"), (172_800_000, "2d"), (Int64.max, "9999d"),
        ])
    func ages(_ milliseconds: Int64, _ text: String) {
        #expect(LiveTable.age(milliseconds) == text)
    }

    @Test(
        "Texts are filled and cut by the columns they take",
        arguments: [
            ("ab", 4, "ab  "), ("abcde", 4, "abc…"), ("字字字", 4, "字… "), ("e\u{301}e", 2, "e\u{301}e"), ("a", 0, ""),
            ("ab", 1, "…"),
        ])
    func fitting(_ text: String, _ columns: Int, _ expected: String) {
        #expect(DisplayWidth.fit(text, columns) == expected)
    }
}
