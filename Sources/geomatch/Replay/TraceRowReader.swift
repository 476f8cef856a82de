import LiveTopics
import Wire

/// Reads the fields of a point by the daemon's own rules: what it would refuse is refused here.
struct TraceRowReader {
    private let decoder = LiveUpdateDecoder()
    private static let time = "time"

    /// - Returns: The point; its device is left to the caller.
    func point(of row: TraceRow) throws(TraceRowError) -> Trace.Point {
        guard let device = row.device, !device.isEmpty else { throw TraceRowError(reason: "the device is missing") }
        guard Name.isID(device) else { throw TraceRowError(reason: "the device must be 1 to 128 bytes, not `-`") }
        var members = JSONObject()
        // A text is read as the number it holds, so the fields need not be understood twice.
        members["latitude"] = text(row.latitude)
        members["longitude"] = text(row.longitude)
        members["altitude"] = text(row.altitude)
        members["accuracy"] = text(row.accuracy)
        // Of the names of a time the one that takes seconds, too.
        members[Self.time] = text(row.timestamp.map(Self.zoned))
        var properties: [UInt8] = []
        let update: LiveUpdate
        do throws(WireError) {
            update = try decoder.decode(JSONValue.object(members).serialised(), domain: "position", properties: &properties)
        } catch {
            throw TraceRowError(reason: error.message.replacing("`\(Self.time)`", with: "`\(row.timestampName)`"))
        }
        guard let timestamp = update.timestamp else { throw TraceRowError(reason: "the timestamp is missing") }
        guard let position = update.position else { throw TraceRowError(reason: "there is no position") }
        return Trace.Point(
            timestamp: timestamp, device: 0, latitude: position.latitude, longitude: position.longitude,
            altitude: position.altitude, accuracy: position.horizontalAccuracy)
    }

    private func text(_ field: String?) -> JSONValue? {
        field.flatMap { $0.isEmpty ? nil : .string($0) }
    }

    /// ISO 8601 allows a time without a zone; recordings that leave it out mean UTC.
    static func zoned(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= 19, bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "),
            !bytes[11...].contains(where: { "Zz+-".utf8.contains($0) })
        else { return text }
        return text + "Z"
    }
}
