import Geodesy
import LiveTopics
import Matching
import Ranging
import Wire
import Records

// Gateways: who hears a beacon that a device carries tells where that device is.

extension Hub {
    /// A position for each carried beacon at most so often.
    private static let locatingMilliseconds: Int64 = 1000
    /// So long a device's own fix stands beside a less accurate one that was worked out.
    private static let ownFixMilliseconds: Int64 = 10_000
    /// Gateways this far apart (metres) are not of one place; the plane of a track is laid anew.
    private static let placeMetres = 2000.0

    /// A beacon was seen, or is no longer: where it is carried by a device, that is to be located.
    func noteCarried(_ beacon: BeaconKey, in dataset: Dataset, at now: Int64) {
        guard !dataset.carriers.isEmpty, dataset.carriers[beacon] != nil else { return }
        let field = dataset.beaconField
        guard field.carried[beacon]?.isNoted != true else { return }
        field.carried[beacon, default: lastKnown(beacon, in: dataset, at: now)].isNoted = true
        field.seenCarried.append(beacon)
    }

    /// Locates what was seen since the last time, if that is long enough ago.
    func locateCarried(of dataset: Dataset, _ turn: inout Turn) {
        let field = dataset.beaconField
        let seen = field.seenCarried
        field.seenCarried.removeAll()
        for beacon in seen {
            guard var carried = field.carried[beacon], let id = dataset.carriers[beacon], let device = dataset.devices[id] else {
                field.carried[beacon]?.isNoted = false
                continue
            }
            if turn.now >= carried.locatedAt, carried.locatedAt != .min, turn.now - carried.locatedAt < Self.locatingMilliseconds
            {
                field.seenCarried.append(beacon)
                continue
            }
            carried.isNoted = false
            carried.locatedAt = turn.now
            locate(beacon, &carried, device, in: dataset, &turn)
            field.carried[beacon] = carried
        }
    }

    private func locate(
        _ beacon: BeaconKey, _ carried: inout CarriedBeacon, _ device: Device, in dataset: Dataset, _ turn: inout Turn
    ) {
        let gateways = gateways(hearing: beacon, carriedBy: device, in: dataset, at: turn.now)
        if let change = carried.room.take(nearestOfRooms(gateways), at: turn.now) {
            carried.reason = text(of: change, in: dataset)
            carried.since = turn.now
        }
        let placed = gateways.compactMap { gateway in gateway.position.map { (gateway, $0) } }
        guard let origin = placed.first?.1 else { return }
        if let plane = carried.plane, plane.point(origin).distance(to: LocalPlane.Point(x: 0, y: 0)) > Self.placeMetres {
            carried.plane = nil
            carried.track = PositionTrack()
        }
        let plane = carried.plane ?? LocalPlane(around: origin)
        carried.plane = plane
        let readings = placed.map { gateway, position in
            PositionEstimator.Reading(
                place: plane.point(position), loss: gateway.loss, n: gateway.settings.n, isCalibrated: gateway.isCalibrated)
        }
        carried.track.take(readings, at: turn.now)
        guard let told = carried.track.estimate else { return }
        var position = plane.position(told.place)
        position.horizontalAccuracy = (told.accuracy * 100).rounded() / 100
        publish(position, carried, nearest: gateways.first?.observer.id, of: device, in: dataset, &turn)
    }

    // MARK: Gateways

    private struct Gateway {
        var observer: Observer
        var position: Position?
        var room: Int?
        var settings: RangingSettings
        var isCalibrated: Bool
        /// dB below the beacon's power at 1 m, over the last seconds.
        var loss: Double
        /// Metres, over the longer time that a room is told by.
        var distance: Double
    }

    /// The observers that hear a beacon and whose position or room is known, nearest first.
    private func gateways(
        hearing beacon: BeaconKey, carriedBy device: Device, in dataset: Dataset, at now: Int64
    ) -> [Gateway] {
        let field = dataset.beaconField
        guard let number = field.knownNumber(of: beacon) else { return [] }
        var found: [Gateway] = []
        for fact in field.table.facts(ofBeacon: number) {
            guard let observer = field.observer(fact.observer), !observer.id.hasSameBytes(as: device.record.id) else { continue }
            let settings = dataset.devices[observer.id]?.record.ranging
            let n = settings?.n ?? RangingSettings.standard.n
            func loss(over milliseconds: Int64) -> Double? {
                field.table.recentLoss(at: fact.observer, of: number, over: milliseconds, n: n, at: now)
            }
            guard let recent = loss(over: PositionEstimator.window), let longer = loss(over: RoomTrack.window) else { continue }
            let place = place(of: observer, in: dataset)
            guard place.position != nil || place.room != nil else { continue }
            found.append(
                Gateway(
                    observer: observer, position: place.position, room: place.room, settings: settings ?? .standard,
                    isCalibrated: settings != nil, loss: recent,
                    distance: PathLoss.distance(loss: longer, n: n)))
        }
        return found.sorted { ($0.distance, $0.observer.number) < ($1.distance, $1.observer.number) }
    }

    private func nearestOfRooms(_ gateways: [Gateway]) -> [RoomTrack.Candidate] {
        var candidates: [RoomTrack.Candidate] = []
        for gateway in gateways {
            guard let room = gateway.room, !candidates.contains(where: { $0.room == room }) else { continue }
            candidates.append(RoomTrack.Candidate(room: room, observer: gateway.observer.number, distance: gateway.distance))
        }
        return candidates
    }

    /// Where an observer stands: as its device, in the room that the topic of its sightings names, else that of its position.
    private func place(of observer: Observer, in dataset: Dataset) -> GatewayPlace {
        let device = dataset.devices[observer.id]
        // What is itself only worked out from others says nothing.
        let standing = device?.positionTopic.flatMap { $0.isDerived ? nil : $0 }
        let asOf = (number: standing?.number ?? 0, declarations: dataset.declarations)
        if let known = observer.place, known.asOf == asOf { return known }
        var room: [String]?
        if let state = observer.state, let live = try? LiveTopic(encoded: state.topic), live.room != LiveTopic.notApplicable {
            room = [live.venue, live.building, live.floor, live.room]
        } else if let whereabouts = standing.flatMap(whereabouts), whereabouts.room != nil {
            room = whereabouts.levels
        }
        let place = GatewayPlace(
            asOf: asOf, position: standing == nil ? nil : device.flatMap { dataset.engine.position(of: $0.reference) },
            room: room.map { dataset.beaconField.rooms.number(of: $0) })
        observer.place = place
        return place
    }

    // MARK: Telling

    /// Whether where a device stands is its own word, of now, and as accurate as what was worked out: a phone outside with a beacon in
    /// its bag is not to jump between the two.
    private func isBetter(_ standing: LiveState?, than position: Position, at now: Int64) -> Bool {
        guard let standing, !standing.isDerived, now - standing.timestamp < Self.ownFixMilliseconds,
            let own = standing.payload.flatMap({ LiveMessage.position(inPayload: $0, using: parser) })?.horizontalAccuracy
        else { return false }
        return own <= position.horizontalAccuracy ?? .infinity
    }

    private func text(of change: RoomTrack.Switch, in dataset: Dataset) -> String {
        func name(_ number: UInt32) -> String { dataset.beaconField.observer(number)?.id ?? "-" }
        let here = "\(name(change.to.observer)) at \(FigureText.metres(change.to.distance))"
        switch change.reason {
        case .first: return "first heard by \(here)"
        case .unheard: return "\(here); nobody in the former room hears it"
        case .nearer(let other, let metres, let milliseconds):
            let span = FigureText.seconds(milliseconds: milliseconds)
            return "\(here) was nearer than \(name(other)) at \(FigureText.metres(metres)) for \(span)"
        }
    }

    /// The device stands here: as if it had sent that itself, but for `derived`.
    private func publish(
        _ position: Position, _ carried: CarriedBeacon, nearest: String?, of device: Device, in dataset: Dataset,
        _ turn: inout Turn
    ) {
        let room = carried.room.room.map { dataset.beaconField.rooms[$0] } ?? Array(repeating: LiveTopic.notApplicable, count: 4)
        let live = LiveTopic(
            dataset: dataset.id, venue: room[0], building: room[1], floor: room[2], room: room[3], location: device.record.id,
            domain: KnownDomain.position.rawValue)
        let topic = live.encoded
        let state = liveStates[topic] ?? LiveState(dataset: dataset, live: live, topic: topic)
        let standing = standing(of: state)
        // A fix of the device's own that is newer stands.
        guard turn.now >= max(state.sentAt, standing?.sentAt ?? .min), !isBetter(standing, than: position, at: turn.now) else {
            return
        }
        do throws(WireError) {
            try admit(state, instead: standing, &turn)
        } catch {
            return dataset.diagnostics.report(.init(topic: topic, refused: error), &turn)
        }
        properties.removeAll(keepingCapacity: true)
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        writer.beginObject()
        writer.member("latitude", (position.latitude * 1e7).rounded() / 1e7)
        writer.member("longitude", (position.longitude * 1e7).rounded() / 1e7)
        writer.member("horizontalAccuracy", optional: position.horizontalAccuracy)
        if carried.room.room != nil {
            writer.member("room", room[3])
            writer.member("roomSince", carried.since)
            writer.member("roomReason", carried.reason)
        }
        writer.member("gateway", optional: nearest)
        writer.endObject()
        swap(&writer.bytes, &properties)
        let update = LiveUpdate(timestamp: turn.now, position: position)
        let found = store(update, at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
        showMove(of: state, update, found: found, at: turn.now, &turn)
    }
}
