import Geodesy
import LiveTopics
import Matching
import Wire
import Records

// device/create · get · list · update · delete

// A device is known to every component of its dataset: all of them hear of what becomes of it.

extension Dataset {
    func createDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let type = try call.parameters.isBeaconDocument ? .beacon : call.parameters.deviceType("deviceType")
        let id = try call.parameters.optionalID("id")
        var record = DeviceRecord(
            dataset: self.id, id: id ?? "", type: type, name: try call.parameters.name("name") ?? "",
            group: try call.parameters.group("group") ?? [],
            platform: try call.parameters.optionalString("platform", characters: 0...256),
            deviceToken: try call.parameters.optionalString("deviceToken", characters: 0...4096), owner: call.owner,
            createdAt: call.createdAt, updatedAt: call.updatedAt, revision: "")
        let location = try call.parameters.location("location")
        try checkLocation(location != nil, of: type)
        if location != nil { try call.checkMover(of: id, type, owner: record.owner) }
        if type == .beacon { record.beacon = try beacons.identity(call.parameters) }
        try beacons.changeMembers(of: &record, call)
        if let id, devices[id] != nil {
            throw WireError(.conflict, "the device `\(id)` exists", field: "id")
        }
        try checkRoomForDevice(of: record.owner)
        if location != nil, id.flatMap({ positionsWithoutDevice[$0] }) == nil { try checkRoomForLiveTopic() }
        if id == nil { record.id = turn.newID() }
        record.revision = call.revision(after: nil, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        let device = add(record)
        turn.keep(.put(record))
        shared.live.adoptPosition(device, in: self)
        geofences.follow(device)
        circumstances.move(device, &turn)
        geofences.move(device, &turn)
        if let location { set(location, of: device, &turn) }
        return describe(device, call)
    }

    func getDevice(_ call: Call) throws(WireError) -> [UInt8] {
        describe(try call.device(named: "id"), call)
    }

    func listDevices(_ call: Call) throws(WireError) -> any Search {
        let type = call.parameters.has("deviceType") ? try call.parameters.deviceType("deviceType") : nil
        let page = try Page(call.parameters)
        let client = call.client
        return DeviceSearch(
            page, of: devices,
            isWanted: { (type == nil || $0.record.type == type) && client.reaches(owner: $0.record.owner) },
            encode: { found, isCut in
                page.encode("devices", found, id: \.record.id, isCut: isCut) { self.describe($0, call) }
            })
    }

    func updateDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device(named: "id")
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
        try beacons.changeMembers(of: &record, call)
        let removesLocation = call.parameters.isNull("location")
        if removesLocation, record.type == .pin {
            throw WireError(.invalid, "a PinDevice has a `location`; it can be changed, not removed", field: "location")
        }
        let location = removesLocation ? nil : try call.parameters.location("location")
        if location != nil || removesLocation { try call.checkMover(of: device) }
        if location != nil {
            try checkLocation(true, of: record.type)
            if device.positionTopic == nil { try checkRoomForLiveTopic() }
        }
        record.createdAt = call.stamp?.createdAt == nil ? record.createdAt : call.createdAt
        record.updatedAt = call.updatedAt
        record.revision = call.revision(after: record.revision, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        change(device, to: record)
        turn.keep(.put(record))
        geomatching.forgetGone(of: device, &turn)
        circumstances.identityChanged(device, &turn)
        geofences.identityChanged(device, &turn)
        if let location {
            set(location, of: device, &turn)
        } else if removesLocation, let state = device.positionTopic {
            let former = state.snapshot
            shared.live.clear(state, &turn)
            turn.keep(state, after: former)
        }
        return describe(device, call)
    }

    func deleteDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device(named: "id", ownerless: "only administrators delete a device without an owner")
        try call.parameters.checkRevision(device.record.revision)
        geomatching.endVisits(of: device, &turn)
        geofences.endVisits(of: device, &turn)
        turn.keep(.deleteDevice(dataset: id, id: device.record.id))
        occupancy?.leave(device.record.id)
        let traces = traces(of: device)
        device.positionTopic = nil
        for state in traces {
            let former = state.snapshot
            if state.tellsSightings { shared.live.forgetSightings(of: state, &turn) }
            shared.live.forgetState(state, asOf: call.now, receivedAt: call.now, &turn)
            turn.keep(state, after: former)
        }
        for subscription in geomatching.subscriptions(of: device) { shared.live.recentMoves.note(removed: subscription, of: id) }
        remove(device)
        beacons.noteObservers(of: device.record)
        return deleted(device.record.id)
    }

    // MARK: Parts

    private func checkLocation(_ isGiven: Bool, of type: DeviceType) throws(WireError) {
        if type == .pin, !isGiven {
            throw WireError(.invalid, "`location` is required for a PinDevice", field: "location")
        }
        if type == .beacon, isGiven {
            throw WireError(
                .invalid, "an IBeaconDevice has no `location`: it is known by its proximity only", field: "location")
        }
    }

    /// A position set by a request is durable before its reply, and appears on the device's own live topic.
    private func set(_ location: LocationCoding.Location, of device: Device, _ turn: inout Turn) {
        let book = shared.live
        let live = LiveTopic(
            dataset: id, venue: "-", building: "-", floor: "-", room: "-", location: device.record.id, domain: "position")
        let topic = live.encoded
        let state = book.states[topic] ?? LiveState(dataset: self, live: live, topic: topic)
        let former = device.positionTopic === state ? nil : device.positionTopic
        let before = (state: state.snapshot, former: former?.snapshot)
        // A client that sets a location now means it, whatever a device with a fast clock said before.
        let known = max(state.time(at: turn.now), device.positionTopic?.time(at: turn.now) ?? .min)
        let asked = location.timestamp.map { $0 > turn.now + LiveBook.skewMaximumMilliseconds ? turn.now : $0 } ?? turn.now
        state.device = device
        book.properties.removeAll(keepingCapacity: true)
        book.properties.append(contentsOf: location.properties)
        let found = book.store(
            LiveUpdate(
                timestamp: asked, originSourceId: location.originSourceId, position: location.position,
                floorIndex: location.floorIndex),
            at: max(asked, known), for: state, receivedAt: turn.now, &turn)
        turn.keep(state, after: before.state)
        if let former { turn.keep(former, after: before.former) }
        device.stay = nil
        circumstances.move(device, &turn)
        geofences.move(device, &turn)
        let floor = structure.floor(of: state, index: location.floorIndex, found: found, &turn)
        geomatching.move(device, to: location.position, floor: floor, &turn)
    }

    /// The device, with where it is as far as the client may know.
    private func describe(_ device: Device, _ call: Call) -> [UInt8] {
        JSONWriter.object { writer in
            device.record.encodeMembers(into: &writer)
            if !device.record.goneTargets.isEmpty { writer.member("pushState", "gone") }
            if call.mayLocate(device), let location = device.positionTopic?.location(using: shared.parser) {
                writer.key("location")
                writer.object(location)
            }
        }
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
