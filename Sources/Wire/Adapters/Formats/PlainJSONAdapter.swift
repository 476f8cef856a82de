/// JSON of no particular ecosystem: the native payload of the configured domain, with the names and times that are common.
///
/// Times are `timestamp`, `tst`, `ts` or `time`, in seconds, milliseconds or RFC 3339.
struct PlainJSONAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "json", aliases: ["plain", "plain-json"], usualFilter: "devices/+/position",
        reads: "the native payload of `domain` (default position) with common names", item: "what the last wildcard stands for",
        domains: [])

    private static let times = ["timestamp", "tst", "ts", "time"]
    /// The year 2000: what a free property `time` holds below may be anything.
    private static let earliestTime: Int64 = 946_684_800_000

    private let decoder = LiveUpdateDecoder()

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        let isPosition = topic.domain == KnownDomain.position.rawValue
        let time = try Self.time(of: payload, isPosition: isPosition)
        var writer = JSONWriter()
        writer.beginObject()
        writer.instant("timestamp", time?.milliseconds)
        let order = MemberOrder(payload)
        for (key, value) in payload.members where order.isLast(key) {
            if let time, key.hasText(time.key) || key.hasText("timestamp") { continue }
            writer.key(utf8: key.utf8)
            writer.value(JSONValue(value))
        }
        writer.endObject()
        if isPosition { try checkFix(writer.bytes) }
        try readings.add(writer.bytes, of: topic.domain, item: Self.item(of: topic))
    }

    func readEmpty(on topic: AdapterTopic, into readings: inout AdapterReadings) {
        readings.clear(topic.domain, item: Self.item(of: topic))
    }

    private static func item(of topic: AdapterTopic) -> String {
        topic.wildcards.last ?? topic.last
    }

    private static func time(
        of payload: JSONNode, isPosition: Bool
    ) throws(WireError) -> (key: String, milliseconds: Int64)? {
        for key in times where payload.given(key) != nil {
            if isPosition || key == "timestamp" {
                if let milliseconds = try payload.instant(of: key) { return (key, milliseconds) }
            } else if let milliseconds = try? payload.instant(of: key), milliseconds >= earliestTime {
                return (key, milliseconds)
            }
        }
        return nil
    }

    /// Receivers without a fix say that they are at 0, 0.
    private func checkFix(_ payload: [UInt8]) throws(WireError) {
        var properties: [UInt8] = []
        let update = try decoder.decode(payload, domain: KnownDomain.position.rawValue, properties: &properties)
        guard let position = update.position else { return }
        _ = try AdaptedPosition(
            latitude: position.latitude, longitude: position.longitude, latitudeField: "latitude", longitudeField: "longitude")
    }
}
