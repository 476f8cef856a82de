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
            if let number = Double(time), number.isFinite { writer.double(number) } else { writer.string(time) }
        }
        writer.endObject()
        return PhonePosition(device: device, payload: writer.bytes)
    }

    static func read(json root: JSONNode) throws(WireError) -> PhonePosition {
        guard let device = root["device_id"]?.asString, !device.isEmpty else { throw missing("device_id") }
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
            ("motion", "motion"), ("time", "timestamp"),
        ] { writer.copy(name, properties[theirs]) }
        writer.endObject()
        let named = properties["device_id"]?.asString ?? ""
        return PhonePosition(device: named.isEmpty ? otherwise : named, payload: writer.bytes)
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
