import Records

/// The change feed of a store, in a few tables.
struct MemoryFeed {
    fileprivate struct Document {
        var dataset: String
        var type: String
        var id: String
        var seq: Int64
        /// The winner first.
        var leaves: [DocumentLeaf]
        var ancestors: Set<String> = []
        var links: Set<RevisionLink> = []
        var owner: String?
        var reader: String?
        var buriedAt: Int64?

        var key: RowKey { [.text(dataset), .text(type), .text(id)] }

        var known: KnownRevision { KnownRevision(leaves[0].revision.text, isDeleted: leaves[0].isDeleted) }

        mutating func add(ancestor: String) {
            ancestors.insert(ancestor)
            guard let generation = FeedRules.forgottenGenerations(adding: ancestor) else { return }
            ancestors = ancestors.filter { (RevisionID($0)?.generation ?? 0) >= generation }
            links = links.filter { (RevisionID($0.parent)?.generation ?? 0) >= generation }
        }

        mutating func add(_ link: RevisionLink) {
            links.insert(link)
            add(ancestor: link.parent)
        }
    }

    private var documents = Rows<Document>()
    private var last: [String: Int64] = [:]
    private var purged: [String: Int64] = [:]

    // MARK: What changes

    mutating func enter(_ entry: FeedEntry, in dataset: String) {
        guard case .object(let type, let id, let revision, let owner, let reader) = entry else { return }
        let known = documents[[.text(dataset), .text(type.rawValue), .text(id)]]
        guard let update = FeedRules.entering(revision, owner: owner, reader: reader, over: known?.known) else { return }
        let fresh = Document(
            dataset: dataset, type: type.rawValue, id: id, seq: 0, leaves: [], ancestors: [], owner: owner, reader: reader)
        write(update, to: known ?? fresh)
    }

    mutating func bury(type: DocumentType, id: String, in dataset: String) {
        guard let known = documents[[.text(dataset), .text(type.rawValue), .text(id)]],
            let update = FeedRules.burying(
                known.known, losers: known.leaves.dropFirst().filter { !$0.isDeleted }.map(\.revision.text))
        else { return }
        write(update, to: known)
    }

    private mutating func write(_ update: DocumentUpdate, to document: Document) {
        guard let revision = RevisionID(update.revision) else { return }
        var document = document
        if let parent = update.parent { document.add(RevisionLink(update.revision, from: parent)) }
        var losers = Array(document.leaves.dropFirst())
        for link in update.buried {
            losers.removeAll { $0.revision.text == link.parent || $0.revision.text == link.child }
            if let child = RevisionID(link.child) { losers.append(DocumentLeaf(revision: child, isDeleted: true, content: [])) }
            document.add(link)
        }
        document.leaves = [DocumentLeaf(revision: revision, isDeleted: update.isDeleted)] + losers.sorted { $0.wins(over: $1) }
        if let people = update.people { (document.owner, document.reader) = people }
        (document.buriedAt, document.seq) = (nil, nextSeq(document.dataset))
        documents[document.key] = document
    }

    mutating func put(_ record: DocumentRecord) {
        guard !record.leaves.isEmpty else { return }
        let known = documents[[.text(record.dataset), .text(record.type), .text(record.id)]]
        var document = Document(
            dataset: record.dataset, type: record.type, id: record.id, seq: nextSeq(record.dataset), leaves: record.leaves,
            ancestors: known?.ancestors ?? [], links: known?.links ?? [], owner: record.owner, reader: record.reader)
        for index in record.leaves.indices where record.leaves[index].content == nil {
            let former = known?.leaves.first { $0.revision == record.leaves[index].revision }
            document.leaves[index].content = former?.content ?? []
        }
        document.leaves[0].content = record.content(ofWinner: document.leaves[0].content ?? [])
        for link in record.links { document.add(link) }
        for revision in record.ancestors { document.add(ancestor: revision) }
        documents[document.key] = document
    }

    mutating func forgetTombstones(before instant: Int64, at now: Int64) {
        for var document in documents.all where document.leaves[0].isDeleted {
            if let buriedAt = document.buriedAt, buriedAt < instant {
                purged[document.dataset] = max(purged[document.dataset] ?? 0, document.seq)
                documents[document.key] = nil
            } else if document.buriedAt == nil {
                document.buriedAt = now
                documents[document.key] = document
            }
        }
    }

    mutating func deleteDataset(_ id: String) {
        documents.remove { $0.dataset.hasSameBytes(as: id) }
        (last[id], purged[id]) = (nil, nil)
    }

    private mutating func nextSeq(_ dataset: String) -> Int64 {
        last[dataset, default: 0] += 1
        return last[dataset, default: 0]
    }

    // MARK: Reading

    /// Documents that are no objects of ours, by dataset and owner.
    var counts: [String: [String?: Int]] {
        documents.all.reduce(into: [:]) { counts, document in
            if DocumentType(rawValue: document.type) == nil {
                counts[document.dataset, default: [:]][document.owner, default: 0] += 1
            }
        }
    }

    func page(_ query: FeedQuery) -> FeedPage {
        var page = FeedPage(
            last: last[query.dataset] ?? 0, purgedThrough: purged[query.dataset] ?? 0, rows: [], isPart: false)
        let visible = documents.filter {
            $0.dataset.hasSameBytes(as: query.dataset) && $0.seq > query.since
                && (query.reader == nil || $0.reader == nil || $0.reader == query.reader)
        }
        if let end = query.countsSharedUnlessAt, end != page.last {
            page.sharedCount = count(of: query.dataset) { query.reader == nil || $0.reader == nil }
        }
        if query.countsOwn, let reader = query.reader { page.ownCount = count(of: query.dataset) { $0.reader == reader } }
        var bytes = 0
        for document in visible.sorted(by: { $0.seq < $1.seq }) { page.add(FeedRow(document), within: query, &bytes) }
        return page
    }

    private func count(of dataset: String, _ isSeen: (Document) -> Bool) -> FeedCount {
        let seen = documents.filter { $0.dataset.hasSameBytes(as: dataset) && isSeen($0) }
        let deleted = seen.count { $0.leaves[0].isDeleted }
        return FeedCount(live: seen.count - deleted, deleted: deleted)
    }

    func document(_ lookup: DocumentLookup, _ budget: inout ContentBudget) -> KnownDocument? {
        documents[[.text(lookup.dataset), .text(lookup.type), .text(lookup.id)]].map { document in
            var leaves = document.leaves
            for index in leaves.indices {
                let (leaf, bytes) = (leaves[index], leaves[index].content?.count ?? 0)
                let isWanted = lookup.wantsContent(of: leaf.revision, isWinner: index == 0, within: &budget, bytes)
                if !isWanted { leaves[index].content = nil }
            }
            return KnownDocument(
                owner: document.owner, reader: document.reader,
                history: DocumentHistory(
                    leaves: leaves, ancestors: document.ancestors.intersection(lookup.revisions),
                    links: lookup.wantsLinks ? document.links : []),
                seq: document.seq)
        }
    }
}

extension FeedRow {
    fileprivate init(_ document: MemoryFeed.Document) {
        let winner = document.leaves[0]
        self.init(
            seq: document.seq, type: document.type, id: document.id, revision: winner.revision.text, isDeleted: winner.isDeleted,
            losers: document.leaves.dropFirst().map { DocumentLeaf(revision: $0.revision, isDeleted: $0.isDeleted) },
            content: winner.content)
    }
}
