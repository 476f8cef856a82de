import DequeModule

/// The cleared live states of a dataset, oldest first: remembered for thirty days, and no more of them than the dataset
/// may have topics, or a stream of topics reported and cleared would fill the memory.
struct ClearedStates {
    /// Stale where the state has another number by now.
    private var order = Deque<(state: LiveState, number: Int64)>()
    private(set) var count = 0

    /// The state was just cleared.
    ///
    /// - Parameter again: It was cleared before.
    mutating func append(_ state: LiveState, again: Bool) {
        order.append((state, state.number))
        if !again { count += 1 }
        if order.count > 2 * count + 1024 { order.removeAll { !Self.isCurrent($0) } }
    }

    /// Something is known again of a state that was cleared.
    mutating func revoke() { count -= 1 }

    /// Takes out the oldest where it is older than an instant, or one too many.
    mutating func popOldest(clearedBefore instant: Int64, maximum: Int) -> LiveState? {
        while let first = order.first {
            guard Self.isCurrent(first) else {
                order.removeFirst()
                continue
            }
            guard count > maximum || first.state.receivedAt < instant else { return nil }
            order.removeFirst()
            count -= 1
            return first.state
        }
        return nil
    }

    /// What was restored came in no order.
    mutating func sort() {
        order = Deque(order.sorted { ($0.state.receivedAt, $0.number) < ($1.state.receivedAt, $1.number) })
    }

    private static func isCurrent(_ entry: (state: LiveState, number: Int64)) -> Bool {
        entry.state.number == entry.number && entry.state.payload == nil && entry.state.isKnown
    }
}
