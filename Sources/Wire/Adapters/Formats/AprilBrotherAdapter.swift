/// April Brother's BLE gateways, which send what they heard as hexadecimal rows.
///
/// Source: wiki.aprbrother.com, "AB BLE Gateway": each row is address 6, UUID 16, major 2, minor 2, power 1, battery 1 and
/// RSSI 1 bytes, big endian, the power and the RSSI signed.
struct AprilBrotherAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "april-brother", usualFilter: "aprilbrother/+", reads: "raw_beacons_data rows", item: "the gateway, the payload's id",
        domains: ["proximity"])

    private static let rowBytes = 29

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let rows = payload.given("raw_beacons_data") else { return }
        guard rows.kind == .string else { throw rows.error("raw_beacons_data", "a string") }
        let gateway = try payload.id(of: "id") ?? topic.last
        for (index, row) in rows.utf8.split(separator: UInt8(ascii: ";")).enumerated() {
            guard let bytes = Self.bytes(row) else {
                throw WireError(
                    .invalid,
                    "`raw_beacons_data[\(index)]` must be 58 hexadecimal digits, not \"\(String(decoding: row.prefix(40), as: UTF8.self))\"",
                    field: "raw_beacons_data[\(index)]")
            }
            try readings.add(Self.sighting(bytes), observer: gateway)
        }
    }

    private static func sighting(_ bytes: [UInt8]) -> AdaptedSighting {
        let digits = Array("0123456789ABCDEF".utf8)
        let uuid = bytes[6..<22].flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] }
        let beacon = BeaconName(
            uuid: UUIDText.canonical(String(decoding: uuid, as: UTF8.self)) ?? "",
            major: Int64(bytes[22]) << 8 | Int64(bytes[23]), minor: Int64(bytes[24]) << 8 | Int64(bytes[25]))
        return AdaptedSighting(
            beacon, rssi: Double(Int8(bitPattern: bytes[28])), txPower: Double(Int8(bitPattern: bytes[26])))
    }

    private static func bytes(_ row: some Collection<UInt8>) -> [UInt8]? {
        guard row.count == rowBytes * 2 else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in row {
            guard let digit = digit(character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
