import Wire

/// Our objects in the shapes and with the keys of the old cloud.
enum MatchmoreObjects {
    static func device(_ device: JSONObject) -> JSONValue {
        var members = pick(["id", "createdAt", "updatedAt", "name", "group", "deviceType"], of: device)
        switch device["deviceType"]?.asString {
        case "MobileDevice":
            members += [("platform", device["platform"] ?? ""), ("deviceToken", device["deviceToken"] ?? "")]
            members.append(("location", location(device["location"])))
        case "PinDevice": members.append(("location", location(device["location"])))
        default: members += beacon(device)
        }
        return .object(JSONObject(members))
    }

    /// `{"deviceId","proximityUUID","major","minor"}`
    static func triple(_ triple: JSONObject) -> JSONValue {
        .object(JSONObject(pick(["deviceId"], of: triple) + beacon(triple)))
    }

    /// In lower case: one of the clients compares it with what its platform prints.
    private static func beacon(_ object: JSONObject) -> [(String, JSONValue)] {
        let uuid = (object["proximityUUID"]?.asString ?? "").lowercased()
        return [("proximityUUID", .string(uuid))] + pick(["major", "minor"], of: object)
    }

    static func publication(_ publication: JSONObject, of world: String) -> JSONValue {
        .object(JSONObject(attachment(publication, of: world) + pick(["properties"], of: publication)))
    }

    static func subscription(_ subscription: JSONObject, of world: String) -> JSONValue {
        // Newer forms of pushers are objects, which no old client can read.
        let pushers = (subscription["pushers"]?.asArray ?? []).filter { $0.asString != nil }
        return .object(
            JSONObject(
                attachment(subscription, of: world) + pick(["selector", "matchTTL", "matchDTL"], of: subscription)
                    + [("pushers", .array(pushers))]))
    }

    /// nil for the end of a visit, which the old cloud did not know.
    static func match(_ match: JSONObject, of world: String) -> JSONValue? {
        guard match["event"]?.asString != "ended", let publication = match["publication"]?.asObject,
            let subscription = match["subscription"]?.asObject
        else { return nil }
        return .object(
            JSONObject(
                pick(["id", "createdAt"], of: match) + [
                    ("publication", located(Self.publication(publication, of: world), publication)),
                    ("subscription", located(Self.subscription(subscription, of: world), subscription)),
                ]))
    }

    // MARK: Parts

    private static func pick(_ names: [String], of object: JSONObject) -> [(String, JSONValue)] {
        names.compactMap { name in object[name].map { (name, $0) } }
    }

    private static func attachment(_ object: JSONObject, of world: String) -> [(String, JSONValue)] {
        pick(["id", "createdAt"], of: object) + [("worldId", .string(world))]
            + pick(["deviceId", "topic", "range", "duration"], of: object)
    }

    private static func located(_ value: JSONValue, _ object: JSONObject) -> JSONValue {
        guard var members = value.asObject else { return value }
        members["location"] = location(object["location"])
        return .object(members)
    }

    /// With an altitude, which the clients require; `null` where nothing is known.
    private static func location(_ value: JSONValue?) -> JSONValue {
        guard let location = value?.asObject else { return .null }
        var members = pick(["latitude", "longitude"], of: location)
        members.append(("altitude", location["altitude"] ?? .integer(0)))
        members += pick(["horizontalAccuracy", "verticalAccuracy"], of: location)
        if let timestamp = location["timestamp"] { members.append(("createdAt", timestamp)) }
        return .object(JSONObject(members))
    }
}
