import LiveTopics
import Records
import Wire

// Presence: `live/{the levels of a device's position}/presence`, retained, for each device that was inside of a geofence.

extension Geofences {
    /// Publishes which geofences hold a device, on the topic that goes with its position.
    func publishPresence(of device: Device, _ turn: inout Turn) {
        guard let position = device.positionTopic else { return forgetPresence(of: device, &turn) }
        let holding = geofences(of: device.reference.index)
        if let known = device.presence, device.presenceOf !== position { leave(known, of: device, &turn) }
        guard !holding.isEmpty || device.presence != nil || device.presenceOf != nil,
            let live = LiveTopic(presenceOf: position.topic)
        else { return }
        let topic = live.encoded
        let known = device.presence ?? shared.liveStates[topic]
        do throws(WireError) {
            if known?.payload == nil { try position.dataset.checkRoomForLiveTopic() }
        } catch {
            return position.dataset.diagnostics.report(.init(topic: topic, refused: error), &turn)
        }
        let state = known ?? LiveState(dataset: position.dataset, live: live, topic: topic)
        device.presence = state
        device.presenceOf = position
        shared.live.properties = presence(holding)
        shared.live.store(LiveUpdate(), at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
    }

    /// A device is nowhere, or gone.
    func forgetPresence(of device: Device, _ turn: inout Turn) {
        if let known = device.presence { leave(known, of: device, &turn) }
        device.presenceOf = nil
    }

    private func leave(_ state: LiveState, of device: Device, _ turn: inout Turn) {
        device.presence = nil
        if state.payload != nil { shared.live.forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn) }
    }

    /// `{"geofences":[…],"geofence":"home"|null}`: ids in order, with the client's name where two have the same, and the smallest one.
    private func presence(_ holding: [Geofence]) -> [UInt8] {
        let names = holding.map { geofence in
            let isAlone = holding.filter { $0.record.id.hasSameBytes(as: geofence.record.id) }.count == 1
            return isAlone ? geofence.record.id : geofence.record.path
        }
        var smallest: (name: String, squareMetres: Double)?
        for (geofence, name) in zip(holding, names) {
            let squareMetres = squareMetres(geofence)
            if let known = smallest, known.squareMetres <= squareMetres { continue }
            smallest = (name, squareMetres)
        }
        return JSONWriter.object { writer in
            writer.member("geofences", names.sorted { ByteKey($0) < ByteKey($1) })
            writer.member("geofence", orNull: smallest?.name)
        }
    }

    private func squareMetres(_ geofence: Geofence) -> Double { engine.fence(geofence.number)?.area?.squareMetres ?? .infinity }

    /// Changes a geofence. Where that makes it larger or smaller, the presence of those inside may name another as the smallest:
    /// ``goOn(_:_:)`` publishes that, in portions of them.
    func resize(_ geofence: Geofence, _ change: () -> Void) {
        let former = squareMetres(geofence)
        change()
        let count = engine.unorderedMembers(of: geofence.number).count
        guard count > 0, squareMetres(geofence) != former else { return }
        // Behind others, however often it is resized.
        if geofence.presencesLeft != nil { resized.removeAll { $0 === geofence } }
        resized.append(geofence)
        geofence.presencesLeft = count
        shared.unfinished.append(dataset)
    }

    /// Publishes the presence of more of those inside of resized geofences, where it is another than the one that is retained.
    ///
    /// From the last member to the first: the last takes the place of one that leaves, and who enters is published anyway.
    func refreshPresence(_ effort: inout Int, _ turn: inout Turn) {
        while effort > 0, let geofence = resized.first {
            let members = geofence.isGone ? [] : engine.unorderedMembers(of: geofence.number)
            var left = min(geofence.presencesLeft ?? 0, members.count)
            while effort > 0, left > 0 {
                left -= 1
                effort -= Self.comparisonEffort
                guard let device = devices[members[left]], let state = device.presence, isOutdated(state, of: device) else {
                    continue
                }
                effort -= Self.publishingEffort
                publishPresence(of: device, &turn)
            }
            geofence.presencesLeft = left > 0 ? left : nil
            if left == 0 { resized.removeFirst() }
        }
    }

    /// In the unit of ``HubLimits/portion``.
    private static let comparisonEffort = 8
    private static let publishingEffort = 20

    /// Whether what is retained says otherwise than the engine.
    private func isOutdated(_ state: LiveState, of device: Device) -> Bool {
        let said = state.payload.flatMap { LiveMessage.properties(inPayload: $0, using: shared.parser) }
        return said != presence(geofences(of: device.reference.index))
    }

    /// After a restart: what is retained says again what is so.
    func resumePresence(in owner: Dataset, _ turn: inout Turn) {
        let domain = KnownDomain.presence.rawValue
        if owner.activeDomains[domain] != nil {
            let states = shared.liveStates.all.filter { $0.dataset === owner && $0.domain == domain && $0.payload != nil }
            for state in states {
                guard let device = devices[state.itemID], let position = device.positionTopic,
                    LiveTopic(presenceOf: position.topic)?.encoded == state.topic
                else {
                    shared.live.forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn)
                    continue
                }
                device.presence = state
                device.presenceOf = position
                if isOutdated(state, of: device) { publishPresence(of: device, &turn) }
            }
        }
        guard isActive else { return }
        for device in devices.all where device.presence == nil {
            if !engine.visits(of: device.reference.index).isEmpty { publishPresence(of: device, &turn) }
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
    /// The properties of a stored message as they are in it.
    fileprivate static func properties(inPayload payload: [UInt8], using parser: JSONParser) -> [UInt8]? {
        guard case .object(let message)? = try? JSONValue.parse(payload, using: parser) else { return nil }
        return message["properties"]?.serialised()
    }
}
