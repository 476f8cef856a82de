import Records

/// Something about the journal that an operator should know; each is reported once an episode.
public enum JournalEvent: Equatable, Sendable {
    /// The store refuses to be written. What waits is kept and tried again each second.
    case failing(StoreError)
    /// The store can be written again, after so many seconds.
    case recovered(waited: Double)
    /// The journal has ended; so many changes could not be written and are lost.
    case closed(unwritten: Int)
}

/// Something the journal has done; returned by ``Journal/collect()``.
public enum JournalCompletion: Equatable, Sendable {
    /// Everything appended up to this token is durable.
    case durable(through: UInt64)
    /// Nothing appended from this token on is kept, and nothing will be until ``Journal/resume(afterRefusal:)``.
    case refused(from: UInt64, StoreError)
    /// The answer to the read with this token.
    case answer(UInt64, StoreAnswer)
}

extension StoreAnswer {
    /// About how much memory it takes.
    var bytes: Int {
        switch self {
        case .matches(let matches): matches.reduce(0) { $0 + $1.body.count + Self.rowBytes }
        case .match(let match): (match?.body.count ?? 0) + Self.rowBytes
        case .feed(let page): page.rows.reduce(0) { $0 + ($1.content?.count ?? 0) + Self.rowBytes }
        case .documents(let documents): documents.reduce(0) { $0 + Self.bytes(of: $1) }
        case .noSuchMatch, .failed: Self.rowBytes
        }
    }

    private static let rowBytes = 200

    private static func bytes(of document: KnownDocument?) -> Int {
        (document?.history.leaves ?? []).reduce(rowBytes) { $0 + ($1.content?.count ?? 0) + rowBytes }
    }
}
