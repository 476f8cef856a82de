import Geodesy
import LiveTopics
import Matching
import Wire
import Records

// device/create · get · list · update · delete

extension Hub {
    func createDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        let type = try call.parameters.isBeaconDocument ? .beacon : call.parameters.deviceType("deviceType")
        let id = try call.parameters.optionalID("id")
        var record = DeviceRecord(
            dataset: dataset.id, id: id ?? "", type: type, name: try call.parameters.name("name") ?? "",
            group: try call.parameters.group("group") ?? [],
            platform: try call.parameters.optionalString("platform", characters: 0...256),
            deviceToken: try call.parameters.optionalString("deviceToken", characters: 0...4096), owner: call.owner,
            createdAt: call.createdAt, updatedAt: call.updatedAt, revision: "")
        let location = try call.parameters.location("location")
        try checkLocation(location != nil, of: type)
        if type == .beacon { record.beacon = try beaconIdentity(call.parameters, in: dataset, except: nil) }
        try changeBeaconMembers(of: &record, call)
        if let id, dataset.devices[id] != nil {
            throw WireError(.conflict, "the device `\(id)` exists", field: "id")
        }
        try checkRoomForDevice(of: record.owner, in: dataset)
        if location != nil, id.flatMap({ dataset.positionsWithoutDevice[$0] }) == nil { try checkRoomForLiveTopic(in: dataset) }
        if id == nil { record.id = turn.identifiers.uuid() }
        record.revision = call.revision(after: nil, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        let device = dataset.add(record)
        turn.keep(.put(record))
        takeOverPosition(device, in: dataset)
        followDevice(device, in: dataset)
        dataset.circumstances.move(device, &turn)
        showGeofences(device, in: dataset, &turn)
        if let location { set(location, of: device, in: dataset, &turn) }
        return describe(device, call)
    }

    func getDevice(_ call: Call) throws(WireError) -> [UInt8] {
        describe(try device(named: "id", call), call)
    }

    func listDevices(_ call: Call) throws(WireError) -> [UInt8] {
        let type = call.parameters.has("deviceType") ? try call.parameters.deviceType("deviceType") : nil
        let page = try Page(call.parameters)
        let dataset = call.dataset
        let client = call.client
        return page.encode(
            "devices", dataset.devices.ids(after: page.after), id: { $0 },
            item: { id in
                guard let device = dataset.devices[id], type == nil || device.record.type == type,
                    client.reaches(owner: device.record.owner)
                else { return nil }
                return self.describe(device, call)
            })
    }

    func updateDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try device(named: "id", call)
        var record = device.record
        try call.parameters.checkRevision(record.revision)
        if call.parameters.has("name") { record.name = try call.parameters.name("name") ?? "" }
        if call.parameters.has("group") { record.group = try call.parameters.group("group") ?? [] }
        if call.parameters.has("platform") {
            record.platform = try call.parameters.optionalString("platform", characters: 0...256)
        }
        if call.parameters.has("deviceToken") {
            record.deviceToken = try call.parameters.optionalString("deviceToken", characters: 0...4096)
        }
        try changeBeaconMembers(of: &record, call)
        let removesLocation = call.parameters.isNull("location")
        if removesLocation, record.type == .pin {
            throw WireError(.invalid, "a PinDevice has a `location`; it can be changed, not removed", field: "location")
        }
        let location = removesLocation ? nil : try call.parameters.location("location")
        if location != nil || removesLocation { try checkMover(of: device, call) }
        if location != nil {
            try checkLocation(true, of: record.type)
            if device.positionTopic == nil { try checkRoomForLiveTopic(in: call.dataset) }
        }
        record.createdAt = call.stamp?.createdAt == nil ? record.createdAt : call.createdAt
        record.updatedAt = call.updatedAt
        record.revision = call.revision(after: record.revision, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        call.dataset.change(device, to: record)
        turn.keep(.put(record))
        forgetGone(of: device, in: call.dataset, &turn)
        call.dataset.circumstances.identityChanged(device, &turn)
        fenceIdentityChanged(device, in: call.dataset, &turn)
        if let location {
            set(location, of: device, in: call.dataset, &turn)
        } else if removesLocation, let state = device.positionTopic {
            let former = state.snapshot
            clear(state, &turn)
            keepNow(state, after: former, &turn)
        }
        return describe(device, call)
    }

    func deleteDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try device(named: "id", call, ownerless: "only administrators delete a device without an owner")
        try call.parameters.checkRevision(device.record.revision)
        call.dataset.geomatching.endVisits(of: device, &turn)
        endGeofences(of: device, in: call.dataset, &turn)
        turn.keep(.deleteDevice(dataset: call.dataset.id, id: device.record.id))
        call.dataset.occupancy?.leave(device.record.id)
        if let state = device.positionTopic {
            let former = state.snapshot
            device.positionTopic = nil
            forgetState(state, asOf: call.now, receivedAt: call.now, &turn)
            keepNow(state, after: former, &turn)
        }
        for subscription in call.dataset.geomatching.subscriptions(of: device) {
            recentMoves.note(removed: subscription, of: call.dataset.id)
        }
        call.dataset.remove(device)
        return deleted(device.record.id)
    }

    // MARK: Parts

    /// The device a parameter names, if the client may have it.
    ///
    /// - Parameter ownerless: Why a client that is no administrator may not do this to a device without an owner; nil if it may.
    func device(named key: String, _ call: Call, ownerless: String? = nil) throws(WireError) -> Device {
        let id = try call.parameters.id(key)
        guard let device = call.dataset.devices[id] else {
            throw WireError(.notFound, "there is no device `\(id)`", field: key)
        }
        try call.checkOwner(device.record.owner, of: "device", id, field: key)
        if let ownerless, device.record.owner == nil, !call.client.isAdministrator {
            throw WireError(.forbidden, ownerless, field: key)
        }
        return device
    }

    private func checkLocation(_ isGiven: Bool, of type: DeviceType) throws(WireError) {
        if type == .pin, !isGiven {
            throw WireError(.invalid, "`location` is required for a PinDevice", field: "location")
        }
        if type == .beacon, isGiven {
            throw WireError(
                .invalid, "an IBeaconDevice has no `location`: it is known by its proximity only", field: "location")
        }
    }

    private func beaconIdentity(
        _ parameters: Parameters, in dataset: Dataset, except id: String?
    ) throws(WireError) -> BeaconIdentity {
        let identity = try parameters.beaconIdentity()
        if let holder = identity.key.flatMap({ dataset.beacons.holders[$0] }), holder != id {
            throw WireError(
                .conflict, "the device `\(holder)` has the beacon \(identity.proximityUUID) \(identity.major) \(identity.minor)",
                field: "proximityUUID")
        }
        return identity
    }

    /// A position set by a request is durable before its reply, and appears on the device's own live topic.
    private func set(_ location: LocationCoding.Location, of device: Device, in dataset: Dataset, _ turn: inout Turn) {
        let live = LiveTopic(
            dataset: dataset.id, venue: "-", building: "-", floor: "-", room: "-", location: device.record.id, domain: "position")
        let topic = live.encoded
        let state = liveStates[topic] ?? LiveState(dataset: dataset, live: live, topic: topic)
        let former = device.positionTopic === state ? nil : device.positionTopic
        let before = (state: state.snapshot, former: former?.snapshot)
        // A client that sets a location now means it, whatever a device with a fast clock said before.
        let known = max(state.time(at: turn.now), device.positionTopic?.time(at: turn.now) ?? .min)
        let asked = location.timestamp.map { $0 > turn.now + Self.skewMaximumMilliseconds ? turn.now : $0 } ?? turn.now
        state.device = device
        properties.removeAll(keepingCapacity: true)
        properties.append(contentsOf: location.properties)
        let found = store(
            LiveUpdate(
                timestamp: asked, originSourceId: location.originSourceId, position: location.position,
                floorIndex: location.floorIndex),
            at: max(asked, known), for: state, receivedAt: turn.now, &turn)
        keepNow(state, after: before.state, &turn)
        if let former { keepNow(former, after: before.former, &turn) }
        dataset.circumstances.move(device, &turn)
        showGeofences(device, in: dataset, &turn)
        let floor = dataset.structure.floor(of: state, index: location.floorIndex, found: found, &turn)
        dataset.geomatching.move(device, to: location.position, floor: floor, &turn)
    }

    /// Makes a state durable with the request that changed it. What it was before is written first: where the request is refused, that is
    /// what stays.
    func keepNow(_ state: LiveState, after former: LiveStateRecord?, _ turn: inout Turn) {
        if let former { turn.keepUnasked(.put(former)) }
        turn.keep(.put(LiveStateRecord(state)))
    }

    /// The device, with where it is as far as the client may know.
    private func describe(_ device: Device, _ call: Call) -> [UInt8] {
        JSONWriter.object { writer in
            device.record.encodeMembers(into: &writer)
            if !device.record.goneTargets.isEmpty { writer.member("pushState", "gone") }
            if mayLocate(device, call), let location = device.positionTopic?.location(using: parser) {
                writer.key("location")
                writer.object(location)
            }
        }
    }
}

extension LiveState {
    /// nil where nothing is known.
    var snapshot: LiveStateRecord? { isKnown ? LiveStateRecord(self) : nil }

    /// A position as objects show it: its properties and when they were true.
    func location(using parser: JSONParser) -> JSONObject? {
        guard let payload, case .object(let message)? = try? JSONValue.parse(payload, using: parser),
            case .object(var location)? = message["properties"]
        else { return nil }
        location["timestamp"] = message["timestamp"]
        return location
    }
}

/// `{"id","state":"deleted"}`
func deleted(_ id: String) -> [UInt8] { stated(id, "deleted") }

/// `{"id","state"}`
func stated(_ id: String, _ state: String) -> [UInt8] {
    JSONWriter.object { writer in
        writer.member("id", id)
        writer.member("state", state)
    }
}
