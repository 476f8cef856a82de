/// One live subscription of a ``LiveDataManager``.
public struct LiveSubscription: Sendable, Hashable, Identifiable {
    /// What ``LiveUpdate/subscriptionID`` names.
    public let id: String
    public let criteria: LiveCriteria
    /// What was hardly meant so, as the daemon said when the subscription was made: `latitde` is no property of a known domain.
    public internal(set) var hints: [String] = []
}
