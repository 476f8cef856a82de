import Geodesy
import LiveTopics
import Matching
import Ranging
import Records
import Wire

// Sightings on their way from live updates to the beacons, and what follows from them to engine, outbox and live state.

extension LiveBook {
    /// Handles the sightings of a message that was read.
    ///
    /// The message is refused as a whole where its observer sends too many, and is `late` where none of its sightings is new.
    func receiveSightings(
        _ update: LiveUpdate, of state: LiveState, published: UnsafeRawBufferPointer, _ message: IncomingUpdate,
        _ turn: inout Turn
    ) throws(WireError) -> UpdateCounters.Outcome {
        let dataset = state.dataset
        let beacons = dataset.beacons
        let sightings = decoder.sightings
        let extras = decoder.sightingExtras.map { Array(properties[$0...].dropLast()) } ?? []
        if message.isRepeated, !isNews(update, of: state, at: turn.now) { return .ignored }
        if state.payload == nil { try dataset.checkRoomForLiveTopic(of: state.item) }
        let isNew = beacons.knownObserver(of: state) == nil
        let observer = beacons.observer(of: state)
        try beacons.charge(observer, for: sightings.count, at: turn.now)
        reportMoves(&turn)
        let tally = beacons.receive(sightings, at: update.timestamp, by: observer, now: turn.now, into: &beaconEffects)
        handleBeaconEffects(of: dataset, &turn)
        guard tally.taken > 0 || sightings.isEmpty else {
            if isNew, beacons.table.count(of: observer.number) == 0 { beacons.forget(observer) }
            guard tally.full == 0 else { throw beacons.crowdedError }
            if message.isRepeated { return .ignored }
            dataset.diagnostics.reportLate(
                tally.latest, newest: turn.now - ProximityTable.factMilliseconds, published: published, &turn)
            return .late
        }
        if tally.skewed > 0 { reportSkewed(state, published, &turn) }
        if tally.full > 0 {
            dataset.diagnostics.reportOverload(state.topic, beacons.crowdedError.message, count: tally.full, &turn)
        }
        if let former = observer.move(to: state), former.payload != nil {
            forgetState(former, asOf: turn.now, receivedAt: turn.now, &turn)
        }
        if beacons.mayReport(observer, at: turn.now) {
            report(observer, extras: extras, originSourceId: update.originSourceId, &turn)
        } else {
            beacons.note(observer)
        }
        return .accepted
    }

    /// Sends the live message of an observer.
    private func report(_ observer: Observer, extras: [UInt8] = [], originSourceId: String? = nil, _ turn: inout Turn) {
        guard let state = observer.state else { return }
        let seenAt = writeProperties { state.dataset.beacons.encode(observer, extras: extras, at: turn.now, into: &$0) }
        let timestamp = max(seenAt ?? turn.now, state.timestamp == .min ? 0 : min(state.timestamp, turn.now))
        store(
            LiveUpdate(timestamp: timestamp, originSourceId: originSourceId), at: timestamp, for: state, receivedAt: turn.now,
            &turn)
    }

    /// What an observer reported on a topic was cleared: it sees nothing, and its visits with beacons end.
    func forgetSightings(of state: LiveState, _ turn: inout Turn) {
        state.dataset.beacons.clear(state, at: turn.now, into: &beaconEffects)
        handleBeaconEffects(of: state.dataset, &turn)
    }

    /// Facts that are over, exits, positions of what is carried, live messages that are behind.
    func advanceBeacons(of dataset: Dataset, _ turn: inout Turn) {
        let beacons = dataset.beacons
        beacons.expire(at: turn.now, into: &beaconEffects)
        beacons.advanceMonitors(to: turn.now, into: &beaconEffects)
        handleBeaconEffects(of: dataset, &turn)
        let outlines = dataset.structure.hasOutlines ? dataset.structure : nil
        for beacon in beacons.removeSeenCarried() {
            let location = beacons.locate(beacon, at: turn.now, outlines: outlines) { place(of: $0, in: dataset) }
            if let location { publish(location, in: dataset, &turn) }
        }
        for observer in beacons.removeBehind() where beacons.isDue(observer, at: turn.now) { report(observer, &turn) }
    }

    private func handleBeaconEffects(of dataset: Dataset, _ turn: inout Turn) {
        guard !beaconEffects.isEmpty else { return }
        for effect in beaconEffects {
            switch effect {
            case .seen(let sighting): dataset.geomatching.see(sighting, &turn)
            case .lost(let beacon, let observer): dataset.geomatching.loseSighting(of: beacon, by: observer, &turn)
            case .event(var record):
                record.id = turn.newID()
                shared.outbox.send(record, dataset.matchAccount, &turn)
            }
        }
        beaconEffects.removeAll(keepingCapacity: true)
    }

    // MARK: Gateways

    /// So long a device's own fix is kept beside a less accurate one that was derived.
    private static let ownFixMilliseconds: Int64 = 10_000

    /// Where an observer is: as its device, in the room that the topic of its sightings names, else that of its position.
    private func place(of observer: Observer, in dataset: Dataset) -> GatewayPlace {
        let device = dataset.devices[observer.id]
        // What is itself only derived from others says nothing.
        let own = device?.positionTopic.flatMap { $0.isDerived ? nil : $0 }
        let asOf = (number: own?.number ?? 0, declarations: dataset.structure.declarations)
        if let known = observer.place, known.asOf == asOf { return known }
        var room: [String]?
        if let state = observer.state, let live = try? LiveTopic(encoded: state.topic), live.room != LiveTopic.notApplicable {
            room = [live.venue, live.building, live.floor, live.room]
        } else if let whereabouts = own.flatMap(dataset.structure.whereabouts), whereabouts.room != nil {
            room = whereabouts.levels
        }
        let place = GatewayPlace(
            asOf: asOf, position: own == nil ? nil : device.flatMap { dataset.geomatching.engine.position(of: $0.reference) },
            room: room.map { dataset.beacons.rooms.number(of: $0) })
        observer.place = place
        return place
    }

    /// Whether where a device is known to be is its own word, of now, and as accurate as what was derived: a phone outside with a beacon in
    /// its bag is not to jump between the two.
    private func isBetter(_ known: LiveState?, than position: Position, at now: Int64) -> Bool {
        guard let known, !known.isDerived, known.time(at: now) > now - Self.ownFixMilliseconds,
            let own = known.payload.flatMap({ LiveMessage.position(inPayload: $0, using: parser) })?.horizontalAccuracy
        else { return false }
        return own <= position.horizontalAccuracy ?? .infinity
    }

    /// The device is here: as if it had sent that itself, but for `derived`.
    private func publish(_ location: BeaconLocation, in dataset: Dataset, _ turn: inout Turn) {
        let room = location.room ?? Array(repeating: LiveTopic.notApplicable, count: 4)
        let live = LiveTopic(
            dataset: dataset.id, venue: room[0], building: room[1], floor: room[2], room: room[3],
            location: location.device.record.id, domain: KnownDomain.position.rawValue)
        let topic = live.encoded
        let state = states[topic] ?? LiveState(dataset: dataset, live: live, topic: topic)
        let known = currentPosition(of: state)
        guard !isBetter(known, than: location.position, at: turn.now) else { return }
        do throws(WireError) {
            try admit(state, instead: known, &turn)
        } catch {
            return dataset.diagnostics.report(.init(topic: topic, refused: error), &turn)
        }
        writeProperties { location.encode(into: &$0) }
        let update = LiveUpdate(timestamp: turn.now, position: location.position)
        let found = store(update, at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
        reportMove(of: state, update, found: found, at: turn.now, &turn)
    }

    // MARK: Restarting

    /// Takes back what the known live messages report.
    func restoreSightings(at now: Int64) {
        for state in states.all where state.tellsSightings && state.payload != nil { restoreSightings(of: state, at: now) }
    }

    func restoreSightings(of state: LiveState, at now: Int64) {
        for sighting in state.dataset.beacons.restore(state, at: now) { state.dataset.geomatching.restore(sighting) }
    }
}

extension BeaconLocation {
    fileprivate func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("latitude", (position.latitude * 1e7).rounded() / 1e7)
        writer.member("longitude", (position.longitude * 1e7).rounded() / 1e7)
        writer.member("horizontalAccuracy", optional: position.horizontalAccuracy)
        if let room {
            writer.member("room", room[3])
            writer.member("roomSince", roomSince)
            writer.member("roomReason", roomReason)
            writer.member("roomProbability", optional: roomProbability.map { ($0 * 100).rounded() / 100 })
        }
        writer.member("gateway", optional: gateway)
        writer.endObject()
    }
}
