import DequeModule
import Records

/// Making the retained `live/…` messages right again after a connection: a broker that came back may hold old ones, or none.
///
/// A retained mark of ours carries the number of the last `live/…` message before it. What has a higher number may be
/// lost at the broker and is published again, paced so that it delays nobody.
struct Resync {
    var waiting: Deque<LiveState>
}

/// A retained message of a dataset that was deleted, to be cleared.
struct Clearance {
    var dataset: String
    /// The seven levels of a `live/…` message; nil for the status.
    var topic: String?
}

extension Hub {
    /// The broker holds everything up to this number.
    public func brokerHolds(through number: Int64) {
        // A mark beyond our own numbers was written by a life whose last second is lost to us: nothing it says helps.
        let known = number > liveNumber ? 0 : number
        let missing = liveStates.all.filter { $0.number > known }.sorted { $0.number < $1.number }
        resync = missing.isEmpty ? nil : Resync(waiting: Deque(missing))
        resumeSubscribers(since: known)
    }

    /// Publishes up to so many of what is still to be made right.
    ///
    /// - Returns: False when nothing is left.
    public func continueResync(count: Int, at now: Int64, into effects: inout HubEffects) -> Bool {
        var budget = count
        tellLeftAgain(into: &effects)
        budget -= continueSnapshots(count: budget, at: now, into: &effects)
        while budget > 0, let clearance = clearances.popFirst() {
            clear(clearance, into: &effects)
            budget -= 1
        }
        while budget > 0, let state = resync?.waiting.popFirst() {
            if state.isKnown {
                publishLive(topic: state.topic, payload: state.payload ?? [], into: &effects)
                tellAgain(state, at: now, into: &effects)
            }
            budget -= 1
        }
        if resync?.waiting.isEmpty == true { resync = nil }
        return !isSettled
    }

    /// The broker's retained messages are as they should be.
    public var isSettled: Bool { resync == nil && clearances.isEmpty && snapshotting.isEmpty && leftAgain.isEmpty }

    private func clear(_ clearance: Clearance, into effects: inout HubEffects) {
        if let topic = clearance.topic {
            // A dataset of this name made since may have told the topic anew.
            guard liveStates[topic] == nil else { return }
            publishLive(topic: topic, payload: [], into: &effects)
            effects.changes.append(.forgetLiveState(dataset: clearance.dataset, topic: topic))
        } else if datasets[clearance.dataset] == nil {
            effects.messages.append(
                topic: "geomatch/\(clearance.dataset)/status", prefix: configuration.topicsPrefix, qos: 1, retain: true,
                payload: [])
        }
    }
}
