import LiveTopics
import Records
import Wire

// changes/documents: documents with all their leaves, and which revisions those were made from

extension ChangeFeed {
    private static let documentsMaximum = 1000
    /// Of one document that are asked for whether they are known.
    private static let revisionsMaximum = 1000

    func documents(_ call: Call) throws(WireError) -> Outcome {
        let withContent = try call.parameters.optionalBool("content") ?? true
        var lookups: [DocumentLookup] = []
        for (index, value) in try call.parameters.array("docs", count: 1...Self.documentsMaximum).enumerated() {
            guard let object = value.asObject, let type = object["type"]?.asString, let id = object["id"]?.asString else {
                throw WireError(.invalid, "`docs[\(index)]` must be an object with `type` and `id`", field: "docs")
            }
            var lookup = DocumentLookup(
                dataset: call.dataset.id, type: type, id: documentID(of: type, id, call), revisions: [])
            if let revision = object["revision"]?.asString {
                lookup.revisions = [revision]
            } else if let revisions = object["revisions"]?.asArray?.compactMap(\.asString) {
                lookup.revisions = revisions.prefix(Self.revisionsMaximum).filter { RevisionID($0) != nil }
            }
            lookup.wantsLinks = object["revisions"] == nil
            lookup.reading = withContent ? .contents : .leaves
            lookups.append(lookup)
        }
        return .query(.documents(lookups), .documents(content: withContent))
    }

    /// What the feed knows a document by: geofences by their paths. One's own go by their ids, those of others by their paths.
    func documentID(of type: String, _ id: String, _ call: Call) -> String {
        guard type == DocumentType.geofence.rawValue else { return id }
        let own = GeofenceRecord.path(call.client.name, id)
        if call.dataset.geofences[path: id] != nil { return id }
        guard call.client.isAdministrator, call.dataset.geofences[path: own] == nil else { return own }
        return id.utf8.contains(UInt8(ascii: "/")) ? id : own
    }

    /// `{"storeId","docs":[…]}`, one for each that was asked for as long as there is room for it: ask again for the rest.
    func encode(
        _ documents: [KnownDocument?], _ lookups: [DocumentLookup], withContent: Bool, for client: RequestingClient,
        in dataset: Dataset
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("storeId", dataset.storeId)
            writer.key("docs")
            writer.beginArray()
            let start = writer.bytes.count
            for (known, lookup) in zip(documents, lookups) {
                guard writer.bytes.count == start || writer.bytes.count < Page.maximumBytes / 2 else { break }
                if let known, client.isAdministrator || known.reader == nil || known.reader == client.name {
                    encode(current(known, lookup, in: dataset, withContent: withContent), lookup, into: &writer)
                } else {
                    writer.null()
                }
            }
            writer.endArray()
        }
    }

    /// A document of a type of ours is what its object is by now: the store may be a step behind.
    private func current(
        _ known: KnownDocument, _ lookup: DocumentLookup, in dataset: Dataset, withContent: Bool
    ) -> KnownDocument {
        guard let type = DocumentType(rawValue: lookup.type), let stored = known.history.winner else { return known }
        var known = known
        let revision = dataset.revision(of: type, lookup.id)
        if let revision, revision != stored.revision.text || stored.isDeleted, let current = RevisionID(revision) {
            _ = known.history.add(DocumentLeaf(revision: current, isDeleted: false), ancestors: [stored.revision])
        } else if revision == nil, !stored.isDeleted,
            let deletion = RevisionID(RevisionID.ofDeletion(after: stored.revision.text))
        {
            _ = known.history.add(DocumentLeaf(revision: deletion, isDeleted: true), ancestors: [stored.revision])
        }
        if withContent, let winner = known.history.winner, winner.revision.text == revision,
            let content = dataset.content(of: type, lookup.id)
        {
            known.history.describeWinner(content)
        }
        return known
    }

    /// So many ancestors of a leaf are shown.
    private static let ancestorsShown = 1000

    private func encode(_ known: KnownDocument, _ lookup: DocumentLookup, into writer: inout JSONWriter) {
        let start = writer.bytes.count
        writer.beginObject()
        writer.member("type", lookup.type)
        writer.member("id", lookup.id)
        writer.member("seq", known.seq)
        if !lookup.wantsLinks {
            writer.member("known", lookup.revisions.filter { RevisionID($0).map(known.history.isKnown) == true })
        }
        writer.key("leaves")
        writer.beginArray()
        let parents = known.history.parents
        for leaf in known.history.leaves {
            let hasRoom = writer.bytes.count - start < Page.maximumBytes
            writer.beginObject()
            writer.member("revision", leaf.revision.text)
            if leaf.isDeleted { writer.member("deleted", true) }
            // With many leaves, the histories of those that matter least are cut short.
            let lineage = DocumentHistory.lineage(of: leaf.revision, in: parents, limit: hasRoom ? Self.ancestorsShown : 1)
            if !lineage.isEmpty { writer.member("ancestors", lineage.map(\.text)) }
            let isMeant = lookup.revisions.isEmpty || lookup.revisions.contains(leaf.revision.text)
            if isMeant, !leaf.isDeleted, let content = leaf.content, !content.isEmpty {
                if writer.bytes.count - start + content.count < Page.maximumBytes || !lookup.revisions.isEmpty {
                    writer.key("doc")
                    writer.raw(content)
                }
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
