import LiveTopics
import Wire
import Records

// Occupancy derived from positions: `live/{dataset}/{venue}/{building}/{floor}/{room}/-/occupancy` for each room, and for each
// floor with `-` as the room. Every declared room and floor is told from the beginning, at most once a second, the empty ones
// with 0.
//
// What a sensor sends on such a topic wins until it is cleared. Pins and beacons are nobody and are not counted.

extension Hub {
    /// How many messages of occupancy go out in one tick.
    private static let occupanciesPerTick = 500
    private static let occupancyIntervalMilliseconds: Int64 = 1000
    private var silenceMilliseconds: Int64 { Int64(configuration.limits.occupancySilenceSeconds) * 1000 }

    /// Counts a position that was accepted.
    func see(_ state: LiveState, _ update: LiveUpdate, _ whereabouts: Whereabouts?, at now: Int64) {
        guard let occupancy = state.dataset.occupancy, let position = update.position, state.isOfSomebody else { return }
        occupancy.see(state.itemID, whereabouts, position: position, at: now)
    }

    /// A state is about to be forgotten.
    func noteForgotten(_ state: LiveState) {
        guard let occupancy = state.dataset.occupancy else { return }
        if state.namesDevice {
            if standing(of: state) === state { occupancy.leave(state.itemID) }
        } else if state.domain == KnownDomain.occupancy.rawValue, let place = occupancy.places[state.topic] {
            // Whatever stood there, what is derived is told again.
            place.told = nil
            occupancy.note(place)
        }
    }

    /// Derives, or ceases to, as the dataset says by now; tells what has changed.
    func advanceOccupancy(of dataset: Dataset, to now: Int64, secondIsOver: Bool, _ turn: inout Turn) {
        guard dataset.record.derivedOccupancy else {
            if let occupancy = dataset.occupancy { endOccupancy(occupancy, of: dataset, &turn) }
            return
        }
        if dataset.occupancy == nil || secondIsOver && dataset.occupancy?.isOutdated == true {
            dataset.occupancy = makeOccupancy(of: dataset, at: now)
        }
        guard let occupancy = dataset.occupancy else { return }
        occupancy.advance(to: now)
        for place in occupancy.takeUntold(min(occupancy.untoldCount, Self.occupanciesPerTick)) {
            tell(place, of: dataset, occupancy, &turn)
        }
    }

    /// After a restart: what was derived is told right again, or cleared where it is derived no longer.
    func findOccupancies() {
        for state in liveStates.all where state.isDerived && state.domain == KnownDomain.occupancy.rawValue {
            let dataset = state.dataset
            guard !dataset.record.derivedOccupancy, dataset.occupancy == nil else { continue }
            dataset.occupancy = Occupancy(dataset: dataset.id, silenceMilliseconds: silenceMilliseconds)
        }
    }

    // MARK: Building

    private func makeOccupancy(of dataset: Dataset, at now: Int64) -> Occupancy {
        let occupancy = Occupancy(dataset: dataset.id, silenceMilliseconds: silenceMilliseconds)
        for node in dataset.structure.all where node.level == .floor || node.level == .room {
            let place = occupancy.place(node.path + Array(repeating: LiveTopic.notApplicable, count: 4 - node.path.count))
            place.capacity = node.record.capacity
            occupancy.note(place)
        }
        noteTold(dataset, in: occupancy)
        let silentSince = now - silenceMilliseconds
        var standing = dataset.devices.keys.compactMap { dataset.devices[$0]?.positionTopic }
        standing += dataset.positionsWithoutDevice.keys.compactMap { dataset.positionsWithoutDevice[$0] }
        standing.removeAll { $0.receivedAt <= silentSince || !$0.isOfSomebody }
        standing.sort { ($0.receivedAt, $0.number) < ($1.receivedAt, $1.number) }
        for state in standing {
            guard let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: parser),
                let position = update.position
            else { continue }
            occupancy.see(state.itemID, whereabouts(of: update, at: state), position: position, at: state.receivedAt)
        }
        return occupancy
    }

    /// What is known to have been derived before.
    private func noteTold(_ dataset: Dataset, in occupancy: Occupancy) {
        for state in liveStates.all where state.isDerived && state.dataset === dataset {
            guard state.domain == KnownDomain.occupancy.rawValue, let live = try? LiveTopic(encoded: state.topic) else {
                continue
            }
            let place = occupancy.place(live, topic: state.topic)
            place.told = state.occupancyFigures(using: parser)
            place.toldAt = max(0, state.receivedAt)
            occupancy.note(place)
        }
    }

    private func endOccupancy(_ occupancy: Occupancy, of dataset: Dataset, _ turn: inout Turn) {
        dataset.occupancy = nil
        let derived = liveStates.all.filter {
            $0.isDerived && $0.dataset === dataset && $0.domain == KnownDomain.occupancy.rawValue
        }
        for state in derived { forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn) }
    }

    // MARK: Telling

    private func tell(_ place: OccupiedPlace, of dataset: Dataset, _ occupancy: Occupancy, _ turn: inout Turn) {
        let known = liveStates[place.topic]
        // What a sensor sent stands. It is looked at again when it is cleared.
        if let known, known.payload != nil, !known.isDerived { return }
        let figures = place.figures
        guard figures != place.told else { return }
        if let toldAt = place.toldAt, (0..<Self.occupancyIntervalMilliseconds).contains(turn.now - toldAt) {
            return occupancy.note(place)
        }
        do throws(WireError) {
            if known?.payload == nil { try checkRoomForLiveTopic(in: dataset) }
        } catch {
            // Told once for each change: it may fit later.
            return dataset.diagnostics.report(.init(topic: place.topic, refused: error), &turn)
        }
        place.told = figures
        place.toldAt = turn.now
        properties.removeAll(keepingCapacity: true)
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        writer.beginObject()
        writer.member("nrOfPeople", figures.count)
        if let capacity = figures.capacity { writer.member("capacity", capacity) }
        writer.endObject()
        swap(&writer.bytes, &properties)
        let state = known ?? LiveState(dataset: dataset, live: place.live, topic: place.topic)
        store(LiveUpdate(), at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
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
