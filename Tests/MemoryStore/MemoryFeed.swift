import Datasets
import Records

/// The change feed of a store, in a few tables.
struct MemoryFeed {
    private struct Key: Hashable {
        var dataset: String
        var type: [UInt8]
        var id: [UInt8]

        init(_ dataset: String, _ type: String, _ id: String) {
            (self.dataset, self.type, self.id) = (dataset, Array(type.utf8), Array(id.utf8))
        }
    }

    private struct Document {
        var type: String
        var id: String
        var seq: Int64
        /// The winner first.
        var leaves: [DocumentLeaf]
        var ancestors: Set<String> = []
        var owner: String?
        var reader: String?
        var buriedAt: Int64?
    }

    private var documents: [Key: Document] = [:]
    private var last: [String: Int64] = [:]
    private var purged: [String: Int64] = [:]
    private(set) var followers: [FollowerRecord] = []

    // MARK: What changes

    mutating func enter(type: DocumentType, id: String, revision: String, owner: String?, reader: String?, in dataset: String) {
        guard let revision = RevisionID(revision) else { return }
        let leaf = DocumentLeaf(revision: revision, isDeleted: false)
        let key = Key(dataset, type.rawValue, id)
        guard var known = documents[key] else {
            documents[key] = Document(
                type: type.rawValue, id: id, seq: nextSeq(dataset), leaves: [leaf], owner: owner, reader: reader)
            return
        }
        guard known.leaves[0].isDeleted || known.leaves[0].revision != revision else { return }
        known.ancestors.insert(known.leaves[0].revision.text)
        known.leaves[0] = leaf
        (known.owner, known.reader, known.buriedAt, known.seq) = (owner, reader, nil, nextSeq(dataset))
        documents[key] = known
    }

    mutating func bury(type: DocumentType, id: String, in dataset: String) {
        let key = Key(dataset, type.rawValue, id)
        guard var known = documents[key], !known.leaves[0].isDeleted,
            let tombstone = RevisionID(RevisionID.ofDeletion(after: known.leaves[0].revision.text))
        else { return }
        known.ancestors.formUnion(known.leaves.map(\.revision.text))
        known.leaves = [DocumentLeaf(revision: tombstone, isDeleted: true)]
        (known.buriedAt, known.seq) = (nil, nextSeq(dataset))
        documents[key] = known
    }

    mutating func put(_ record: DocumentRecord) {
        let key = Key(record.dataset, record.type, record.id)
        var leaves = record.leaves
        for index in leaves.indices where leaves[index].content == nil {
            leaves[index].content = documents[key]?.leaves.first { $0.revision == leaves[index].revision }?.content
        }
        if DocumentType(rawValue: record.type) != nil || leaves[0].isDeleted { leaves[0].content = nil }
        let ancestors = (documents[key]?.ancestors ?? []).union(record.ancestors)
        documents[key] = Document(
            type: record.type, id: record.id, seq: nextSeq(record.dataset), leaves: leaves, ancestors: ancestors,
            owner: record.owner, reader: record.reader)
    }

    mutating func forgetTombstones(before instant: Int64, at now: Int64) {
        for (key, document) in documents where document.leaves[0].isDeleted {
            if let buriedAt = document.buriedAt, buriedAt < instant {
                purged[key.dataset] = max(purged[key.dataset] ?? 0, document.seq)
                documents[key] = nil
            } else if document.buriedAt == nil {
                documents[key]?.buriedAt = now
            }
        }
    }

    mutating func put(_ record: FollowerRecord) {
        deleteFollower(record.dataset, record.client)
        followers.append(record)
    }

    mutating func deleteFollower(_ dataset: String, _ client: String) {
        followers.removeAll { $0.dataset == dataset && $0.client == client }
    }

    mutating func deleteDataset(_ id: String) {
        documents = documents.filter { $0.key.dataset != id }
        (last[id], purged[id]) = (nil, nil)
        followers.removeAll { $0.dataset == id }
    }

    private mutating func nextSeq(_ dataset: String) -> Int64 {
        last[dataset, default: 0] += 1
        return last[dataset, default: 0]
    }

    // MARK: Reading

    /// Documents that are no objects of ours, by dataset.
    var counts: [String: Int] {
        documents.reduce(into: [:]) { counts, entry in
            if DocumentType(rawValue: entry.value.type) == nil { counts[entry.key.dataset, default: 0] += 1 }
        }
    }

    func page(_ query: FeedQuery) -> FeedPage {
        var page = FeedPage(
            last: last[query.dataset] ?? 0, purgedThrough: purged[query.dataset] ?? 0, rows: [], isPart: false)
        let visible = documents.filter { key, document in
            key.dataset == query.dataset && document.seq > query.since
                && (query.reader == nil || document.reader == nil || document.reader == query.reader)
        }
        for document in visible.values.sorted(by: { $0.seq < $1.seq }) {
            guard page.rows.count < query.limit else {
                page.isPart = true
                break
            }
            page.rows.append(
                FeedRow(
                    seq: document.seq, type: document.type, id: document.id, revision: document.leaves[0].revision.text,
                    isDeleted: document.leaves[0].isDeleted,
                    conflicts: document.leaves.dropFirst().filter { !$0.isDeleted }.map(\.revision.text),
                    content: document.leaves[0].content))
        }
        return page
    }

    func document(_ lookup: DocumentLookup) -> KnownDocument? {
        documents[Key(lookup.dataset, lookup.type, lookup.id)].map {
            KnownDocument(
                owner: $0.owner, reader: $0.reader,
                history: DocumentHistory(leaves: $0.leaves, ancestors: $0.ancestors.intersection(lookup.revisions)))
        }
    }
}
