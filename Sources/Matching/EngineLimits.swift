/// How much an engine remembers at most. What a meeting beyond would need is not remembered, so it is not made: it is reported as
/// ``Effect/capacityExceeded(_:)``, and the pair gets its next chance when it comes into range again or either side is updated.
public struct EngineLimits: Equatable, Sendable {
    /// Publications remembered for each subscription.
    public var partnersPerSubscription: Int
    /// Pairs remembered in all.
    public var pairs: Int

    public init(partnersPerSubscription: Int = 10_000, pairs: Int = 10_000_000) {
        self.partnersPerSubscription = partnersPerSubscription
        self.pairs = pairs
    }
}
