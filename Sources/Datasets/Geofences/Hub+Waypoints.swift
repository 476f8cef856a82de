import LiveTopics
import Records
import Wire

// Waypoints that phones with OwnTracks share, as geofences of the client named like their user.

extension Hub {
    /// Creates, replaces or deletes the geofence that a waypoint means; beacons' waypoints mean none.
    func receiveWaypoint(_ payload: [UInt8], of name: String, published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        guard let dataset = datasets[name], !dataset.isSuspended,
            case .object(let waypoint)? = try? JSONValue.parse(payload, using: parser), waypoint["proximityUUID"] == nil,
            let item = waypoint["owner"]?.asString, let description = waypoint["desc"]?.asString
        else { return }
        let user = String(item.prefix { $0 != "/" })
        do throws(WireError) {
            guard Name.isClient(user) else {
                throw WireError(.invalid, "the user `\(user)` is no client name, so the waypoint is no geofence", field: "topic")
            }
            let id = "owntracks/\(description)"
            guard Name.isID(id) else {
                throw WireError(.invalid, "`desc` must have 1 to 118 bytes to name a geofence", field: "desc")
            }
            guard waypoint["latitude"] != nil, let radius = waypoint["radius"]?.asDouble, radius > 0 else {
                if let known = dataset.geofences[user, id] { remove(known, from: dataset, &turn) }
                return
            }
            try put(waypoint, radius, id, user, description, in: dataset, &turn)
        } catch {
            refuse(error, published: published, of: name, &turn)
        }
    }

    private func put(
        _ waypoint: JSONObject, _ radius: Double, _ id: String, _ user: String, _ description: String, in dataset: Dataset,
        _ turn: inout Turn
    ) throws(WireError) {
        let circle: JSONObject = [
            "latitude": waypoint["latitude"] ?? .null, "longitude": waypoint["longitude"] ?? .null, "radius": .double(radius),
        ]
        let value = JSONValue.object(["circle": .object(circle)])
        let area = try GeofenceArea(value)
        let known = dataset.geofences[user, id]
        var record =
            known?.record
            ?? GeofenceRecord(
                dataset: dataset.id, owner: user, id: id, area: "", devices: [user, "\(user)/*"], createdAt: turn.now,
                updatedAt: turn.now)
        let text = String(decoding: value.serialised(), as: UTF8.self)
        guard record.area != text else { return }
        guard known != nil || dataset.geofences.count(of: user) < configuration.limits.geofences else {
            throw WireError(.limit, "the client `\(user)` has \(configuration.limits.geofences) geofences, the maximum")
        }
        (record.name, record.area, record.updatedAt) = (description, text, turn.now)
        record.revision = Revision.next(after: known?.record.revision, content: record.encoded())
        turn.keepUnasked(.put(record))
        activateGeofences(of: dataset, at: turn.now)
        showMoves(&turn)
        let geofences = dataset.geofences
        if let known {
            geofences.change(known, to: record, area, pushers: known.pushers)
            geofences.engine.update(known.number, fence(of: known, in: dataset).fence, at: turn.now, into: &geofences.effects)
        } else {
            let made = geofences.make(record, area, pushers: [])
            geofences.engine.insert(made.number, fence(of: made, in: dataset).fence, at: turn.now, into: &geofences.effects)
        }
        handleFenceEffects(of: dataset, &turn)
    }
}
