extension Engine {
    /// The visits of a subscription that are under way, in order of the publications' numbers.
    public func visits(of s: SubscriptionRef) -> [Visit] {
        guard isAlive(s) else { return [] }
        return []
    }

    /// Restores a visit that is under way, silently. Nothing happens unless the subscription is of mode `visit`.
    ///
    /// - Parameter since: When it began, milliseconds since 1970 UTC.
    public func restoreVisit(_ s: SubscriptionRef, _ p: PublicationRef, since: Int64, at now: Int64) {
        guard isAlive(s), isAlive(p) else { return }
    }

    /// Takes up work after a restart, once everything is restored: what is in range of a subscription of mode `visit` and has
    /// no visit begins its stay now, or its visit where `dwell` is 0.
    public func resume(at now: Int64, into effects: inout [Effect]) {
    }
}
