/// The Things Stack (v3) over MQTT: uplinks and solved locations.
///
/// Source: TheThingsIndustries/lorawan-stack-docs, "Data formats"; topics `v3/<app>@<tenant>/devices/<device>/up` and
/// `…/location/solved`. Fields that are 0, "" or false are left out there.
struct TheThingsStackAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "the-things-stack", aliases: ["ttn", "tts", "the-things-network"], usualFilter: "v3/+/devices/+/#",
        reads: "decoded or registered positions of uplinks, location/solved", item: "end_device_ids.device_id",
        domains: ["position"])

    /// The registry's last `frm-payload` of each device: it is sent with every uplink, with or without a new fix.
    private var registered = RecentValues<[Double]>(maximum: 10_000)

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        let uplink = try payload.object("uplink_message")
        let solved = try payload.object("location_solved")
        // Joins, downlinks and service data say nothing of where.
        guard uplink != nil || solved != nil else { return }
        guard let item = try payload.object("end_device_ids")?.id(of: "device_id", path: "end_device_ids.") else {
            throw .missing("end_device_ids.device_id")
        }
        guard var position = try position(item, uplink, solved) else { return }
        position.timestamp = try payload.instant(of: "received_at")
        try readings.add(position, item: item)
    }

    /// What the device said itself goes before what the network worked out, that before the registry.
    private mutating func position(
        _ item: String, _ uplink: JSONNode?, _ solved: JSONNode?
    ) throws(WireError) -> AdaptedPosition? {
        if let decoded = try Self.decoded(uplink) { return decoded }
        if let location = try solved?.object("location", path: "location_solved.") {
            return try Self.registered(location, path: "location_solved.location.")
        }
        guard let locations = try uplink?.object("locations", path: "uplink_message.") else { return nil }
        let path = "uplink_message.locations."
        if let location = try locations.object("frm-payload", path: path) {
            guard let position = try Self.registered(location, path: path + "frm-payload.") else { return nil }
            let place = [position.latitude, position.longitude, position.altitude ?? 0]
            return registered.note(place, for: Array(item.utf8)) ? position : nil
        }
        guard let location = try locations.object("user", path: path) else { return nil }
        return try Self.registered(location, path: path + "user.")
    }

    /// In what the payload formatter made of the device's bytes: at its top, or one level below.
    private static func decoded(_ uplink: JSONNode?) throws(WireError) -> AdaptedPosition? {
        let path = "uplink_message.decoded_payload."
        guard let payload = try uplink?.object("decoded_payload", path: "uplink_message.") else { return nil }
        if let position = try decoded(payload, path) { return position }
        for (key, value) in payload.members where value.kind == .object {
            if let position = try decoded(value, path + (key.asString ?? "") + ".") { return position }
        }
        return nil
    }

    private static func decoded(_ object: JSONNode, _ path: String) throws(WireError) -> AdaptedPosition? {
        guard var position = try AdaptedPosition.read(object, path: path) else { return nil }
        position.altitude = try object.number(of: object.given("altitude") == nil ? "alt" : "altitude", path: path)
        for name in ["horizontalAccuracy", "accuracy", "acc"] where position.horizontalAccuracy == nil {
            position.horizontalAccuracy = try object.accuracy(of: name, path: path)
        }
        return position
    }

    /// A location of the registry: one coordinate that is not there is 0, none at all is no location.
    private static func registered(_ location: JSONNode, path: String) throws(WireError) -> AdaptedPosition? {
        let latitude = try location.number(of: "latitude", path: path)
        let longitude = try location.number(of: "longitude", path: path)
        guard latitude != nil || longitude != nil else { return nil }
        var position = try AdaptedPosition(
            latitude: latitude ?? 0, longitude: longitude ?? 0, latitudeField: path + "latitude",
            longitudeField: path + "longitude")
        position.altitude = try location.number(of: "altitude", path: path)
        position.horizontalAccuracy = try location.accuracy(of: "accuracy", path: path)
        return position
    }
}
