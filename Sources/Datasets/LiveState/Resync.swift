import DequeModule
import Records

/// What doors that keep live states may lack after a time away: states with a higher number than it is known to have, and what it may still
/// have of deleted datasets. Both are reported again, paced so that they delay nobody.
struct Resync {
    /// Something of a dataset that was deleted, to be cleared.
    private struct Clearance {
        var dataset: String
        /// The seven levels of a live state; nil for the status.
        var topic: String?
    }

    private var states = Deque<LiveState>()
    /// Doors that keep live states have everything up to this number.
    private var held: Int64 = 0
    private var clearances = Deque<Clearance>()

    var isSettled: Bool { states.isEmpty && clearances.isEmpty }

    /// - Parameters:
    ///   - states: Those that may be lacking, in order.
    ///   - number: What is held already.
    ///   - deleted: Datasets whose status may be held, in order.
    mutating func begin(_ states: [LiveState], holding number: Int64, deleted: [String]) {
        self.states = Deque(states)
        held = number
        clearances.removeAll { $0.topic == nil }
        clearances.prepend(contentsOf: deleted.map { Clearance(dataset: $0, topic: nil) })
    }

    /// These are to be reported again, too.
    mutating func add(_ states: some Sequence<LiveState>) { self.states.append(contentsOf: states) }

    /// A live state of a deleted dataset is to be cleared.
    mutating func clear(_ topic: String, of dataset: String) { clearances.append(Clearance(dataset: dataset, topic: topic)) }

    /// The status of a deleted dataset is to be cleared.
    mutating func clearStatus(of dataset: String) { clearances.prepend(Clearance(dataset: dataset, topic: nil)) }

    /// Clears up to so much of deleted datasets.
    ///
    /// - Parameter exists: Whether there is a dataset of a name again.
    /// - Returns: How much was looked at.
    mutating func continueClearing(count: Int, _ states: LiveStates, exists: (String) -> Bool, _ turn: inout Turn) -> Int {
        var done = 0
        while done < count, let clearance = clearances.popFirst() {
            done += 1
            if let topic = clearance.topic {
                // A dataset of this name made since may have a state on the topic.
                guard states[topic] == nil else { continue }
                turn.effects.output.append(.liveState, name: topic, payload: [])
                turn.keep(.forgetLiveState(dataset: clearance.dataset, topic: topic))
            } else if !exists(clearance.dataset) {
                turn.effects.output.append(.status, name: clearance.dataset, payload: [])
            }
        }
        return done
    }

    /// Reports up to so many states again.
    mutating func continueStates(count: Int, _ subscribers: LiveSubscribers, _ turn: inout Turn) {
        for _ in 0..<count {
            guard let state = states.popFirst() else { return }
            // Whose devices are known again later, its subscribers are judged by then.
            if state.dataset.isLoading {
                states.append(state)
            } else if state.isKnown {
                report(state, subscribers, &turn)
            }
        }
    }

    /// Reports a state again.
    func report(_ state: LiveState, _ subscribers: LiveSubscribers, _ turn: inout Turn) {
        let isOther = state.dataset.positionsChangedAt > held
        if !state.isPrivate {
            turn.effects.output.append(.liveState, name: state.topic, payload: state.payload ?? [])
        } else if isOther || state.wasPublicOnce {
            // It may be held from before it was private.
            turn.effects.output.append(.liveState, name: state.topic, payload: [])
        }
        subscribers.reportAgain(state, changedAfter: isOther ? .max : held, &turn)
    }
}
