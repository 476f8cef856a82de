import Wire

/// Traces with one GeoJSON Feature of a Point on a line (GeoJSON text sequences, RFC 8142, are read too).
///
/// The device is the property `device` or `deviceId` or the Feature's `id`; the time `timestamp`, `time`, `tst` or `ts`.
enum GeoJSONTrace {
    static func read(_ text: some Collection<UInt8>) -> Trace {
        var lines = TraceLines(text)
        let reader = TraceRowReader()
        let parser = JSONParser()
        var trace = Trace()
        while let line = lines.next() {
            do throws(TraceRowError) {
                trace.add(try row(of: line.bytes, using: parser), line: line.number, using: reader)
            } catch {
                trace.refuse(line: line.number, error.reason)
            }
        }
        return trace
    }

    private static func row(of line: [UInt8], using parser: JSONParser) throws(TraceRowError) -> TraceRow {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(line, using: parser)
        } catch {
            throw TraceRowError(reason: error.message.replacing("the payload", with: "the line"))
        }
        guard case .object(let feature) = value, feature["type"] == "Feature" else {
            throw TraceRowError(reason: "the line is no GeoJSON Feature")
        }
        guard let geometry = feature["geometry"]?.asObject, geometry["type"] == "Point",
            let coordinates = geometry["coordinates"]?.asArray, coordinates.count >= 2
        else { throw TraceRowError(reason: "the geometry must be a Point with [longitude, latitude]") }
        let properties = feature["properties"]?.asObject ?? JSONObject()
        return TraceRow(
            device: first(["device", "deviceId"], of: properties) ?? first(["id"], of: feature) ?? first(["id"], of: properties),
            timestamp: first(["timestamp", "time", "tst", "ts"], of: properties),
            latitude: text(coordinates[1]), longitude: text(coordinates[0]),
            altitude: coordinates.count > 2 ? text(coordinates[2]) : first(["altitude", "alt"], of: properties),
            accuracy: first(["horizontalAccuracy", "accuracy", "acc"], of: properties))
    }

    private static func first(_ keys: [String], of object: JSONObject) -> String? {
        keys.lazy.compactMap { object[$0].flatMap(text) }.first
    }

    /// A text or a number as text; nil for `null`. Anything else is text that no rule accepts.
    private static func text(_ value: JSONValue) -> String? {
        value == .null ? nil : value.asString ?? String(decoding: value.serialised(), as: UTF8.self)
    }
}
