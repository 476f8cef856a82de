/// Reads what an observer says about beacons: one sighting, or `{"sightings":[…]}`.
enum SightingReader {
    /// Writes the sightings in the shape they came, each normalised. A wrong one refuses all.
    static func read(_ object: JSONNode, into writer: inout JSONWriter) throws(WireError) -> LiveUpdate {
        guard let sightings = object["sightings"], sightings.kind != .null else {
            var update = LiveUpdate()
            if let value = object["originSourceId"] {
                update.originSourceId = try PropertyReader.originSourceId(value)
            }
            writer.beginObject()
            update.timestamp = try Sighting(object, path: "").write(into: &writer, withTimestamp: false)
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
            _ = try Sighting(element, path: path + ".").write(into: &writer, withTimestamp: true)
            writer.endObject()
            index += 1
        }
        writer.endArray()
        PropertyReader.writeExtras(of: object, into: &writer) { key in
            PropertyReader.isEnvelope(key) || key.isEqual(to: "sightings")
        }
        writer.endObject()
        return update
    }
}

/// One beacon as one observer saw it.
private struct Sighting {
    let object: JSONNode
    /// What stands before the names of its fields in an error.
    let path: String

    init(_ object: JSONNode, path: String) {
        self.object = object
        self.path = path
    }

    /// Writes the members of the normalised sighting and returns its own timestamp.
    func write(into writer: inout JSONWriter, withTimestamp: Bool) throws(WireError) -> Int64? {
        writer.key(plain: "proximityUUID")
        writer.string(try proximityUUID())
        for name in ["major", "minor"] {
            guard let value = given(name) else { throw missing(name) }
            guard let number = value.wholeNumber, (0...65_535).contains(number) else {
                throw value.error(path + name, "a whole number from 0 to 65535")
            }
            writer.key(name)
            writer.integer(number)
        }
        try write("rssi", "a number", into: &writer) { _ in true }
        try write("txPower", "a number below 0", into: &writer) { $0 < 0 }
        try write("distance", "a number from 0 on", into: &writer) { $0 >= 0 }
        if let value = given("proximity") {
            writer.key(plain: "proximity")
            writer.string(try proximity(value))
        }
        let timestamp = try given("timestamp")?.instant(path + "timestamp", secondsBelow: -.infinity)
        if withTimestamp, let timestamp {
            writer.key(plain: "timestamp")
            writer.integer(timestamp)
        }
        PropertyReader.writeExtras(of: object, into: &writer) { key in
            Self.names.contains { key.isEqual(to: $0) }
        }
        return timestamp
    }

    private static let names: [StaticString] = [
        "proximityUUID", "proximityID", "uuid", "major", "minor", "rssi", "txPower", "distance", "proximity", "timestamp",
        "originSourceId", "sightings",
    ]

    private func given(_ name: String) -> JSONNode? {
        object[name].flatMap { $0.kind == .null ? nil : $0 }
    }

    private func missing(_ name: String) -> WireError {
        WireError(.invalid, "`\(path)\(name)` is required", field: path + name)
    }

    private func proximityUUID() throws(WireError) -> String {
        for name in ["proximityUUID", "proximityID", "uuid"] {
            guard let value = given(name) else { continue }
            guard let text = value.asString, let canonical = UUIDText.canonical(text) else {
                throw value.error(path + name, "a UUID")
            }
            return canonical
        }
        throw missing("proximityUUID")
    }

    private func write(
        _ name: String, _ rule: String, into writer: inout JSONWriter, where isAllowed: (Double) -> Bool
    ) throws(WireError) {
        guard let value = given(name) else { return }
        guard let number = value.number, isAllowed(number) else { throw value.error(path + name, rule) }
        writer.key(name)
        writer.double(number)
    }

    private func proximity(_ value: JSONNode) throws(WireError) -> String {
        let names = ["unknown", "immediate", "near", "far"]
        if let name = value.asString, names.contains(name) { return name }
        guard let number = value.wholeNumber, (0...3).contains(number) else {
            throw value.error(path + "proximity", "immediate, near, far, unknown or 1, 2, 3, 0")
        }
        return names[Int(number)]
    }
}
