/// OwnTracks, from its phone apps and from trackers that speak its JSON.
///
/// Source: owntracks/booklet, `docs/tech/json.md` and `docs/features/{beacons,waypoints}.md`. An item is `user/device`.
struct OwnTracksAdapter: PayloadAdapter {
    static let format = AdapterFormat(
        "owntracks", usualFilter: "owntracks/+/+/#", reads: "location, beacon, transition, waypoint(s)",
        item: "user/device, the topic's; of a waypoint its rid", domains: ["position", "proximity", "transition", "waypoint"])

    /// What apps append to a device's topic.
    private static let subtopics = [
        "event", "waypoint", "waypoints", "beacon", "cmd", "step", "steps", "status", "dump", "info", "request",
    ]

    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let type = payload.given("_type") else { throw .missing("_type") }
        let item = Self.item(of: topic)
        switch type.asString {
        case "location": try readLocation(payload, item, into: &readings)
        case "beacon": try readBeacon(payload, item, into: &readings)
        case "transition": try readTransition(payload, item, into: &readings)
        case "waypoint": try readWaypoint(payload, item, path: "", into: &readings)
        case "waypoints": try readWaypoints(payload, item, into: &readings)
        case "encrypted":
            throw WireError(
                .unsupported, "`_type` must not be \"encrypted\": geomatch has no key; protect the connection with TLS instead",
                field: "_type")
        case nil: throw type.error("_type", "a string")
        // The booklet: what an application does not know it ignores.
        default: break
        }
    }

    /// A friend was deleted; below the device's own topic an empty payload says nothing.
    func readEmpty(on topic: AdapterTopic, into readings: inout AdapterReadings) {
        guard !Self.subtopics.contains(topic.last) else { return }
        readings.clear("position", item: Self.item(of: topic))
    }

    /// Root and depth of the topics are the user's; the last two levels name user and device.
    private static func item(of topic: AdapterTopic) -> String {
        let isBelow = topic.levels.count > 2 && subtopics.contains(topic.last)
        return topic.levels.dropLast(isBelow ? 1 : 0).suffix(2).joined(separator: "/")
    }

    private func readLocation(
        _ payload: JSONNode, _ item: String, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard var position = try AdaptedPosition.read(payload, latitude: ["lat"], longitude: ["lon"]) else {
            throw .missing("lat")
        }
        position.altitude = try payload.number(of: "alt")
        // Some devices always send 0 for what they did not measure.
        position.horizontalAccuracy = try payload.accuracy(of: "acc")
        position.verticalAccuracy = try payload.accuracy(of: "vac")
        if position.altitude == 0, position.verticalAccuracy == nil { position.altitude = nil }
        position.timestamp = try payload.instant(of: "tst")
        // A ping sends the last fix again, as of now: it moves with no speed. It stays marked by its `t`.
        if payload.given("t")?.hasText("p") != true {
            position.speed = try payload.magnitude(of: "vel").map { $0 / 3.6 }
            position.course = try payload.magnitude(of: "cog")
            if position.course == 0, (position.speed ?? 0) == 0 { position.course = nil }
        }
        try readings.add(position, item: item, extras: [payload], except: ["image", "imagename", "_id", "topic"])
    }

    private func readBeacon(
        _ payload: JSONNode, _ item: String, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let uuid = payload.given("uuid") else { throw .missing("uuid") }
        let beacon = try BeaconName(uuid: uuid, "uuid", of: payload)
        var sighting = AdaptedSighting(
            beacon, rssi: try payload.decibels(of: "rssi"), distance: try payload.distance(of: "acc"),
            timestamp: try payload.instant(of: "tst"))
        if let value = payload.given("prox") {
            guard let proximity = value.wholeNumber, (0...3).contains(proximity) else {
                throw value.error("prox", "0, 1, 2 or 3")
            }
            sighting.proximity = proximity
        }
        try readings.add(sighting, observer: item)
    }

    /// What the device says that it entered or left; whether it did is its own word (`source`).
    private func readTransition(
        _ payload: JSONNode, _ item: String, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let event = payload.given("event") else { throw .missing("event") }
        guard event.hasText("enter") || event.hasText("leave") else { throw event.error("event", "enter or leave") }
        var writer = JSONWriter()
        writer.beginObject()
        writer.text("event", event.asString)
        writer.text("desc", payload.given("desc")?.idText)
        writer.text("rid", try payload.id(of: "rid"))
        if payload.given("lat") != nil || payload.given("lon") != nil {
            // A beacon's transition may come without a fix.
            let degrees = (try payload.number(of: "lat"), try payload.number(of: "lon"))
            if degrees != (0, 0), let position = try AdaptedPosition.read(payload, latitude: ["lat"], longitude: ["lon"]) {
                writer.number("latitude", position.latitude)
                writer.number("longitude", position.longitude)
                writer.number("horizontalAccuracy", try payload.accuracy(of: "acc"))
            }
        }
        writer.text("trigger", payload.given("t")?.idText)
        writer.text("tid", payload.given("tid")?.idText)
        writer.text("source", "device")
        writer.instant("timestamp", try payload.instant(of: "tst"))
        writer.endObject()
        try readings.add(writer.bytes, of: "transition", item: item)
    }

    private func readWaypoints(
        _ payload: JSONNode, _ item: String, into readings: inout AdapterReadings
    ) throws(WireError) {
        guard let list = payload.given("waypoints") else { throw .missing("waypoints") }
        guard list.kind == .array else { throw list.error("waypoints", "an array") }
        for (index, waypoint) in list.elements.enumerated() {
            guard waypoint.kind == .object else { throw waypoint.error("waypoints[\(index)]", "an object") }
            try readWaypoint(waypoint, item, path: "waypoints[\(index)].", into: &readings)
        }
    }

    /// A zone of the user's. `tst` is when it was made, and so names it, where `rid` does not.
    private func readWaypoint(
        _ payload: JSONNode, _ item: String, path: String, into readings: inout AdapterReadings
    ) throws(WireError) {
        let radius = try payload.number(of: "rad", path: path)
        let created = try payload.instant(of: "tst", path: path)
        let region = try BeaconRegion(payload, path: path)
        // Apps write 0, 0 where a zone is a beacon's and has no place.
        let degrees = (try payload.number(of: "lat", path: path), try payload.number(of: "lon", path: path))
        let position =
            region.uuid != nil && degrees == (0, 0)
            ? nil : try AdaptedPosition.read(payload, latitude: ["lat"], longitude: ["lon"], path: path)
        // Without coordinates a named one says that the zone is gone.
        let isGone = region.name != nil && payload.given("lat") == nil && payload.given("lon") == nil
        guard position != nil || region.uuid != nil || isGone else { throw .missing(path + "lat") }
        let rid = try payload.id(of: "rid", path: path)
        guard let id = rid ?? created.map({ "\(item)/\($0 / 1000)" }) else { throw .missing(path + "rid") }
        var writer = JSONWriter()
        writer.beginObject()
        writer.text("desc", region.name)
        writer.text("rid", rid)
        writer.text("owner", item)
        writer.number("latitude", position?.latitude)
        writer.number("longitude", position?.longitude)
        // From 0 down it says that the zone is a beacon's.
        writer.number("radius", radius.flatMap { $0 > 0 ? $0 : nil })
        writer.text("proximityUUID", region.uuid)
        writer.instant("major", region.major)
        writer.instant("minor", region.minor)
        writer.instant("createdAt", created)
        writer.endObject()
        try readings.add(writer.bytes, of: "waypoint", item: id, keepsItem: true)
    }
}

/// The beacons a waypoint is about, if it is about beacons.
private struct BeaconRegion {
    var name: String?
    var uuid: String?
    /// 0 is how OwnTracks writes any.
    var major: Int64?
    var minor: Int64?

    /// Old waypoints have `name:UUID:major:minor` as their description.
    init(_ payload: JSONNode, path: String) throws(WireError) {
        name = payload.given("desc")?.idText
        if let value = payload.given("uuid") {
            guard let uuid = value.asString.flatMap(UUIDText.canonical) else { throw value.error(path + "uuid", "a UUID") }
            self.uuid = uuid
            major = try Self.part(payload, "major", path)
            minor = try Self.part(payload, "minor", path)
            return
        }
        guard let text = name, text.utf8.count <= 1024 else { return }
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count > 1, let uuid = UUIDText.canonical(parts[1]) else { return }
        name = parts[0]
        self.uuid = uuid
        major = parts.count > 2 ? UInt16(parts[2]).flatMap { $0 > 0 ? Int64($0) : nil } : nil
        minor = parts.count > 3 ? UInt16(parts[3]).flatMap { $0 > 0 ? Int64($0) : nil } : nil
    }

    private static func part(_ payload: JSONNode, _ name: String, _ path: String) throws(WireError) -> Int64? {
        guard let value = payload.given(name) else { return nil }
        guard let number = value.wholeNumber, (0...65_535).contains(number) else {
            throw value.error(path + name, "a whole number from 0 to 65535")
        }
        return number > 0 ? number : nil
    }
}
