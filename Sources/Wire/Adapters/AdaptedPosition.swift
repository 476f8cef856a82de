/// A position that an adapter read, in native units, on its way to a native payload.
struct AdaptedPosition {
    /// Degrees.
    var latitude: Double
    var longitude: Double
    /// Metres.
    var altitude: Double?
    var horizontalAccuracy: Double?
    var verticalAccuracy: Double?
    /// Metres per second.
    var speed: Double?
    /// Degrees from north.
    var course: Double?
    /// Milliseconds since 1970 UTC.
    var timestamp: Int64?

    /// - Throws: `invalid` for what is no place on the earth, and for exactly 0, 0: nobody is there, but receivers
    ///   without a fix say that they are.
    init(
        latitude: Double, longitude: Double, latitudeField: @autoclosure () -> String,
        longitudeField: @autoclosure () -> String
    ) throws(WireError) {
        guard latitude.magnitude <= 90 else {
            let field = latitudeField()
            throw WireError(.invalid, "`\(field)` must be a latitude from -90 to 90, not \(latitude)", field: field)
        }
        guard longitude.magnitude <= 180 else {
            let field = longitudeField()
            throw WireError(.invalid, "`\(field)` must be a longitude from -180 to 180, not \(longitude)", field: field)
        }
        guard latitude != 0 || longitude != 0 else {
            let field = latitudeField()
            throw WireError(
                .invalid, "`\(field)` and `\(longitudeField())` must not both be exactly 0: that is no fix (null island)",
                field: field)
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Reads both degrees from an object; nil where neither is there.
    ///
    /// - Parameter path: The prefix of the names in an error.
    static func read(
        _ object: JSONNode, latitude names: [String] = ["latitude", "lat"],
        longitude otherNames: [String] = ["longitude", "lon", "lng", "long"], path: String = ""
    ) throws(WireError) -> AdaptedPosition? {
        let (latitude, longitude) = (object.first(of: names), object.first(of: otherNames))
        guard latitude != nil || longitude != nil else { return nil }
        guard let latitude else { throw .missing(path + names[0]) }
        guard let longitude else { throw .missing(path + otherNames[0]) }
        return try AdaptedPosition(
            latitude: latitude.value.number(path + latitude.key), longitude: longitude.value.number(path + longitude.key),
            latitudeField: path + latitude.key, longitudeField: path + longitude.key)
    }

    /// The native payload, with the members of further objects that are scalars or arrays of scalars behind it.
    ///
    /// - Parameter except: Keys that are used up, or too large to be worth keeping. A key that would mean something in a
    ///   native position is left out anyway, and so is one that an object before it has.
    func payload(extras: [JSONNode] = [], except: [String] = []) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.number("latitude", latitude)
        writer.number("longitude", longitude)
        writer.number("altitude", altitude)
        writer.number("horizontalAccuracy", horizontalAccuracy)
        writer.number("verticalAccuracy", verticalAccuracy)
        writer.number("speed", speed)
        writer.number("course", course)
        writer.instant("timestamp", timestamp)
        for (index, object) in extras.enumerated() {
            PropertyReader.writeExtras(of: object, into: &writer) { key in
                PositionName(key) != nil || except.contains { key.hasText($0) }
                    || extras[..<index].contains { earlier in earlier.members.contains { $0.key.isEqual(to: key.utf8) } }
            }
        }
        writer.endObject()
        return writer.bytes
    }
}

extension JSONWriter {
    mutating func number(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        key(plain: name)
        double(value)
    }

    mutating func instant(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        key(plain: name)
        integer(value)
    }

    mutating func text(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(plain: name)
        string(value)
    }
}
