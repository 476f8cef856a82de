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
    /// Whoever keeps live states has everything up to this number.
    public func doorHolds(through number: Int64) {
        // A mark beyond our own numbers was written by a life whose last second is lost to us: nothing it says helps.
        let known = number > liveNumber ? 0 : number
        let missing = liveStates.all.filter { $0.number > known }.sorted { $0.number < $1.number }
        resync = missing.isEmpty ? nil : Resync(waiting: Deque(missing))
        resumeSubscribers(since: known)
    }

    /// Publishes up to so many of what is still to be made right.
    ///
    /// - Returns: False when nothing is left.
    public func continueResync(count: Int, _ turn: inout Turn) -> Bool {
        var budget = count
        tellLeftAgain(&turn)
        budget -= continueSnapshots(count: budget, &turn)
        while budget > 0, let clearance = clearances.popFirst() {
            clear(clearance, &turn)
            budget -= 1
        }
        while budget > 0, let state = resync?.waiting.popFirst() {
            // Whose devices are known again later, its subscribers are judged by then.
            if state.dataset.isLoading {
                resync?.waiting.append(state)
            } else if state.isKnown {
                publishLive(topic: state.topic, payload: state.payload ?? [], &turn)
                tellAgain(state, &turn)
            }
            budget -= 1
        }
        if resync?.waiting.isEmpty == true { resync = nil }
        return !isSettled
    }

    /// The broker's retained messages are as they should be.
    public var isSettled: Bool { resync == nil && clearances.isEmpty && snapshotting.isEmpty && leftAgain.isEmpty }

    private func clear(_ clearance: Clearance, _ turn: inout Turn) {
        if let topic = clearance.topic {
            // A dataset of this name made since may have told the topic anew.
            guard liveStates[topic] == nil else { return }
            publishLive(topic: topic, payload: [], &turn)
            turn.keep(.forgetLiveState(dataset: clearance.dataset, topic: topic))
        } else if datasets[clearance.dataset] == nil {
            turn.effects.output.append(.status, name: clearance.dataset, payload: [])
        }
    }
}
