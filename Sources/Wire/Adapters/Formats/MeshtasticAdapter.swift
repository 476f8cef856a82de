/// Meshtastic's JSON on MQTT.
///
/// Sources: meshtastic docs, `mqtt/index.mdx`; firmware, `MeshPacketSerializer.cpp`; topics
/// `msh/[region/]2/json/<channel>/!<gateway>`. Fields that are 0 are left out there. The unit of the speed is not sure, and
/// so it is kept under its own name only.
struct MeshtasticAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "meshtastic", usualFilter: "msh/+/2/json/+/+", reads: "position packets", item: "the node, as !0123abcd",
        domains: ["position"])

    /// Every gateway that hears a packet publishes it.
    private var packets = RecentValues<Bool>(maximum: 10_000)

    /// Other forms of the packets are no JSON, nor is a gateway's state.
    func ignores(_ payload: UnsafeRawBufferPointer, on topic: AdapterTopic) -> Bool {
        !topic.levels.contains("json")
    }

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard payload.given("type")?.hasText("position") == true else { return }
        guard let from = payload.given("from") else { throw .missing("from") }
        // Until version 2.2 the node's number came as signed.
        guard let number = from.wholeNumber, number >= Int64(Int32.min), number <= Int64(UInt32.max) else {
            throw from.error("from", "a node's number of 32 bits")
        }
        guard let packet = try payload.object("payload") else { throw .missing("payload") }
        guard let position = try Self.position(packet, envelope: payload) else { return }
        let node = Self.name(UInt32(truncatingIfNeeded: number))
        if let id = payload.given("id")?.idText, id != "0",
            !packets.note(true, for: Array("\(node) \(id)".utf8))
        {
            return
        }
        try readings.add(
            position, item: node, extras: [packet], except: ["latitude_i", "longitude_i", "ground_track"])
    }

    private static func position(_ packet: JSONNode, envelope: JSONNode) throws(WireError) -> AdaptedPosition? {
        let latitude = try packet.number(of: "latitude_i", path: "payload.")
        let longitude = try packet.number(of: "longitude_i", path: "payload.")
        let bits = packet.given("precision_bits")?.wholeNumber
        // Without either there is no fix; 0 bits say that the position is not sent.
        guard latitude != nil || longitude != nil, bits != 0 else { return nil }
        var position = try AdaptedPosition(
            latitude: (latitude ?? 0) / 1e7, longitude: (longitude ?? 0) / 1e7, latitudeField: "payload.latitude_i",
            longitudeField: "payload.longitude_i")
        position.altitude = try packet.number(of: "altitude", path: "payload.")
        position.course = try packet.magnitude(of: "ground_track", path: "payload.").flatMap { $0 <= 36_000 ? $0 / 100 : nil }
        position.horizontalAccuracy = bits.flatMap(accuracy)
        for name in ["timestamp", "time"] where position.timestamp == nil {
            position.timestamp = try packet.instant(of: name, path: "payload.")
        }
        if position.timestamp == nil { position.timestamp = try envelope.instant(of: "timestamp") }
        return position
    }

    /// Metres: 23.3 km where ten bits of a coordinate are sent, half of it with each further bit; all 32 limit nothing.
    private static func accuracy(bits: Int64) -> Double? {
        guard (1..<32).contains(bits) else { return nil }
        var metres = 23_300.0
        for _ in 10..<max(bits, 10) { metres /= 2 }
        for _ in min(bits, 10)..<10 { metres *= 2 }
        return metres
    }

    private static func name(_ number: UInt32) -> String {
        let digits = String(number, radix: 16)
        return "!" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}
