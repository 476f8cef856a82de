/// What a read of the store found.
public enum StoreAnswer: Equatable, Sendable {
    case matches([MatchRecord])
    /// The match to begin after is not among the newest hundred of its device.
    case noSuchMatch
    case match(MatchRecord?)
    case feed(FeedPage)
    /// In the order asked; nil for those there are none of.
    case documents([KnownDocument?])
    /// The store could not be read; the journal reports why where it lasts.
    case failed
}
