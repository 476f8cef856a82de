import Matching
import Wire
import Records

// device/forget

extension Hub {
    /// Erases where a device is and what it met; the device stays, with its publications and subscriptions.
    ///
    /// Its visits end as `deleted` first. What was matched and not yet delivered is still owed, and no longer to be seen; what others'
    /// subscriptions received stays with them.
    func forgetDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try device(named: "id", call, ownerless: "only administrators have a device without an owner forgotten")
        let dataset = call.dataset
        dataset.geomatching.endVisits(of: device, &turn)
        turn.keep(.forgetDevice(dataset: dataset.id, id: device.record.id))
        device.matches.removeAll()
        let traces = traces(of: device, in: dataset)
        turn.effects.sequels.append(.erasure(traces.map(\.topic)))
        for state in traces {
            let former = state.snapshot
            clear(state, &turn)
            keepNow(state, after: former, &turn)
        }
        dataset.geomatching.engine.forgetPairs(of: device.reference)
        dataset.circumstances.forgetWhereabouts(of: device)
        dataset.places.forget(device.record.id)
        return stated(device.record.id, "forgotten")
    }

    /// Where it is, and what it sighted, over all topics: every other live state is of a place.
    private func traces(of device: Device, in dataset: Dataset) -> [LiveState] {
        liveStates.all.filter { state in
            state.dataset === dataset && state.payload != nil && (state.namesDevice || state.domain == "proximity")
                && state.itemID.hasSameBytes(as: device.record.id)
        }
    }

    /// The same where it is given back to memory: what the store erased of a device.
    func restoreForgotten(_ id: String, in name: String) {
        guard let dataset = datasets[name], let device = dataset.devices[id] else { return }
        device.matches.removeAll()
        dataset.geomatching.engine.forgetPairs(of: device.reference)
        dataset.circumstances.forgetWhereabouts(of: device)
    }
}
