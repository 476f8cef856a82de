import Geodesy

/// The accepted, normalised live update as it goes out on `live/…` and is kept as live state.
public enum LiveMessage {
    /// About the bytes around topic and properties.
    public static let frameBytes = 160

    /// Appends `{"topic","domainType","itemId","timestamp","receivedAt","properties","originSourceId"?,"derived"?}`.
    ///
    /// - Parameters:
    ///   - topic: The seven levels, encoded.
    ///   - itemID: Decoded.
    ///   - timestamp: Milliseconds since 1970 UTC, as `receivedAt`.
    ///   - properties: A JSON object, as ``LiveUpdateDecoder`` writes it.
    ///   - derived: The daemon worked it out; only then it is said.
    @inlinable
    public static func encode(
        topic: String, domain: String, itemID: String, timestamp: Int64, receivedAt: Int64,
        properties: some Collection<UInt8>, originSourceId: String?, derived: Bool, into message: inout [UInt8]
    ) {
        let done: Void? = properties.withContiguousStorageIfAvailable {
            encode(
                topic: topic, domain: domain, itemID: itemID, timestamp: timestamp, receivedAt: receivedAt,
                propertyBytes: $0, originSourceId: originSourceId, derived: derived, into: &message)
        }
        if done != nil { return }
        Array(properties).withUnsafeBufferPointer {
            encode(
                topic: topic, domain: domain, itemID: itemID, timestamp: timestamp, receivedAt: receivedAt,
                propertyBytes: $0, originSourceId: originSourceId, derived: derived, into: &message)
        }
    }

    @usableFromInline
    static func encode(
        topic: String, domain: String, itemID: String, timestamp: Int64, receivedAt: Int64,
        propertyBytes: UnsafeBufferPointer<UInt8>, originSourceId: String?, derived: Bool, into message: inout [UInt8]
    ) {
        var writer = JSONWriter()
        swap(&writer.bytes, &message)
        writer.beginObject()
        writer.key(plain: "topic")
        writer.string(topic)
        writer.key(plain: "domainType")
        writer.string(domain)
        writer.key(plain: "itemId")
        writer.string(itemID)
        writer.key(plain: "timestamp")
        writer.integer(timestamp)
        writer.key(plain: "receivedAt")
        writer.integer(receivedAt)
        writer.key(plain: "properties")
        writer.raw(bytes: propertyBytes)
        if let originSourceId {
            writer.key(plain: "originSourceId")
            writer.string(originSourceId)
        }
        if derived {
            writer.key(plain: "derived")
            writer.bool(true)
        }
        writer.endObject()
        swap(&writer.bytes, &message)
    }

    /// Whether a message says of itself that the daemon worked it out.
    public static func isDerived(_ message: [UInt8]) -> Bool {
        // It is the last member, and properties of this name end one brace before.
        message.suffix(derivedEnd.utf8CodeUnitCount).elementsEqual(
            UnsafeBufferPointer(start: derivedEnd.utf8Start, count: derivedEnd.utf8CodeUnitCount))
    }

    private static let derivedEnd: StaticString = ",\"derived\":true}"

    /// The position in a stored message of the domain `position`; nil in any other.
    ///
    /// - Parameter parser: One parser for many messages spares its buffers each time.
    public static func position(inPayload payload: [UInt8], using parser: JSONParser = JSONParser()) -> Position? {
        update(inPayload: payload, using: parser)?.position
    }

    /// What ``LiveUpdateDecoder`` read of the update that a stored message is about, its timestamp being the one the
    /// daemon gave it; nil for bytes that are no such message.
    public static func update(inPayload payload: [UInt8], using parser: JSONParser = JSONParser()) -> LiveUpdate? {
        payload.withUnsafeBytes { bytes in
            try? parser.parse(bytes, padded: false) { root throws(WireError) in
                guard let properties = root["properties"], properties.kind == .object else {
                    throw WireError(.invalid, "no properties", field: "properties")
                }
                var update = LiveUpdate(
                    timestamp: root["timestamp"]?.asInt64, originSourceId: root["originSourceId"]?.asString)
                if root["domainType"]?.isEqual(to: "position") == true {
                    update.position = position(properties)
                    update.speed = properties["speed"]?.asDouble.flatMap { $0 >= 0 ? $0 : nil }
                    update.floorIndex = properties["floorIndex"]?.asInt64.flatMap { Int(exactly: $0) }
                }
                return update
            }
        }
    }

    private static func position(_ properties: JSONNode) -> Position? {
        guard let latitude = properties["latitude"]?.asDouble, let longitude = properties["longitude"]?.asDouble,
            latitude.magnitude <= 90, longitude.magnitude <= 180
        else { return nil }
        return Position(
            latitude: latitude, longitude: longitude, altitude: properties["altitude"]?.asDouble,
            horizontalAccuracy: properties["horizontalAccuracy"]?.asDouble)
    }
}
