/// What of a document's row in the feed decides what becomes of it.
package struct KnownRevision {
    package var text: String
    package var isDeleted: Bool

    package init(_ text: String, isDeleted: Bool) {
        self.text = text
        self.isDeleted = isDeleted
    }
}

/// What becomes of a document's row, which gets the next `seq` of its dataset.
package struct DocumentUpdate {
    package var revision: String
    package var isDeleted = false
    /// Who has it and who may read it beside administrators, nil for everybody; without both, they stay.
    package var people: (owner: String?, reader: String?)?
    /// What the revision was made from.
    package var parent: String?
    /// Live leaves that lost and are deleted, too: the revision, and that of its deletion.
    package var buried: [RevisionLink] = []
}

/// The rules of the change feed, for every store.
package enum FeedRules {
    /// An object of ours has a revision from now on.
    ///
    /// - Parameter known: What is known of its document; nil: nothing.
    /// - Returns: nil where nothing changes: it is the winner already, or it is none that a feed has.
    package static func entering(
        _ revision: String, owner: String?, reader: String?, over known: KnownRevision?
    ) -> DocumentUpdate? {
        guard RevisionID(revision) != nil else { return nil }
        var update = DocumentUpdate(revision: revision, people: (owner, reader))
        if let known {
            guard known.isDeleted || !known.text.hasSameBytes(as: revision) else { return nil }
            update.parent = known.text
        }
        return update
    }

    /// An object of ours is gone.
    ///
    /// - Parameter losers: The revisions of its other leaves that are live. They are deleted with it: who has one of them as a leaf would
    ///   otherwise see it win.
    /// - Returns: nil where it is deleted already, or never was.
    package static func burying(_ known: KnownRevision?, losers: [String]) -> DocumentUpdate? {
        guard let known, !known.isDeleted else { return nil }
        return DocumentUpdate(
            revision: RevisionID.ofDeletion(after: known.text), isDeleted: true, parent: known.text,
            buried: losers.map { RevisionLink(RevisionID.ofDeletion(after: $0), from: $0) })
    }

    /// Generations so far behind are not remembered: one that comes again is a conflict that loses.
    private static let generationsKept: Int64 = 1000

    /// Below which generation ancestors are forgotten once one of a generation is added; nil: none now.
    package static func forgottenGenerations(adding ancestor: String) -> Int64? {
        guard let generation = RevisionID(ancestor)?.generation, generation > generationsKept, generation % 64 == 0 else {
            return nil
        }
        return generation - generationsKept
    }
}

extension DocumentRecord {
    /// The content that its row has: objects of ours have theirs in their own rows.
    package func content(ofWinner content: [UInt8]) -> [UInt8]? {
        DocumentType(rawValue: type) != nil || leaves[0].isDeleted ? nil : content
    }
}

extension DocumentLookup {
    /// Whether it is wanted what a leaf says.
    package func wantsContent(of revision: RevisionID, isWinner: Bool, within budget: inout ContentBudget, _ bytes: Int) -> Bool {
        switch reading {
        case .leaves: false
        case .contents: (revisions.isEmpty || revisions.contains(revision.text)) && budget.add(bytes)
        // What is pushed of a document that is not ours changes nothing of what is stored of its other leaves.
        case nil: !isWinner && (revisions.isEmpty || DocumentType(rawValue: type) != nil)
        }
    }
}

extension FeedPage {
    /// About what an object of ours comes to as JSON.
    private static let objectBytes = 400

    /// Adds a row where there is room for it.
    ///
    /// - Parameter bytes: What the rows of the page come to.
    package mutating func add(_ row: @autoclosure () throws -> FeedRow, within query: FeedQuery, _ bytes: inout Int) rethrows {
        guard rows.count < query.limit, bytes < query.bytes else {
            isPart = true
            return
        }
        let row = try row()
        bytes += (row.content?.count ?? Self.objectBytes) + row.id.utf8.count
        rows.append(row)
    }
}
