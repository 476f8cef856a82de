import Geodesy
import Wire

// The objects as requests answer with them and matches carry them.

package protocol JSONObjectEncodable {
    func encodeMembers(into writer: inout JSONWriter)
}

extension JSONObjectEncodable {
    package func encoded() -> [UInt8] { JSONWriter.object(encodeMembers) }
}

extension JSONWriter {
    /// When an object was created and updated, whose it is, and its revision.
    mutating func stamps(_ createdAt: Int64, _ updatedAt: Int64, owner: String?, _ revision: String) {
        member("createdAt", createdAt)
        member("updatedAt", updatedAt)
        member("owner", optional: owner)
        member("revision", optional: revision.isEmpty ? nil : revision)
    }
}

extension JSONWriter {
    /// Texts, and objects for browsers.
    mutating func member(pushers: [String]) {
        key("pushers")
        beginArray()
        for pusher in pushers {
            if pusher.utf8.first == UInt8(ascii: "{") { raw(Array(pusher.utf8)) } else { string(pusher) }
        }
        endArray()
    }

    mutating func member(notification: String?) {
        guard let notification else { return }
        key("notification")
        raw(Array(notification.utf8))
    }
}

extension DatasetRecord: JSONObjectEncodable {
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("name", optional: name)
        writer.member("policy", policy)
        if let domains { writer.member("domains", domains) }
        writer.member("autoCreateDevices", autoCreateDevices)
        writer.member("derivedOccupancy", derivedOccupancy)
        writer.member("timeZone", timeZone)
        writer.member("livePositions", livePositions.rawValue)
        writer.stamps(createdAt, updatedAt, owner: nil, revision)
    }
}

extension DeviceRecord: JSONObjectEncodable {
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("deviceType", type.rawValue)
        writer.member("name", name)
        writer.member("group", group)
        writer.member("platform", optional: platform)
        writer.member("deviceToken", optional: deviceToken)
        beacon?.encodeMembers(into: &writer)
        encodeBeaconMembers(into: &writer)
        writer.stamps(createdAt, updatedAt, owner: owner, revision)
    }
}

extension PublicationRecord: JSONObjectEncodable {
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("deviceId", deviceId)
        writer.member("topic", topic)
        writer.member("range", range)
        writer.member("duration", duration)
        writer.key("properties")
        writer.raw(Array(properties.utf8))
        writer.stamps(createdAt, updatedAt, owner: owner, revision)
    }
}

extension SubscriptionRecord: JSONObjectEncodable {
    /// Without `delivery` and `hints`, which change while a match is on its way, and without the secret, which nobody is shown.
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("deviceId", deviceId)
        writer.member("topic", topic)
        writer.member("range", range)
        writer.member("duration", duration)
        writer.member("selector", selector)
        writer.member("matchTTL", effectiveMatchTTL)
        writer.member("matchDTL", effectiveMatchDTL)
        writer.member("mode", mode.rawValue)
        writer.member("exitMargin", exitMargin)
        writer.member("dwell", dwell)
        writer.member("staleAfter", optional: staleAfter)
        writer.member("accuracy", accuracy.rawValue)
        writer.member("floor", floor.rawValue)
        writer.member("excludeSelf", excludeSelf)
        writer.member(pushers: pushers)
        if homeAssistant { writer.member("homeAssistant", true) }
        writer.member(notification: notification)
        writer.stamps(createdAt, updatedAt, owner: owner, revision)
    }

    /// Seconds.
    package var effectiveMatchTTL: Double { matchTTL ?? duration }

    /// Metres.
    package var effectiveMatchDTL: Double { matchDTL ?? 2 * range }
}

extension Delivery {
    package func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("matched", matched)
        writer.member("delivered", delivered)
        writer.member("retried", retried)
        writer.member("expired", expired)
        writer.member("dropped", dropped)
        writer.member("pending", pending)
        writer.member("lastMatchAt", optional: lastMatchAt)
        writer.member("lastError", optional: lastError)
        writer.endObject()
    }
}

extension Position {
    package func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("latitude", latitude)
        writer.member("longitude", longitude)
        writer.member("altitude", optional: altitude)
        writer.member("horizontalAccuracy", optional: horizontalAccuracy)
        writer.endObject()
    }
}

extension BeaconIdentity {
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("proximityUUID", proximityUUID)
        writer.member("major", major)
        writer.member("minor", minor)
    }
}

extension DeviceRecord {
    package func encodeBeaconMembers(into writer: inout JSONWriter) {
        if let carries {
            writer.key("carries")
            writer.beginObject()
            carries.encodeMembers(into: &writer)
            writer.endObject()
        }
        if let ranging {
            writer.key("ranging")
            writer.beginObject()
            writer.member("n", ranging.n)
            writer.member("rssiOffset", ranging.rssiOffset)
            writer.member("filter", ranging.filter.rawValue)
            writer.member("map", optional: ranging.map?.text)
            writer.endObject()
        }
        if let orientation {
            writer.key("orientation")
            writer.beginObject()
            writer.member("heading", orientation.heading)
            writer.member("tilt", orientation.tilt)
            writer.endObject()
        }
    }
}

extension CircumstanceRecord: JSONObjectEncodable {
    /// The circumstance as requests answer with it and the change feed shows it.
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("expression", expression)
        writer.member("when", optional: trigger?.rawValue)
        writer.member("name", optional: name)
        writer.member("tags", tags)
        if !devices.isEmpty { writer.member("devices", devices) }
        writer.member("nearRadius", nearRadius)
        writer.member("exitMargin", exitMargin)
        if debug { writer.member("debug", true) }
        writer.member("enabled", isEnabled)
        if !pushers.isEmpty { writer.member(pushers: pushers) }
        writer.member(notification: notification)
        writer.stamps(createdAt, updatedAt, owner: owner, revision)
    }
}
