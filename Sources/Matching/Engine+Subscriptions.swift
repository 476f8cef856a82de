import Geodesy
import Selectors

extension Engine {
    /// Adds a subscription to a device and evaluates it.
    ///
    /// - Parameter range: Metres, 0…5120; what lies outside counts as the nearest.
    /// - Parameter expiresAt: The first instant at which it no longer lives; `Int64.max`: never.
    /// - Parameter evaluate: false restores: whatever it would meet now is met only when its device or the other's moves, and
    ///   its mismatches count as reported.
    public func addSubscription(
        on d: DeviceRef, topic: String, range: Double, expiresAt: Int64, selector: Selector, options: MatchOptions,
        at now: Int64, evaluate: Bool = true, into effects: inout [Effect]
    ) -> SubscriptionRef {
        let program = state.pointee.programs.intern(selector)
        let index = state.pointee.add(
            .subscription, on: d.index, topic: topic, range: range, expiresAt: expiresAt, program: program,
            rule: Rule(options))
        if !evaluate { state.pointee.subscriptions[index].entry.traits &= 0x80 }
        complete(.subscription, index, evaluate, at: now, into: &effects)
        return SubscriptionRef(index: index)
    }

    /// Removes a subscription; its visits end (`deleted`). Nothing happens where it is gone already.
    public func removeSubscription(_ s: SubscriptionRef, at now: Int64, into effects: inout [Effect]) {
        guard isAlive(s) else { return }
        state.pointee.endVisits(.subscription, s.index, .deleted, at: now)
        state.pointee.finish(into: &effects)
        state.pointee.remove(.subscription, s.index)
    }

    /// Replaces everything of a subscription but its device, and evaluates it. What is remembered of its pairs stays, but
    /// visits that it makes impossible end (`left`), and another mode starts afresh: all visits end, last matches are forgotten.
    ///
    /// - Parameter evaluate: false restores: what that changes is found when its device or another one moves.
    public func update(
        _ s: SubscriptionRef, topic: String, range: Double, expiresAt: Int64, selector: Selector, options: MatchOptions,
        at now: Int64, evaluate: Bool = true, into effects: inout [Effect]
    ) {
        guard isAlive(s) else { return }
        if state.pointee.subscriptions[s.index].isVisit != (options.mode == .visit) {
            if evaluate { state.pointee.forgetPairs(of: s.index, at: now) } else { forgetPairs(.subscription, s.index) }
        }
        let program = state.pointee.programs.intern(selector)
        state.pointee.programs.release(state.pointee.subscriptions[s.index].program)
        state.pointee.subscriptions[s.index].program = program
        state.pointee.change(
            .subscription, s.index, topic: topic, range: range, expiresAt: expiresAt,
            rule: Rule(options))
        guard evaluate else { return state.pointee.lowerBudget(state.pointee.subscriptions[s.index].device, to: 0) }
        state.pointee.revise(.subscription, s.index, at: now)
        state.pointee.probeAll(.subscription, s.index, at: now)
        state.pointee.finish(into: &effects)
    }

    /// Its device. The reference must be alive.
    public func device(of s: SubscriptionRef) -> DeviceRef {
        DeviceRef(index: state.pointee.subscriptions[s.index].device)
    }

    func isAlive(_ s: SubscriptionRef) -> Bool {
        Int(s.index) < state.pointee.subscriptions.used && state.pointee.subscriptions[s.index].isAlive
    }
}
