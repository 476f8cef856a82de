import LiveTopics
import Records
import Wire

// Who may know where a device is, and who may publish live data: the same for every door.

extension Hub {
    /// Refuses a live update that `access` does not let a client publish; for doors that know who publishes.
    public func checkPublisher(_ client: String, of topic: LiveTopic) throws(WireError) {
        guard Name.isClient(client), configuration.mayName(topic.dataset, client) else {
            throw WireError(.unauthorized, "`\(client.prefix(64))` may not name the dataset `\(topic.dataset.prefix(80))`")
        }
        guard reaches(topic.location, by: client, configuration.writes(topic.dataset, client)) else {
            throw WireError(.unauthorized, "`\(client)` may not publish on `\(topic.encoded)`: see `access`")
        }
    }

    /// A position that a request sets is a live update, too: without an owner, a device's is for those who may publish it.
    func checkMover(of device: Device, _ call: Call) throws(WireError) {
        let id = device.record.id
        guard device.record.owner == nil, !call.client.isAdministrator,
            !reaches(id, by: call.client.name, configuration.writes(call.dataset.id, call.client.name))
        else { return }
        throw WireError(.unauthorized, "`\(call.client.name)` may not move `\(id)`: see `access`", field: "location")
    }

    /// Whether a client may ask where a device is that it reaches: its own, and without an owner where such live data is for it.
    func mayLocate(_ device: Device, _ call: Call) -> Bool {
        if call.client.isAdministrator || device.record.owner == call.client.name { return true }
        let reads = configuration.reads(call.dataset.id, call.client.name)
        return !call.dataset.hidesPositions && reaches(device.record.id, by: call.client.name, reads)
    }

    private func reaches(_ location: String, by client: String, _ reach: LiveReach) -> Bool {
        switch reach {
        case .all: true
        case .own: location == client
        case .none: false
        }
    }
}

extension Hub {
    /// States published at once where all of a dataset change; the rest is paced.
    private static let shownAtOnce = 1000

    /// Who may know where the devices of a dataset are has changed: what is retained and subscribed to follows.
    func show(_ livePositions: LivePositions, of dataset: Dataset, _ turn: inout Turn) {
        let hides = livePositions == .none
        guard dataset.hidesPositions != hides else { return }
        let states = liveStates.all.filter { $0.dataset === dataset && $0.isWhereabouts && $0.payload != nil }
        if hides {
            for state in states { liveSubscribers.hide(state, &turn) }
            turn.effects.hiddenDatasets.append(dataset.id)
        }
        dataset.hidesPositions = hides
        for state in states {
            state.number = liveStates.nextNumber()
            liveStates.markDirty(state)
        }
        dataset.positionsChangedAt = liveNumber
        for state in states.prefix(Self.shownAtOnce) { resync.report(state, liveSubscribers, &turn) }
        resync.add(states.dropFirst(Self.shownAtOnce))
    }
}
