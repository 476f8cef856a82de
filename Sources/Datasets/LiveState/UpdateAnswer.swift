import Wire

/// What became of a live update, for a sender who waits to hear it.
public enum UpdateAnswer: Equatable, Sendable {
    /// The state of the topic is of this instant; where the update was late, it is an earlier one's.
    case known(topic: String, timestamp: Int64, isLate: Bool, isSkewed: Bool)
    case refused(WireError)
    /// The dataset takes nothing in at present: the update had no effect and can come again.
    case suspended
}

/// What is noted of the one update whose sender waits.
struct AnsweredUpdate {
    var topic: String?
    var timestamp: Int64?
    var isLate = false
    var isSkewed = false
    var error: WireError?

    mutating func note(_ outcome: UpdateCounters.Outcome, of state: LiveState) {
        topic = state.topic
        if state.isKnown { timestamp = state.timestamp }
        isLate = outcome == .late
    }
}
