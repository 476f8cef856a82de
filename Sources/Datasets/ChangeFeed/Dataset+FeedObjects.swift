import Wire
import Records

// Objects of ours as documents.

extension Dataset {
    /// `{"type","id",…,"revision"}` as the object is now; nil where there is none.
    ///
    /// Where a device is does not belong to it, but for a pin.
    func content(of type: DocumentType, _ id: String) -> [UInt8]? {
        switch type {
        case .device:
            guard let device = devices[id] else { return nil }
            return document(type) { writer in
                device.record.encodeMembers(into: &writer)
                guard device.record.type == .pin, device.record.owner != nil || !hidesPositions,
                    let location = device.positionTopic?.location(using: shared.parser)
                else { return }
                writer.key("location")
                writer.object(location)
            }
        case .publication: return geomatching.publications[id].map { document(type, $0.record.encodeMembers) }
        case .subscription: return geomatching.subscriptions[id].map { document(type, $0.record.encodeMembers) }
        case .place: return places.table[id].map { document(type, $0.encodeMembers) }
        case .category: return places.table.categories[id].map { document(type, $0.encodeMembers) }
        case .circumstance: return circumstances[id].map { document(type, $0.record.encodeMembers) }
        case .geofence: return geofences[path: id].map { document(type, $0.record.encodeMembers) }
        }
    }

    /// The revision of an object; nil where there is none.
    func revision(of type: DocumentType, _ id: String) -> String? {
        switch type {
        case .device: devices[id]?.record.revision
        case .publication: geomatching.publications[id]?.record.revision
        case .subscription: geomatching.subscriptions[id]?.record.revision
        case .place: places.table.handle(of: id).flatMap { places.table.revision($0) }
        case .category: places.table.categories[id]?.revision
        case .circumstance: circumstances[id]?.record.revision
        case .geofence: geofences[path: id]?.record.revision
        }
    }

    /// Who may read an object beside administrators; nil for everybody, and where there is none.
    func reader(of type: DocumentType, _ id: String) -> String? {
        switch type {
        case .device: devices[id].flatMap { $0.record.type == .beacon ? nil : $0.record.owner }
        case .publication: geomatching.publications[id]?.record.owner
        case .subscription: geomatching.subscriptions[id]?.record.owner
        case .place, .category: nil
        case .circumstance: circumstances[id]?.record.owner
        case .geofence: geofences[path: id]?.record.owner
        }
    }

    /// Whether a request would find it.
    func isThere(_ type: DocumentType, _ id: String, at now: Int64) -> Bool {
        switch type {
        case .device: devices[id] != nil
        case .publication: geomatching.publications[id].map { $0.expiresAt > now } ?? false
        case .subscription: geomatching.subscriptions[id].map { $0.expiresAt > now } ?? false
        case .place: places.table.handle(of: id) != nil
        case .category: places.table.categories[id] != nil
        case .circumstance: circumstances[id] != nil
        case .geofence: geofences[path: id] != nil
        }
    }

    /// What an `update` must say so that an object becomes what a whole document says: `null` for what that leaves out.
    func replacement(_ type: DocumentType, _ id: String, _ members: JSONObject) throws(WireError) -> JSONObject {
        let given = Parameters(members)
        var update = members.withoutMeta
        func keep(_ key: String, _ value: String) throws(WireError) {
            guard try given.string(key) == value else {
                throw given.error(key, "cannot be changed from \"\(value)\"", not: given.value(key))
            }
            update[key] = nil
        }
        let optional: [String]
        switch type {
        case .device:
            guard let record = devices[id]?.record else { break }
            try keep("deviceType", record.type.rawValue)
            if let beacon = record.beacon, try given.beaconIdentity() != beacon {
                throw given.error("proximityUUID", "cannot be changed: a beacon is known by it")
            }
            optional = ["name", "group", "platform", "deviceToken", "carries", "ranging"]
            return update.filled(with: optional)
        case .publication:
            guard let record = geomatching.publications[id]?.record else { break }
            try keep("deviceId", record.deviceId)
            try require(["topic", "range", "duration"], of: given)
            return update.filled(with: ["properties"])
        case .subscription:
            guard let record = geomatching.subscriptions[id]?.record else { break }
            try keep("deviceId", record.deviceId)
            try require(["topic", "range", "duration"], of: given)
            optional = [
                "selector", "matchTTL", "matchDTL", "mode", "exitMargin", "dwell", "staleAfter", "accuracy", "floor",
                "excludeSelf", "homeAssistant", "pushers", "notification",
            ]
            return update.filled(with: optional)
        case .place, .category, .circumstance, .geofence: break
        }
        return update
    }

    private func require(_ keys: [String], of given: Parameters) throws(WireError) {
        for key in keys where given.value(key) == nil { throw given.missing(key) }
    }

    private func document(_ type: DocumentType, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("type", type.rawValue)
            members(&writer)
        }
    }
}

extension JSONObject {
    /// Without what a document has and no request takes.
    var withoutMeta: JSONObject {
        var rest = self
        for key in [
            "type", "revision", "parent", "deleted", "owner", "createdAt", "updatedAt", "delivery", "hints", "pushState", "items",
        ] {
            rest[key] = nil
        }
        return rest
    }

    /// `null` for what is absent.
    fileprivate func filled(with keys: [String]) -> JSONObject {
        var full = self
        for key in keys where full[key] == nil { full[key] = .null }
        return full
    }
}
