import LiveTopics
import Records
import Wire

// Occupancy derived from positions: `live/{dataset}/{venue}/{building}/{floor}/{room}/-/occupancy` for each room, and for each
// floor, building and venue with `-` below it. Each that is declared is reported from the beginning, at most once a second, the
// empty ones with 0.
//
// What a sensor sends on such a topic wins until it is cleared. Pins and beacons are nobody and are not counted.

extension Dataset {
    /// Derives, or ceases to, as the dataset says by now; reports what has changed.
    func advanceOccupancy(secondIsOver: Bool, _ turn: inout Turn) {
        guard record.derivedOccupancy else {
            guard occupancy != nil else { return }
            occupancy = nil
            for state in derivedOccupancies { shared.live.forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn) }
            return
        }
        if occupancy == nil || secondIsOver && occupancy?.isOutdated == true {
            var positions = devices.all.compactMap(\.positionTopic)
            positions += positionsWithoutDevice.keys.compactMap { positionsWithoutDevice[$0] }
            let occupancy = Occupancy(self, limits: shared.limits)
            occupancy.start(reported: derivedOccupancies, positions, at: turn.now, using: shared.parser)
            self.occupancy = occupancy
        }
        guard let occupancy else { return }
        occupancy.advance(to: turn.now)
        for place in occupancy.removeDue(at: turn.now, besides: shared.liveStates) { report(place, &turn) }
    }

    private var derivedOccupancies: [LiveState] {
        shared.liveStates.all.filter { $0.isDerived && $0.dataset === self && $0.domain == KnownDomain.occupancy.rawValue }
    }

    private func report(_ place: OccupiedPlace, _ turn: inout Turn) {
        let known = shared.liveStates[place.topic]
        do throws(WireError) {
            if known?.payload == nil { try checkRoomForLiveTopic() }
        } catch {
            // Reported once for each change: it may fit later.
            return diagnostics.report(.init(topic: place.topic, refused: error), &turn)
        }
        shared.live.writeProperties { place.report(at: turn.now, into: &$0) }
        let state = known ?? LiveState(dataset: self, live: place.live, topic: place.topic)
        shared.live.store(LiveUpdate(), at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
    }
}

extension LiveBook {
    /// After a restart: what was derived is reported anew, or cleared where it is derived no longer.
    func findOccupancies() {
        for state in states.all where state.isDerived && state.domain == KnownDomain.occupancy.rawValue {
            let dataset = state.dataset
            guard !dataset.record.derivedOccupancy, dataset.occupancy == nil else { continue }
            dataset.occupancy = Occupancy(dataset, limits: limits)
        }
    }
}
