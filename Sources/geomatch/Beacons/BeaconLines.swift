import Wire

/// One line for each message about who sees which beacons.
final class BeaconLines: LiveOutput {
    private var output = StandardOutput()

    var isClosed: Bool { output.isClosed }

    func message(_ payload: UnsafeRawBufferPointer, _ change: LiveRows.Change) {
        let text = (try? JSONValue.parse(payload)).flatMap(BeaconText.sightings)
        output.line(text ?? WatchLine.text(.live, topic: "", payload: payload))
    }

    func note(_ text: String, isGood: Bool) { StandardError.line("geomatch: \(PlainText.printable(text))") }
    func flush(_ rows: LiveRows) { output.flush() }
    func turn(_ rows: LiveRows, now: Int64) -> Int64 { .max }
}

/// Beacons in words.
enum BeaconText {
    /// `2026-01-26T15:57:02.000Z gate-3: tag-9 1.2 m near, F7826DA6-… 1 2 far`, or `… gate-3: gone`; nil where it is another kind of message.
    static func sightings(_ message: JSONValue) -> String? {
        guard let beacons = message.member("properties")?.member("beacons")?.asArray else { return nil }
        let at = message.member("timestamp")?.asInt64.map(PlainText.instant) ?? "-"
        let who = message.member("itemId").map(PlainText.of) ?? "?"
        // What is sent with `left` are the last ones: it sees none any more.
        if message.member("left")?.asBool == true { return "\(at) \(who): gone" }
        let seen = beacons.map { beacon in
            let name = beacon.member("deviceId").map(PlainText.of) ?? identity(beacon)
            let metres = beacon.member("distance")?.asDouble.map { " \(PlainText.decimal($0, 1)) m" } ?? ""
            return "\(name)\(metres) \(beacon.member("proximity").map(PlainText.of) ?? "")"
        }
        return "\(at) \(who): \(seen.isEmpty ? "no beacon" : seen.joined(separator: ", "))"
    }

    /// UUID, major, minor, and what else is asked for.
    static func identity(_ beacon: JSONValue, _ more: String...) -> String {
        (["proximityUUID", "major", "minor"] + more).map { beacon.member($0).map(PlainText.of) ?? "-" }.joined(separator: " ")
    }
}
