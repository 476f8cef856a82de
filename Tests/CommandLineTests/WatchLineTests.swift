import Testing

@testable import geomatch

@Suite("Lines of watch")
struct WatchLineTests {
    private func text(_ subject: WatchSubject, _ payload: String) -> String {
        Array(payload.utf8).withUnsafeBytes { WatchLine.text(subject, topic: "t", payload: $0) }
    }

    private func json(_ payload: String) -> String {
        Array(payload.utf8).withUnsafeBytes { WatchLine.json(topic: "t", payload: $0) }
    }

    @Test(
        "People read one line for each message",
        arguments: [
            (
                WatchSubject.matches,
                #"{"id":"m","event":"matched","createdAt":1769443022000,"distance":12.345,"publication":{"id":"p","deviceId":"a","topic":"tea","properties":{"x":1}},"subscription":{"id":"s","deviceId":"b"}}"#,
                #"2026-01-26T15:57:02.000Z matched 12.35 m a/p -> b/s topic tea {"x":1}"#
            ),
            (
                .matches,
                #"{"event":"ended","reason":"left","createdAt":1769443022000,"publication":{"id":"p","deviceId":"a"},"subscription":{"id":"s","deviceId":"b"}}"#,
                "2026-01-26T15:57:02.000Z ended (left) a/p -> b/s"
            ),
            (.matches, #"{"x":1}"#, #"t {"x":1}"#),
            (
                .live,
                #"{"topic":"d/-/-/-/-/a/position","timestamp":1769443022001,"properties":{"latitude":1}}"#,
                #"2026-01-26T15:57:02.001Z d/-/-/-/-/a/position {"latitude":1}"#
            ),
            (.live, "", "t cleared"),
            (.live, "x\u{1B}[2J", #"t x\u001b[2J"#),
            (
                .diagnostics,
                #"{"topic":"d/x","error":"invalid","message":"no","field":"latitude","count":3}"#,
                "d/x: invalid latitude: no (3 times)"
            ),
            (.diagnostics, #"{"topic":"d/x","error":"invalid","message":"no","count":1}"#, "d/x: invalid: no"),
            (
                .geofences,
                #"{"id":"e","event":"exited","geofence":"home","name":"Home","deviceId":"phone","timestamp":0,"visit":"v","duration":61.4,"reason":"left"}"#,
                "1970-01-01T00:00:00.000Z home \"Home\" exited phone (left) after 61 s"
            ),
            (
                .circumstances,
                #"{"circumstanceId":"c","name":"Home","when":"arriving","deviceId":"a","timestamp":0}"#,
                #"1970-01-01T00:00:00.000Z c "Home" arriving device a"#
            ),
            (.changes, #"{"seq":1}"#, #"t {"seq":1}"#),
        ])
    func people(_ subject: WatchSubject, _ payload: String, _ line: String) {
        #expect(text(subject, payload) == line)
    }

    @Test(
        "With --json every line is JSON",
        arguments: [
            (#"{"b":1.50, "a":2}"#, #"{"b":1.50, "a":2}"#), ("{\"a\":\n1}", #"{"a":1}"#), ("", #"{"topic":"t","cleared":true}"#),
            ("x\ny", #"{"topic":"t","payload":"x\ny"}"#),
        ])
    func raw(_ payload: String, _ line: String) {
        #expect(json(payload) == line)
    }

    @Test(
        "Instants are written as RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1_769_443_022_005, "2026-01-26T15:57:02.005Z"),
            (Int64.max, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
        ])
    func instants(_ milliseconds: Int64, _ text: String) {
        #expect(PlainText.instant(milliseconds) == text)
    }
}
