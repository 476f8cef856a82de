import LiveTopics
import Wire

/// A position that an app sent in its own form, as a live update.
struct PhonePosition {
    /// What the app calls itself.
    var device: String
    /// A native payload.
    var payload: [UInt8]

    func arrival(in dataset: String) -> LiveArrival {
        let topic = LiveTopic(dataset: dataset, location: device, domain: "position")
        return LiveArrival(topic: topic.encoded, payload: payload)
    }
}

/// The OsmAnd protocol, as Traccar Client speaks it: a query, or the JSON of its newer versions.
///
/// Source: traccar, `protocol/OsmAndProtocolDecoder.java`: the query has knots, the JSON metres per second.
enum OsmAndFormat {
    private static let knot = 0.514444

    static func read(_ query: [(name: String, value: String)]) throws(WireError) -> PhonePosition {
        func value(_ names: String...) -> String? {
            for name in names { if let value = query.first(where: { $0.name == name })?.value, !value.isEmpty { return value } }
            return nil
        }
        guard let device = value("id", "deviceid") else { throw missing("id") }
        var (latitude, longitude) = (value("lat"), value("lon"))
        if let parts = value("location")?.split(separator: ",").map(String.init), parts.count == 2 {
            (latitude, longitude) = (parts[0], parts[1])
        }
        var writer = JSONWriter()
        writer.beginObject()
        try writer.number("latitude", latitude)
        try writer.number("longitude", longitude)
        try writer.number("altitude", value("altitude"))
        try writer.number("horizontalAccuracy", value("accuracy"))
        try writer.number("speed", value("speed"), times: knot)
        try writer.number("course", value("bearing", "heading"))
        try writer.number("battery", value("batt"))
        if let time = value("timestamp") {
            writer.key("time")
            if let number = Double(time), number.isFinite {
                writer.double(number)
            } else {
                writer.string(PhoneTime.withZone(time))
            }
        }
        writer.endObject()
        return PhonePosition(device: device, payload: writer.bytes)
    }

    static func read(json root: JSONNode) throws(WireError) -> PhonePosition {
        let id = root["device_id"]
        guard let device = id?.asString ?? id?.asInt64.map(String.init), !device.isEmpty else { throw missing("device_id") }
        guard let location = root["location"], let coordinates = location["coords"] else { throw missing("location.coords") }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, theirs) in [
            ("latitude", "latitude"), ("longitude", "longitude"), ("altitude", "altitude"), ("horizontalAccuracy", "accuracy"),
            ("speed", "speed"), ("course", "heading"),
        ] { writer.copy(name, coordinates[theirs]) }
        writer.copy("time", location["timestamp"])
        writer.copy("battery", location["battery"]?["level"])
        writer.endObject()
        return PhonePosition(device: device, payload: writer.bytes)
    }

    private static func missing(_ field: String) -> WireError { WireError(.invalid, "`\(field)` is required", field: field) }
}

/// Overland's batches of GeoJSON Features.
///
/// Source: aaronpk/Overland-iOS, README, section "API".
enum OverlandFormat {
    /// - Parameter otherwise: The device where the app names none.
    static func read(_ root: JSONNode, otherwise: String) throws(WireError) -> [PhonePosition] {
        guard let locations = root["locations"], locations.kind == .array else {
            throw WireError(.invalid, "`locations` is required: a list of GeoJSON Features", field: "locations")
        }
        return locations.elements.compactMap { position($0, otherwise: otherwise) }
    }

    /// Trips and what else is no Point say nothing of a position.
    private static func position(_ feature: JSONNode, otherwise: String) -> PhonePosition? {
        guard let properties = feature["properties"], let geometry = feature["geometry"],
            geometry["type"]?.asString == "Point", let coordinates = geometry["coordinates"], coordinates.count >= 2
        else { return nil }
        let degrees = Array(coordinates.elements.prefix(2))
        var writer = JSONWriter()
        writer.beginObject()
        writer.copy("latitude", degrees[1])
        writer.copy("longitude", degrees[0])
        for (name, theirs) in [
            ("altitude", "altitude"), ("horizontalAccuracy", "horizontal_accuracy"), ("verticalAccuracy", "vertical_accuracy"),
            ("speed", "speed"), ("course", "course"), ("battery", "battery_level"), ("batteryState", "battery_state"),
            ("motion", "motion"),
        ] { writer.copy(name, properties[theirs]) }
        if let time = properties["timestamp"]?.asString {
            writer.member("time", PhoneTime.withZone(time))
        } else {
            writer.copy("time", properties["timestamp"])
        }
        writer.endObject()
        let named = ["device_id", "unique_id"].lazy.compactMap { properties[$0]?.asString }.first { !$0.isEmpty }
        return PhonePosition(device: named ?? otherwise, payload: writer.bytes)
    }
}

/// Times as apps write them beside RFC 3339.
private enum PhoneTime {
    /// With the colon that Overland's documentation leaves out of the zone, and with UTC where there is none, as Traccar reads it.
    static func withZone(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= 19 else { return text }
        let zone = bytes[19...].drop { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
        if zone.isEmpty { return text + "Z" }
        guard zone.count == 5, zone.first == UInt8(ascii: "+") || zone.first == UInt8(ascii: "-") else { return text }
        return String(decoding: bytes.dropLast(2) + [UInt8(ascii: ":")] + bytes.suffix(2), as: UTF8.self)
    }
}

extension JSONWriter {
    /// A number that came as text.
    fileprivate mutating func number(_ name: String, _ text: String?, times factor: Double = 1) throws(WireError) {
        guard let text else { return }
        guard let number = Double(text), number.isFinite else {
            throw WireError(.invalid, "`\(name)` must be a number, not `\(text.prefix(40))`", field: name)
        }
        key(name)
        double(number * factor)
    }

    /// A member as it came; none where there is none.
    fileprivate mutating func copy(_ name: String, _ node: JSONNode?) {
        guard let node, node.kind != .null else { return }
        key(name)
        value(JSONValue(node))
    }
}
