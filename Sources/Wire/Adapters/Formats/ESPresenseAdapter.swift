/// ESPresense: an ESP32 in each room says how far it is from what it hears.
///
/// Source: ESPresense, `src/main.cpp`, `src/BleFingerprint.cpp`; topics `espresense/devices/<id>/<room>`. Read are ids that
/// name an iBeacon or an AltBeacon; of others (phones, trackers) there is no triple to know them by.
struct ESPresenseAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "espresense", usualFilter: "espresense/devices/+/+", reads: "distances of iBeacons and AltBeacons",
        item: "the room, the topic's last level", domains: ["proximity"])

    /// Rooms publish their own state and settings beside `devices`, not all of it in JSON.
    func ignores(_ payload: UnsafeRawBufferPointer, on topic: AdapterTopic) -> Bool {
        topic.level(fromEnd: 2).map { $0 != "devices" } ?? false
    }

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        let id = try payload.id(of: "id") ?? topic.level(fromEnd: 1) ?? ""
        guard let beacon = BeaconName(in: id) else { return }
        let sighting = AdaptedSighting(
            beacon, rssi: try payload.decibels(of: "rssi"), txPower: try payload.decibels(of: "rssi@1m"),
            distance: try payload.distance(of: "distance"))
        try readings.add(sighting, observer: topic.last)
    }
}
