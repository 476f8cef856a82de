import Ranging

/// Reads what an observer says about beacons: one sighting, or `{"sightings":[…]}`.
enum SightingReader {
    /// Writes the sightings in the shape they came, each normalised. A wrong one refuses all.
    ///
    /// - Parameters:
    ///   - values: Where they are appended to as values.
    ///   - extras: Where in the writer's bytes begins what the message says beside its sightings, with its comma.
    static func read(
        _ object: JSONNode, into writer: inout JSONWriter, sightings values: inout [Sighting], extras: inout Int?
    ) throws(WireError) -> LiveUpdate {
        extras = nil
        guard let sightings = object["sightings"], sightings.kind != .null else {
            var update = LiveUpdate()
            if let value = object["originSourceId"] {
                update.originSourceId = try PropertyReader.originSourceId(value)
            }
            writer.beginObject()
            let sighting = try SightingNode(object, path: "").write(into: &writer, withTimestamp: false)
            update.timestamp = sighting.timestamp
            values.append(sighting)
            writer.endObject()
            return update
        }
        guard sightings.kind == .array else { throw sightings.error("sightings", "an array of sightings") }
        let update = try PropertyReader.envelope(of: object)
        writer.beginObject()
        writer.key(plain: "sightings")
        writer.beginArray()
        var index = 0
        for element in sightings.elements {
            let path = "sightings[\(index)]"
            guard element.kind == .object else { throw element.error(path, "an object") }
            writer.beginObject()
            values.append(try SightingNode(element, path: path + ".").write(into: &writer, withTimestamp: true))
            writer.endObject()
            index += 1
        }
        writer.endArray()
        extras = writer.bytes.count
        PropertyReader.writeExtras(of: object, into: &writer) { key in
            PropertyReader.isEnvelope(key) || key.isEqual(to: "sightings")
        }
        writer.endObject()
        return update
    }
}

/// One beacon as one observer saw it.
private struct SightingNode {
    let object: JSONNode
    /// The prefix of the names of its fields in an error.
    let path: String

    init(_ object: JSONNode, path: String) {
        self.object = object
        self.path = path
    }

    /// Writes the members of the normalised sighting, and returns it as a value.
    func write(into writer: inout JSONWriter, withTimestamp: Bool) throws(WireError) -> Sighting {
        var sighting = Sighting(beacon: try beacon(into: &writer))
        sighting.rssi = try write("rssi", "a number from -200 to 20", into: &writer) { (-200...20).contains($0) }
        sighting.txPower = try write("txPower", "a number from -200 to below 0", into: &writer) { (-200..<0).contains($0) }
        sighting.distance = try write("distance", "a number from 0 to 10000", into: &writer) { (0...10_000).contains($0) }
        sighting.distanceAccuracy = try write("distanceAccuracy", "a number above 0, to 10000", into: &writer) {
            $0 > 0 && $0 <= 10_000
        }
        sighting.azimuth = try write("azimuth", "a number from -360 to 360", into: &writer) { (-360...360).contains($0) }
        sighting.elevation = try write("elevation", "a number from -90 to 90", into: &writer) { (-90...90).contains($0) }
        sighting.angleAccuracy = try write("angleAccuracy", "a number above 0, to 180", into: &writer) { $0 > 0 && $0 <= 180 }
        if let value = given("proximity") {
            let band = try proximity(value)
            writer.key(plain: "proximity")
            writer.string(band.name)
            sighting.proximity = band
        }
        sighting.timestamp = try given("timestamp")?.instant(path + "timestamp", secondsBelow: -.infinity)
        if withTimestamp, let timestamp = sighting.timestamp {
            writer.key(plain: "timestamp")
            writer.integer(timestamp)
        }
        PropertyReader.writeExtras(of: object, into: &writer) { key in
            Self.names.contains { key.isEqual(to: $0) }
        }
        return sighting
    }

    private func beacon(into writer: inout JSONWriter) throws(WireError) -> BeaconKey {
        var key = try proximityUUID()
        writer.key(plain: "proximityUUID")
        writer.string(key.proximityUUID)
        key.major = try part("major", into: &writer)
        key.minor = try part("minor", into: &writer)
        return key
    }

    private func part(_ name: String, into writer: inout JSONWriter) throws(WireError) -> UInt16 {
        guard let value = given(name) else { throw missing(name) }
        guard let part = value.wholeNumber.flatMap({ UInt16(exactly: $0) }) else {
            throw value.error(path + name, "a whole number from 0 to 65535")
        }
        writer.key(name)
        writer.integer(Int64(part))
        return part
    }

    private static let names: [StaticString] = [
        "proximityUUID", "proximityID", "uuid", "major", "minor", "rssi", "txPower", "distance", "distanceAccuracy", "azimuth",
        "elevation",
        "angleAccuracy", "proximity", "timestamp", "originSourceId", "sightings",
    ]

    private func given(_ name: String) -> JSONNode? {
        object[name].flatMap { $0.kind == .null ? nil : $0 }
    }

    private func missing(_ name: String) -> WireError {
        WireError(.invalid, "`\(path)\(name)` is required", field: path + name)
    }

    private func proximityUUID() throws(WireError) -> BeaconKey {
        for name in ["proximityUUID", "proximityID", "uuid"] {
            guard let value = given(name) else { continue }
            guard value.kind == .string, let key = BeaconKey(uuid: value.utf8, major: 0, minor: 0) else {
                throw value.error(path + name, "a UUID")
            }
            return key
        }
        throw missing("proximityUUID")
    }

    private func write(
        _ name: String, _ rule: String, into writer: inout JSONWriter, where isAllowed: (Double) -> Bool
    ) throws(WireError) -> Double? {
        guard let value = given(name) else { return nil }
        guard let number = value.number, isAllowed(number) else { throw value.error(path + name, rule) }
        writer.key(name)
        writer.double(number)
        return number
    }

    private func proximity(_ value: JSONNode) throws(WireError) -> ProximityBand {
        if let name = value.asString, let band = ProximityBand(name: name) { return band }
        guard let number = value.wholeNumber.flatMap({ UInt8(exactly: $0) }), let band = ProximityBand(rawValue: number) else {
            throw value.error(path + "proximity", "immediate, near, far, unknown or 1, 2, 3, 0")
        }
        return band
    }
}
