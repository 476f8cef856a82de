/// OpenMQTTGateway and Theengs Gateway, which share their decoder.
///
/// Sources: OpenMQTTGateway, `docs/use/ble.md`; Theengs decoder, `src/devices/iBeacon_json.h`. Topics
/// `home/<gateway>/BTtoMQTT/<address>` and `home/presence/<gateway>`. An address changes; what counts is the triple.
struct OpenMQTTGatewayAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "openmqttgateway", aliases: ["omg", "theengs", "theengsgateway"], usualFilter: "home/+/BTtoMQTT/+",
        reads: "iBeacons decoded by OpenMQTTGateway or Theengs Gateway", item: "the gateway, the level before BTtoMQTT",
        domains: ["proximity"])

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let (field, uuid) = Self.uuid(of: payload) else { return }
        let beacon = try BeaconName(uuid: uuid, field, of: payload)
        // A battery's tenths of a volt in the place of the power are positive, and left out.
        let power = payload.given("txpower") == nil ? "power" : "txpower"
        let sighting = AdaptedSighting(
            beacon, rssi: try payload.decibels(of: "rssi"), txPower: try payload.decibels(of: power),
            distance: try payload.distance(of: "distance"))
        try readings.add(sighting, observer: Self.gateway(of: topic))
    }

    /// With the option that makes it the id, the UUID is there; `model_id` then says which.
    private static func uuid(of payload: JSONNode) -> (String, JSONNode)? {
        if let uuid = payload.given("uuid") { return ("uuid", uuid) }
        guard payload.given("model_id")?.hasText("IBEACON") == true, let id = payload.given("id"),
            id.asString.flatMap(UUIDText.canonical) != nil
        else { return nil }
        return ("id", id)
    }

    private static func gateway(of topic: AdapterTopic) -> String {
        topic.level(before: "BTtoMQTT") ?? topic.level(after: "presence") ?? topic.level(after: "home_presence")
            ?? topic.level(before: "presence") ?? topic.last
    }
}
