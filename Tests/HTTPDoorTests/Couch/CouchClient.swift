import Wire

@testable import HTTPDoor

/// A client of CouchDB's protocol over a plain connection.
final class CouchClient {
    let house: HTTPHouse
    let name: String
    let database: String
    private var connection: Connection

    init(_ house: HTTPHouse, _ database: String = "demo", as name: String = "ann") throws {
        self.house = house
        self.database = database
        self.name = name
        connection = try Connection(to: house.port)
    }

    /// A path below the database, with the name of the client.
    func path(_ path: String) -> String {
        "/couch/\(database)/\(path)\(path.contains("?") ? "&" : "?")client=\(name)"
    }

    func ask(_ method: String, _ path: String, _ body: String? = nil) throws -> Connection.Answer {
        let answer = try connection.ask(method, self.path(path), body)
        if answer.fields["connection"] == "close" { connection = try Connection(to: house.port) }
        return answer
    }

    /// An answer that comes in portions, on a connection of its own.
    func stream(_ method: String, _ path: String, _ body: String? = nil) throws -> Stream {
        Stream(try Connection(to: house.port), method, self.path(path), body)
    }

    /// Has the dataset exist.
    func create() throws {
        _ = try Connection(to: house.port).ask("POST", "/api/\(database)/dataset/create?client=admin", "{}")
    }

    /// Sends a request whose answer nobody waits for.
    func abandon(_ method: String, _ path: String, _ body: String) {
        connection.write(
            "\(method) \(self.path(path)) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Writes revisions that were made elsewhere.
    @discardableResult
    func push(_ documents: JSONValue...) throws -> [JSONValue] {
        let body: JSONValue = ["docs": .array(documents), "new_edits": false]
        let answer = try ask("POST", "_bulk_docs", String(decoding: body.serialised(), as: UTF8.self))
        guard answer.status == 201, let results = (try? JSONValue.parse(answer.body))?.asArray else {
            throw Connection.Failure(description: "\(answer)")
        }
        return results
    }

    /// The changes after a place.
    func changes(since: String = "0", _ rest: String = "") throws -> (rows: [JSONObject], last: String) {
        let answer = try ask("GET", "_changes?style=all_docs&since=\(since)\(rest)")
        guard answer.status == 200 else { throw Connection.Failure(description: "\(answer)") }
        return ((answer.json["results"]?.asArray ?? []).compactMap(\.asObject), answer.json["last_seq"]?.asString ?? "")
    }

    /// An answer of which portions come one by one.
    final class Stream {
        private let connection: Connection

        init(_ connection: Connection, _ method: String, _ path: String, _ body: String?) {
            self.connection = connection
            var text = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
            if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
            connection.write(text + "\r\n" + (body ?? ""))
        }

        /// The status line and the headers.
        func head() throws -> String { try connection.read(until: "\r\n\r\n") }

        /// The next portion; empty at the end.
        func portion() throws -> String {
            let line = try connection.read(until: "\r\n").dropLast(1)
            guard let size = Int(line, radix: 16) else { throw Connection.Failure(description: "no portion: \(line)") }
            let bytes = try connection.read(count: size)
            _ = try connection.read(until: "\r\n")
            return String(decoding: bytes, as: UTF8.self)
        }

        /// Everything up to the end.
        func rest() throws -> String {
            var text = ""
            while true {
                let portion = try portion()
                if portion.isEmpty { return text }
                text += portion
            }
        }
    }
}

extension JSONObject {
    /// The revisions of a row of changes.
    var revisions: [String] { (self["changes"]?.asArray ?? []).compactMap { $0.asObject?["rev"]?.asString } }
}

/// A replica that replicates as PouchDB does, in a few lines: documents are sets of leaves with their histories.
final class Replica {
    private struct Document {
        /// By revision.
        var leaves: [String: JSONObject] = [:]
        var known: Set<String> = []
    }

    private var documents: [String: Document] = [:]
    private var order: [String] = []
    private var pulledThrough = "0"
    var client: CouchClient
    private let mark: String
    private var count = 0

    init(_ client: CouchClient, _ mark: String) {
        self.client = client
        self.mark = mark
    }

    /// What each document says here: the leaves, best first.
    var state: [String: [String]] {
        documents.mapValues { document in
            document.leaves.sorted { Self.wins($0, $1) }.map { revision, body in
                "\(revision) \(body["_deleted"]?.asBool == true ? "-" : body["text"]?.asString ?? "?")"
            }
        }
    }

    func winner(of id: String) -> (revision: String, body: JSONObject)? {
        documents[id]?.leaves.min { Self.wins($0, $1) }.map { ($0.key, $0.value) }
    }

    private static func wins(_ left: (key: String, value: JSONObject), _ right: (key: String, value: JSONObject)) -> Bool {
        let (leftIsDeleted, rightIsDeleted) = (left.value["_deleted"] == true, right.value["_deleted"] == true)
        if leftIsDeleted != rightIsDeleted { return rightIsDeleted }
        let (generation, other) = (CouchRevision.generation(of: left.key), CouchRevision.generation(of: right.key))
        return generation != other ? generation > other : left.key > right.key
    }

    /// Writes over a leaf, by default the winner; no text deletes.
    func write(_ id: String, _ text: String?, over revision: String? = nil) {
        count += 1
        let parent = revision ?? winner(of: id)?.revision
        let generation = (parent.map(CouchRevision.generation) ?? 0) + 1
        let hash = "\(mark)\(count)"
        let former = parent.flatMap { documents[id]?.leaves[$0]?["_revisions"]?.asObject?["ids"]?.asArray } ?? []
        var body: JSONObject = [
            "_id": .string(id), "_rev": .string("\(generation)-\(hash)"),
            "_revisions": ["start": .integer(generation), "ids": .array([.string(hash)] + former)],
        ]
        if let text { body["text"] = .string(text) } else { body["_deleted"] = true }
        take(body)
    }

    private func take(_ body: JSONObject) {
        guard let id = body["_id"]?.asString, let revision = body["_rev"]?.asString,
            let revisions = body["_revisions"]?.asObject, let start = revisions["start"]?.asInt64
        else { return }
        if documents[id] == nil { order.append(id) }
        var document = documents[id] ?? Document()
        for (index, hash) in (revisions["ids"]?.asArray ?? []).enumerated() {
            let known = "\(start - Int64(index))-\(hash.asString ?? "")"
            if index > 0 { document.leaves[known] = nil }
            if index == 0, !document.known.contains(known) { document.leaves[revision] = body }
            document.known.insert(known)
        }
        documents[id] = document
    }

    /// What is missing at the database, as `_bulk_docs` takes it.
    func missing() throws -> String {
        var asked = JSONObject()
        for id in order { asked[id] = .array((documents[id]?.leaves.keys.sorted() ?? []).map { .string($0) }) }
        let answer = try client.ask("POST", "_revs_diff", String(decoding: JSONValue.object(asked).serialised(), as: UTF8.self))
        var bodies: [JSONValue] = []
        for member in answer.json.members {
            for revision in member.value.asObject?["missing"]?.asArray ?? [] {
                if let body = documents[member.key]?.leaves[revision.asString ?? ""] { bodies.append(.object(body)) }
            }
        }
        let body: JSONValue = ["docs": .array(bodies), "new_edits": false]
        return String(decoding: body.serialised(), as: UTF8.self)
    }

    func push() throws {
        let results = try client.ask("POST", "_bulk_docs", try missing())
        guard results.status == 201, results.text == "[]" else { throw Connection.Failure(description: "\(results)") }
    }

    func pull() throws {
        while true {
            let (rows, last) = try client.changes(since: pulledThrough, "&limit=5")
            var wanted: [JSONValue] = []
            for row in rows {
                guard let id = row["id"]?.asString else { continue }
                for revision in row.revisions where documents[id]?.known.contains(revision) != true {
                    wanted.append(["id": .string(id), "rev": .string(revision)])
                }
            }
            let body: JSONValue = ["docs": .array(wanted)]
            let answer = try client.ask(
                "POST", "_bulk_get?revs=true&latest=true", String(decoding: body.serialised(), as: UTF8.self))
            for result in answer.json["results"]?.asArray ?? [] {
                for document in result.asObject?["docs"]?.asArray ?? [] {
                    guard let body = document.asObject?["ok"]?.asObject else {
                        throw Connection.Failure(description: "\(result)")
                    }
                    take(body)
                }
            }
            pulledThrough = last
            if rows.count < 5 { return }
        }
    }
}
