/// A beacon as an adapter read that it was seen.
struct AdaptedSighting {
    var beacon: BeaconName
    /// dBm; 0 says that it was seen and not measured.
    var rssi: Double?
    /// dBm at one metre.
    var txPower: Double?
    /// Metres.
    var distance: Double?
    /// 0 unknown, 1 immediate, 2 near, 3 far.
    var proximity: Int64?
    /// Milliseconds since 1970 UTC.
    var timestamp: Int64?

    /// - Parameters:
    ///   - rssi: Above 0 it is no strength but a receiver's way to say that it has none.
    ///   - txPower: From 0 on it is left out: some beacons send their battery in its place.
    init(
        _ beacon: BeaconName, rssi: Double? = nil, txPower: Double? = nil, distance: Double? = nil, timestamp: Int64? = nil
    ) {
        self.beacon = beacon
        self.rssi = rssi.map { min($0, 0) }
        self.txPower = txPower.flatMap { $0 < 0 ? $0 : nil }
        self.distance = distance
        self.timestamp = timestamp
    }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.text("proximityUUID", beacon.uuid)
        writer.instant("major", beacon.major)
        writer.instant("minor", beacon.minor)
        writer.number("rssi", rssi)
        writer.number("txPower", txPower)
        writer.number("distance", distance)
        writer.instant("proximity", proximity)
        writer.instant("timestamp", timestamp)
        writer.endObject()
    }
}

extension JSONNode {
    /// A strength or a power in dBm. What no radio receives is refused, as in a native sighting.
    func decibels(of key: String, path: String = "") throws(WireError) -> Double? {
        guard let value = given(key) else { return nil }
        guard let number = value.number, number >= -200 else { throw value.error(path + key, "a number of dBm from -200 on") }
        return number
    }

    /// A distance in metres: below 0 it is left out, as that is how an unknown one is written; above 10 km it is refused, as
    /// in a native sighting.
    func distance(of key: String, path: String = "") throws(WireError) -> Double? {
        guard let value = given(key) else { return nil }
        guard let number = value.number, number <= 10_000 else { throw value.error(path + key, "a number of metres up to 10000") }
        return number >= 0 ? number : nil
    }
}

/// What distinguishes one beacon from another; its address does not, as it changes.
struct BeaconName: Equatable {
    /// Canonical.
    var uuid: String
    /// 0 to 65535.
    var major: Int64
    var minor: Int64

    /// Finds `uuid-major-minor` in an id such as `iBeacon:…`, with the UUID's hyphens or without; nil where there is none.
    ///
    /// Sources: ESPresense, `BleFingerprint.cpp` (`iBeacon:%s-%u-%u`); room-assistant, bluetooth-low-energy integration.
    init?(in text: String) {
        guard text.utf8.count <= 256 else { return nil }
        let parts = text.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ":") }
            .map { String(decoding: $0, as: UTF8.self) }
        for start in parts.indices {
            for length in [1, 5] where start + length + 1 < parts.count {
                let digits = parts[start..<start + length]
                guard length == 1 || digits.map(\.utf8.count) == [8, 4, 4, 4, 12],
                    let uuid = UUIDText.canonical(digits.joined()),
                    let major = Self.number(parts[start + length]), let minor = Self.number(parts[start + length + 1])
                else { continue }
                self.init(uuid: uuid, major: major, minor: minor)
                return
            }
        }
        return nil
    }

    init(uuid: String, major: Int64, minor: Int64) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// Reads the three parts of one object.
    init(
        uuid: JSONNode, _ uuidField: @autoclosure () -> String, of object: JSONNode, path: String = "", major: String = "major",
        minor: String = "minor"
    ) throws(WireError) {
        guard let canonical = uuid.asString.flatMap(UUIDText.canonical) else { throw uuid.error(uuidField(), "a UUID") }
        self.uuid = canonical
        self.major = try Self.part(object, major, path)
        self.minor = try Self.part(object, minor, path)
    }

    private static func part(_ object: JSONNode, _ name: String, _ path: String) throws(WireError) -> Int64 {
        guard let value = object.given(name) else { throw .missing(path + name) }
        guard let number = value.wholeNumber, (0...65_535).contains(number) else {
            throw value.error(path + name, "a whole number from 0 to 65535")
        }
        return number
    }

    private static func number(_ digits: String) -> Int64? {
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(digits).map { Int64($0) }
    }
}
