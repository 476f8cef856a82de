/// A document as the local store has it: the daemon's, with what was written here on top.
public struct OfflineDocument: Sendable, Equatable {
    /// `device`, `publication`, `subscription`, `place` and other types of the daemon, or any of yours.
    public let type: String
    public let id: String
    /// `N-hash`; it changes with each edit.
    public let revision: String
    /// Everything else.
    public let members: [String: PropertyValue]
    /// Written here, and not yet with the daemon.
    public let isPending: Bool
    /// Revisions that lost against this one and are kept by the daemon, best first.
    public let conflicts: [String]

    /// One member.
    public subscript(key: String) -> PropertyValue? { members[key] }
}

/// One document changed, here or there.
public struct OfflineChange: Sendable, Equatable {
    /// Where the change comes from.
    public enum Source: Sendable, Equatable {
        /// A write of this program.
        case local
        /// The daemon's feed.
        case remote
        /// The daemon refused what was written here: the document is what it was.
        case reverted
    }

    public let type: String
    public let id: String
    /// The revision it has now.
    public let revision: String
    public let isDeleted: Bool
    public let isInConflict: Bool
    public let source: Source
}

/// What the daemon did not take.
public struct OfflineRefusal: Sendable, Equatable {
    public let type: String
    public let id: String
    public let revision: String
    /// As it was written; empty for a deletion.
    public let members: [String: PropertyValue]
    public let error: GeomatchError
}

/// A document with revisions that lost against it.
public struct OfflineConflict: Sendable, Equatable {
    public let winner: OfflineDocument
    /// Live ones, best first.
    public let others: [OfflineDocument]

    /// What becomes of it.
    public enum Resolution: Sendable {
        /// The winner stays, the others are deleted.
        case keepWinner
        /// A document made of all of them; the others are deleted.
        case merge([String: PropertyValue])
        /// Nothing for now: the others stay beside the winner.
        case leave
    }
}
