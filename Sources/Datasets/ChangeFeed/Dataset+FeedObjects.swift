import Wire
import Records

// Objects of ours as documents.

extension Dataset {
    /// `{"type","id",…,"revision"}` as the object is now; nil where there is none.
    ///
    /// Where a device is does not belong to it, but for a pin.
    func content(of type: DocumentType, _ id: String) -> [UInt8]? {
        object(type, id).map { object in
            JSONWriter.object { writer in
                writer.member("type", type.rawValue)
                object.encodeMembers(&writer)
            }
        }
    }

    /// The revision of an object; nil where there is none.
    func revision(of type: DocumentType, _ id: String) -> String? { object(type, id)?.revision }

    /// Who may read an object beside administrators; nil for everybody, and where there is none.
    func reader(of type: DocumentType, _ id: String) -> String? { object(type, id)?.reader }

    /// Whether a request would find it.
    func isThere(_ type: DocumentType, _ id: String, at now: Int64) -> Bool {
        object(type, id).map { $0.expiresAt > now } ?? false
    }

    /// What the feed knows of an object of ours.
    private struct FeedObject {
        var revision: String?
        var reader: String?
        var expiresAt: Int64 = .max
        var encodeMembers: (inout JSONWriter) -> Void
    }

    private func object(_ type: DocumentType, _ id: String) -> FeedObject? {
        switch type {
        case .device:
            devices[id].map { device in
                let record = device.record
                return FeedObject(revision: record.revision, reader: record.type == .beacon ? nil : record.owner) { writer in
                    record.encodeMembers(into: &writer)
                    guard record.type == .pin, record.owner != nil || !self.hidesPositions,
                        let location = device.positionTopic?.location(using: self.shared.parser)
                    else { return }
                    writer.key("location")
                    writer.object(location)
                }
            }
        case .publication:
            geomatching.publications[id].map {
                FeedObject(
                    revision: $0.record.revision, reader: $0.record.owner, expiresAt: $0.expiresAt,
                    encodeMembers: $0.record.encodeMembers)
            }
        case .subscription:
            geomatching.subscriptions[id].map {
                FeedObject(
                    revision: $0.record.revision, reader: $0.record.owner, expiresAt: $0.expiresAt,
                    encodeMembers: $0.record.encodeMembers)
            }
        case .place:
            places.table.handle(of: id).map { handle in
                FeedObject(revision: places.table.revision(handle)) { self.places.table.place(handle).encodeMembers(into: &$0) }
            }
        case .category:
            places.table.categories[id].map { FeedObject(revision: $0.revision, encodeMembers: $0.encodeMembers) }
        case .circumstance:
            circumstances[id].map {
                FeedObject(revision: $0.record.revision, reader: $0.record.owner, encodeMembers: $0.record.encodeMembers)
            }
        case .geofence:
            geofences[path: id].map {
                FeedObject(revision: $0.record.revision, reader: $0.record.owner, encodeMembers: $0.record.encodeMembers)
            }
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
            for (key, members) in [("ranging", ["n", "rssiOffset", "filter", "map"]), ("orientation", ["heading", "tilt"])] {
                if let nested = update[key]?.asObject { update[key] = .object(nested.filled(with: members)) }
            }
            optional = ["name", "group", "platform", "deviceToken", "carries", "ranging", "orientation"]
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
