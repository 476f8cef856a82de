import Foundation
import SeededRandom
import Testing

@testable import Wire

@Suite("InstantText")
struct InstantTextTests {
    private func milliseconds(_ text: String) -> Int64? {
        Array(text.utf8).withUnsafeBufferPointer { InstantText.milliseconds($0) }
    }

    struct Row: Sendable {
        var text: String
        var milliseconds: Int64?
    }

    @Test(
        "RFC 3339 texts are instants",
        arguments: [
            Row(text: "1970-01-01T00:00:00Z", milliseconds: 0), Row(text: "1970-01-01t00:00:00.001z", milliseconds: 1),
            Row(text: "1970-01-01 00:00:01+00:00", milliseconds: 1000), Row(text: "1969-12-31T23:59:59.999Z", milliseconds: -1),
            Row(text: "2000-02-29T00:00:00Z", milliseconds: 951_782_400_000),
            Row(text: "2100-02-28T23:59:59Z", milliseconds: 4_107_542_399_000),
            Row(text: "2024-06-01T12:00:00+02:00", milliseconds: 1_717_236_000_000),
            Row(text: "2024-06-01T12:00:00-05:30", milliseconds: 1_717_263_000_000),
            Row(text: "2024-06-01T12:00:00.123999999Z", milliseconds: 1_717_243_200_123),
            Row(text: "2016-12-31T23:59:60Z", milliseconds: 1_483_228_800_000),
            Row(text: "9999-12-31T23:59:59Z", milliseconds: 253_402_300_799_000),
            Row(text: "0000-01-01T00:00:00Z", milliseconds: -62_167_219_200_000),
            Row(text: "", milliseconds: nil), Row(text: "2024-06-01", milliseconds: nil),
            Row(text: "2024-06-01T12:00:00", milliseconds: nil),
            Row(text: "2024-06-01T12:00Z", milliseconds: nil), Row(text: "2024-13-01T12:00:00Z", milliseconds: nil),
            Row(text: "2024-00-01T12:00:00Z", milliseconds: nil), Row(text: "2023-02-29T12:00:00Z", milliseconds: nil),
            Row(text: "2100-02-29T12:00:00Z", milliseconds: nil), Row(text: "2024-04-31T12:00:00Z", milliseconds: nil),
            Row(text: "2024-06-00T12:00:00Z", milliseconds: nil), Row(text: "2024-06-01T24:00:00Z", milliseconds: nil),
            Row(text: "2024-06-01T12:60:00Z", milliseconds: nil), Row(text: "2024-06-01T12:00:61Z", milliseconds: nil),
            Row(text: "2024-06-01T12:00:00.Z", milliseconds: nil), Row(text: "2024-06-01T12:00:00+24:00", milliseconds: nil),
            Row(text: "2024-06-01T12:00:00+01:60", milliseconds: nil), Row(text: "2024-06-01T12:00:00+0100", milliseconds: nil),
            Row(text: "2024-06-01T12:00:00Z ", milliseconds: nil), Row(text: "24-06-01T12:00:00Z", milliseconds: nil),
            Row(text: "2024-6-1T12:00:00Z", milliseconds: nil), Row(text: "+2024-06-01T12:00:00Z", milliseconds: nil),
        ])
    func reads(_ row: Row) {
        #expect(milliseconds(row.text) == row.milliseconds)
    }

    @Test("Random instants agree with Foundation's calendar")
    func againstFoundation() {
        var random = SplitMix64.forTest("InstantText")
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<3_000 {
            let instant = Int64.random(in: -60_000_000_000_000...253_402_300_799_999, using: &random) / 1000 * 1000
            let text = Date(timeIntervalSince1970: Double(instant / 1000)).formatted(style)
            // Foundation counts years before 1582 in the Julian calendar in some versions; RFC 3339 is Gregorian throughout.
            guard instant > -12_000_000_000_000 else { continue }
            #expect(milliseconds(text) == instant, "\(text)")
        }
    }
}
