/// room-assistant: several rooms agree which is nearest to a beacon; each message has the distances of all.
///
/// Source: room-assistant, `docs/integrations/{mqtt,bluetooth-low-energy}.md`; topics
/// `room-assistant/entity/<instance>/<entityType>/<entityId>`.
struct RoomAssistantAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "room-assistant", usualFilter: "room-assistant/entity/+/+/+", reads: "each room's distance of an iBeacon",
        item: "the room, the payload's", domains: ["proximity"])

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        // An instance that is not the leader repeats what it received.
        guard payload.given("hasAuthority")?.truth != false, let entity = try payload.object("entity") else { return }
        let id = try entity.id(of: "id", path: "entity.") ?? topic.last
        guard let beacon = BeaconName(in: id), let distances = try entity.object("distances", path: "entity.") else { return }
        let measured = try entity.object("measuredValues", path: "entity.")
        for (key, value) in distances.members {
            let room = key.asString ?? ""
            let path = "entity.distances.\(room)"
            guard value.kind == .object else { throw value.error(path, "an object") }
            // Out of range: the distance is an old one.
            if value.given("outOfRange")?.truth == true { continue }
            let values = try measured?.object(room, path: "entity.measuredValues.")
            let sighting = AdaptedSighting(
                beacon, rssi: try values?.decibels(of: "rssi", path: "entity.measuredValues.\(room)."),
                txPower: try values?.decibels(of: "measuredPower", path: "entity.measuredValues.\(room)."),
                distance: try value.distance(of: "distance", path: path + "."),
                timestamp: try value.instant(of: "lastUpdatedAt", path: path + "."))
            try readings.add(sighting, observer: room)
        }
    }
}
