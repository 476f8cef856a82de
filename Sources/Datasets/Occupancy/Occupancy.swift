import DequeModule
import Geodesy
import LiveTopics
import Records
import Wire

/// Who is in which room: devices counted by the room they were last seen in and the levels above it. Who is in no known room or floor
/// counts for the building or the venue.
///
/// **Flapping.** Who comes from nowhere, or from or to what only a topic names, or changes floors, is counted at once. Between
/// outlines a change counts at once where it is clear, that is where the position is farther from the old outline, or deeper in
/// the new one, than its accuracy (at least 2 m, at most 10 m); else when nothing contradicted it for ``settlingMilliseconds``.
///
/// **Silence.** Who is not heard of for ``silenceMilliseconds`` is nowhere.
///
/// Each sighting costs the same, however many devices and rooms there are. Owned by its ``Dataset``.
final class Occupancy {
    static let settlingMilliseconds: Int64 = 5000
    private static let marginMetres = 2.0...10.0

    private static let intervalMilliseconds: Int64 = 1000
    /// How many places are reported in one tick.
    private static let placesPerTick = 500

    private let silenceMilliseconds: Int64
    private let dataset: String
    private let structure: StructureBook
    /// What it was built from has changed.
    var isOutdated = false
    /// Rooms and floors by the topic of their occupancy.
    private(set) var places = ByteKeyed<OccupiedPlace>()
    /// Places that may have something to report, in the order they came to it.
    private var unreported = Deque<OccupiedPlace>()

    private var occupants: [Occupant] = []
    private var free: [Int32] = []
    private var handles = ByteKeyed<Int32>()
    /// The ends of the list of occupants, by when they were last seen.
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    /// Changes that wait to be confirmed; stale where the occupant has another candidate by now.
    private var pending = Deque<(handle: Int32, since: Int64)>()

    /// How many devices are somewhere.
    private(set) var count = 0

    init(_ dataset: Dataset, limits: HubLimits) {
        self.dataset = dataset.id
        structure = dataset.structure
        silenceMilliseconds = Int64(limits.occupancySilenceSeconds) * 1000
    }

    /// Declares the rooms and floors of the structure, and begins with what is known.
    ///
    /// - Parameter reported: What was derived before.
    func start(reported: [LiveState], _ positions: [LiveState], at now: Int64, using parser: JSONParser) {
        for node in structure.tree.all where node.level != .location {
            let place = place(node.path + Array(repeating: LiveTopic.notApplicable, count: 4 - node.path.count))
            place.capacity = node.record.capacity
            note(place)
        }
        for state in reported {
            guard let live = try? LiveTopic(encoded: state.topic) else { continue }
            let place = place(live, topic: state.topic)
            place.reported = state.occupancyFigures(using: parser)
            place.reportedAt = max(0, state.receivedAt)
            note(place)
        }
        let heard = positions.filter { $0.receivedAt > now - silenceMilliseconds }
        for state in heard.sorted(by: { ($0.receivedAt, $0.number) < ($1.receivedAt, $1.number) }) {
            guard let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: parser) else {
                continue
            }
            see(state, update, structure.whereabouts(of: update, on: state.topic), at: state.receivedAt)
        }
    }

    /// A device that is somewhere; a slot whose `id` is nil is free.
    private struct Occupant {
        var id: String?
        var whereabouts: Whereabouts
        /// Where it seems to be since `candidateSince`; outer nil for nothing, inner nil for nowhere.
        var candidate: Whereabouts??
        var candidateSince: Int64 = 0
        var seenAt: Int64
        var older: Int32 = -1
        var newer: Int32 = -1
    }

    // MARK: Seeing

    /// Counts a position that was accepted.
    ///
    /// - Parameter whereabouts: nil for outside of all rooms and floors.
    func see(_ state: LiveState, _ update: LiveUpdate, _ whereabouts: Whereabouts?, at now: Int64) {
        guard let position = update.position, state.isOfSomebody else { return }
        let found = whereabouts ?? structure.surroundings(of: update, on: state.topic)
        see(state.itemID, found, position: position, at: now)
    }

    private func see(_ id: String, _ whereabouts: Whereabouts?, position: Position, at instant: Int64) {
        // A repeated update may claim any time.
        let now = max(0, instant)
        guard let handle = handles[id] else {
            if let whereabouts { enter(id, whereabouts, at: now) }
            return
        }
        let index = Int(handle)
        unlink(handle)
        occupants[index].seenAt = now
        link(handle)
        let present = occupants[index].whereabouts
        if let whereabouts, whereabouts.isSamePlace(as: present) {
            occupants[index].candidate = nil
            occupants[index].whereabouts = whereabouts
        } else if isClear(from: present, to: whereabouts, position) {
            move(handle, to: whereabouts)
        } else {
            consider(handle, whereabouts, at: now)
        }
    }

    /// A state is about to be forgotten.
    ///
    /// - Parameter isCurrent: It is the position of its item.
    func noteForgotten(_ state: LiveState, isCurrent: Bool) {
        if state.namesDevice {
            if isCurrent { leave(state.itemID) }
        } else if state.domain == KnownDomain.occupancy.rawValue, let place = places[state.topic] {
            // Whatever was known there, what is derived is reported again.
            place.reported = nil
            note(place)
        }
    }

    /// The device is nowhere from now on.
    func leave(_ id: String) {
        if let handle = handles[id] { remove(handle) }
    }

    /// Lets time pass: changes that nothing contradicted count, and who was silent is gone.
    func advance(to now: Int64) {
        while let first = pending.first, now - first.since >= Self.settlingMilliseconds || now < first.since {
            pending.removeFirst()
            let occupant = occupants[Int(first.handle)]
            guard occupant.id != nil, let candidate = occupant.candidate, occupant.candidateSince == first.since else { continue }
            move(first.handle, to: candidate)
        }
        while oldest >= 0, now - occupants[Int(oldest)].seenAt >= silenceMilliseconds { remove(oldest) }
    }

    private func isClear(from present: Whereabouts, to next: Whereabouts?, _ position: Position) -> Bool {
        guard let left = present.outline else { return true }
        if let next, next.floor != nil {
            guard let entered = next.outline, next.isOnSameFloor(as: present) else { return true }
            if entered.contains(position), entered.metresToEdge(from: position) > margin(of: position) { return true }
        }
        return !left.contains(position) && left.metresToEdge(from: position) > margin(of: position)
    }

    private func margin(of position: Position) -> Double {
        min(max(position.horizontalAccuracy ?? 0, Self.marginMetres.lowerBound), Self.marginMetres.upperBound)
    }

    /// The change counts when nothing contradicts it for a while.
    private func consider(_ handle: Int32, _ whereabouts: Whereabouts?, at now: Int64) {
        let index = Int(handle)
        if let known = occupants[index].candidate, Self.isSame(known, whereabouts) {
            if now - occupants[index].candidateSince >= Self.settlingMilliseconds { move(handle, to: whereabouts) }
            return
        }
        occupants[index].candidate = .some(whereabouts)
        occupants[index].candidateSince = now
        pending.append((handle, now))
        guard pending.count > 2 * count + 1024 else { return }
        pending.removeAll { entry in
            let occupant = occupants[Int(entry.handle)]
            return occupant.id == nil || occupant.candidate == nil || occupant.candidateSince != entry.since
        }
    }

    private static func isSame(_ left: Whereabouts?, _ right: Whereabouts?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isSamePlace(as: right)
    }

    // MARK: Occupants

    private func enter(_ id: String, _ whereabouts: Whereabouts, at now: Int64) {
        let occupant = Occupant(id: id, whereabouts: whereabouts, seenAt: now)
        let handle: Int32
        if let slot = free.popLast() {
            handle = slot
            occupants[Int(slot)] = occupant
        } else {
            handle = Int32(truncatingIfNeeded: occupants.count)
            occupants.append(occupant)
        }
        handles[id] = handle
        count += 1
        link(handle)
        change(whereabouts, by: 1)
    }

    private func move(_ handle: Int32, to whereabouts: Whereabouts?) {
        guard let whereabouts else { return remove(handle) }
        let index = Int(handle)
        change(occupants[index].whereabouts, by: -1)
        change(whereabouts, by: 1)
        occupants[index].whereabouts = whereabouts
        occupants[index].candidate = nil
    }

    private func remove(_ handle: Int32) {
        let index = Int(handle)
        guard let id = occupants[index].id else { return }
        unlink(handle)
        change(occupants[index].whereabouts, by: -1)
        occupants[index].id = nil
        occupants[index].candidate = nil
        handles[id] = nil
        free.append(handle)
        count -= 1
    }

    private func link(_ handle: Int32) {
        occupants[Int(handle)].older = newest
        occupants[Int(handle)].newer = -1
        if newest >= 0 { occupants[Int(newest)].newer = handle } else { oldest = handle }
        newest = handle
    }

    private func unlink(_ handle: Int32) {
        let occupant = occupants[Int(handle)]
        if occupant.older >= 0 { occupants[Int(occupant.older)].newer = occupant.newer } else { oldest = occupant.newer }
        if occupant.newer >= 0 { occupants[Int(occupant.newer)].older = occupant.older } else { newest = occupant.older }
    }

    // MARK: Places

    /// The room and what it lies in have one more, or one less.
    private func change(_ whereabouts: Whereabouts, by step: Int) {
        for depth in 0..<4 where whereabouts.levels[depth] != LiveTopic.notApplicable {
            let open = Array(repeating: LiveTopic.notApplicable, count: 3 - depth)
            add(step, to: place(Array(whereabouts.levels[...depth]) + open))
        }
    }

    private func add(_ step: Int, to place: OccupiedPlace) {
        place.count += step
        note(place)
    }

    /// The place may have something to report.
    private func note(_ place: OccupiedPlace) {
        guard !place.isNoted else { return }
        place.isNoted = true
        unreported.append(place)
    }

    /// The room or floor of these levels: venue, building, floor, room.
    func place(_ levels: [String]) -> OccupiedPlace {
        let live = LiveTopic(
            dataset: dataset, venue: levels[0], building: levels[1], floor: levels[2], room: levels[3], domain: "occupancy")
        return place(live, topic: live.encoded)
    }

    private func place(_ live: LiveTopic, topic: String) -> OccupiedPlace {
        if let known = places[topic] { return known }
        let place = OccupiedPlace(live, topic: topic)
        places[topic] = place
        return place
    }

    /// The places that have something to report now, some of them in each tick.
    ///
    /// - Parameter states: What a sensor sent of a place is looked at again when it is cleared.
    func removeDue(at now: Int64, besides states: LiveStates) -> [OccupiedPlace] {
        let taken = Array(unreported.prefix(Self.placesPerTick))
        unreported.removeFirst(taken.count)
        for place in taken { place.isNoted = false }
        return taken.filter { place in
            if let known = states[place.topic], known.payload != nil, !known.isDerived { return false }
            guard place.figures != place.reported else { return false }
            guard let reportedAt = place.reportedAt, (0..<Self.intervalMilliseconds).contains(now - reportedAt) else {
                return true
            }
            note(place)
            return false
        }
    }
}

extension LiveState {
    /// It is the position of what moves about: a mobile device, or an id that is no device.
    fileprivate var isOfSomebody: Bool {
        guard let device = device ?? dataset.devices[itemID] else { return true }
        return device.record.type == .mobile
    }

    /// What a derived occupancy says.
    fileprivate func occupancyFigures(using parser: JSONParser) -> OccupiedPlace.Figures? {
        guard let payload, case .object(let message)? = try? JSONValue.parse(payload, using: parser),
            let properties = message["properties"]?.asObject, let count = properties["nrOfPeople"]?.asInt64
        else { return nil }
        return OccupiedPlace.Figures(
            count: Int(truncatingIfNeeded: count), capacity: properties["capacity"]?.asInt64.map { Int(truncatingIfNeeded: $0) })
    }
}
