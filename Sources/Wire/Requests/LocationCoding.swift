import Geodesy

/// Locations in requests: the same shapes and rules as a live position.
public enum LocationCoding {
    /// A location as it was asked for.
    public struct Location: Equatable, Sendable {
        public var position: Position
        public var floorIndex: Int?
        /// Milliseconds since 1970 UTC; nil where it was not sent.
        public var timestamp: Int64?
        public var originSourceId: String?
        /// The normalised properties, a JSON object, as a live message carries them.
        public var properties: [UInt8]
    }

    /// Reads a location. Errors name `field`, or the way to the member below it.
    public static func decode(_ value: JSONValue, field: String = "location") throws(WireError) -> Location {
        guard case .object = value else {
            throw WireError(.invalid, "`\(field)` must be an object, not \(value.shown)", field: field)
        }
        var properties: [UInt8] = []
        let update: LiveUpdate
        do throws(WireError) {
            let decoder = LiveUpdateDecoder()
            update = try decoder.decode(value.serialised(), domain: KnownDomain.position.rawValue, properties: &properties)
        } catch {
            throw WireError(error.code, error.message, field: error.field.map { "\(field).\($0)" } ?? field)
        }
        guard let position = update.position else {
            throw WireError(.invalid, "`\(field)` must be a position", field: field)
        }
        return Location(
            position: position, floorIndex: update.floorIndex, timestamp: update.timestamp,
            originSourceId: update.originSourceId, properties: properties)
    }
}
