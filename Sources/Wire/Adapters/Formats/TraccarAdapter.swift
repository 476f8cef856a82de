/// Traccar's position and event forwarding.
///
/// Source: traccar, `forward/PositionForwarderMqtt.java`, `forward/EventData.java`, `model/Position.java`: speed in knots,
/// times in RFC 3339 with or without the colon in their zone.
struct TraccarAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "traccar", usualFilter: "traccar/#", reads: "forwarded positions, and those of forwarded events",
        item: "device.uniqueId", domains: ["position"])

    /// Metres per second in a knot.
    private static let knot = 0.514444

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        // Some events have no position. An invalid one is no fix, an outdated one the last fix repeated.
        guard let fix = try payload.object("position"), fix.given("valid")?.truth != false,
            fix.given("outdated")?.truth != true
        else { return }
        guard var position = try AdaptedPosition.read(fix, path: "position.") else { throw .missing("position.latitude") }
        guard let item = try payload.object("device")?.id(of: "uniqueId", path: "device.") else {
            throw .missing("device.uniqueId")
        }
        position.altitude = try fix.number(of: "altitude", path: "position.")
        position.horizontalAccuracy = try fix.accuracy(of: "accuracy", path: "position.")
        position.speed = try fix.magnitude(of: "speed", path: "position.").map { $0 * Self.knot }
        position.course = try fix.magnitude(of: "course", path: "position.")
        for name in ["fixTime", "deviceTime", "serverTime"] where position.timestamp == nil {
            position.timestamp = try fix.instant(of: name, path: "position.")
        }
        let attributes = try fix.object("attributes", path: "position.")
        try readings.add(position, item: item, extras: attributes.map { [$0] } ?? [])
    }
}
