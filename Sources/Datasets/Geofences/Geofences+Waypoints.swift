import LiveTopics
import Records
import Wire

// Waypoints that phones with OwnTracks share, as geofences of the client named like their user.

extension Geofences {
    /// Creates, replaces or deletes the geofence that a waypoint means; beacons' waypoints mean none.
    func receiveWaypoint(_ payload: [UInt8], _ turn: inout Turn) throws(WireError) {
        guard case .object(let waypoint)? = try? JSONValue.parse(payload, using: shared.parser), waypoint["proximityUUID"] == nil,
            let item = waypoint["owner"]?.asString, let description = waypoint["desc"]?.asString
        else { return }
        let user = String(item.prefix { $0 != "/" })
        guard Name.isClient(user) else {
            throw WireError(.invalid, "the user `\(user)` is no client name, so the waypoint is no geofence", field: "topic")
        }
        let id = "owntracks/\(description)"
        guard !description.isEmpty, Name.isID(id) else {
            throw WireError(.invalid, "`desc` must have 1 to 118 bytes to name a geofence", field: "desc")
        }
        if waypoint["latitude"] != nil, let radius = waypoint["radius"]?.asDouble, radius > 0 {
            try put(waypoint, radius, id, user, description, &turn)
        } else if let known = self[user, id] {
            remove(known, &turn)
        }
    }

    private func put(
        _ waypoint: JSONObject, _ radius: Double, _ id: String, _ user: String, _ description: String, _ turn: inout Turn
    ) throws(WireError) {
        let circle: JSONObject = [
            "latitude": waypoint["latitude"] ?? .null, "longitude": waypoint["longitude"] ?? .null, "radius": .double(radius),
        ]
        let value = JSONValue.object(["circle": .object(circle)])
        let area = try GeofenceArea(value)
        let known = self[user, id]
        var record =
            known?.record
            ?? GeofenceRecord(
                dataset: dataset, owner: user, id: id, area: "", createdAt: turn.now, updatedAt: turn.now)
        (record.name, record.area) = (description, String(decoding: value.serialised(), as: UTF8.self))
        record.devices = [user, "\(user)/*"]
        // Phones share it again and again. What it does not say stays, such as `enabled`; where nothing differs, nothing is written.
        guard record != known?.record else { return }
        guard known != nil || count(of: user) < shared.limits.geofences else {
            throw WireError(.limit, "the client `\(user)` has \(shared.limits.geofences) geofences, the maximum")
        }
        record.updatedAt = turn.now
        record.revision = Revision.next(after: known?.record.revision, content: record.encoded())
        turn.keepUnasked(.put(record))
        activate(at: turn.now)
        shared.live.reportMoves(&turn)
        if let known {
            change(known, to: record, area, pushers: known.pushers)
            let fence = fence(of: known).fence
            resize(known) { engine.update(known.number, fence, at: turn.now, into: &effects) }
        } else {
            let made = make(record, area, pushers: [])
            engine.insert(made.number, fence(of: made).fence, at: turn.now, into: &effects)
        }
        handleEffects(&turn)
    }
}
