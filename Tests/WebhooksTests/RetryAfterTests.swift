import SeededRandom
import Testing

@testable import Posting

@Suite("When an endpoint wants to be asked again")
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, and a time of this century.
    private static let then: Int64 = 784_111_777_000
    private static let now: Int64 = 1_700_000_000_000  // Tue, 14 Nov 2023 22:13:20 GMT

    @Test(
        "Seconds and all three forms of dates are read",
        arguments: [
            ("0", now, 0), ("120", now, 120_000), (" 7", now, 7000), ("3600", now, 3_600_000), ("3601", now, 3_600_000),
            ("000000000120", now, 120_000), ("99999999999999999999999", now, 3_600_000),
            ("Sun, 06 Nov 1994 08:49:37 GMT", then - 5000, 5000), ("Sun, 06 Nov 1994 08:49:37 GMT", then + 5000, 0),
            ("Tue, 14 Nov 2023 22:14:20 GMT", now, 60_000), ("Tuesday, 14-Nov-23 22:14:20 GMT", now, 60_000),
            ("Tue Nov 14 22:14:20 2023", now, 60_000), ("Wed, 15 Nov 2023 22:14:20 GMT", now, 3_600_000),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_799_000, 1000), ("Fri Mar  1 00:00:00 2024", 1_709_251_199_000, 1000),
            ("Tue Nov  4 00:00:01 2025", 1_762_214_400_000, 1000),
        ])
    func isRead(_ text: String, _ now: Int64, _ expected: Int64) {
        #expect(RetryAfter.milliseconds(text, at: now) == expected)
    }

    @Test(
        "Anything else says nothing",
        arguments: [
            "", " ", "-1", "1.5", "1e3", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 19941 08:49:37 GMT",
            "2023-11-14T22:13:20Z",
        ])
    func isNothing(_ text: String) { #expect(RetryAfter.milliseconds(text, at: Self.now) == nil) }

    @Test("Noise is survived, and what is read lies between now and an hour")
    func survivesNoise() {
        var random = SplitMix64.forTest()
        let pieces = [
            "Sun", ",", " ", "06", "Nov", "1994", "08:49:37", "GMT", "-", "9", "99999999", ":", "é", "\u{0}", "Feb", "31",
        ]
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<random.next() % 10 { text += pieces[Int(random.next() % UInt64(pieces.count))] }
            if let milliseconds = RetryAfter.milliseconds(text, at: Self.now) { #expect((0...3_600_000).contains(milliseconds)) }
        }
    }
}
