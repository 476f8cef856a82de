import LiveTopics
import Matching
import Ranging
import Wire
import Records

// What observers tell of beacons: from a message to facts, and to whoever is concerned by them.

extension Hub {
    /// A full list of beacons is told at most so often: it is long, and another sighting comes soon.
    private static let longListMilliseconds: Int64 = 250
    private static let longList = 16

    /// Takes the sightings of a message that was read.
    ///
    /// Of each beacon the newest sighting counts; one that lies in the future was seen now. The message is refused as a whole where its
    /// observer tells too many, and is `late` where not one of its sightings tells anything new.
    func receiveSightings(
        _ update: LiveUpdate, of state: LiveState, published: UnsafeRawBufferPointer, _ message: IncomingUpdate,
        _ turn: inout Turn
    ) throws(WireError) -> UpdateCounters.Outcome {
        let dataset = state.dataset
        let sightings = decoder.sightings
        let extras = decoder.sightingExtras.map { Array(properties[$0...].dropLast()) } ?? []
        let skewedFrom = turn.now + Self.skewMaximumMilliseconds
        if message.isRepeated, state.isKnown {
            guard let told = update.timestamp, told <= skewedFrom, told > state.timestamp else { return .ignored }
        }
        let field = dataset.beaconField
        let isNew = field.knownObserver(of: state) == nil
        if state.payload == nil { try checkRoomForLiveTopic(in: dataset) }
        let observer = field.observer(of: state)
        guard observer.spend(sightings.count, at: turn.now, rate: configuration.limits.sightingsPerSecond) else {
            throw WireError(
                .limit, "`\(observer.id)` tells more than \(configuration.limits.sightingsPerSecond) sightings a second",
                field: "sightings")
        }
        showMoves(&turn)
        var tally = SightingTally()
        for sighting in Self.inOrder(sightings, told: update.timestamp, at: turn.now) {
            take(sighting, update.timestamp, by: observer, in: dataset, &tally, &turn)
        }
        guard tally.taken > 0 || sightings.isEmpty else {
            if isNew, field.table.count(of: observer.number) == 0 { field.forget(observer) }
            guard tally.full == 0 else { throw tooManyBeacons(in: dataset) }
            if message.isRepeated { return .ignored }
            dataset.diagnostics.reportLate(
                tally.latest, newest: turn.now - ProximityTable.factMilliseconds, published: published, &turn)
            return .late
        }
        if tally.skewed > 0 { reportSkewed(state, published, &turn) }
        if tally.full > 0 {
            dataset.diagnostics.reportOverload(
                state.topic, tooManyBeacons(in: dataset).message, count: tally.full, &turn)
        }
        stand(observer, at: state, &turn)
        let isShort = field.table.count(of: observer.number) <= Self.longList
        if isShort || turn.now - observer.toldAt >= Self.longListMilliseconds || turn.now < observer.toldAt {
            tell(observer, extras: extras, update.originSourceId, &turn)
        } else {
            field.note(observer)
        }
        return .accepted
    }

    /// The sightings of a message as they were made, whatever the order they are told in; those of one instant as they are told.
    private static func inOrder(_ sightings: [Sighting], told: Int64?, at now: Int64) -> [Sighting] {
        func instant(_ sighting: Sighting) -> Int64 { sighting.timestamp ?? told ?? now }
        guard zip(sightings, sightings.dropFirst()).contains(where: { instant($0) > instant($1) }) else { return sightings }
        return sightings.enumerated().sorted { (instant($0.element), $0.offset) < (instant($1.element), $1.offset) }.map(
            \.element)
    }

    /// What became of the sightings of one message.
    private struct SightingTally {
        var taken = 0
        var skewed = 0
        /// Over the maximum of its observer.
        var full = 0
        /// The latest of those that were late.
        var latest: Int64 = .min
    }

    private func tooManyBeacons(in dataset: Dataset) -> WireError {
        let limits = configuration.limits
        let who =
            dataset.beaconField.table.count < limits.beaconsInSight
            ? "an observer sees \(limits.beaconsPerObserver)" : "the observers of the dataset see \(limits.beaconsInSight)"
        return WireError(.limit, "\(who) beacons at a time, the maximum", field: "sightings")
    }

    private func take(
        _ sighting: Sighting, _ told: Int64?, by observer: Observer, in dataset: Dataset, _ tally: inout SightingTally,
        _ turn: inout Turn
    ) {
        let field = dataset.beaconField
        var instant = sighting.timestamp ?? told ?? turn.now
        if instant > turn.now + Self.skewMaximumMilliseconds {
            tally.skewed += 1
            instant = turn.now
        }
        let seenAt = min(instant, turn.now)
        let number = field.number(of: sighting.beacon)
        let outcome = field.table.take(
            sighting, by: observer.number, of: number, settings(of: observer, in: dataset), seenAt: seenAt, at: turn.now,
            maximum: field.table.count < configuration.limits.beaconsInSight ? configuration.limits.beaconsPerObserver : 0)
        switch outcome {
        case .began(let fact), .changed(let fact):
            tally.taken += 1
            show(fact, sighting.beacon, observer, in: dataset, &turn)
            enterRegions(sighting.beacon, observer, seenAt: seenAt, in: dataset, &turn)
            noteCarried(sighting.beacon, in: dataset, at: turn.now)
        case .late:
            tally.latest = max(tally.latest, instant)
            field.releaseIfUnseen(number)
        case .full:
            tally.full += 1
            field.releaseIfUnseen(number)
        }
    }

    func settings(of observer: Observer, in dataset: Dataset) -> RangingSettings {
        dataset.devices[observer.id]?.record.ranging ?? .standard
    }

    /// Shows the engine how far a device sees a beacon, where both are devices.
    private func show(
        _ fact: ProximityTable.Fact, _ beacon: BeaconKey, _ observer: Observer, in dataset: Dataset, _ turn: inout Turn
    ) {
        guard let id = dataset.beacons[beacon], let device = dataset.devices[id], let seer = dataset.devices[observer.id] else {
            return
        }
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.see(
            device.reference, by: seer.reference, distance: fact.distance, seenAt: fact.seenAt, at: turn.now, into: &engineEffects
        )
        handleEngineEffects(of: dataset, &turn)
    }

    /// An observer tells its sightings on this topic from now on; what it said on another is no longer true.
    private func stand(_ observer: Observer, at state: LiveState, _ turn: inout Turn) {
        guard observer.state !== state else { return }
        let former = observer.state
        observer.state = state
        observer.place = nil
        if let former, former.payload != nil { forgetState(former, asOf: turn.now, receivedAt: turn.now, &turn) }
    }

    // MARK: Telling

    /// Tells the beacons of an observer, nearest first.
    func tell(_ observer: Observer, extras: [UInt8], _ originSourceId: String? = nil, _ turn: inout Turn) {
        guard let state = observer.state else { return }
        let facts = state.dataset.nearestFirst(observer)
        properties.removeAll(keepingCapacity: true)
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        writer.beginObject()
        writer.key("beacons")
        writer.beginArray()
        for fact in facts { state.dataset.encode(fact, at: turn.now, into: &writer) }
        writer.endArray()
        writer.bytes.append(contentsOf: extras)
        writer.endObject()
        swap(&writer.bytes, &properties)
        observer.toldAt = turn.now
        observer.isUntold = false
        let timestamp = max(facts.map(\.seenAt).max() ?? turn.now, state.timestamp == .min ? 0 : min(state.timestamp, turn.now))
        store(
            LiveUpdate(timestamp: timestamp, originSourceId: originSourceId), at: timestamp, for: state, receivedAt: turn.now,
            &turn)
    }

    /// What an observer told on a topic was cleared: it sees nothing, and its visits with beacons end.
    func forgetSightings(of state: LiveState, _ turn: inout Turn) {
        let field = state.dataset.beaconField
        guard let observer = field.knownObserver(of: state), observer.state === state else { return }
        for fact in field.table.forget(observer: observer.number) {
            lose(fact, observer, in: state.dataset, &turn)
        }
        field.forget(observer)
    }

    /// A fact is over.
    private func lose(_ fact: ProximityTable.Fact, _ observer: Observer?, in dataset: Dataset, _ turn: inout Turn) {
        let beacon = dataset.beaconField.beacon(fact.beacon)
        defer { dataset.beaconField.releaseIfUnseen(fact.beacon) }
        guard let observer else { return }
        noteCarried(beacon, in: dataset, at: turn.now)
        guard let id = dataset.beacons[beacon], let device = dataset.devices[id], let seer = dataset.devices[observer.id] else {
            return
        }
        engineEffects.removeAll(keepingCapacity: true)
        dataset.engine.loseSight(of: device.reference, by: seer.reference, at: turn.now, into: &engineEffects)
        handleEngineEffects(of: dataset, &turn)
    }

    // MARK: Time

    /// Facts that are over, exits, positions of what is carried, live messages that are behind.
    func advanceBeacons(of dataset: Dataset, to now: Int64, _ turn: inout Turn) {
        let field = dataset.beaconField
        if field.table.count > 0 {
            for fact in field.table.expire(at: now) {
                let observer = field.observer(fact.observer)
                lose(fact, observer, in: dataset, &turn)
                if let observer { field.note(observer) }
            }
        }
        if !field.monitors.isEmpty { advanceMonitors(of: dataset, to: now, &turn) }
        if !field.seenCarried.isEmpty { locateCarried(of: dataset, &turn) }
        guard !field.untold.isEmpty else { return }
        let untold = field.untold
        field.untold.removeAll()
        for observer in untold {
            observer.isUntold = false
            if now >= observer.toldAt, now - observer.toldAt < Self.longListMilliseconds {
                field.note(observer)
            } else {
                tell(observer, extras: [], nil, &turn)
            }
        }
    }
}

extension Dataset {
    /// The beacons an observer sees: nearest first, those at an unknown distance last.
    func nearestFirst(_ observer: Observer) -> [ProximityTable.Fact] {
        beaconField.table.facts(of: observer.number).sorted {
            let (a, b) = ($0.distance ?? .infinity, $1.distance ?? .infinity)
            return a != b ? a < b : beaconField.beacon($0.beacon) < beaconField.beacon($1.beacon)
        }
    }

    /// Writes one of an observer's beacons.
    func encode(_ fact: ProximityTable.Fact, at now: Int64, into writer: inout JSONWriter) {
        let beacon = beaconField.beacon(fact.beacon)
        writer.beginObject()
        if let device = beacons[beacon] { writer.member("deviceId", device) }
        writer.member("proximityUUID", beacon.proximityUUID)
        writer.member("major", Int(beacon.major))
        writer.member("minor", Int(beacon.minor))
        if let distance = fact.distance { writer.member("distance", (distance * 1000).rounded() / 1000) }
        writer.member("proximity", fact.band.name)
        if let rssi = fact.rssi { writer.member("rssi", (rssi * 100).rounded() / 100) }
        writer.member("age", Double(max(0, now - fact.seenAt)) / 1000)
        writer.endObject()
    }
}
