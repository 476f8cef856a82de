import Wire
import Records

// changes/push: documents that were made offline, of any kind

extension Dataset {
    private static let pushedMaximum = 1000

    /// Judges each document against what is known of it. The store is asked for that first; what must not pass it waits meanwhile.
    func push(_ call: Call, _ turn: inout Turn) throws(WireError) -> Outcome {
        let values = try call.parameters.array("docs", count: 0...Self.pushedMaximum)
        var documents: [PushedDocument] = []
        documents.reserveCapacity(values.count)
        let histories = try call.parameters.optionalArray("histories", count: values.count...values.count)
        let areEdits = try call.parameters.optionalBool("edits") ?? false
        for (index, value) in values.enumerated() {
            documents.append(try PushedDocument(value, at: index, history: histories?[index], isEdit: areEdits))
        }
        var push = Push(documents, in: id)
        guard !documents.isEmpty else { return .result(encode([], [])) }
        guard let known = call.documents else {
            let keys = Set(push.lookups.indices.map(push.key))
            suspension = .push(AwaitedDocuments(lookups: push.lookups, call: call, keys: keys))
            return .query(.documents(push.lookups), .push)
        }
        push.note(known)
        var results = [Result<DocumentHistory.Fate, WireError>?](repeating: nil, count: documents.count)
        for place in push.lookups.indices.filter({ push.makesDevice[$0] })
            + push.lookups.indices.filter({ !push.makesDevice[$0] })
        {
            judge(place, of: &push, call, &results, &turn)
        }
        return .result(encode(push.documents, results))
    }

    /// A push that waits is outdated where what was kept since changes its documents.
    func noteOutdatedPush(_ change: DurableChange) {
        guard case .push(var awaited)? = suspension, let key = change.documentKey, awaited.keys.contains(key) else { return }
        awaited.isOutdated = true
        suspension = .push(awaited)
    }

    /// Adds all that was pushed of one document, and then makes of it what its winner says.
    private func judge(
        _ place: Int, of push: inout Push, _ call: Call, _ results: inout [Result<DocumentHistory.Fate, WireError>?],
        _ turn: inout Turn
    ) {
        let former = push.known[place] ?? KnownDocument(owner: nil, reader: nil, history: DocumentHistory())
        var known = former
        var taken: [Int] = []
        for index in push.parts[place] {
            do throws(WireError) {
                results[index] = .success(try add(push.documents[index], to: &known, call, &turn))
                taken.append(index)
            } catch {
                results[index] = .failure(error)
            }
        }
        guard known.history != former.history else { return }
        do throws(WireError) {
            try complete(place, &known, former, &push, call, &turn)
        } catch {
            for index in taken { results[index] = .failure(error) }
        }
    }

    /// Adds one revision to what is known of its document, if it may be.
    private func add(_ document: PushedDocument, to known: inout KnownDocument, _ call: Call, _ turn: inout Turn)
        throws(WireError) -> DocumentHistory.Fate
    {
        if let fault = document.fault { throw fault }
        // Whatever it says, and before what it is over: a replica that is outdated gets the same answer.
        if document.key.type.text == DocumentType.geofence.rawValue { throw .geofencesAreNotPushed }
        if document.isEdit { try document.checkEdit(of: known.history) }
        let (type, id) = (document.key.type.text, document.key.id.text)
        guard known.history.winner == nil || call.client.reaches(owner: known.owner) else {
            throw WireError(.forbidden, "the \(type) `\(id)` belongs to another client", field: "id")
        }
        var leaf = DocumentLeaf(revision: document.revision, isDeleted: document.isDeleted, content: try document.content())
        guard !known.history.isFull(for: leaf, ancestors: document.lineage) else {
            throw WireError(.limit, "the document has \(DocumentHistory.leavesMaximum) leaves, the maximum; settle its conflicts")
        }
        guard known.history.links.count + document.lineage.count <= DocumentHistory.linksMaximum else {
            throw WireError(.limit, "the document has \(DocumentHistory.linksMaximum) revisions that name a parent, the maximum")
        }
        if known.history.winner == nil, DocumentType(rawValue: type) == nil { try checkRoomForDocument(of: call.client.name) }
        if let type = DocumentType(rawValue: type), !known.history.isKnown(document.revision) {
            leaf.content = try check(document, type, known, call, &turn)
        }
        if known.history.winner == nil { known.owner = call.client.name }
        // What it says now may be kept beside from now on.
        if let type = DocumentType(rawValue: type), let winner = known.history.winner, !winner.isDeleted, winner.content == nil,
            let content = content(of: type, id)
        {
            known.history.describeWinner(content)
        }
        return known.history.add(leaf, ancestors: document.lineage)
    }

    /// Makes the outcome durable, and the object, where it is one of ours, what the winner says.
    private func complete(
        _ place: Int, _ known: inout KnownDocument, _ former: KnownDocument, _ push: inout Push, _ call: Call, _ turn: inout Turn
    ) throws(WireError) {
        let key = push.key(at: place)
        let start = turn.effects.point
        if let type = DocumentType(rawValue: key.type.text), known.history.winner?.revision != former.history.winner?.revision {
            try install(type, at: place, &known, isNew: former.history.winner == nil, &push, call, &turn)
        }
        if former.history.winner == nil, DocumentType(rawValue: key.type.text) == nil {
            feed.countDocuments(of: known.owner, by: 1)
        }
        let record = DocumentRecord(
            dataset: id, type: key.type.text, id: key.id.text, owner: known.owner, reader: known.reader,
            leaves: known.history.leaves, ancestors: known.history.ancestors.subtracting(former.history.ancestors).sorted(),
            links: known.history.links.subtracting(former.history.links).sorted())
        // What follows it is then no further revision.
        turn.effects.insert(.putDocument(record), before: { $0.documentKey == key && !$0.isBurial }, since: start)
    }

    // MARK: Objects of ours

    /// A document of a type of ours passes the checks of its request, be it the winner or not.
    ///
    /// - Returns: The document as it would be shown; empty for a deletion.
    private func check(
        _ document: PushedDocument, _ type: DocumentType, _ known: KnownDocument, _ call: Call, _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        let isNew = known.history.winner == nil
        let owner = isNew ? call.client.name : known.owner
        if let named = document.members["owner"]?.asString, named != owner {
            throw WireError(
                .forbidden, "`owner` is \(owner.map { "`\($0)`" } ?? "nobody"), not `\(named.prefix(64))`", field: "owner")
        }
        guard document.isDeleted else {
            var stamp = PushStamp(document.revision.text, document.members, owner: owner)
            stamp.isTrial = true
            let object = try write(type, document.key, document.members, stamp, call, &turn)
            var content = Array(#"{"type":"\#(type.rawValue)","#.utf8) + object.dropFirst()
            if type == .device, let location = document.members["location"], location != .null {
                content.removeLast()
                content += Array(#","location":"#.utf8) + location.serialised() + Array("}".utf8)
            }
            return content
        }
        if type == .device, !isNew, owner == nil, !call.client.isAdministrator {
            throw WireError(.forbidden, "only administrators delete a device without an owner", field: "id")
        }
        return []
    }

    /// Makes the object what its winner says. A leaf that was kept beside and cannot be the object any more is let go of.
    private func install(
        _ type: DocumentType, at place: Int, _ known: inout KnownDocument, isNew: Bool, _ push: inout Push, _ call: Call,
        _ turn: inout Turn
    ) throws(WireError) {
        let key = push.key(at: place)
        var last = WireError(.internal, "the document has no leaf")
        while let winner = known.history.winner {
            do throws(WireError) {
                if winner.isDeleted {
                    try delete(type, key, call, &turn)
                } else {
                    // As it was sent: what nobody is shown, such as a secret, is in no content.
                    let sent = push.parts[place].first { push.documents[$0].revision == winner.revision }
                    let members =
                        if let sent { push.documents[sent].members } else {
                            try JSONValue.members(of: winner.content ?? [], using: shared.parser)
                        }
                    let stamp = PushStamp(winner.revision.text, members, owner: known.owner)
                    _ = try write(type, key, members, stamp, call, &turn)
                    known.reader = reader(of: type, key.id.text)
                }
                if isNew, winner.isDeleted { known.reader = known.owner }
                return
            } catch {
                last = error
                known.history.discard(winner.revision)
            }
        }
        throw last
    }

    /// Creates or updates an object, or only checks whether that could be.
    private func write(
        _ type: DocumentType, _ key: DocumentKey, _ members: JSONObject, _ stamp: PushStamp, _ call: Call, _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        if type != .device { try checkLifetime(members, stamp, call) }
        let isThere = isThere(type, key.id.text, at: call.now)
        var call = call
        call.stamp = stamp
        call.parameters = Parameters(
            isThere ? try replacement(type, key.id.text, members) : members.withoutMeta)
        switch (type, isThere) {
        case (.device, false): return try createDevice(call, &turn)
        case (.device, true): return try updateDevice(call, &turn)
        case (.publication, false): return try geomatching.createPublication(call, &turn)
        case (.publication, true): return try geomatching.updatePublication(call, &turn)
        case (.subscription, false): return try geomatching.createSubscription(call, &turn)
        case (.subscription, true): return try geomatching.updateSubscription(call, &turn)
        // What a whole document says replaces what is there, as their requests do.
        case (.place, _): return try places.pushPlace(call, &turn)
        case (.category, _): return try places.pushCategory(call, &turn)
        case (.circumstance, _): return try circumstances.register(call, &turn)
        case (.geofence, _): throw .geofencesAreNotPushed
        }
    }

    /// What was made offline lives from then on.
    private func checkLifetime(_ members: JSONObject, _ stamp: PushStamp, _ call: Call) throws(WireError) {
        guard let duration = members["duration"]?.asDouble, duration >= 0 else { return }
        let createdAt = stamp.createdAt.map { min($0, call.now) } ?? call.now
        guard deadline(from: createdAt, duration: duration) > call.now else {
            throw WireError(.invalid, "`duration` is over: it was \(duration) seconds from \(createdAt) on", field: "duration")
        }
    }

    private func delete(_ type: DocumentType, _ key: DocumentKey, _ call: Call, _ turn: inout Turn) throws(WireError) {
        guard isThere(type, key.id.text, at: call.now) else { return }
        var call = call
        call.parameters = Parameters(["id": .string(key.id.text)])
        switch type {
        case .device: _ = try deleteDevice(call, &turn)
        case .publication: _ = try geomatching.deletePublication(call, &turn)
        case .subscription: _ = try geomatching.deleteSubscription(call, &turn)
        case .place: _ = try places.delete(call, &turn)
        case .circumstance: _ = try circumstances.unregister(call, &turn)
        case .geofence: throw .geofencesAreNotPushed
        case .category: throw WireError(.unsupported, "a category is changed, never deleted", field: "type")
        }
    }

    // MARK: The result

    private func encode(
        _ documents: [PushedDocument], _ results: [Result<DocumentHistory.Fate, WireError>?]
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.key("results")
            writer.beginArray()
            for (document, result) in zip(documents, results) {
                writer.beginObject()
                writer.member("id", document.key.id.text)
                writer.member("type", document.key.type.text)
                switch result {
                case .success(let fate): writer.member("state", fate.rawValue)
                case .failure, nil: writer.member("state", "refused")
                }
                writer.member("revision", document.revision.text)
                if case .failure(let error) = result {
                    writer.key("error")
                    error.encode(into: &writer)
                }
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

extension WireError {
    fileprivate static var geofencesAreNotPushed: WireError {
        WireError(.unsupported, "a geofence is not pushed: use `geofence/create`, `update` and `delete`", field: "type")
    }
}

extension PushStamp {
    fileprivate init(_ revision: String, _ members: JSONObject, owner: String?) {
        self.init(
            revision: revision, owner: owner, createdAt: members["createdAt"]?.asInt64, updatedAt: members["updatedAt"]?.asInt64)
    }
}

extension DurableChange {
    /// The document that it changes.
    fileprivate var documentKey: DocumentKey? {
        if case .putDocument(let record) = self { return DocumentKey(type: record.type, id: record.id) }
        switch feedEntry {
        case .object(let type, let id, _, _, _), .burial(let type, let id): return DocumentKey(type: type.rawValue, id: id)
        case nil: return nil
        }
    }

    fileprivate var isBurial: Bool {
        if case .burial? = feedEntry { true } else { false }
    }
}

extension JSONValue {
    fileprivate static func members(of content: [UInt8], using parser: JSONParser) throws(WireError) -> JSONObject {
        do throws(JSONError) {
            return try JSONValue.parse(content, using: parser).asObject ?? [:]
        } catch {
            throw WireError(error)
        }
    }
}
