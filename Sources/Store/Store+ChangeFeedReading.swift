import GRDB
import Records

// The change feed as it is read: pages, documents with their leaves, followers.

extension Store {
    /// How many documents of each owner there are that are no objects of ours: a bound for who writes them.
    static func restoreDocumentCounts(
        _ db: Database, of dataset: String?, _ visit: (DurableChange) throws -> Void
    ) throws {
        let ours = DocumentType.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
        // By the index, which has none of the millions of places.
        try db.rows(
            """
            SELECT dataset, owner, count(*) FROM document WHERE \(scope) AND type NOT IN (\(ours)) AND byPlace = 0 \
            AND dataset NOT IN (SELECT dataset FROM condemned) GROUP BY dataset, owner
            """,
            dataset
        ) { row in
            try visit(.countDocuments(dataset: row.text(0), owner: row.optionalText(1), row.int(2)))
        }
    }

    private static func isPendingPurge(_ dataset: String, _ db: Database) throws -> Bool {
        var isPendingPurge = false
        try db.rows("SELECT 1 FROM condemned WHERE dataset = ?", dataset) { _ in isPendingPurge = true }
        return isPendingPurge
    }

    // MARK: Pages and documents

    /// A page of a dataset's feed; one row's content is in memory beyond what is asked for.
    public func feedPage(_ query: FeedQuery) throws(StoreError) -> FeedPage {
        try read { db in
            var page = FeedPage(last: 0, purgedThrough: 0, rows: [], isPart: false)
            guard try !Self.isPendingPurge(query.dataset, db) else { return page }
            try db.rows("SELECT last, purgedThrough FROM feed WHERE dataset = ?", query.dataset) {
                page.last = $0.int64(0)
                page.purgedThrough = $0.int64(1)
            }
            if let end = query.countsSharedUnlessAt, end != page.last {
                page.sharedCount = try Self.count(of: query.dataset, reader: query.reader == nil ? nil : "", db)
            }
            if query.countsOwn, let reader = query.reader {
                page.ownCount = try Self.count(of: query.dataset, reader: reader, db)
            }
            var bytes = 0
            let visit = { (row: Columns) in
                try page.add(
                    FeedRow(row, losers: try Self.losers(of: row.int64(0), db)), within: query, &bytes)
            }
            let columns = "SELECT row, seq, type, id, revision, deleted, content FROM document WHERE dataset = ?1"
            let limit = query.limit + 1
            if let reader = query.reader {
                // Two runs of an index, merged.
                let sql = """
                    \(columns) AND reader = '' AND seq > ?2 UNION ALL \(columns) AND reader = ?3 AND seq > ?2 ORDER BY seq LIMIT ?4
                    """
                try db.rows(sql, query.dataset, query.since, reader, limit, visit: visit)
            } else {
                try db.rows("\(columns) AND seq > ?2 ORDER BY seq LIMIT ?3", query.dataset, query.since, limit, visit: visit)
            }
            return page
        }
    }

    /// - Parameter reader: Of whose documents; nil: of all.
    private static func count(of dataset: String, reader: String?, _ db: Database) throws -> FeedCount {
        var count = FeedCount(live: 0, deleted: 0)
        let sql = "SELECT deleted, count(*) FROM document WHERE dataset = ?1"
        let visit = { (row: Columns) in
            if row.flag(0) { count.deleted += row.int(1) } else { count.live += row.int(1) }
        }
        if let reader {
            try db.rows("\(sql) AND reader = ?2 GROUP BY deleted", dataset, reader, visit: visit)
        } else {
            try db.rows("\(sql) GROUP BY deleted", dataset, visit: visit)
        }
        return count
    }

    /// What is known of documents, in the order asked; nil where there is none.
    public func documents(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?] {
        do {
            return try placeSnapshot { db, places in
                var budget = ContentBudget()
                return try lookups.map { try Self.document($0, db, places, &budget) }
            }
        } catch {
            throw StoreError(error)
        }
    }

    private static func document(
        _ lookup: DocumentLookup, _ db: Database, _ places: PlaceRows, _ budget: inout ContentBudget
    ) throws -> KnownDocument? {
        let key = DocumentName(lookup.dataset, lookup.type, lookup.id)
        guard !places.pendingPurge.contains(lookup.dataset), let known = try row(of: key, db, places) else { return nil }
        var found: (row: Int64, owner: String?, reader: String, winner: DocumentLeaf, seq: Int64)?
        try db.rows("SELECT row, owner, reader, revision, deleted, seq, content FROM document WHERE row = ?", known.row) { row in
            guard let revision = RevisionID(row.text(3)) else { throw StoreError.corrupt }
            let content = row.content(6, ofWinner: true, revision, lookup, &budget)
            let winner = DocumentLeaf(revision: revision, isDeleted: row.flag(4), content: content)
            found = (row.int64(0), row.optionalText(1), row.text(2), winner, row.int64(5))
        }
        guard let found else { return nil }
        var ancestors: Set<String> = []
        for revision in lookup.revisions {
            try db.rows(
                "SELECT 1 FROM ancestor WHERE document = ? AND generation = ? AND revision = ?", found.row,
                RevisionID(revision)?.generation ?? 0, revision
            ) { _ in ancestors.insert(revision) }
        }
        var links: Set<RevisionLink> = []
        if lookup.wantsLinks {
            try db.rows("SELECT revision, child FROM ancestor WHERE document = ? AND child <> ''", found.row) {
                links.insert(RevisionLink($0.text(1), from: $0.text(0)))
            }
        }
        let losers = try losers(of: found.row, db) { $0.content(2, ofWinner: false, $1, lookup, &budget) }
        return KnownDocument(
            owner: found.owner, reader: found.reader.isEmpty ? nil : found.reader,
            history: DocumentHistory(leaves: [found.winner] + losers, ancestors: ancestors, links: links), seq: found.seq)
    }

    private static func losers(
        of row: Int64, _ db: Database, content: (Columns, RevisionID) -> [UInt8]? = { _, _ in nil }
    ) throws -> [DocumentLeaf] {
        var losers: [DocumentLeaf] = []
        try db.rows("SELECT revision, deleted, content FROM leaf WHERE document = ?", row) { row in
            guard let revision = RevisionID(row.text(0)) else { throw StoreError.corrupt }
            losers.append(DocumentLeaf(revision: revision, isDeleted: row.flag(1), content: content(row, revision)))
        }
        return losers.sorted { $0.wins(over: $1) }
    }
}

extension FeedRow {
    fileprivate init(_ row: Columns, losers: [DocumentLeaf]) {
        self.init(
            seq: row.int64(1), type: row.text(2), id: row.text(3), revision: row.text(4), isDeleted: row.flag(5),
            losers: losers, content: row.optionalBytes(6))
    }
}

extension Columns {
    /// What a leaf says, where that is wanted.
    fileprivate func content(
        _ column: Int32, ofWinner isWinner: Bool, _ revision: RevisionID, _ lookup: DocumentLookup, _ budget: inout ContentBudget
    ) -> [UInt8]? {
        guard lookup.wantsContent(of: revision, isWinner: isWinner, within: &budget, count(column)) else { return nil }
        return isWinner ? optionalBytes(column) : bytes(column)
    }
}
