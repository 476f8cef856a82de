import LiveTopics
import Records
import Wire

// Presence: `live/{the levels of a device's position}/presence`, retained, for each device that was inside of a geofence.

extension Hub {
    /// Publishes which geofences hold a device, on the topic that goes with its position.
    func showPresence(of device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard let position = device.positionTopic else { return forgetPresence(of: device, &turn) }
        let holding = dataset.geofences.geofences(of: device.reference.index)
        if let known = device.presence, device.presenceOf !== position { leave(known, of: device, &turn) }
        guard !holding.isEmpty || device.presence != nil || device.presenceOf != nil,
            let live = LiveTopic(presenceOf: position.topic)
        else { return }
        let topic = live.encoded
        let known = device.presence ?? liveStates[topic]
        do throws(WireError) {
            if known?.payload == nil { try checkRoomForLiveTopic(in: dataset) }
        } catch {
            return dataset.diagnostics.report(.init(topic: topic, refused: error), &turn)
        }
        let state = known ?? LiveState(dataset: dataset, live: live, topic: topic)
        device.presence = state
        device.presenceOf = position
        properties = Self.presence(holding, in: dataset.geofences)
        store(LiveUpdate(), at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
    }

    /// A device is nowhere, or gone.
    func forgetPresence(of device: Device, _ turn: inout Turn) {
        if let known = device.presence { leave(known, of: device, &turn) }
        device.presenceOf = nil
    }

    private func leave(_ state: LiveState, of device: Device, _ turn: inout Turn) {
        device.presence = nil
        if state.payload != nil { forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn) }
    }

    /// `{"geofences":[…],"geofence":"home"|null}`: ids in order, with the client's name where two have the same, and the smallest one.
    private static func presence(_ holding: [Geofence], in geofences: Geofences) -> [UInt8] {
        let names = holding.map { geofence in
            let isAlone = holding.filter { $0.record.id.hasSameBytes(as: geofence.record.id) }.count == 1
            return isAlone ? geofence.record.id : geofence.record.path
        }
        var smallest: (name: String, squareMetres: Double)?
        for (geofence, name) in zip(holding, names) {
            let squareMetres = geofences.engine.fence(geofence.number)?.area?.squareMetres ?? .infinity
            if let known = smallest, known.squareMetres <= squareMetres { continue }
            smallest = (name, squareMetres)
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("geofences", names.sorted { ByteKey($0) < ByteKey($1) })
        writer.member("geofence", orNull: smallest?.name)
        writer.endObject()
        return writer.bytes
    }

    /// After a restart: what is retained says again what is so.
    func resumePresence(of dataset: Dataset, _ turn: inout Turn) {
        let domain = KnownDomain.presence.rawValue
        if dataset.activeDomains[domain] != nil {
            let states = liveStates.all.filter { $0.dataset === dataset && $0.domain == domain && $0.payload != nil }
            for state in states {
                guard let device = dataset.devices[state.itemID], let position = device.positionTopic,
                    LiveTopic(presenceOf: position.topic)?.encoded == state.topic
                else {
                    forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn)
                    continue
                }
                device.presence = state
                device.presenceOf = position
                let said = state.payload.flatMap { LiveMessage.properties(inPayload: $0, using: parser) }
                let holding = dataset.geofences.geofences(of: device.reference.index)
                if said != Self.presence(holding, in: dataset.geofences) { showPresence(of: device, in: dataset, &turn) }
            }
        }
        guard dataset.geofences.isActive else { return }
        for device in dataset.devices.all where device.presence == nil {
            if !dataset.geofences.engine.visits(of: device.reference.index).isEmpty {
                showPresence(of: device, in: dataset, &turn)
            }
        }
    }
}

extension LiveTopic {
    /// The topic of the presence that goes with a position.
    fileprivate init?(presenceOf position: String) {
        guard let live = try? LiveTopic(encoded: position) else { return nil }
        self.init(
            dataset: live.dataset, venue: live.venue, building: live.building, floor: live.floor, room: live.room,
            location: live.location, domain: KnownDomain.presence.rawValue)
    }
}

extension LiveMessage {
    /// The properties of a stored message as they stand in it.
    fileprivate static func properties(inPayload payload: [UInt8], using parser: JSONParser) -> [UInt8]? {
        guard case .object(let message)? = try? JSONValue.parse(payload, using: parser) else { return nil }
        return message["properties"]?.serialised()
    }
}
