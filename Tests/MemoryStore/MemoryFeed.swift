import Records

/// The change feed of a store, in a few tables.
struct MemoryFeed {
    private struct Document {
        var dataset: String
        var type: String
        var id: String
        var seq: Int64
        /// The winner first.
        var leaves: [DocumentLeaf]
        var ancestors: Set<String> = []
        var owner: String?
        var reader: String?
        var buriedAt: Int64?

        /// Generations far behind are not remembered.
        mutating func add(ancestor: String) {
            ancestors.insert(ancestor)
            guard let generation = RevisionID(ancestor)?.generation, generation > 1000, generation % 64 == 0 else { return }
            ancestors = ancestors.filter { (RevisionID($0)?.generation ?? 0) >= generation - 1000 }
        }
    }

    private var documents = Rows<Document>()
    private var last: [String: Int64] = [:]
    private var purged: [String: Int64] = [:]

    // MARK: What changes

    mutating func enter(type: DocumentType, id: String, revision: String, owner: String?, reader: String?, in dataset: String) {
        guard let revision = RevisionID(revision) else { return }
        let leaf = DocumentLeaf(revision: revision, isDeleted: false)
        guard var known = documents[dataset, type.rawValue, id] else {
            documents[dataset, type.rawValue, id] = Document(
                dataset: dataset, type: type.rawValue, id: id, seq: nextSeq(dataset), leaves: [leaf], owner: owner, reader: reader
            )
            return
        }
        guard known.leaves[0].isDeleted || known.leaves[0].revision != revision else { return }
        known.add(ancestor: known.leaves[0].revision.text)
        known.leaves[0] = leaf
        (known.owner, known.reader, known.buriedAt, known.seq) = (owner, reader, nil, nextSeq(dataset))
        documents[dataset, type.rawValue, id] = known
    }

    mutating func bury(type: DocumentType, id: String, in dataset: String) {
        guard var known = documents[dataset, type.rawValue, id], !known.leaves[0].isDeleted,
            let tombstone = RevisionID(RevisionID.ofDeletion(after: known.leaves[0].revision.text))
        else { return }
        for leaf in known.leaves { known.add(ancestor: leaf.revision.text) }
        known.leaves = [DocumentLeaf(revision: tombstone, isDeleted: true)]
        (known.buriedAt, known.seq) = (nil, nextSeq(dataset))
        documents[dataset, type.rawValue, id] = known
    }

    mutating func put(_ record: DocumentRecord) {
        guard !record.leaves.isEmpty else { return }
        let known = documents[record.dataset, record.type, record.id]
        var document = Document(
            dataset: record.dataset, type: record.type, id: record.id, seq: nextSeq(record.dataset), leaves: record.leaves,
            ancestors: known?.ancestors ?? [], owner: record.owner, reader: record.reader)
        for index in record.leaves.indices where record.leaves[index].content == nil {
            let former = known?.leaves.first { $0.revision == record.leaves[index].revision }
            document.leaves[index].content = former?.content ?? []
        }
        if DocumentType(rawValue: record.type) != nil || record.leaves[0].isDeleted { document.leaves[0].content = nil }
        for revision in record.ancestors { document.add(ancestor: revision) }
        documents[record.dataset, record.type, record.id] = document
    }

    mutating func forgetTombstones(before instant: Int64, at now: Int64) {
        for var document in documents.all where document.leaves[0].isDeleted {
            if let buriedAt = document.buriedAt, buriedAt < instant {
                purged[document.dataset] = max(purged[document.dataset] ?? 0, document.seq)
                documents[document.dataset, document.type, document.id] = nil
            } else if document.buriedAt == nil {
                document.buriedAt = now
                documents[document.dataset, document.type, document.id] = document
            }
        }
    }

    mutating func deleteDataset(_ id: String) {
        documents.remove(id)
        (last[id], purged[id]) = (nil, nil)
    }

    private mutating func nextSeq(_ dataset: String) -> Int64 {
        last[dataset, default: 0] += 1
        return last[dataset, default: 0]
    }

    // MARK: Reading

    /// Documents that are no objects of ours, by dataset.
    var counts: [String: Int] {
        documents.all.reduce(into: [:]) { counts, document in
            if DocumentType(rawValue: document.type) == nil { counts[document.dataset, default: 0] += 1 }
        }
    }

    func page(_ query: FeedQuery) -> FeedPage {
        var page = FeedPage(
            last: last[query.dataset] ?? 0, purgedThrough: purged[query.dataset] ?? 0, rows: [], isPart: false)
        let visible = documents.of(query.dataset).filter {
            $0.seq > query.since && (query.reader == nil || $0.reader == nil || $0.reader == query.reader)
        }
        var bytes = 0
        for document in visible.sorted(by: { $0.seq < $1.seq }) {
            guard page.rows.count < query.limit, bytes < query.bytes else {
                page.isPart = true
                break
            }
            let winner = document.leaves[0]
            // An object of ours is counted as so many bytes.
            bytes += (winner.content?.count ?? 400) + document.id.utf8.count
            page.rows.append(
                FeedRow(
                    seq: document.seq, type: document.type, id: document.id, revision: winner.revision.text,
                    isDeleted: winner.isDeleted,
                    conflicts: document.leaves.dropFirst().filter { !$0.isDeleted }.map(\.revision.text),
                    content: winner.content))
        }
        return page
    }

    func document(_ lookup: DocumentLookup) -> KnownDocument? {
        documents[lookup.dataset, lookup.type, lookup.id].map { document in
            let hasContent = lookup.revisions.isEmpty || DocumentType(rawValue: lookup.type) != nil
            var leaves = document.leaves
            for index in leaves.indices where index == 0 || !hasContent { leaves[index].content = nil }
            return KnownDocument(
                owner: document.owner, reader: document.reader,
                history: DocumentHistory(leaves: leaves, ancestors: document.ancestors.intersection(lookup.revisions)))
        }
    }
}
