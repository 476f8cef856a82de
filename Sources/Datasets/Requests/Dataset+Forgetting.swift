import LiveTopics
import Matching
import Wire
import Records

// device/forget

extension Dataset {
    /// Erases where a device is and what it met; the device stays, with its publications and subscriptions.
    ///
    /// Its visits end as `lost` first, as where its position is cleared. What was matched and not yet delivered is still owed, and no longer to be seen; what others'
    /// subscriptions received stays with them.
    func forgetDevice(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device(named: "id", ownerless: "only administrators have a device without an owner forgotten")
        geomatching.endVisits(of: device, as: .lost, &turn)
        turn.keep(.forgetDevice(dataset: id, id: device.record.id))
        device.matches.removeAll()
        let traces = traces(of: device)
        turn.effects.sequels.append(.erasure(traces.map(\.topic), Forgotten(dataset: id, device: device.record.id)))
        for state in traces {
            let former = state.snapshot
            shared.live.clear(state, &turn)
            turn.keep(state, after: former)
        }
        geomatching.engine.forgetPairs(of: device.reference)
        circumstances.forgetWhereabouts(of: device)
        places.forget(device.record.id)
        for reply in replies.forget(device: device.record.id) where reply.body.count <= ReplyMemory.durableBytesMax {
            turn.keep(
                .put(ReplyRecord(dataset: id, client: reply.client, requestId: reply.requestId, at: reply.at, body: reply.body)))
        }
        return stated(device.record.id, "forgotten")
    }

    /// Where it is, and what it sighted, over all topics: every other live state is of a place.
    func traces(of device: Device) -> [LiveState] {
        // Level by level, side by side in memory: a look at each state would keep others waiting.
        let ofItem = try? Criteria(dataset: id, location: device.record.id)
        let ofObservers = try? Criteria(dataset: id, domain: KnownDomain.proximity.rawValue)
        let found = [ofItem, ofObservers].compactMap { $0 }.map { liveTopics.all(CriteriaPattern($0)) }
        return Dictionary(grouping: found.joined(), by: \.topicNumber).values.compactMap(\.first).filter { state in
            state.payload != nil && (state.namesDevice || state.tellsSightings) && state.itemID.hasSameBytes(as: device.record.id)
        }.sorted { $0.topicNumber < $1.topicNumber }
    }

    /// The same where it is given back to memory: what the store erased of a device.
    func restoreForgotten(_ id: String) {
        guard let device = devices[id] else { return }
        device.matches.removeAll()
        geomatching.engine.forgetPairs(of: device.reference)
        circumstances.forgetWhereabouts(of: device)
    }
}
