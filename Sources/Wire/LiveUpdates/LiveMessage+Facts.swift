import Geodesy
import Selectors

extension LiveMessage {
    /// What a condition on a live update looks at.
    public struct Facts: Sendable {
        /// The properties that are scalars or arrays of scalars; a selector cannot name others.
        public var properties: Properties
        /// Of the properties `latitude` and `longitude`, where both are there and are degrees on the earth.
        public var position: Position?
    }

    /// Reads a stored message for a selector and an area; nil for bytes that are no such message.
    public static func facts(inPayload payload: [UInt8], using parser: JSONParser = JSONParser()) -> Facts? {
        payload.withUnsafeBytes { bytes in
            try? parser.parse(bytes, padded: false) { root throws(WireError) in
                guard let object = root["properties"], object.kind == .object else {
                    throw WireError(.invalid, "no properties", field: "properties")
                }
                var pairs: [(name: String, value: PropertyValue)] = []
                pairs.reserveCapacity(object.count)
                for (key, value) in object.members {
                    if let property = property(value) { pairs.append((key.asString ?? "", property)) }
                }
                return Facts(properties: Properties(pairs), position: coordinates(object))
            }
        }
    }

    /// One property of a stored message that is a scalar or null; nil where it has none of this name.
    public static func property(
        _ name: String, inPayload payload: [UInt8], using parser: JSONParser = JSONParser()
    ) -> JSONValue? {
        payload.withUnsafeBytes { bytes in
            try? parser.parse(bytes, padded: false) { root throws(WireError) in
                root["properties"]?.members.first { $0.0.utf8.elementsEqual(name.utf8) }.flatMap { _, value in
                    value.isContainer ? nil : JSONValue(value)
                }
            }
        }
    }

    /// The message again, as the last one about what left: with `"left":true` at its end.
    public static func appendLeft(_ payload: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(contentsOf: payload.dropLast())
        bytes.append(contentsOf: ",\"left\":true}".utf8)
    }

    private static func coordinates(_ properties: JSONNode) -> Position? {
        guard let latitude = properties["latitude"]?.asDouble, let longitude = properties["longitude"]?.asDouble,
            Position.isValid(latitude: latitude, longitude: longitude)
        else { return nil }
        return Position(latitude: latitude, longitude: longitude)
    }

    private static func property(_ node: JSONNode) -> PropertyValue? {
        if let scalar = scalar(node) { return scalar }
        guard node.kind == .array else { return nil }
        var scalars: [PropertyValue] = []
        for element in node.elements {
            guard let scalar = scalar(element) else { return nil }
            scalars.append(scalar)
        }
        return .array(scalars)
    }

    private static func scalar(_ node: JSONNode) -> PropertyValue? {
        switch node.kind {
        case .bool: node.asBool.map { .boolean($0) }
        case .integer: node.asInt64.map { .integer($0) }
        case .double: node.asDouble.map { .double($0) }
        case .string: node.asString.map { .string($0) }
        case .null, .array, .object: nil
        }
    }
}
