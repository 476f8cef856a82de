import Geodesy
import LiveTopics
import Ranging
import Records
import Wire

// Gateways: the observers that see a beacon which a device carries say where that device is.

extension Beacons {
    /// A position for each carried beacon at most so often.
    private static let locatingMilliseconds: Int64 = 1000
    /// Gateways this far apart (metres) are not of one place; the plane of a track is laid anew.
    private static let placeMetres = 2000.0

    /// A beacon was seen, or is no longer: where it is carried by a device, that is to be located.
    func noteCarried(_ beacon: BeaconKey, at now: Int64) {
        guard !carriers.isEmpty, carriers[beacon] != nil else { return }
        let known = carried[beacon] ?? lastKnown(beacon, at: now)
        carried[beacon] = known
        guard !known.isNoted else { return }
        known.isNoted = true
        seenCarried.append(beacon)
    }

    /// What an observer heard of a carried beacon counts for where that is, unless it is long ago.
    func hearCarried(_ sighting: Sighting, by observer: Observer, seenAt: Int64, at now: Int64) {
        guard !carriers.isEmpty, let known = carried[sighting.beacon], now - seenAt < PositionFilter.fadeMilliseconds else {
            return
        }
        let orientation = devices[observer.id]?.record.orientation ?? .standard
        if let evidence = sighting.evidence(settings(of: observer), orientation) { known.take(evidence, by: observer.number) }
        if let bearing = sighting.bearing(orientation) { known.take(bearing, by: observer.number) }
    }

    /// The carried beacons that were seen since the last time, in the order they were.
    func removeSeenCarried() -> [BeaconKey] {
        guard !seenCarried.isEmpty else { return [] }
        defer { seenCarried.removeAll() }
        return seenCarried
    }

    /// Where a carried beacon is; nil where nobody knows, nobody carries it any more, it was located too shortly ago, or nothing is new.
    ///
    /// - Parameters:
    ///   - outlines: Where rooms are; nil: nobody knows.
    ///   - place: Where an observer is.
    func locate(
        _ beacon: BeaconKey, at now: Int64, outlines: StructureBook?, place: (Observer) -> GatewayPlace
    ) -> BeaconLocation? {
        guard let known = carried[beacon], let device = carriers[beacon].flatMap({ devices[$0] }) else {
            carried[beacon]?.isNoted = false
            return nil
        }
        if now >= known.locatedAt, known.locatedAt != .min, now - known.locatedAt < Self.locatingMilliseconds {
            seenCarried.append(beacon)
            return nil
        }
        known.locatedAt = now
        let (heard, weight, isNew) = known.takeHeard(at: now)
        let gateways = gateways(seeing: beacon, carriedBy: device, heard, at: now, place)
        let estimate = estimate(known, gateways, heard, weight: weight, outlines, at: now)
        let candidates = candidates(for: known, gateways)
        let change = known.room.take(candidates, stillness: known.filter.stillness, at: now)
        if let change {
            known.reason = text(of: change)
            known.since = now
        }
        // Rooms follow by time, too.
        known.isNoted = known.isSettling(at: now)
        if known.isNoted { seenCarried.append(beacon) }
        guard isNew || change != nil, let estimate, let plane = known.plane else { return nil }
        var position = plane.position(estimate.place)
        position.horizontalAccuracy = (estimate.accuracy * 100).rounded() / 100
        return BeaconLocation(
            device: device, position: position, room: known.room.room.map { rooms[$0] }, roomSince: known.since,
            roomReason: known.reason, roomProbability: candidates.first { $0.room == known.room.room }?.probability,
            gateway: gateways.first?.observer.id)
    }

    /// - Returns: nil without a gateway whose position is known.
    private func estimate(
        _ carried: CarriedBeacon, _ gateways: [Gateway], _ heard: [CarriedBeacon.Heard], weight: Double,
        _ outlines: StructureBook?, at now: Int64
    ) -> PositionFilter.Estimate? {
        let placed = gateways.compactMap { gateway in gateway.place.position.map { (gateway, $0) } }
        guard let origin = placed.first?.1 else { return nil }
        if let plane = carried.plane, plane.point(origin).distance(to: LocalPlane.Point(x: 0, y: 0)) > Self.placeMetres {
            carried.plane = nil
            carried.track = PositionTrack()
            carried.filter = PositionFilter()
        }
        let plane = carried.plane ?? LocalPlane(around: origin)
        carried.plane = plane
        let observers = placed.map { gateway, position in
            PositionFilter.Observer(
                place: plane.point(position), n: gateway.settings.n, isCalibrated: gateway.isCalibrated, room: gateway.place.room,
                map: gateway.settings.map.flatMap { $0.isOf(position) ? $0 : nil })
        }
        let evidence = heard.compactMap { heard in
            placed.firstIndex { $0.0.observer.number == heard.observer }.map { (observer: $0, evidence: heard.evidence) }
        }
        var ground: (asOf: UInt32, ground: (LocalPlane.Point) -> PositionFilter.Ground)?
        // Of what one or two hear only the distance is known: that it is in the next room would be a guess.
        let isLocated = placed.count > PositionEstimator.readingsMax || evidence.contains(where: \.evidence.isAngle)
        if isLocated, let outlines, let levels = placed.lazy.compactMap({ $0.0.place.room }).first.map({ self.rooms[$0] }) {
            ground = (
                outlines.declarations,
                { point in
                    let position = plane.position(point)
                    guard outlines.isIndoors(position, onFloorOf: levels) else { return .outside }
                    return outlines.room(at: position, onFloorOf: levels).map { .room(self.rooms.number(of: $0)) } ?? .between
                }
            )
        }
        carried.filter.step(evidence, among: observers, weight: weight, at: now, outlines: ground)
        guard !isLocated else { return carried.filter.estimate }
        let readings = zip(observers, placed).map { PositionEstimator.Reading(place: $0.place, distance: $1.0.recentDistance) }
        carried.track.take(readings, at: now)
        return carried.track.estimate
    }

    // MARK: Gateways

    private struct Gateway {
        var observer: Observer
        var place: GatewayPlace
        var settings: RangingSettings
        var isCalibrated: Bool
        /// Metres, over the last seconds.
        var recentDistance: Double
        /// Metres, over the longer time that decides the room.
        var distance: Double
    }

    /// The observers that see a beacon and whose position or room is known, nearest first.
    private func gateways(
        seeing beacon: BeaconKey, carriedBy device: Device, _ heard: [CarriedBeacon.Heard], at now: Int64,
        _ place: (Observer) -> GatewayPlace
    ) -> [Gateway] {
        guard let number = knownNumber(of: beacon) else { return [] }
        var found: [Gateway] = []
        for fact in table.facts(ofBeacon: number) {
            guard let observer = observer(fact.observer), !observer.id.hasSameBytes(as: device.record.id) else { continue }
            let settings = devices[observer.id]?.record.ranging
            let n = (settings ?? .standard).n
            // Who knows the direction alone is as far as everybody is at most.
            let isSeen = heard.contains { $0.observer == fact.observer }
            func loss(over milliseconds: Int64) -> Double? {
                table.recentLoss(at: fact.observer, of: number, over: milliseconds, n: n, at: now)
                    ?? (isSeen ? PathLoss.loss(distance: PathLoss.distances.upperBound, n: n) : nil)
            }
            guard let recent = loss(over: PositionTrack.window), let longer = loss(over: RoomTrack.window) else { continue }
            let place = place(observer)
            guard place.position != nil || place.room != nil else { continue }
            found.append(
                Gateway(
                    observer: observer, place: place, settings: settings ?? .standard, isCalibrated: settings != nil,
                    recentDistance: PathLoss.distance(loss: recent, n: n), distance: PathLoss.distance(loss: longer, n: n)))
        }
        return found.sorted { ($0.distance, $0.observer.number) < ($1.distance, $1.observer.number) }
    }

    /// The nearest gateway of each room, with the room's probability: by where the beacon may be, or where gateways have no position by
    /// how far away they have it. Rooms without a gateway have an outline.
    private func candidates(for carried: CarriedBeacon, _ gateways: [Gateway]) -> [RoomTrack.Candidate] {
        guard let nearest = gateways.first else { return [] }
        let isPlaced = gateways.allSatisfy { $0.place.room == nil || $0.place.position != nil }
        let probabilities: [Int: Double] =
            isPlaced ? Dictionary(carried.filter.rooms.map { ($0.room, $0.probability) }) { $1 } : [:]
        var candidates: [RoomTrack.Candidate] = []
        for gateway in gateways {
            guard let room = gateway.place.room, !candidates.contains(where: { $0.room == room }) else { continue }
            candidates.append(
                RoomTrack.Candidate(
                    room: room, observer: gateway.observer.number, distance: gateway.distance,
                    probability: isPlaced ? probabilities[room] ?? 0 : nil))
        }
        for (room, probability) in probabilities where !candidates.contains(where: { $0.room == room }) {
            candidates.append(
                RoomTrack.Candidate(
                    room: room, observer: nearest.observer.number, distance: nearest.distance, probability: probability))
        }
        return candidates
    }

    private func text(of change: RoomTrack.Switch) -> String {
        func name(_ number: UInt32) -> String { observer(number)?.id ?? "-" }
        let near = "\(name(change.to.observer)) at \(FigureText.metres(change.to.distance))"
        let isOwn = observer(change.to.observer)?.place?.room == change.to.room
        let here = isOwn ? near : "\(rooms[change.to.room][3]) by its outline, near \(near),"
        switch change.reason {
        case .first: return "first heard by \(here)"
        case .unheard: return "\(here); nobody in the former room hears it"
        case .nearer(let other, let metres, let milliseconds):
            let span = FigureText.seconds(milliseconds: milliseconds)
            let isNearer = change.to.distance < metres
            let words = "\(here) was \(isNearer ? "nearer" : "likelier") than \(name(other)) at \(FigureText.metres(metres))"
            guard let probability = change.to.probability else { return "\(words) for \(span)" }
            return "\(words), with a probability of \(Int((probability * 100).rounded())) %"
        }
    }

    // MARK: Restarting

    /// A beacon that is followed from now on: from where its device's live message has it, if that was derived shortly before.
    private func lastKnown(_ beacon: BeaconKey, at now: Int64) -> CarriedBeacon {
        let carried = CarriedBeacon()
        guard let state = carriers[beacon].flatMap({ devices[$0]?.positionTopic }), state.isDerived,
            (0..<ProximityTable.factMilliseconds).contains(now - state.timestamp), let payload = state.payload,
            let message = (try? JSONValue.parse(payload, using: parser))?.asObject?["properties"]?.asObject
        else { return carried }
        if let since = message["roomSince"]?.asInt64, let live = try? LiveTopic(encoded: state.topic) {
            carried.room.restore(rooms.number(of: [live.venue, live.building, live.floor, live.room]))
            carried.since = since
            carried.reason = message["roomReason"]?.asString ?? ""
        }
        if let position = LiveMessage.position(inPayload: payload, using: parser) {
            carried.plane = LocalPlane(around: position)
            let accuracy = position.horizontalAccuracy ?? 1
            let origin = LocalPlane.Point(x: 0, y: 0)
            carried.track.restore(PositionFilter.Estimate(place: origin, accuracy: accuracy), at: state.timestamp)
            carried.filter.restore(origin, accuracy: accuracy, at: state.timestamp)
        }
        return carried
    }
}

/// Where a device is because of the beacon it carries.
struct BeaconLocation {
    var device: Device
    var position: Position
    /// Venue, building, floor and room; nil: not known.
    var room: [String]?
    /// Why it is in its room, and since when.
    var roomSince: Int64
    var roomReason: String
    var roomProbability: Double?
    /// The nearest one.
    var gateway: String?
}
