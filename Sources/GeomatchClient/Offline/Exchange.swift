internal import Foundation
internal import Wire

/// Brings a store and the daemon together: what the feed has comes here, what was written here goes there.
///
/// Every step is durable before the next, so that it may end anywhere: what was taken is not asked for again, what was sent is sent
/// again under the same revision, which the daemon knows.
struct Exchange {
    let store: OfflineStore
    let client: GeomatchClient
    private var database: LocalDatabase { store.database }

    /// Documents of one push, and bytes of them: a request has at most 256 KiB.
    private static let pushMax = (count: 500, bytes: 200 << 10)

    init(_ store: OfflineStore, _ client: GeomatchClient) {
        self.store = store
        self.client = client
    }

    /// Pulls, pushes, and pulls what came of that, until nothing is left.
    func run() async throws(GeomatchError) {
        repeat {
            try await pull()
            while try await push() {}
            try await pull()
        } while try await settleConflicts()
    }

    // MARK: Pulling

    func pull() async throws(GeomatchError) {
        var isPart = true
        while isPart {
            let checkpoint = try database.checkpoint()
            var parameters: JSONObject = ["since": .integer(checkpoint.since)]
            if !checkpoint.storeId.isEmpty { parameters["storeId"] = .string(checkpoint.storeId) }
            let page: JSONObject
            do throws(GeomatchError) {
                page = try await client.send("changes/get", parameters)
            } catch  where error.kind == .conflict && (checkpoint.since > 0 || !checkpoint.storeId.isEmpty) {
                // Another store (also where nothing was in the one before), one that knows less, or one that has forgotten
                // deletions we have not seen.
                try database.startOver()
                store.tell { $0.restart() }
                continue
            }
            guard let applied = try database.take(page, isStreamed: false) else { return }
            isPart = applied.isPart
            store.tell { $0.pulled(from: checkpoint.since, to: applied.last, isPart: isPart) }
            applied.changes.forEach(store.observers.send)
        }
    }

    /// Takes a page that the daemon sent by itself.
    ///
    /// - Returns: false where something lies between it and what is known.
    func take(_ page: JSONObject) throws(GeomatchError) -> Bool {
        guard let applied = try database.take(page, isStreamed: true) else { return false }
        applied.changes.forEach(store.observers.send)
        return true
    }

    // MARK: Pushing

    /// - Returns: Whether something was pushed.
    private func push() async throws(GeomatchError) -> Bool {
        let entries = try database.takePending(count: Self.pushMax.count, bytes: Self.pushMax.bytes)
        guard !entries.isEmpty else { return false }
        try await push(entries[...])
        return true
    }

    private func push(_ entries: ArraySlice<OutboxEntry>) async throws(GeomatchError) {
        var documents: [JSONValue] = []
        for entry in entries { documents.append(try entry.document()) }
        let reply: JSONObject
        do throws(GeomatchError) {
            reply = try await client.send("changes/push", ["docs": .array(documents)])
        } catch  where error.kind == .invalid || error.kind == .tooLarge {
            // One of them spoils the push for all.
            guard entries.count > 1 else { return try settle(entries, [.refused(error.json)]) }
            let middle = entries.startIndex + entries.count / 2
            try await push(entries[..<middle])
            return try await push(entries[middle...])
        }
        let results = try ObjectReader(reply).elements("results")
        guard results.count == entries.count else { throw .malformed("results", "has not one answer for each document") }
        try settle(entries, results.map(LocalDatabase.Outcome.init))
    }

    private func settle(_ entries: ArraySlice<OutboxEntry>, _ outcomes: [LocalDatabase.Outcome]) throws(GeomatchError) {
        let changes = try database.settle(Array(zip(entries, outcomes).map { ($0, $1) }))
        for case .refused(let error) in outcomes { store.tell { $0.lastError = GeomatchError(reply: error) } }
        store.tell { $0.pushed(entries.count) }
        changes.forEach(store.observers.send)
    }

    // MARK: Conflicts

    /// Asks the application about each conflict it has not been asked about.
    ///
    /// - Returns: Whether something is to be pushed.
    private func settleConflicts() async throws(GeomatchError) -> Bool {
        guard let resolver = store.replication.withLock({ $0.resolver }) else { return false }
        var hasWritten = false
        for (type, id, revision, conflicts) in try database.conflicts() {
            let question = "\(type) \(id) \(revision) \(conflicts)"
            guard store.replication.withLock({ $0.asked.insert(question).inserted }) else { continue }
            guard let winner = try store.document(type: type, id: id), winner.revision == revision else { continue }
            let others = try await losers(type, id)
            guard !others.isEmpty else { continue }
            let content: Data?
            switch await resolver(OfflineConflict(winner: winner, others: others)) {
            case .leave: continue
            case .keepWinner: content = nil
            case .merge(let members): content = Members.content(PropertyValue.json(of: members))
            }
            if let change = try database.resolve(winner, others.map(\.revision), content: content) {
                store.observers.send(change)
            }
            hasWritten = true
        }
        return hasWritten
    }

    /// The live revisions that lost, best first, in as many pages as they take.
    private func losers(_ type: String, _ id: String) async throws(GeomatchError) -> [OfflineDocument] {
        var losers: [OfflineDocument] = []
        var parameters: JSONObject = ["type": .string(type), "id": .string(id)]
        repeat {
            let reply = try await client.send("changes/conflicts", parameters)
            for element in try ObjectReader(reply).elements("conflicts") {
                let reader = try ObjectReader(element, "conflicts")
                guard !reader.flag("deleted") else { continue }
                losers.append(
                    try OfflineDocument(
                        type, id, try reader.string("revision"), Members.content(reader.object), nil, isPending: false))
            }
            parameters["after"] = reply["next"]
        } while parameters["after"] != nil
        return losers
    }
}

extension LocalDatabase.Outcome {
    init(_ result: JSONValue) {
        let members = result.asObject ?? JSONObject()
        switch members["state"]?.asString {
        case "written": self = .written
        case "exists": self = .exists
        case "conflict": self = .conflict
        default: self = .refused(members["error"] ?? .null)
        }
    }
}

extension GeomatchError {
    /// As a reply has it.
    var json: JSONValue {
        var object: JSONObject = ["code": .integer(Int64(code)), "error": .string(kind.rawValue), "message": .string(message)]
        object["field"] = field.map { .string($0) }
        return .object(object)
    }
}
