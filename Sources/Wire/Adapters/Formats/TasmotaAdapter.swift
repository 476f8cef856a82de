/// Tasmota on an ESP32 with its iBeacon driver.
///
/// Source: Tasmota, `xsns_52_esp32_ibeacon_ble.ino`; topics `tele/<topic>/SENSOR`. `Time` is local and names no zone: the
/// time of arrival counts.
struct TasmotaAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "tasmota", aliases: ["tasmota-ibeacon"], usualFilter: "tele/+/SENSOR", reads: "IBEACON of the ESP32 driver",
        item: "the gateway, the level before SENSOR", domains: ["proximity"])

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        // Without it the message is another sensor's. `OFF` says that the beacon is gone: silence says that, too.
        guard let beacon = try payload.object("IBEACON"), beacon.given("STATE")?.hasText("OFF") != true else { return }
        guard let uid = beacon.given("UID") else { throw .missing("IBEACON.UID") }
        // What is no iBeacon comes with zeros.
        if uid.utf8.allSatisfy({ $0 == UInt8(ascii: "0") }), !uid.utf8.isEmpty { return }
        guard let uuid = uid.asString.flatMap(UUIDText.canonical) else { throw uid.error("IBEACON.UID", "a UUID") }
        let name = BeaconName(uuid: uuid, major: try Self.part(beacon, "MAJOR"), minor: try Self.part(beacon, "MINOR"))
        let sighting = AdaptedSighting(name, rssi: try beacon.decibels(of: "RSSI", path: "IBEACON."))
        try readings.add(sighting, observer: topic.level(before: "SENSOR") ?? topic.last)
    }

    /// Four hexadecimal digits as text; a number is one.
    private static func part(_ beacon: JSONNode, _ name: String) throws(WireError) -> Int64 {
        guard let value = beacon.given(name) else { throw .missing("IBEACON." + name) }
        let number =
            if value.kind == .string {
                value.utf8.count == 4
                    ? UInt16(String(decoding: value.utf8, as: UTF8.self), radix: 16).map { Int64($0) } : value.wholeNumber
            } else {
                value.wholeNumber
            }
        guard let number, (0...65_535).contains(number) else {
            throw value.error("IBEACON." + name, "four hexadecimal digits, or a whole number from 0 to 65535")
        }
        return number
    }
}
