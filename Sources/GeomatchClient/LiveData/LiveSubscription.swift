/// One live subscription of a ``LiveDataManager``.
public struct LiveSubscription: Sendable, Hashable, Identifiable {
    /// What ``LiveUpdate/subscriptionID`` names.
    public let id: String
    public let criteria: LiveCriteria
}
