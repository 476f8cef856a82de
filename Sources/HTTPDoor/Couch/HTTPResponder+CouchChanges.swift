import HTTPTypes
import Wire

// _changes: what changed since a place in the feed, once or as it comes.

/// What of a feed is asked for.
struct CouchChanges: Sendable {
    enum Feed: String, Sendable {
        case normal, longpoll, continuous
    }

    var feed = Feed.normal
    /// nil: from now on.
    var since: CouchSequence? = CouchSequence(0, of: nil)
    var limit = Int.max
    var showsLeaves = false
    var includesDocuments = false
    var showsConflicts = false
    /// Only these documents.
    var ids: [CouchID]?
    var heartbeat: Int64?
    var timeout: Int64

    /// Milliseconds that a wait takes where nobody says so, and at most.
    private static let timeoutMax: Int64 = 60_000
    private static let heartbeats: ClosedRange<Int64> = 100...3_600_000

    init(_ head: RequestHead, _ body: JSONObject) throws(CouchRefusal) {
        func number(_ name: String) throws(CouchRefusal) -> Int64? {
            guard let text = head.parameter(name), !text.isEmpty else { return nil }
            guard let number = Int64(text), number >= 0 || name == "timeout" else {
                throw .badRequest("`\(name)` must be a whole number, not `\(text.prefix(40))`")
            }
            return number
        }
        if let name = head.parameter("feed") {
            guard let feed = Feed(rawValue: name) else {
                throw .badRequest("`feed` is normal, longpoll or continuous, not `\(name.prefix(40))`")
            }
            self.feed = feed
        }
        // PouchDB 5 subtracts five seconds from its configured timeout, whatever is left.
        let asked = try number("timeout") ?? Self.timeoutMax
        timeout = asked < 0 ? Self.timeoutMax : min(asked, Self.timeoutMax)
        switch head.parameter("since") {
        case nil, "": break
        case "now": since = nil
        case let text?:
            guard let since = CouchSequence(text) else { throw .badRequest("`since` is no place in a feed: start at 0") }
            self.since = since
        }
        if let limit = try number("limit") { self.limit = max(1, Int(limit)) }
        switch head.parameter("heartbeat") {
        case nil, "false": break
        case "true": heartbeat = Self.timeoutMax
        default: heartbeat = try number("heartbeat").map { min(max($0, Self.heartbeats.lowerBound), Self.heartbeats.upperBound) }
        }
        showsLeaves = head.parameter("style") == "all_docs"
        includesDocuments = head.parameter("include_docs") == "true"
        showsConflicts = head.parameter("conflicts") == "true"
        guard head.parameter("descending") != "true" else { throw .badRequest("a feed is read forwards only") }
        try readFilter(head, body)
    }

    private static let idsMaximum = 10_000

    private mutating func readFilter(_ head: RequestHead, _ body: JSONObject) throws(CouchRefusal) {
        let filter = head.parameter("filter")
        guard filter == nil || filter == "_doc_ids" else {
            throw .badRequest("`filter` is `_doc_ids`, not `\(filter?.prefix(40) ?? "")`: others run at the client")
        }
        var list = body["doc_ids"]
        if list == nil, let text = head.parameter("doc_ids") { list = try? JSONValue.parse(text) }
        guard filter != nil || list != nil else { return }
        guard let names = list?.asArray else { throw .badRequest("`doc_ids` must be a list of ids") }
        guard names.count <= Self.idsMaximum else { throw .badRequest("`doc_ids` has more than \(Self.idsMaximum) ids") }
        var seen: Set<CouchID> = []
        ids = names.compactMap { $0.asString.flatMap { CouchID($0) } }.filter { seen.insert($0).inserted }
    }
}

extension CouchSequence {
    fileprivate init(_ number: Int64, of store: String?) {
        self.number = number
        self.store = store
    }
}

/// Reads a feed on, page by page.
///
/// One connection has it, which asks for one page after the other.
actor CouchFeed {
    private let database: CouchDatabase
    private let changes: CouchChanges
    private var store = ""
    /// Where it goes on.
    private(set) var since: Int64 = 0
    /// Rows that may still come.
    private(set) var left: Int
    private(set) var pending: Int64 = 0
    private(set) var isAtEnd = false

    private static let pageMax = 500

    init(_ database: CouchDatabase, _ changes: CouchChanges) {
        self.database = database
        self.changes = changes
        left = changes.limit
    }

    var place: String { CouchSequence(since, of: store).text }

    /// Finds the place where it begins.
    func open() async throws {
        let number = changes.since?.number
        let page: CouchDatabase.Page
        do {
            page = try await database.page(since: number ?? 0, limit: 1, withContent: false)
        } catch let error as WireError where error.code == .conflict {
            throw CouchRefusal.badRequest(error.message)
        }
        store = page.store
        since = number ?? page.end
        if let given = changes.since { try database.check(given, against: page) }
    }

    /// The rows that come next, as JSON; none: nothing has changed up to now.
    func next() async throws -> [[UInt8]] {
        isAtEnd = false
        let rows = if let ids = changes.ids { try await readNamed(ids) } else { try await read() }
        left -= rows.count
        if left == 0 { isAtEnd = true }
        return rows.map(encode)
    }

    private func read() async throws -> [CouchRow] {
        var rows: [CouchRow] = []
        while rows.isEmpty, !isAtEnd {
            let page = try await database.page(
                since: since, limit: min(left, Self.pageMax), withContent: changes.includesDocuments)
            rows = page.rows
            since = page.last
            pending = page.isPart ? max(0, page.end - page.last) : 0
            isAtEnd = !page.isPart
        }
        return rows
    }

    // MARK: By name

    /// Documents that were asked for by name and changed, without what they say, oldest first.
    private var named: ArraySlice<CouchRow> = []
    /// Where the feed goes on behind those, whether it does, and where it ends.
    private var resume: (since: Int64, isPart: Bool, end: Int64) = (0, false, 0)

    /// Read together with what they say.
    private static let portion = 50

    private func readNamed(_ ids: [CouchID]) async throws -> [CouchRow] {
        repeat {
            if named.isEmpty { try await findNamed(ids) }
            if named.isEmpty { since = resume.since }
        } while named.isEmpty && resume.isPart
        guard !named.isEmpty else {
            (isAtEnd, pending) = (true, 0)
            return []
        }
        var rows = Array(named.prefix(min(left, changes.includesDocuments ? Self.portion : Self.pageMax)))
        named = named.dropFirst(rows.count)
        since = named.isEmpty ? resume.since : rows.last?.seq ?? since
        isAtEnd = named.isEmpty && !resume.isPart
        pending = isAtEnd ? 0 : max(0, resume.end - since)
        if changes.includesDocuments { rows = try await withContent(rows) }
        return rows
    }

    /// Looks the documents up, or reads the feed on, whichever is less.
    private func findNamed(_ ids: [CouchID]) async throws {
        let page = try await database.page(
            since: since, limit: max(1, min(ids.count, Self.pageMax)), withContent: false)
        guard page.end - since <= Int64(ids.count) else {
            let rows = try await database.allDocuments(ids).compactMap { CouchRow($0) }
            named = rows.filter { $0.seq > since }.sorted { $0.seq < $1.seq }[...]
            // What changed meanwhile comes again.
            resume = (max(since, page.end), false, page.end)
            return
        }
        if wanted.isEmpty { wanted = Set(ids) }
        named = page.rows.filter { wanted.contains($0.id) }[...]
        resume = (page.last, page.isPart, page.end)
    }

    private var wanted: Set<CouchID> = []

    /// The same with what they say, at their places in the feed: one that changed meanwhile comes again.
    private func withContent(_ rows: [CouchRow]) async throws -> [CouchRow] {
        let documents = try await database.allDocuments(rows.map(\.id), withContent: true)
        var whole = rows
        for (index, document) in documents.enumerated() {
            guard let document, let winner = document.winner, var row = CouchRow(document) else { continue }
            row.body = try await database.whole(winner, of: document.id).body
            row.seq = rows[index].seq
            whole[index] = row
        }
        return whole
    }

    private func encode(_ row: CouchRow) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("seq", CouchSequence(row.seq, of: store).text)
            writer.member("id", row.id.text)
            writer.key("changes")
            writer.beginArray()
            for revision in changes.showsLeaves ? row.leaves : Array(row.leaves.prefix(1)) {
                writer.beginObject()
                writer.member("rev", revision)
                writer.endObject()
            }
            writer.endArray()
            if row.isDeleted { writer.member("deleted", true) }
            guard changes.includesDocuments else { return }
            writer.key("doc")
            writer.beginObject()
            writer.member("_id", row.id.text)
            writer.member("_rev", row.leaves[0])
            if row.isDeleted { writer.member("_deleted", true) }
            if changes.showsConflicts, !row.conflicts.isEmpty { writer.member("_conflicts", row.conflicts) }
            writer.couch(members: row.body)
            writer.endObject()
        }
    }
}

extension HTTPResponder {
    func changes(_ head: RequestHead, _ body: JSONObject, _ database: CouchDatabase) async throws -> Routed {
        let changes = try CouchChanges(head, body)
        let feed = CouchFeed(database, changes)
        let wait = FeedWait(
            database.name, database.caller, heartbeat: changes.heartbeat,
            timeout: changes.heartbeat == nil ? changes.timeout : nil)
        let waits = changes.feed != .normal
        // What changes while the feed is read wakes it, too.
        if waits { door.submit { $0.wait(wait) } }
        let unwait: @Sendable () -> Void = { [door] in if waits { door.submit { $0.feedWaits.remove(wait) } } }
        do {
            try await feed.open()
            switch changes.feed {
            case .normal: return try await PortionedAnswer.routed(CouchAnswer(feed).next)
            case .longpoll:
                let rows = try await feed.next()
                if !rows.isEmpty {
                    unwait()
                    return try await PortionedAnswer.routed(CouchAnswer(feed, rows).next)
                }
                let answer = CouchAnswer(feed, waitingOn: wait)
                return .portions(PortionedAnswer(start: [], next: answer.next, gone: { wait.signal(.end) }, ended: unwait))
            case .continuous:
                let answer = CouchLines(feed, waitingOn: wait)
                return .portions(PortionedAnswer(start: [], next: answer.next, gone: { wait.signal(.end) }, ended: unwait))
            }
        } catch {
            unwait()
            throw error
        }
    }
}

/// `{"results":[…],"last_seq","pending"}`, with as many line ends in between as it takes.
private actor CouchAnswer {
    private let feed: CouchFeed
    private let wait: FeedWait?
    private var rows: [[UInt8]]?
    private var isBegun = false
    private var hasRows = false
    private var isOver = false

    init(_ feed: CouchFeed, _ rows: [[UInt8]]? = nil, waitingOn wait: FeedWait? = nil) {
        self.feed = feed
        self.rows = rows
        self.wait = wait
    }

    nonisolated var next: @Sendable () async throws -> [UInt8]? { { try await self.portion() } }

    private func portion() async throws -> [UInt8]? {
        guard !isOver else { return nil }
        guard isBegun else {
            isBegun = true
            return Array("{\"results\":[\n".utf8)
        }
        if let wait, !hasRows { return try await awaitRows(wait) }
        if let rows {
            self.rows = nil
            return encode(rows)
        }
        if await feed.isAtEnd { return await end() }
        return encode(try await feed.next())
    }

    private func awaitRows(_ wait: FeedWait) async throws -> [UInt8]? {
        for await _ in wait.signals {
            switch wait.take() {
            case .heartbeat: return [0x0A]
            case .change:
                // The dataset may be gone by now: that is said to the next request.
                guard let rows = try? await feed.next() else { return await end() }
                if !rows.isEmpty { return encode(rows) }
            case .end: return await end()
            case nil: break
            }
        }
        return await end()
    }

    private func encode(_ rows: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for row in rows {
            if hasRows { bytes += [0x2C, 0x0A] }
            hasRows = true
            bytes += row
        }
        return bytes
    }

    private func end() async -> [UInt8] {
        isOver = true
        var writer = JSONWriter()
        writer.string(await feed.place)
        return Array("\n],\n\"last_seq\":".utf8) + writer.bytes + Array(",\"pending\":\(await feed.pending)}\n".utf8)
    }
}

/// A row on each line, and a line end as a sign of life.
private actor CouchLines {
    private let feed: CouchFeed
    private let wait: FeedWait
    private var isBehind = true
    private var isOver = false

    init(_ feed: CouchFeed, waitingOn wait: FeedWait) {
        self.feed = feed
        self.wait = wait
    }

    nonisolated var next: @Sendable () async throws -> [UInt8]? { { try await self.portion() } }

    private func portion() async throws -> [UInt8]? {
        guard !isOver else { return nil }
        while true {
            if isBehind {
                let rows = try await feed.next()
                if await feed.left == 0 {
                    isOver = true
                    return lines(rows) + (await end())
                }
                isBehind = await !feed.isAtEnd
                if !rows.isEmpty { return lines(rows) }
                continue
            }
            switch await signal() {
            case .heartbeat: return [0x0A]
            case .change: isBehind = true
            case .end:
                isOver = true
                return await end()
            }
        }
    }

    private func signal() async -> FeedWait.Signal {
        for await _ in wait.signals { if let signal = wait.take() { return signal } }
        return .end
    }

    private func lines(_ rows: [[UInt8]]) -> [UInt8] { rows.reduce(into: []) { $0 += $1 + [0x0A] } }

    private func end() async -> [UInt8] {
        let (place, pending) = (await feed.place, await feed.pending)
        return JSONWriter.object { writer in
            writer.member("last_seq", place)
            writer.member("pending", pending)
        } + [0x0A]
    }
}
