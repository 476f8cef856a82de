import Geodesy

/// Reads positions in the shapes that devices send: native with its aliases, a GeoJSON Point or Feature of one, and
/// an OwnTracks location.
struct PositionReader {
    private enum Shape {
        case native
        case ownTracks
        case point
        case feature
    }

    private let object: JSONNode
    private var members: PositionMembers
    private var shape = Shape.native
    /// The `coordinates` of a GeoJSON shape: longitude, latitude and perhaps altitude.
    private var coordinates: [JSONNode] = []

    /// Writes the normalised properties of a position payload.
    ///
    /// A negative accuracy, speed or course says that there is none, as in CoreLocation: it is left out and the fix
    /// is used.
    static func read(_ object: JSONNode, into writer: inout JSONWriter) throws(WireError) -> LiveUpdate {
        try PositionReader(object).read(into: &writer)
    }

    private init(_ object: JSONNode) throws(WireError) {
        self.object = object
        members = PositionMembers(object)
        if members.hasExtras { try recogniseShape() }
    }

    private mutating func recogniseShape() throws(WireError) {
        if let type = members.ownTracksType {
            guard type.isEqual(to: "location") else { throw type.error("_type", "\"location\" here") }
            shape = .ownTracks
            members.verticalAccuracy.offer(members.verticalAccuracyOfOwnTracks, as: .vac)
            members.speed.offer(members.velocity, as: .vel)
            members.course.offer(members.heading, as: .cog)
        } else if members.type?.isEqual(to: "Feature") == true, let geometry = members.geometry {
            shape = .feature
            guard geometry["type"]?.isEqual(to: "Point") == true else {
                throw WireError(.invalid, "`geometry` must be a GeoJSON Point", field: "geometry")
            }
            coordinates = try Self.coordinates(geometry["coordinates"], field: "geometry.coordinates")
            if let properties = members.furtherProperties { members.fill(from: properties) }
        } else if members.type?.isEqual(to: "Point") == true, let given = members.coordinates {
            shape = .point
            coordinates = try Self.coordinates(given, field: "coordinates")
        }
    }

    private static func coordinates(_ node: JSONNode?, field: String) throws(WireError) -> [JSONNode] {
        guard let node, node.kind == .array, node.count >= 2 else {
            throw WireError(.invalid, "`\(field)` must be [longitude, latitude, altitude?]", field: field)
        }
        return Array(node.elements.prefix(3))
    }

    private func read(into writer: inout JSONWriter) throws(WireError) -> LiveUpdate {
        let latitude = try degrees(members.latitude, "latitude", coordinate: 1, limit: 90)
        let longitude = try degrees(members.longitude, "longitude", coordinate: 0, limit: 180)
        var update = LiveUpdate(
            position: Position(latitude: latitude, longitude: longitude, altitude: nil, horizontalAccuracy: nil))
        writer.beginObject()
        writer.key(plain: "latitude")
        writer.double(latitude)
        writer.key(plain: "longitude")
        writer.double(longitude)
        if let altitude = try altitude() {
            update.position?.altitude = altitude
            writer.key(plain: "altitude")
            writer.double(altitude)
        }
        if let accuracy = try magnitude(members.horizontalAccuracy) {
            update.position?.horizontalAccuracy = accuracy
            writer.key(plain: "horizontalAccuracy")
            writer.double(accuracy)
        }
        try writeRest(into: &writer, update: &update)
        if members.hasExtras { writeExtras(into: &writer) }
        writer.endObject()
        return update
    }

    private func writeRest(into writer: inout JSONWriter, update: inout LiveUpdate) throws(WireError) {
        if let accuracy = try magnitude(members.verticalAccuracy) {
            writer.key(plain: "verticalAccuracy")
            writer.double(accuracy)
        }
        if let value = members.floorIndex.value {
            guard let floor = value.wholeNumber, let index = Int(exactly: floor) else {
                throw value.error("floorIndex", "a whole number")
            }
            update.floorIndex = index
            writer.key(plain: "floorIndex")
            writer.integer(floor)
        }
        if let speed = try magnitude(members.speed) {
            writer.key(plain: "speed")
            // OwnTracks sends km/h.
            update.speed = members.speed.name == .vel ? speed / 3.6 : speed
            writer.double(members.speed.name == .vel ? speed / 3.6 : speed)
        }
        if let course = try magnitude(members.course) {
            writer.key(plain: "course")
            writer.double(course)
        }
        if let value = members.timestamp.value {
            let name = members.timestamp.name
            update.timestamp = try value.instant(
                name.key, secondsBelow: name == .timestamp ? -.infinity : Self.secondsBelow)
        }
        if let value = members.originSourceId.value {
            update.originSourceId = try PropertyReader.originSourceId(value)
        }
    }

    /// In seconds the year 5138, in milliseconds 1973: no device means either.
    private static let secondsBelow = 1e11

    private func degrees(
        _ slot: PositionMembers.Slot, _ name: String, coordinate: Int, limit: Double
    ) throws(WireError) -> Double {
        if coordinates.isEmpty {
            guard let value = slot.value else { throw WireError(.invalid, "`\(name)` is required", field: name) }
            return try Self.degrees(value, slot.name.key, name, limit: limit)
        }
        return try Self.degrees(coordinates[coordinate], coordinatesField, name, limit: limit)
    }

    private static func degrees(
        _ value: JSONNode, _ field: @autoclosure () -> String, _ name: String, limit: Double
    ) throws(WireError) -> Double {
        guard let degrees = value.number, degrees.magnitude <= limit else {
            throw value.error(field(), "a \(name) from -\(Int(limit)) to \(Int(limit))")
        }
        return degrees
    }

    private var coordinatesField: String { shape == .feature ? "geometry.coordinates" : "coordinates" }

    private func altitude() throws(WireError) -> Double? {
        if coordinates.count > 2, coordinates[2].kind != .null { return try coordinates[2].number(coordinatesField) }
        return try members.altitude.value?.number(members.altitude.name.key)
    }

    /// A number that means something from 0 on.
    private func magnitude(_ slot: PositionMembers.Slot) throws(WireError) -> Double? {
        guard let number = try slot.value?.number(slot.name.key), number >= 0 else { return nil }
        return number
    }

    private func writeExtras(into writer: inout JSONWriter) {
        if shape == .feature, let properties = members.furtherProperties {
            let outer = MemberOrder(object)
            PropertyReader.writeExtras(of: properties, into: &writer) { key in
                isProperty(key) || outer.contains(key) && !isConsumed(key)
            }
        }
        PropertyReader.writeExtras(of: object, into: &writer, except: isConsumed)
    }

    /// Whether a key is one of a position's properties in every shape.
    private func isProperty(_ key: JSONNode) -> Bool {
        switch PositionName(key) {
        case nil, .vel, .cog, .vac, .ownTracksType, .type, .geometry, .coordinates, .properties, .bbox: false
        default: true
        }
    }

    /// Whether a key was used up by the payload's shape.
    private func isConsumed(_ key: JSONNode) -> Bool {
        if isProperty(key) { return true }
        guard let name = PositionName(key) else { return false }
        return switch (shape, name) {
        case (.ownTracks, .vel), (.ownTracks, .cog), (.ownTracks, .vac), (.ownTracks, .ownTracksType): true
        case (.feature, .type), (.feature, .geometry), (.feature, .properties), (.feature, .bbox): true
        case (.point, .type), (.point, .coordinates), (.point, .bbox): true
        default: false
        }
    }
}

extension PositionMembers.Slot {
    fileprivate mutating func offer(_ value: JSONNode?, as name: PositionName) {
        if let value { offer(value, name) }
    }
}
