/// The JSON that Home Assistant's MQTT integrations read: attributes of a device tracker, `mqtt_json` and `mqtt_room`.
///
/// Source: home-assistant.io, `device_tracker.mqtt`, `mqtt_json`, `mqtt_room`.
struct HomeAssistantAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "home-assistant", aliases: ["ha", "mqtt_json", "mqtt_room"], usualFilter: "homeassistant/device_tracker/+/attributes",
        reads: "latitude and longitude of trackers; mqtt_room distances of iBeacons",
        item: "the topic's last level that is not attributes, state or config; of distances the room",
        domains: ["position", "proximity"])

    private static let roles = ["attributes", "state", "config", "availability"]
    private static let states = ["home", "not_home", "None", "none", "online", "offline", "unknown", "unavailable"]

    /// States say a zone by its name; discovery says how to read, not what is.
    func ignores(_ payload: UnsafeRawBufferPointer, on topic: AdapterTopic) -> Bool {
        topic.last == "config" || topic.last == "state" || topic.last == "availability"
            || Self.states.contains { payload.elementsEqual($0.utf8) }
    }

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        if var position = try AdaptedPosition.read(payload) {
            position.altitude = try payload.number(of: "altitude")
            // Home Assistant itself says 0 where there is none.
            position.horizontalAccuracy = try payload.accuracy(of: "gps_accuracy")
            position.verticalAccuracy = try payload.accuracy(of: "vertical_accuracy")
            position.speed = try payload.magnitude(of: "speed")
            position.course = try payload.magnitude(of: "course")
            for name in ["timestamp", "last_seen", "tst"] where position.timestamp == nil {
                position.timestamp = try payload.instant(of: name)
            }
            try readings.add(position, item: Self.item(of: topic), extras: [payload])
            return
        }
        guard let id = try payload.id(of: "id"), payload.given("distance") != nil, let beacon = BeaconName(in: id) else {
            return
        }
        let sighting = AdaptedSighting(
            beacon, rssi: try payload.decibels(of: "rssi"), distance: try payload.distance(of: "distance"))
        try readings.add(sighting, observer: topic.last)
    }

    func readEmpty(on topic: AdapterTopic, into readings: inout AdapterReadings) {
        readings.clear("position", item: Self.item(of: topic))
    }

    private static func item(of topic: AdapterTopic) -> String {
        roles.contains(topic.last) ? topic.level(fromEnd: 1) ?? topic.last : topic.last
    }
}
