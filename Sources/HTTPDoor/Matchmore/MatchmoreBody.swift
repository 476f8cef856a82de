import Wire

/// The body of an old client's request: members it knows nothing of are ignored, `null` counts as absent, and a wrong type is
/// refused.
struct MatchmoreBody {
    private let object: JSONObject
    /// The text before the names of members in errors.
    private let path: String

    init(_ bytes: [UInt8]) throws(HTTPRefusal) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes)
        } catch {
            throw .invalid(error.message)
        }
        guard let object = value.asObject else { throw .invalid("the body must be a JSON object") }
        self.init(object)
    }

    private init(_ object: JSONObject, path: String = "") {
        self.object = object
        self.path = path
    }

    private subscript(name: String) -> JSONValue? {
        guard let value = object[name], value != .null else { return nil }
        return value
    }

    private func read<Value>(_ name: String, _ type: String, _ value: (JSONValue) -> Value?) throws(HTTPRefusal) -> Value? {
        guard let found = self[name] else { return nil }
        guard let value = value(found) else { throw .invalid("`\(path)\(name)` must be \(type)", field: path + name) }
        return value
    }

    func text(_ name: String) throws(HTTPRefusal) -> String? { try read(name, "a string") { $0.asString } }

    func number(_ name: String) throws(HTTPRefusal) -> Double? { try read(name, "a number") { $0.asDouble } }

    func integer(_ name: String) throws(HTTPRefusal) -> Int64? { try read(name, "a whole number") { $0.asInt64 } }

    func texts(_ name: String) throws(HTTPRefusal) -> [String]? {
        try read(name, "an array of strings") { value in
            let texts = value.asArray?.map(\.asString)
            return texts.flatMap { texts in texts.contains(nil) ? nil : texts.compactMap { $0 } }
        }
    }

    func required<Value>(_ name: String, _ value: Value?) throws(HTTPRefusal) -> Value {
        guard let value else { throw .invalid("`\(path)\(name)` is required", field: path + name) }
        return value
    }

    /// Properties of a publication: scalars and arrays of them; one that is `null` is left out.
    func properties(_ name: String) throws(HTTPRefusal) -> JSONValue? {
        guard let object = try read(name, "an object", { $0.asObject }) else { return nil }
        let members = object.members.filter { $0.value != .null }
        guard members.allSatisfy({ Self.isProperty($0.value) }) else {
            throw .invalid("`\(path)\(name)` holds strings, numbers, booleans and arrays of those", field: path + name)
        }
        return .object(JSONObject(members.map { ($0.key, $0.value) }))
    }

    private static func isProperty(_ value: JSONValue) -> Bool {
        if let elements = value.asArray { return elements.allSatisfy(isScalar) }
        return isScalar(value)
    }

    private static func isScalar(_ value: JSONValue) -> Bool {
        switch value {
        case .bool, .integer, .double, .string: true
        case .null, .array, .object: false
        }
    }

    // MARK: Locations

    /// A location that is a member.
    func location(_ name: String) throws(HTTPRefusal) -> MatchmoreLocation? {
        guard let object = try read(name, "an object", { $0.asObject }) else { return nil }
        return try MatchmoreBody(object, path: path + name + ".").location()
    }

    /// The body as a location.
    func location() throws(HTTPRefusal) -> MatchmoreLocation {
        MatchmoreLocation(
            latitude: try required("latitude", try number("latitude")),
            longitude: try required("longitude", try number("longitude")), altitude: try number("altitude"),
            horizontalAccuracy: try accuracy("horizontalAccuracy"), verticalAccuracy: try accuracy("verticalAccuracy"))
    }

    /// Phones send a negative accuracy for none.
    private func accuracy(_ name: String) throws(HTTPRefusal) -> Double? { try number(name).flatMap { $0 < 0 ? nil : $0 } }
}

/// Where a device is, as old clients say it.
struct MatchmoreLocation: Sendable {
    var latitude: Double
    var longitude: Double
    var altitude: Double?
    var horizontalAccuracy: Double?
    var verticalAccuracy: Double?

    /// As a live update, or a parameter of a request.
    var value: JSONValue { .object(JSONObject(members)) }

    /// As it is answered: with an altitude, which the clients require.
    func answer(at now: Int64) -> JSONValue {
        var members: [(String, JSONValue)] = [("createdAt", .integer(now))] + self.members
        if altitude == nil { members.append(("altitude", .integer(0))) }
        return .object(JSONObject(members))
    }

    private var members: [(String, JSONValue)] {
        let optional: [(String, Double?)] = [
            ("altitude", altitude), ("horizontalAccuracy", horizontalAccuracy), ("verticalAccuracy", verticalAccuracy),
        ]
        return [("latitude", .double(latitude)), ("longitude", .double(longitude))]
            + optional.compactMap { name, value in value.map { (name, .double($0)) } }
    }
}
