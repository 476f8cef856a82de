import LiveTopics
import Records
import Wire

// Occupancy derived from positions: `live/{dataset}/{venue}/{building}/{floor}/{room}/-/occupancy` for each room, and for each
// floor, building and venue with `-` below it. Each that is declared is reported from the beginning, at most once a second, the
// empty ones with 0.
//
// What a sensor sends on such a topic wins until it is cleared. Pins and beacons are nobody and are not counted.

extension Hub {
    /// Derives, or ceases to, as the dataset says by now; reports what has changed.
    func advanceOccupancy(of dataset: Dataset, secondIsOver: Bool, _ turn: inout Turn) {
        guard dataset.record.derivedOccupancy else {
            guard dataset.occupancy != nil else { return }
            dataset.occupancy = nil
            for state in derivedOccupancies(of: dataset) { forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn) }
            return
        }
        if dataset.occupancy == nil || secondIsOver && dataset.occupancy?.isOutdated == true {
            var positions = dataset.devices.all.compactMap(\.positionTopic)
            positions += dataset.positionsWithoutDevice.keys.compactMap { dataset.positionsWithoutDevice[$0] }
            let occupancy = Occupancy(dataset, limits: configuration.limits)
            occupancy.start(reported: derivedOccupancies(of: dataset), positions, at: turn.now, using: parser)
            dataset.occupancy = occupancy
        }
        guard let occupancy = dataset.occupancy else { return }
        occupancy.advance(to: turn.now)
        for place in occupancy.takeDue(at: turn.now, besides: liveStates) { report(place, of: dataset, &turn) }
    }

    private func derivedOccupancies(of dataset: Dataset) -> [LiveState] {
        liveStates.all.filter { $0.isDerived && $0.dataset === dataset && $0.domain == KnownDomain.occupancy.rawValue }
    }

    /// After a restart: what was derived is reported anew, or cleared where it is derived no longer.
    func findOccupancies() {
        for state in liveStates.all where state.isDerived && state.domain == KnownDomain.occupancy.rawValue {
            let dataset = state.dataset
            guard !dataset.record.derivedOccupancy, dataset.occupancy == nil else { continue }
            dataset.occupancy = Occupancy(dataset, limits: configuration.limits)
        }
    }

    private func report(_ place: OccupiedPlace, of dataset: Dataset, _ turn: inout Turn) {
        let known = liveStates[place.topic]
        do throws(WireError) {
            if known?.payload == nil { try checkRoomForLiveTopic(in: dataset) }
        } catch {
            // Reported once for each change: it may fit later.
            return dataset.diagnostics.report(.init(topic: place.topic, refused: error), &turn)
        }
        writeProperties { place.report(at: turn.now, into: &$0) }
        let state = known ?? LiveState(dataset: dataset, live: place.live, topic: place.topic)
        store(LiveUpdate(), at: turn.now, for: state, derived: true, receivedAt: turn.now, &turn)
    }
}
