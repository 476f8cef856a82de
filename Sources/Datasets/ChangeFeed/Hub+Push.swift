import Wire

// changes/push: documents that were made offline

extension Hub {
    static let pushedMaximum = 1000

    /// Judges each document against what is known of it. The store is asked for that first, and nothing else is handled meanwhile.
    func pushChanges(_ call: Call, into effects: inout HubEffects) throws(WireError) -> Outcome {
        let values = try call.parameters.array("docs", count: 0...Self.pushedMaximum)
        var documents: [PushedDocument] = []
        documents.reserveCapacity(values.count)
        for (index, value) in values.enumerated() { documents.append(try PushedDocument(value, at: index)) }
        var push = Push(documents, in: call.dataset.id)
        guard !documents.isEmpty else { return .result(encode([], [])) }
        guard let known = call.documents else { return .lookUp(push.lookups, call) }
        push.take(known)
        var results = [Result<DocumentHistory.Fate, WireError>?](repeating: nil, count: documents.count)
        // What hangs on a device comes after it, whatever the order it was sent in.
        for index in documents.indices.filter({ documents[$0].makesDevice })
            + documents.indices.filter({ !documents[$0].makesDevice })
        {
            do throws(WireError) {
                results[index] = .success(try take(documents[index], of: &push, call, into: &effects))
            } catch {
                results[index] = .failure(error)
            }
        }
        return .result(encode(documents, results))
    }

    private func take(
        _ document: PushedDocument, of push: inout Push, _ call: Call, into effects: inout HubEffects
    ) throws(WireError) -> DocumentHistory.Fate {
        if let fault = document.fault { throw fault }
        let dataset = call.dataset
        var known = push.known[document.key] ?? KnownDocument(owner: nil, reader: nil, history: DocumentHistory())
        let isNew = known.history.winner == nil
        guard isNew || dataset.allows(call.client, owner: known.owner) else {
            throw WireError(
                .forbidden, "the \(document.key.type.text) `\(document.key.id.text)` belongs to another client", field: "id")
        }
        let leaf = DocumentLeaf(revision: document.revision, isDeleted: document.isDeleted, content: try document.content())
        guard !known.history.isFull(for: leaf, parent: document.parent) else {
            throw WireError(.limit, "the document has \(DocumentHistory.leavesMaximum) leaves, the maximum; settle its conflicts")
        }
        let type = DocumentType(rawValue: document.key.type.text)
        if let type {
            if !known.history.isKnown(document.revision) { try check(document, type, push, call, into: &effects) }
            // What it says now may be a conflict from now on.
            if known.history.winner?.isDeleted == false, let content = content(of: type, document.key.id.text, in: dataset) {
                known.history.describeWinner(content)
            }
        }
        let former = known.history
        let fate = known.history.add(leaf, parent: document.parent)
        guard known.history != former else { return fate }
        let place = effects.changes.count
        if let type, known.history.winner?.revision != former.winner?.revision {
            try install(type, document.key, &known, &push, call, into: &effects)
        } else if type == nil, isNew {
            known.owner = call.client.name
        }
        let record = DocumentRecord(
            dataset: dataset.id, type: document.key.type.text, id: document.key.id.text, owner: known.owner, reader: known.reader,
            leaves: known.history.leaves, ancestors: known.history.ancestors.subtracting(former.ancestors).sorted())
        effects.changes.insert(.putDocument(record), at: effects.changes[place...].firstIndex { $0.puts(document.key) } ?? place)
        push.known[document.key] = known
        return fate
    }

    // MARK: Objects of ours

    /// A document of a type of ours passes the checks of its request, be it the winner or not.
    private func check(
        _ document: PushedDocument, _ type: DocumentType, _ push: Push, _ call: Call, into effects: inout HubEffects
    ) throws(WireError) {
        if let owner = document.members["owner"]?.asString, owner != call.client.name, !call.client.isAdministrator,
            push.known[document.key]?.owner != owner
        {
            throw WireError(.forbidden, "`owner` is another client, `\(owner.prefix(64))`", field: "owner")
        }
        if document.isDeleted {
            let isOwnerless = push.known[document.key].map { $0.owner == nil } ?? false
            if type == .device, isOwnerless, !call.client.isAdministrator {
                throw WireError(.forbidden, "only administrators delete a device without an owner", field: "id")
            }
        } else {
            try write(
                type, document.key, document.members,
                PushStamp(document, owner: push.known[document.key]?.owner ?? call.client.name, isTrial: true), push, call,
                into: &effects)
        }
    }

    /// Makes the object what its winner says. A leaf that was kept beside and cannot be the object any more is let go of.
    private func install(
        _ type: DocumentType, _ key: DocumentKey, _ known: inout KnownDocument, _ push: inout Push, _ call: Call,
        into effects: inout HubEffects
    ) throws(WireError) {
        var last = WireError(.internal, "the document has no leaf")
        let isNew = push.known[key]?.history.winner == nil
        let owner = isNew ? call.client.name : known.owner
        while let winner = known.history.winner {
            do throws(WireError) {
                if winner.isDeleted {
                    try delete(type, key, call, into: &effects)
                    if type == .device { push.dying.insert(key.id) }
                } else {
                    let members = try JSONValue.members(of: winner.content ?? [], using: parser)
                    try write(
                        type, key, members, PushStamp(winner.revision.text, members, owner: owner), push, call, into: &effects)
                }
                known.owner = owner
                known.reader = reader(of: type, key.id.text, in: call.dataset) ?? (winner.isDeleted ? known.reader : nil)
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
        _ type: DocumentType, _ key: DocumentKey, _ members: JSONObject, _ stamp: PushStamp, _ push: Push, _ call: Call,
        into effects: inout HubEffects
    ) throws(WireError) {
        guard !push.dying.contains(key.id) || type != .device else {
            throw WireError(.conflict, "the device is deleted by the same push; push it again", field: "id")
        }
        if type != .device, let device = members["deviceId"]?.asString, push.dying.contains(ByteKey(device)) {
            throw WireError(.notFound, "there is no device `\(device.prefix(128))`", field: "deviceId")
        }
        if type != .device { try checkLifetime(members, stamp, call) }
        let isThere = isThere(type, key.id.text, in: call.dataset, at: call.now)
        var call = call
        call.stamp = stamp
        call.parameters = Parameters(
            isThere ? try replacement(type, key.id.text, members, in: call.dataset) : members.withoutMeta)
        switch (type, isThere) {
        case (.device, false): _ = try createDevice(call, into: &effects)
        case (.device, true): _ = try updateDevice(call, into: &effects)
        case (.publication, false): _ = try createPublication(call, into: &effects)
        case (.publication, true): _ = try updatePublication(call, into: &effects)
        case (.subscription, false): _ = try createSubscription(call, into: &effects)
        case (.subscription, true): _ = try updateSubscription(call, into: &effects)
        case (.place, _), (.category, _), (.circumstance, _):
            throw WireError(.unsupported, "a \(type.rawValue) is not pushed; use its own request", field: "type")
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

    private func delete(_ type: DocumentType, _ key: DocumentKey, _ call: Call, into effects: inout HubEffects) throws(WireError)
    {
        guard isThere(type, key.id.text, in: call.dataset, at: call.now) else { return }
        var call = call
        call.parameters = Parameters(["id": .string(key.id.text)])
        switch type {
        case .device: _ = try deleteDevice(call, into: &effects)
        case .publication: _ = try deletePublication(call, into: &effects)
        case .subscription: _ = try deleteSubscription(call, into: &effects)
        case .place, .category, .circumstance: break
        }
    }

    // MARK: The result

    private func encode(
        _ documents: [PushedDocument], _ results: [Result<DocumentHistory.Fate, WireError>?]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
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
        writer.endObject()
        return writer.bytes
    }
}

/// The documents of one push and what is known of them so far.
struct Push {
    var known: [DocumentKey: KnownDocument] = [:]
    /// Devices that this push deletes: in memory they are there until that is durable.
    var dying: Set<ByteKey> = []
    private(set) var lookups: [DocumentLookup] = []
    private var order: [DocumentKey] = []

    init(_ documents: [PushedDocument], in dataset: String) {
        var places: [DocumentKey: Int] = [:]
        for document in documents {
            let place = places[document.key] ?? lookups.count
            if place == lookups.count {
                places[document.key] = place
                order.append(document.key)
                lookups.append(
                    DocumentLookup(dataset: dataset, type: document.key.type.text, id: document.key.id.text, revisions: []))
            }
            lookups[place].revisions.append(document.revision.text)
        }
    }

    mutating func take(_ found: [KnownDocument?]) {
        for (key, document) in zip(order, found) { known[key] = document }
    }
}

extension PushedDocument {
    fileprivate var makesDevice: Bool { !isDeleted && key.type.text == DocumentType.device.rawValue }
}

extension PushStamp {
    fileprivate init(_ document: PushedDocument, owner: String?, isTrial: Bool) {
        self.init(document.revision.text, document.members, owner: owner)
        self.isTrial = isTrial
    }

    fileprivate init(_ revision: String, _ members: JSONObject, owner: String?) {
        self.init(
            revision: revision, owner: owner, createdAt: members["createdAt"]?.asInt64, updatedAt: members["updatedAt"]?.asInt64)
    }
}

extension DurableChange {
    /// It is the object that a document is.
    fileprivate func puts(_ key: DocumentKey) -> Bool {
        guard case .object(let type, let id, _, _, _)? = feedEntry else { return false }
        return DocumentKey(type: type.rawValue, id: id) == key
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
