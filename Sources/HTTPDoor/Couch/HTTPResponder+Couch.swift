import HTTPTypes
import Wire

// /couch/{dataset}: what PouchDB, and whatever speaks CouchDB's replication, asks of a database.

extension HTTPResponder {
    /// Bytes of a body with documents: a hundred of the longest, as replicators send them together.
    private static let documentsBodyMax = 32 << 20

    func couch(_ exchange: HTTPExchange) async -> Routed {
        do {
            do {
                return try await answerCouch(exchange)
            } catch let refusal as HTTPRefusal {
                throw CouchRefusal(refusal)
            } catch let error as WireError {
                throw CouchRefusal(error)
            } catch let error as JSONError {
                throw CouchRefusal(WireError(error))
            }
        } catch let refusal as CouchRefusal {
            return .answer(refusal.answer)
        } catch {
            return .answer(CouchRefusal(HTTPRefusal.unavailable("the request could not be read")).answer)
        }
    }

    private func answerCouch(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        var path = head.path.dropFirst()
        if path.last == "" { path = path.dropLast() }
        guard let name = path.popFirst() else {
            try allow(head, Self.couchMethods(head) ?? "")
            _ = try exchange.door.callers.caller(of: head, for: nil)
            return .answer(try await welcome())
        }
        let caller = try exchange.door.callers.caller(of: head, for: name)
        let database = CouchDatabase(door: exchange.door, name: name, caller: caller)
        guard let first = path.popFirst() else { return try await self.database(exchange, database) }
        if first == "_local" {
            return try await local(exchange, database, id: path.joined(separator: "/"))
        }
        if head.method == .put, first == "_design" || first.hasPrefix("_design/") {
            throw CouchEdit.isNoID(([first] + path).joined(separator: "/"))
        }
        guard path.isEmpty else {
            guard first.utf8.first != UInt8(ascii: "_") else { throw CouchRefusal.notFound("there is no such path here") }
            throw CouchRefusal.attachments
        }
        if let methods = Self.couchMethods(head) { try allow(head, methods) }
        switch first {
        case "_changes":
            let body = head.method == .post ? try await object(exchange) : [:]
            return try await changes(head, body, database)
        case "_revs_diff":
            return try await revisionsDiff(try await object(exchange), database)
        case "_bulk_get":
            return try await bulkGet(head, try await object(exchange), database)
        case "_bulk_docs":
            return try await bulkDocuments(try await exchange.body(upTo: Self.documentsBodyMax), database)
        case "_all_docs":
            let body = head.method == .post ? try await object(exchange) : [:]
            return try await allDocuments(head, body, database)
        case "_ensure_full_commit":
            // Nothing is answered before it is durable.
            return .answer(HTTPAnswer(.created, json: Array(#"{"ok":true,"instance_start_time":"0"}"#.utf8)))
        case _ where first.utf8.first == UInt8(ascii: "_"):
            throw CouchRefusal.notFound("`\(first.prefix(80))` is not offered here")
        default: return try await document(exchange, database, id: first)
        }
    }

    /// What a path below `/couch` offers; nil where there is nothing.
    static func couchMethods(_ head: RequestHead) -> String? {
        var path = head.path.dropFirst()
        if path.last == "" { path = path.dropLast() }
        guard path.popFirst() != nil else { return "GET, HEAD" }
        guard let first = path.popFirst() else { return "GET, HEAD, PUT, POST" }
        if first == "_local" { return "GET, HEAD, PUT, DELETE" }
        guard path.isEmpty else { return nil }
        switch first {
        case "_changes", "_all_docs": return "GET, HEAD, POST"
        case "_revs_diff", "_bulk_get", "_bulk_docs", "_ensure_full_commit": return "POST"
        default: return first.hasPrefix("_") ? nil : "GET, HEAD, PUT, DELETE"
        }
    }

    func allow(_ head: RequestHead, _ methods: String) throws(HTTPRefusal) {
        guard methods.split(separator: ", ").contains(where: { $0 == head.method.rawValue }) else {
            throw .method(head.method, allow: methods)
        }
    }

    /// A body that is a JSON object, or empty.
    func object(_ exchange: HTTPExchange, upTo limit: Int? = nil) async throws -> JSONObject {
        let bytes = try await exchange.body(upTo: limit ?? door.configuration.limits.bodyBytes)
        return bytes.isEmpty ? [:] : try Self.object(bytes)
    }

    /// The body of a document that is written: without one there is none.
    func writtenObject(_ exchange: HTTPExchange, upTo limit: Int? = nil) async throws -> JSONObject {
        let bytes = try await exchange.body(upTo: limit ?? door.configuration.limits.bodyBytes)
        guard !bytes.isEmpty else { throw CouchRefusal.badRequest("the body must be a JSON object, and is empty") }
        return try Self.object(bytes)
    }

    private static func object(_ bytes: [UInt8]) throws -> JSONObject {
        guard let object = try JSONValue.parse(bytes).asObject else {
            throw CouchRefusal.badRequest("the body must be a JSON object")
        }
        return object
    }

    // MARK: The server and the database

    private func welcome() async throws -> HTTPAnswer {
        guard let instance = await door.onCore({ $0.core.hub.configuration.instance }) else {
            throw HTTPRefusal.unavailable("the daemon ends")
        }
        return HTTPAnswer(
            .ok,
            json: JSONWriter.object { writer in
                writer.member("couchdb", "Welcome")
                // Of the protocol that is spoken.
                writer.member("version", "3.0.0")
                writer.member("uuid", instance)
                writer.key("vendor")
                writer.beginObject()
                writer.member("name", "geomatch")
                writer.member("version", door.configuration.version)
                writer.endObject()
            })
    }

    private func database(_ exchange: HTTPExchange, _ database: CouchDatabase) async throws -> Routed {
        let head = exchange.head
        switch head.method {
        case .get, .head: return .answer(try await information(database))
        case .put:
            try await create(database)
            return .answer(HTTPAnswer(.created, json: Array(#"{"ok":true}"#.utf8)))
        case .post:
            let edit = try CouchEdit(try await object(exchange), isReplicated: false)
            return .answer(try await write(edit, database, .created))
        default: throw HTTPRefusal.method(head.method, allow: "GET, HEAD, PUT, POST")
        }
    }

    /// Administrators create datasets, and everybody does on first use, where that is on.
    private func create(_ database: CouchDatabase) async throws {
        do {
            _ = try await database.page(since: 0, limit: 1, withContent: false)
            throw CouchRefusal(.preconditionFailed, "file_exists", "the dataset exists already")
        } catch let error as WireError where error.code == .unknownDataset {}
        do {
            _ = try await database.ask("dataset/create")
        } catch let error as WireError where error.code == .unauthorized {
            do {
                // A first import creates a dataset, be it of nothing.
                _ = try await database.ask("place/import") { writer in
                    writer.key("places")
                    writer.raw(Array(#"{"type":"FeatureCollection","features":[]}"#.utf8))
                }
            } catch let missing as WireError where missing.code == .unknownDataset {
                throw error
            }
        }
    }

    private func information(_ database: CouchDatabase) async throws -> HTTPAnswer {
        let page = try await database.page(since: 0, limit: 1, withContent: false, counting: true)
        return HTTPAnswer(
            .ok,
            json: JSONWriter.object { writer in
                writer.member("db_name", database.name)
                writer.member("update_seq", CouchSequence(page.end, of: page.store).text)
                writer.member("doc_count", page.documents)
                writer.member("doc_del_count", page.deleted)
                writer.member("instance_start_time", "0")
                writer.member("purge_seq", 0)
                writer.member("compact_running", false)
            })
    }

    // MARK: Checkpoints

    private func local(_ exchange: HTTPExchange, _ database: CouchDatabase, id: String) async throws -> Routed {
        let head = exchange.head
        switch head.method {
        case .get, .head:
            let (value, revision) = try await database.local(id)
            try await database.checkResumable(value["last_seq"]?.asString)
            return .answer(
                HTTPAnswer(
                    .ok,
                    json: JSONWriter.object { writer in
                        writer.member("_id", "_local/\(id)")
                        writer.member("_rev", revision)
                        for member in value.members {
                            writer.key(member.key)
                            writer.value(member.value)
                        }
                    }))
        case .put:
            let revision = try await database.putLocal(id, try await writtenObject(exchange))
            return .answer(Self.written("_local/\(id)", revision, .created))
        case .delete:
            _ = try await database.local(id)
            _ = try await database.putLocal(id, ["_deleted": true])
            return .answer(Self.written("_local/\(id)", "0-0", .ok))
        default: throw HTTPRefusal.method(head.method, allow: "GET, HEAD, PUT, DELETE")
        }
    }

    /// `{"ok":true,"id","rev"}`
    static func written(_ id: String, _ revision: String, _ status: HTTPResponse.Status) -> HTTPAnswer {
        HTTPAnswer(
            status,
            json: JSONWriter.object { writer in
                writer.member("ok", true)
                writer.member("id", id)
                writer.member("rev", revision)
            })
    }
}
