import Geodesy
import LiveTopics
import Matching
import Ranging
import Wire
import Records

// Who sees what survives a restart as live state does: with what the readings came to, and for as long as a fact lives.

extension Hub {
    /// Takes back what the known live messages say.
    func restoreSightings(at now: Int64) {
        for state in liveStates.all where state.tellsSightings && state.payload != nil { restoreSightings(of: state, at: now) }
    }

    /// Takes back what a live message says. Nothing is told, and nothing is evaluated before the next sighting.
    func restoreSightings(of state: LiveState, at now: Int64) {
        guard let payload = state.payload, let message = (try? JSONValue.parse(payload, using: parser))?.asObject,
            let beacons = message["properties"]?.asObject?["beacons"]?.asArray
        else { return }
        let dataset = state.dataset
        let observer = dataset.beaconField.observer(of: state)
        if let known = observer.state, known !== state, known.number > state.number { return }
        observer.state = state
        for beacon in beacons.prefix(configuration.limits.beaconsPerObserver) {
            guard let beacon = beacon.asObject, let told = ToldBeacon(beacon) else { continue }
            restore(told, receivedAt: state.receivedAt, by: observer, in: dataset, at: max(now, state.receivedAt))
        }
        // What was over meanwhile is no longer to be shown.
        if dataset.beaconField.table.count(of: observer.number) < beacons.count { dataset.beaconField.note(observer) }
    }

    private func restore(_ told: ToldBeacon, receivedAt: Int64, by observer: Observer, in dataset: Dataset, at now: Int64) {
        let field = dataset.beaconField
        let number = field.number(of: told.key)
        let fact = ProximityTable.Fact(
            observer: observer.number, beacon: number, distance: told.distance, band: told.band, rssi: told.rssi,
            seenAt: receivedAt - told.age)
        guard field.table.restore(fact, settings(of: observer, in: dataset), at: now) else {
            return field.releaseIfUnseen(number)
        }
        dataset.restoreSight(fact, told.key, observer)
        for monitor in field.monitors.about(told.key)
        where monitor.region.contains(told.key) && dataset.reaches(monitor.record, observer) {
            // It was told that it entered.
            _ = monitor.presence.see(ByteKey(observer.id), at: fact.seenAt)
            monitor.isUnexamined = false
        }
    }
}

extension Hub {
    /// After a restart: visits with beacons that nobody is known to see are lost.
    func endUnseenVisits(of dataset: Dataset, _ turn: inout Turn) {
        for id in dataset.beacons.values.sorted(by: { ByteKey($0) < ByteKey($1) }) {
            guard let beacon = dataset.devices[id] else { continue }
            var others: Set<DeviceRef> = []
            for publication in dataset.publications(of: beacon) {
                for number in publication.visitors { others.insert(dataset.engine.device(of: SubscriptionRef(index: number))) }
            }
            for subscription in dataset.subscriptions(of: beacon) {
                for number in subscription.visits.keys { others.insert(dataset.engine.device(of: PublicationRef(index: number))) }
            }
            for other in others.sorted(by: { $0.index < $1.index }) where dataset.engine.sight(beacon.reference, other) == nil {
                engineEffects.removeAll(keepingCapacity: true)
                dataset.engine.loseSight(of: beacon.reference, by: other, at: turn.now, into: &engineEffects)
                handleEngineEffects(of: dataset, &turn)
            }
        }
    }
}

extension Hub {
    /// A beacon that is followed from now on: from where its device's live message has it, if that was worked out shortly before.
    func lastKnown(_ beacon: BeaconKey, in dataset: Dataset, at now: Int64) -> CarriedBeacon {
        var carried = CarriedBeacon()
        guard let id = dataset.carriers[beacon], let state = dataset.devices[id]?.positionTopic, state.isDerived,
            (0..<ProximityTable.factMilliseconds).contains(now - state.timestamp), let payload = state.payload,
            let told = (try? JSONValue.parse(payload, using: parser))?.asObject?["properties"]?.asObject
        else { return carried }
        if let since = told["roomSince"]?.asInt64, let live = try? LiveTopic(encoded: state.topic) {
            let path = [live.venue, live.building, live.floor, live.room]
            carried.room.restore(dataset.beaconField.rooms.number(of: path))
            carried.since = since
            carried.reason = told["roomReason"]?.asString ?? ""
        }
        if let position = LiveMessage.position(inPayload: payload, using: parser) {
            carried.plane = LocalPlane(around: position)
            let estimate = PositionEstimator.Estimate(
                place: LocalPlane.Point(x: 0, y: 0), accuracy: position.horizontalAccuracy ?? 1)
            carried.track.restore(estimate, at: state.timestamp)
        }
        return carried
    }
}

/// One of the beacons of a live message.
private struct ToldBeacon {
    var key: BeaconKey
    var distance: Double?
    var band: ProximityBand
    var rssi: Double?
    /// Milliseconds.
    var age: Int64

    /// nil where the daemon cannot have written it.
    init?(_ object: JSONObject) {
        guard let uuid = object["proximityUUID"]?.asString, let major = object["major"]?.asInt64,
            let minor = object["minor"]?.asInt64,
            let key = BeaconIdentity(proximityUUID: uuid, major: Int(clamping: major), minor: Int(clamping: minor)).key,
            let age = object["age"]?.asDouble, (0...86_400).contains(age)
        else { return nil }
        self.key = key
        self.age = Int64(age * 1000)
        distance = object["distance"]?.asDouble.flatMap { (0...PathLoss.distances.upperBound).contains($0) ? $0 : nil }
        band = object["proximity"]?.asString.flatMap(ProximityBand.init) ?? .unknown
        rssi = object["rssi"]?.asDouble
    }
}

extension Dataset {
    /// Gives the engine back what one device sees of another.
    func restoreSight(_ fact: ProximityTable.Fact, _ beacon: BeaconKey, _ observer: Observer) {
        guard let id = beacons[beacon], let device = devices[id], let seer = devices[observer.id] else { return }
        engine.restoreSight(of: device.reference, by: seer.reference, distance: fact.distance, seenAt: fact.seenAt)
    }

    /// A device came into being: it may be a beacon that is seen, or see beacons.
    func tieSights(of device: Device) {
        let field = beaconField
        guard field.table.count > 0 else { return }
        if let key = device.record.beacon?.key, let number = field.knownNumber(of: key) {
            for fact in field.table.facts(ofBeacon: number) {
                if let observer = field.observer(fact.observer) { restoreSight(fact, key, observer) }
            }
        }
        if let observer = field.observer(device: device.record.id) {
            for fact in field.table.facts(of: observer.number) { restoreSight(fact, field.beacon(fact.beacon), observer) }
        }
    }
}
