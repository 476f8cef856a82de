import Records

/// Something about the journal that an operator should know; each is told once an episode.
public enum JournalEvent: Equatable, Sendable {
    /// The store refuses to be written. What waits is kept and tried again each second.
    case failing(StoreError)
    /// The store can be written again, after so many seconds.
    case recovered(waited: Double)
    /// The journal has ended; so many changes could not be written and are lost.
    case closed(unwritten: Int)
}

/// Something the journal has done; taken with ``Journal/collect()``.
public enum JournalCompletion: Equatable, Sendable {
    /// The changes appended with this token are durable.
    case durable(UInt64)
    /// The answer to the read with this token.
    case answer(UInt64, StoreAnswer)
}

/// What a read found.
public enum StoreAnswer: Equatable, Sendable {
    case matches([MatchRecord])
    /// The match to begin after is not among the newest hundred of its device.
    case noSuchMatch
    case match(MatchRecord?)
    case feed(FeedPage)
    case document(KnownDocument?)
    /// The store could not be read; the journal tells why where it lasts.
    case failed
}
