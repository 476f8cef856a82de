import DaemonCore
import Datasets
import Foundation
import SeededRandom
import Testing
import Wire

@testable import HTTPDoor

/// What outlives a daemon that was killed; one test has it at a time.
private struct Killed: @unchecked Sendable {
    let there: Replica
    let here: Replica
    let house: HTTPHouse
}

@Suite("CouchDB's protocol")
struct CouchTests {
    private func withCouch<Result: Sendable>(_ body: (CouchClient) throws -> Result) async throws -> Result {
        try await withHTTP { house in
            let client = try CouchClient(house)
            try client.create()
            return try body(client)
        }
    }

    private func document(_ id: String, _ start: Int64, _ ids: [String], text: String? = nil) -> JSONValue {
        var body: JSONObject = [
            "_id": .string(id), "_rev": .string("\(start)-\(ids[0])"),
            "_revisions": ["start": .integer(start), "ids": .array(ids.map { .string($0) })],
        ]
        if let text { body["text"] = .string(text) } else { body["_deleted"] = true }
        return .object(body)
    }

    // MARK: The server and the database

    @Test("The server and the database say who they are, and what is missing is reported with CouchDB's names")
    func greeting() async throws {
        try await withCouch { client in
            let server = try Connection(to: client.house.port).ask("GET", "/couch/")
            #expect(server.status == 200 && server.json["version"]?.asString != nil && server.json["uuid"]?.asString != nil)
            let database = try client.ask("GET", "")
            #expect(database.json["db_name"] == "demo" && database.json["doc_count"] == 0, "\(database)")
            #expect(database.json["instance_start_time"] != nil && database.json["update_seq"]?.asString != nil)
            #expect(try client.ask("HEAD", "").status == 200)
            for (method, path, status, name) in [
                ("GET", "_nothing", 404, "not_found"), ("GET", "note:1", 404, "not_found"),
                ("DELETE", "", 405, "method_not_allowed"),
                ("GET", "_local/x", 404, "not_found"), ("PUT", "note:1/picture.png", 403, "forbidden"),
                ("GET", "_changes?since=never", 400, "bad_request"), ("GET", "_changes?feed=fast", 400, "bad_request"),
                ("POST", "_bulk_docs", 400, "bad_request"), ("GET", "_bulk_docs", 405, "method_not_allowed"),
                ("PUT", "", 412, "file_exists"),
            ] {
                let answer = try client.ask(method, path, method == "POST" ? "nonsense" : nil)
                #expect(answer.status == status && answer.json["error"]?.asString == name, "\(method) \(path): \(answer)")
                #expect(answer.json["reason"]?.asString?.isEmpty == false)
            }
            let other = try CouchClient(client.house, "nowhere").ask("GET", "")
            #expect(other.status == 404 && other.json["error"] == "not_found", "\(other)")
            let made = try CouchClient(client.house, "somewhere", as: "admin")
            #expect(try made.ask("PUT", "").status == 201)
            #expect(try made.ask("GET", "").json["db_name"] == "somewhere")
        }
    }

    // MARK: Replication

    @Test("A document pushed with its history is pulled with it, byte for byte")
    func roundTrip() async throws {
        try await withCouch { client in
            #expect(try client.push(document("note:1", 3, ["c", "b", "a"], text: "Grüße 😀 \u{7F} \"\\")).isEmpty)
            let diff = try client.ask("POST", "_revs_diff", #"{"note:1":["3-c","1-a","4-d"],"note:2":["1-x"],"plain":["1-y"]}"#)
            #expect(diff.json["note:1"]?.asObject?["missing"] == ["4-d"], "\(diff)")
            #expect(diff.json["note:1"]?.asObject?["possible_ancestors"] == ["3-c"])
            #expect(diff.json["note:2"]?.asObject?["missing"] == ["1-x"])
            #expect(diff.json["plain"]?.asObject?["missing"] == ["1-y"])
            let (rows, last) = try client.changes()
            #expect(rows.count == 1 && rows[0]["id"] == "note:1" && rows[0].revisions == ["3-c"])
            #expect(try client.changes(since: last).rows.isEmpty)
            let got = try client.ask(
                "POST", "_bulk_get?revs=true&latest=true", #"{"docs":[{"id":"note:1","rev":"2-b"},{"id":"note:9","rev":"1-q"}]}"#)
            let results = try #require(got.json["results"]?.asArray)
            let first = results[0].asObject?["docs"]?.asArray?.first?.asObject?["ok"]?.asObject
            #expect(first?["_rev"] == "3-c" && first?["text"] == "Grüße 😀 \u{7F} \"\\", "\(got)")
            #expect(first?["_revisions"] == ["start": 3, "ids": ["c", "b", "a"]])
            #expect(first?["id"] == nil && first?["type"] == nil && first?["revision"] == nil)
            let second = results[1].asObject?["docs"]?.asArray?.first?.asObject?["error"]?.asObject
            #expect(second?["error"] == "not_found" && second?["rev"] == "1-q")
        }
    }

    @Test("Conflicts made on both sides end the same everywhere, in whatever order", arguments: [0, 1, 2] as [UInt64])
    func convergence(_ run: UInt64) async throws {
        let seed = SplitMix64.seed() &+ run
        var random = SplitMix64(seed: seed)
        try await withCouch { client in
            let replicas = try ["a", "b", "c"].map { Replica(try CouchClient(client.house), $0) }
            for round in 1...12 {
                for replica in replicas {
                    for _ in 0..<random.below(4) {
                        let id = "note:\(random.below(5))"
                        let deletes = random.below(4) == 0 && replica.winner(of: id) != nil
                        replica.write(id, deletes ? nil : "\(seed).\(round)")
                    }
                    if random.below(2) == 0 { try replica.push() }
                    if random.below(2) == 0 { try replica.pull() }
                }
            }
            for replica in replicas + replicas { try replica.push(); try replica.pull() }
            for replica in replicas { #expect(replica.state == replicas[0].state, "seed \(seed)") }
            // The daemon sees the same winners.
            for id in replicas[0].state.keys {
                let shown = try client.ask("GET", "\(id)?open_revs=all")
                let leaves = try #require((try? JSONValue.parse(shown.body))?.asArray)
                let revisions = leaves.compactMap { $0.asObject?["ok"]?.asObject?["_rev"]?.asString }
                #expect(revisions == replicas[0].state[id]?.map { String($0.prefix { $0 != " " }) }, "seed \(seed) \(id)")
            }
        }
    }

    @Test("A daemon that is killed in the middle of a push loses and doubles nothing")
    func killed() async throws {
        let replicas = try await withHTTP { house in
            let client = try CouchClient(house)
            try client.create()
            let (there, here) = (Replica(client, "a"), Replica(client, "b"))
            for number in 1...300 { there.write("note:\(number)", "one") }
            try there.push()
            try here.pull()
            _ = try client.ask("PUT", "_local/there", #"{"last_seq":300}"#)
            for number in 1...300 { there.write("note:\(number)", number % 3 == 0 ? nil : "two") }
            client.abandon("POST", "_bulk_docs", try there.missing())
            return Killed(there: there, here: here, house: house)
        }
        replicas.house.log.forgetUnwritten()
        try await withHTTP(on: replicas.house.log.store) { house in
            let client = try CouchClient(house)
            replicas.there.client = client
            replicas.here.client = client
            #expect(try client.ask("GET", "_local/there").json["last_seq"] == 300)
            for _ in 1...2 {
                for replica in [replicas.there, replicas.here] {
                    try replica.push()
                    try replica.pull()
                }
            }
            #expect(replicas.here.state == replicas.there.state && replicas.here.state.count == 300)
            #expect(replicas.here.state.values.allSatisfy { $0.count == 1 })
            let rows = try client.changes().rows
            #expect(rows.count == 300 && rows.allSatisfy { $0.revisions.count == 1 })
        }
    }

    @Test("A later push names all that it was made from: no leaf stays behind")
    func skippedGenerations() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "1"))
            try client.push(document("note:1", 4, ["d", "c", "b", "a"], text: "4"))
            let read = try client.ask("GET", "note:1?conflicts=true&revs=true")
            #expect(read.json["_rev"] == "4-d" && read.json["_conflicts"] == nil, "\(read)")
            #expect(read.json["_revisions"] == ["start": 4, "ids": ["d", "c", "b", "a"]])
            // What comes late and is an ancestor changes nothing.
            let before = try client.changes().last
            try client.push(document("note:1", 3, ["c", "b", "a"], text: "3"))
            #expect(try client.changes(since: before).rows.isEmpty)
        }
    }

    @Test("Both sides of a conflict are shown with their parents, and a deletion ends one of them")
    func conflict() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "1"))
            try client.push(document("note:1", 2, ["b", "a"], text: "b"), document("note:1", 2, ["c", "a"], text: "c"))
            let read = try client.ask("GET", "note:1?conflicts=true")
            #expect(read.json["_rev"] == "2-c" && read.json["_conflicts"] == ["2-b"], "\(read)")
            #expect(try client.changes().rows[0].revisions == ["2-c", "2-b"])
            for (revision, parent) in [("2-b", "a"), ("2-c", "a")] {
                let leaf = try client.ask("GET", "note:1?rev=\(revision)&revs=true")
                #expect(leaf.json["_revisions"]?.asObject?["ids"]?.asArray?.last?.asString == parent, "\(leaf)")
            }
            let gone = try client.ask("DELETE", "note:1?rev=2-c")
            #expect(gone.status == 200)
            #expect(try client.ask("GET", "note:1").json["_rev"] == "2-b")
            #expect(try client.changes().rows[0].revisions.count == 2)
            let open = try client.ask("GET", #"note:1?open_revs=["2-b","9-z"]"#.replacingOccurrences(of: "\"", with: "%22"))
            let leaves = try #require((try? JSONValue.parse(open.body))?.asArray)
            #expect(leaves[0].asObject?["ok"]?.asObject?["text"] == "b" && leaves[1].asObject?["missing"] == "9-z", "\(open)")
        }
    }

    @Test("An object of ours that is deleted by a request is deleted for replicators, with all its conflicts")
    func burial() async throws {
        try await withCouch { client in
            func device(_ start: Int64, _ ids: [String], _ name: String) -> JSONValue {
                [
                    "_id": "device:p", "_rev": .string("\(start)-\(ids[0])"), "deviceType": "MobileDevice", "name": .string(name),
                    "_revisions": ["start": .integer(start), "ids": .array(ids.map { .string($0) })],
                ]
            }
            #expect(try client.push(device(1, ["a"], "one")).isEmpty)
            #expect(try client.push(device(2, ["b", "a"], "two"), device(2, ["c", "a"], "three")).isEmpty)
            let read = try client.ask("GET", "device:p?conflicts=true")
            #expect(read.json["name"] == "three" && read.json["_conflicts"] == ["2-b"], "\(read)")
            let replica = Replica(client, "z")
            try replica.pull()
            let deleted = try Connection(to: client.house.port)
                .ask("POST", "/api/demo/device/delete?client=ann", #"{"id":"p"}"#)
            #expect(deleted.status == 200, "\(deleted)")
            try replica.pull()
            #expect(replica.winner(of: "device:p")?.body["_deleted"] == true, "\(replica.state)")
            #expect(try client.ask("GET", "device:p").json["reason"] == "deleted")
        }
    }

    @Test("Edits by request are children of what they changed")
    func requestsHaveHistories() async throws {
        try await withCouch { client in
            let connection = try Connection(to: client.house.port)
            _ = try connection.ask(
                "POST", "/api/demo/device/create?client=ann", #"{"deviceType":"MobileDevice","id":"p","name":"one"}"#)
            let first = try client.ask("GET", "device:p")
            _ = try connection.ask("POST", "/api/demo/device/update?client=ann", #"{"id":"p","name":"two"}"#)
            let second = try client.ask("GET", "device:p?revs=true")
            let hash = CouchRevision.hash(of: try #require(first.json["_rev"]?.asString))
            #expect(second.json["_revisions"]?.asObject?["ids"]?.asArray?.last?.asString == hash, "\(second)")
            #expect(second.json["name"] == "two" && second.json["deviceType"] == "MobileDevice" && second.json["type"] == nil)
        }
    }

    @Test("A geofence goes by its id for its owner and by its path for administrators, also when it is deleted")
    func geofences() async throws {
        try await withCouch { client in
            let connection = try Connection(to: client.house.port)
            let made = try connection.ask(
                "POST", "/api/demo/geofence/create?client=ann",
                #"{"id":"home","area":{"circle":{"latitude":1,"longitude":1,"radius":100}}}"#)
            try #require(made.status == 200, "\(made)")
            let revision = try #require(made.json["result"]?.asObject?["revision"]?.asString)
            let body = #"{"_id":"geofence:home","_rev":"\#(revision)""#
            for (method, path, sent) in [
                ("PUT", "geofence:home", body + #","name":"x"}"#), ("PUT", "geofence:home", #"{"name":"x"}"#),
                ("DELETE", "geofence:home?rev=\(revision)", nil), ("DELETE", "geofence:none?rev=1-a", nil),
                ("POST", "_bulk_docs", #"{"docs":[\#(body),"_deleted":true}]}"#),
                ("POST", "_bulk_docs", #"{"docs":[\#(body),"_deleted":true}],"new_edits":false}"#),
            ] as [(String, String, String?)] {
                let answer = try client.ask(method, path, sent)
                let refusal = method == "POST" ? (try? JSONValue.parse(answer.body))?.asArray?.first?.asObject : answer.json
                #expect(answer.status == (method == "POST" ? 201 : 403) && refusal?["error"] == "forbidden", "\(answer)")
                #expect(refusal?["reason"]?.asString?.hasPrefix("a geofence is not pushed") == true, "\(answer)")
            }
            let admin = try CouchClient(client.house, as: "admin")
            func read(_ client: CouchClient, _ id: String) throws -> JSONObject? {
                let row = try #require(try client.changes().rows.first)
                #expect(row["id"]?.asString == id)
                let asked: JSONValue = ["docs": [["id": .string(id), "rev": .string(row.revisions[0])]]]
                let got = try client.ask("POST", "_bulk_get", String(decoding: asked.serialised(), as: UTF8.self))
                return got.json["results"]?.asArray?.first?.asObject?["docs"]?.asArray?.first?.asObject?["ok"]?.asObject
            }
            for (client, id) in [(client, "geofence:home"), (admin, "geofence:ann/home")] {
                #expect(try read(client, id)?["area"] != nil)
            }
            #expect(try connection.ask("POST", "/api/demo/geofence/delete?client=ann", #"{"id":"home"}"#).status == 200)
            for (client, id) in [(client, "geofence:home"), (admin, "geofence:ann/home")] {
                #expect(try read(client, id)?["_deleted"] == true)
            }
            let refused = try client.push(["_id": "geofence:work", "_rev": "1-a", "area": ["circle": ["radius": 5]]])
            #expect(refused.first?.asObject?["error"] == "forbidden")
        }
    }

    @Test("What is refused is refused alone and forbidden, so that a replicator passes over it")
    func refusals() async throws {
        try await withCouch { client in
            let results = try client.push(
                document("note:ok", 1, ["a"], text: "1"), document("plain", 1, ["a"], text: "1"),
                document("_design/x", 1, ["a"], text: "1"), document("note:", 1, ["a"], text: "1"),
                ["_id": "device:d", "_rev": "1-a", "deviceType": "Spoon"],
                ["_id": "note:1", "text": "no revision"], ["_id": "note:2", "_rev": "x"],
                ["_id": "note:3", "_rev": "2-b", "_revisions": ["start": 3, "ids": ["b", "a"]]],
                ["_id": "note:4", "_rev": "2-b", "_revisions": ["start": 2, "ids": ["b", "a", "c"]]],
                ["_id": "note:5", "_rev": "2-b", "_revisions": ["start": 2, "ids": ["b", "a b"]]],
                ["_id": "note:6", "_rev": "1-a", "_attachments": ["p": ["data": "AA=="]]],
                ["_id": "note:7", "_rev": "1-a", "_private": 1], ["_id": "note:8", "_rev": "1-a", "deleted": true],
                ["_id": "note:9", "_rev": "1-a", "type": "letter"],
                ["_id": "note:long", "_rev": "1-a", "text": .string(String(repeating: "x", count: 300_000))])
            #expect(results.count == 14, "\(results)")
            for result in results {
                #expect(result.asObject?["error"] == "forbidden" && result.asObject?["reason"]?.asString?.isEmpty == false)
            }
            #expect(try client.changes().rows.compactMap { $0["id"]?.asString } == ["note:ok"])
            let deep = String(repeating: "[", count: 80) + String(repeating: "]", count: 80)
            let odd = try client.ask(
                "POST", "_bulk_docs",
                #"{"docs":[{"_id":"note:deep","_rev":"1-a","x":\#(deep)},{"_id":"note:half","_rev":"1-a","x":"\ud800"}],"new_edits":false}"#
            )
            let oddities = try #require((try? JSONValue.parse(odd.body))?.asArray).compactMap { $0.asObject?["id"]?.asString }
            #expect(odd.status == 201 && oddities == ["note:deep", "note:half"], "\(odd)")
            // Another client's document.
            let bob = try CouchClient(client.house, as: "bob")
            #expect(try bob.push(document("note:ok", 2, ["b", "a"], text: "2")).first?.asObject?["error"] == "forbidden")
        }
    }

    @Test("Ids hold every character that JSON and URLs can say")
    func ids() async throws {
        try await withCouch { client in
            let ids = [
                "note:a/b", "note:a b+c", "note:a%2Fb", "note:ü€😀", "note:?#&=", "note::", "note:a:b", "note:\u{1}\t\n\u{7F}",
                "note:\"\\",
                "no te:_x", "note:..", "note:%", "note:e\u{301}",
            ]
            for id in ids { #expect(try client.push(document(id, 1, ["a"], text: id)).isEmpty, "\(id)") }
            #expect(try client.changes().rows.compactMap { $0["id"]?.asString } == ids)
            for id in ids {
                let encoded = id.utf8.map { "%" + (String($0, radix: 16).count < 2 ? "0" : "") + String($0, radix: 16) }.joined()
                let read = try client.ask("GET", encoded)
                #expect(read.json["_id"]?.asString == id && read.json["text"]?.asString == id, "\(id): \(read)")
            }
            let got = try client.ask(
                "POST", "_bulk_get",
                String(decoding: (["docs": .array(ids.map { ["id": .string($0)] })] as JSONValue).serialised(), as: UTF8.self))
            #expect(got.json["results"]?.asArray?.count == ids.count)
        }
    }

    // MARK: The feed

    @Test("A place of another store's feed is refused, so that its client begins anew")
    func foreignPlaces() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "1"))
            let last = try client.changes().last
            #expect(try client.changes(since: "now").rows.isEmpty)
            for since in ["1-other", "99", last.replacingOccurrences(of: "1-", with: "7-")] {
                let answer = try client.ask("GET", "_changes?since=\(since)")
                #expect(answer.status == 400 && answer.json["error"] == "bad_request", "\(since): \(answer)")
            }
            _ = try client.ask("PUT", "_local/here", #"{"_id":"_local/here","last_seq":"\#(last)"}"#)
            #expect(try client.ask("GET", "_local/here").status == 200)
            // The feed of a dataset that was made again is another one, and knows no checkpoint.
            let admin = try Connection(to: client.house.port)
            #expect(try admin.ask("POST", "/api/demo/dataset/delete?client=admin", "{}").status == 200)
            try client.create()
            #expect(try client.ask("GET", "_changes?since=\(last)").status == 400)
            #expect(try client.ask("GET", "_local/here").status == 404)
        }
    }

    @Test("PouchDB 5 keeps its checkpoints with its documents, and what is deleted of them is gone")
    func localDocuments() async throws {
        try await withCouch { client in
            let bulk = #"{"docs":[{"_id":"_local/a","last_seq":3},{"_id":"note:1","text":"x"}],"new_edits":true}"#
            let results = try JSONValue.parse(try client.ask("POST", "_bulk_docs", bulk).body).asArray ?? []
            #expect(results.map { $0.asObject?["ok"] } == [true, true] && results.first?.asObject?["id"] == "_local/a")
            #expect(try client.ask("GET", "_local/a").json["last_seq"] == 3)
            let long = #"_local/\#(String(repeating: "x", count: 600))"#
            let mixed = #"{"docs":[{"_id":"note:2"},{"_id":"\#(long)"},{"_id":"note:3"}],"new_edits":true}"#
            let fates = try JSONValue.parse(try client.ask("POST", "_bulk_docs", mixed).body).asArray ?? []
            #expect(fates.map { $0.asObject?["error"] == nil } == [true, false, true], "\(fates)")
            #expect(try client.ask("DELETE", "_local/a").status == 200)
            #expect(try client.ask("GET", "_local/a").status == 404 && client.ask("DELETE", "_local/a").status == 404)
            _ = try client.ask("PUT", "_local/a", #"{"last_seq":4}"#)
            #expect(try client.ask("GET", "_local/a").json["last_seq"] == 4)
            _ = try client.ask("PUT", "_local/a", #"{"_deleted":true}"#)
            #expect(try client.ask("GET", "_local/a").status == 404)
        }
    }

    @Test("Revisions come as parts where only these are accepted, as CouchDB's own replicator asks")
    func parts() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "one"))
            let path = "/couch/demo/note:1?client=ann&open_revs=%5B%221-a%22,%229-z%22%5D"
            let answer = try Connection(to: client.house.port).ask("GET", path, fields: ["Accept": "multipart/mixed"])
            let type = answer.fields["content-type"] ?? ""
            let boundary = type.split(separator: "\"").dropFirst().first.map(String.init) ?? "?"
            #expect(type.hasPrefix("multipart/mixed; boundary="))
            let parts = answer.text.components(separatedBy: "--\(boundary)")
            #expect(parts.count == 4 && parts.last == "--", "\(answer)")
            #expect(parts[1].hasPrefix("\r\nContent-Type: application/json\r\n\r\n{") && parts[1].contains("\"one\""))
            #expect(parts[2].contains("error=\"true\"") && parts[2].contains(#"{"missing":"9-z"}"#))
        }
    }

    @Test("A checkpoint from which the feed cannot be read on is none: its replicator would come back for ever")
    func staleCheckpoint() async throws {
        try await withCouch { client in
            let last = try client.changes().last
            let beyond = last.replacingOccurrences(of: "0-", with: "50-")
            _ = try client.ask("PUT", "_local/stale", #"{"last_seq":"\#(beyond)"}"#)
            #expect(try client.ask("GET", "_local/stale").status == 404)
            // That of a client that pushes is a position in another feed.
            _ = try client.ask("PUT", "_local/push", #"{"last_seq":"50-g1AAA"}"#)
            #expect(try client.ask("GET", "_local/push").status == 200)
        }
    }

    @Test("Changes come by limit, with documents, and for ids")
    func shapes() async throws {
        try await withCouch { client in
            for number in 1...5 { try client.push(document("note:\(number)", 1, ["a"], text: "\(number)")) }
            try client.push(document("note:2", 2, ["b", "a"]))
            let first = try client.ask("GET", "_changes?limit=2")
            #expect(first.json["results"]?.asArray?.count == 2 && (first.json["pending"]?.asInt64 ?? 0) > 0, "\(first)")
            let rest = try client.changes(since: first.json["last_seq"]?.asString ?? "", "&include_docs=true").rows
            #expect(rest.compactMap { $0["id"]?.asString } == ["note:4", "note:5", "note:2"])
            #expect(rest[0]["doc"]?.asObject?["text"] == "4" && rest[2]["deleted"] == true)
            #expect(rest[2]["doc"]?.asObject?["_deleted"] == true)
            let chosen = try client.ask(
                "POST", "_changes?filter=_doc_ids&include_docs=true", #"{"doc_ids":["note:3","note:2","note:7","x"]}"#)
            #expect(
                (chosen.json["results"]?.asArray ?? []).compactMap { $0.asObject?["id"]?.asString } == ["note:3", "note:2"],
                "\(chosen)")
            let last = try #require(chosen.json["last_seq"]?.asString)
            #expect(try client.changes(since: last).rows.isEmpty)
            let all = try client.ask("GET", "_all_docs?include_docs=true&startkey=%22note:3%22")
            #expect(
                (all.json["rows"]?.asArray ?? []).compactMap { $0.asObject?["id"]?.asString } == ["note:3", "note:4", "note:5"])
            #expect(all.json["total_rows"] == 4)
            // No API key.
            let key = try client.ask("GET", "_all_docs?key=%22note:4%22")
            #expect(key.status == 200 && key.json["rows"]?.asArray?.count == 1, "\(key)")
            #expect(try client.ask("GET", "_changes?key=%22note:4%22").status == 200)
            let keys = try client.ask("POST", "_all_docs", #"{"keys":["note:5","note:2","note:0"]}"#)
            let rows = (keys.json["rows"]?.asArray ?? []).compactMap(\.asObject)
            #expect(
                rows.count == 3 && rows[1]["value"]?.asObject?["deleted"] == true && rows[2]["error"] == "not_found", "\(keys)")
        }
    }

    @Test("A document that its reader has is not sent again, and parameters that cannot be are refused as CouchDB does")
    func conditions() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "x"), document("note:2", 1, ["a"], text: "y"))
            let connection = try Connection(to: client.house.port)
            let tag = try #require(try client.ask("GET", "note:1").fields["etag"])
            for (known, query, status) in [
                (tag, "", 304), ("W/\(tag)", "", 304), ("\"x\", \(tag)", "?rev=1-a", 304), ("\"1-b\"", "", 200),
                (tag, "?conflicts=true", 200),
            ] {
                let answer = try connection.ask("GET", client.path("note:1" + query), fields: ["If-None-Match": known])
                #expect(answer.status == status && answer.body.isEmpty == (status == 304), "\(known) \(query): \(answer)")
            }
            for query in ["limit=x", "limit=-1", "limit=1.5", "skip=x"] {
                let answer = try client.ask("GET", "_all_docs?" + query)
                #expect(answer.status == 400 && answer.json["error"] == "query_parse_error", "\(query): \(answer)")
            }
            for (query, count) in [
                ("key=5", 0), ("key=%22note:1%22", 1), ("limit=1", 1), ("limit=0", 0), ("skip=1", 1), ("include_docs=false", 2),
            ] {
                let answer = try client.ask("GET", "_all_docs?" + query)
                #expect(answer.status == 200 && answer.json["rows"]?.asArray?.count == count, "\(query): \(answer)")
            }
            for path in ["_all_docs", "_changes", "_changes?feed=longpoll&since=now"] {
                let answer = try client.ask("HEAD", path)
                #expect(answer.status == 200 && answer.body.isEmpty, "\(path): \(answer)")
            }
        }
    }

    @Test("A longpoll wakes on a change, shows signs of life, and ends when its time is over")
    func longpoll() async throws {
        try await withCouch { client in
            let since = try client.changes().last
            let stream = try client.stream("GET", "_changes?feed=longpoll&since=\(since)&heartbeat=100&style=all_docs")
            #expect(try stream.head().hasPrefix("HTTP/1.1 200"))
            var text = try stream.portion() + stream.portion()
            #expect(text.hasSuffix("\n\n"), "a sign of life: \(text)")
            try client.push(document("note:1", 1, ["a"], text: "1"))
            text += try stream.rest()
            let answer = try #require(try JSONValue.parse(text).asObject)
            #expect(answer["results"]?.asArray?.first?.asObject?["id"] == "note:1", "\(text)")
            // What is there already is answered at once; where nothing comes, an empty answer when the time is over.
            #expect(try client.changes(since: since, "&feed=longpoll").rows.count == 1)
            let last = try #require(answer["last_seq"]?.asString)
            // As PouchDB 5 sends it, which subtracts five seconds from its configured timeout.
            #expect(try client.changes(since: since, "&feed=longpoll&timeout=-2000&heartbeat=10000").rows.count == 1)
            let idle = try client.stream("GET", "_changes?feed=longpoll&since=\(last)&timeout=50")
            _ = try idle.head()
            #expect(try JSONValue.parse(idle.rest()).asObject?["last_seq"]?.asString == last)
        }
    }

    @Test("A longpoll for ids passes over other documents")
    func longpollOfIDs() async throws {
        try await withCouch { client in
            let stream = try client.stream("POST", "_changes?feed=longpoll&filter=_doc_ids", #"{"doc_ids":["note:2"]}"#)
            _ = try stream.head()
            _ = try stream.portion()
            try client.push(document("note:1", 1, ["a"], text: "1"))
            try client.push(document("note:2", 1, ["a"], text: "1"))
            #expect(try stream.rest().contains("note:2"))
        }
    }

    @Test("Documents asked for by name come a portion at a time, and a change asks for what changed alone")
    func namedInPortions() async throws {
        try await withCouch { client in
            func asked() throws -> Int {
                let lines = try Connection(to: client.house.port).ask("GET", "/metrics").text.split(separator: "\n")
                return lines.filter { $0.contains("resource=\"changes\"") && $0.contains("verb=\"documents\"") }
                    .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0) { $0 + Int($1) }
            }
            for number in 0..<180 { try client.push(document("note:\(number)", 1, ["a"], text: "text \(number)")) }
            // Names of none cost nothing.
            let names = (0..<1000).map { "\"note:\(($0 * 7) % 1000)\"" }
            let body = "{\"doc_ids\":[\(names.joined(separator: ","))]}"
            func read(_ query: String) throws -> (texts: [String], last: String) {
                let answer = try client.ask("POST", "_changes?filter=_doc_ids&include_docs=true\(query)", body)
                let rows = (answer.json["results"]?.asArray ?? []).compactMap(\.asObject)
                return (
                    rows.map { $0["doc"]?.asObject?["text"]?.asString ?? "" }, answer.json["last_seq"]?.asString ?? ""
                )
            }
            let part = try read("&limit=120")
            #expect(part.texts == (0..<120).map { "text \($0)" })
            let rest = try read("&since=\(part.last)")
            #expect(rest.texts == (120..<180).map { "text \($0)" })
            var before = try asked()
            try client.push(document("other:1", 1, ["a"], text: "1"))
            let ofPush = try asked() - before
            let stream = try client.stream(
                "POST", "_changes?feed=longpoll&filter=_doc_ids&include_docs=true&since=\(rest.last)", body)
            _ = try stream.head()
            _ = try stream.portion()
            before = try asked()
            try client.push(document("note:7", 2, ["b", "a"], text: "new"))
            let text = try stream.rest()
            #expect(text.contains("note:7") && text.contains("\"new\"") && !text.contains("note:8"), "\(text)")
            #expect(try asked() - before <= ofPush + 1)
        }
    }

    @Test("A continuous feed gives each change a line, until its limit")
    func continuous() async throws {
        try await withCouch { client in
            try client.push(document("note:1", 1, ["a"], text: "1"))
            let stream = try client.stream("GET", "_changes?feed=continuous&heartbeat=60000&limit=3")
            _ = try stream.head()
            #expect(try stream.portion().contains("note:1"))
            try client.push(document("note:2", 1, ["a"], text: "1"))
            #expect(try stream.portion().contains("note:2"))
            try client.push(document("note:3", 1, ["a"], text: "1"))
            let rest = try stream.rest()
            #expect(rest.contains("note:3") && rest.contains("\"last_seq\""), "\(rest)")
        }
    }

    @Test("A wait ends with the key that it was asked with")
    func lostKey() async throws {
        try await withCouch { client in
            let connection = try Connection(to: client.house.port)
            let made = try connection.ask("POST", "/api/demo/key/create?client=admin", #"{"client":"bob"}"#)
            let result = try #require(made.json["result"]?.asObject, "\(made)")
            let (id, key) = (result["id"]?.asString ?? "", result["key"]?.asString ?? "")
            let stream = try client.stream("GET", "_changes?feed=longpoll&heartbeat=60000&key=\(key)")
            _ = try stream.head()
            _ = try stream.portion()
            #expect(try connection.ask("POST", "/api/demo/key/delete?client=admin", #"{"id":"\#(id)"}"#).status == 200)
            #expect(try stream.rest().contains("last_seq"))
            #expect(try client.ask("GET", "?key=\(key)").json["error"] == "unauthorized")
        }
    }

    // MARK: Checkpoints

    @Test("A checkpoint is its client's own, kept as it is, and bounded")
    func checkpoints() async throws {
        try await withCouch { client in
            let path = "_local/a%2Fb%2Bc%3D%3D"
            #expect(try client.ask("GET", path).json["error"] == "not_found")
            let body = #"{"_id":"_local/a/b+c==","last_seq":5,"history":[{"x":[null,1.5,"ü"]}],"version":1}"#
            let put = try client.ask("PUT", path, body)
            #expect(put.status == 201 && put.json["rev"] == "0-1" && put.json["id"] == "_local/a/b+c==", "\(put)")
            #expect(try client.ask("PUT", path, body).json["rev"] == "0-2")
            let read = try client.ask("GET", path)
            #expect(read.json["_id"] == "_local/a/b+c==" && read.json["_rev"] == "0-2" && read.json["last_seq"] == 5)
            #expect(read.json["history"] == [["x": [nil, 1.5, "ü"]]])
            #expect(try CouchClient(client.house, as: "bob").ask("GET", path).status == 404)
            let long = try client.ask("PUT", path, #"{"x":"\#(String(repeating: "y", count: 70_000))"}"#)
            #expect(long.status == 413 && long.json["error"] == "too_large", "\(long)")
            let name = try client.ask("PUT", "_local/" + String(repeating: "n", count: 600), "{}")
            #expect(name.status == 400 && name.json["error"] == "bad_request", "\(name)")
            // The checkpoints are no documents.
            #expect(try client.changes().rows.isEmpty)
        }
    }

    @Test("A name of a megabyte is refused, and the next request is answered")
    func longNames() async throws {
        try await withCouch { client in
            let connection = try Connection(to: client.house.port)
            connection.write(
                "GET /couch/demo/_local/\(String(repeating: "n", count: 1 << 20)) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try connection.answer().status == 431)
            #expect(try client.ask("GET", "_local/short").status == 404)
        }
    }

    // MARK: Plain writes

    @Test("A plain write names what is current, or is a conflict")
    func plainWrites() async throws {
        try await withCouch { client in
            let first = try client.ask("PUT", "note:1", #"{"text":"one"}"#)
            #expect(first.status == 201 && first.json["ok"] == true && first.json["id"] == "note:1", "\(first)")
            let revision = try #require(first.json["rev"]?.asString)
            #expect(revision.hasPrefix("1-"))
            #expect(try client.ask("PUT", "note:1", #"{"text":"two"}"#).json["error"] == "conflict")
            #expect(try client.ask("PUT", "note:1", #"{"_rev":"1-x","text":"two"}"#).status == 409)
            #expect(try client.ask("PUT", "note:2", #"{"_rev":"1-x","text":"two"}"#).status == 409)
            let second = try client.ask("PUT", "note:1", #"{"_rev":"\#(revision)","text":"two"}"#)
            #expect(second.json["rev"]?.asString?.hasPrefix("2-") == true, "\(second)")
            #expect(try client.ask("DELETE", "note:1").status == 409)
            #expect(try client.ask("DELETE", "note:9?rev=1-a").status == 404)
            let deleted = try client.ask("DELETE", "note:1?rev=\(second.json["rev"]?.asString ?? "")")
            #expect(deleted.status == 200 && deleted.json["rev"]?.asString?.hasPrefix("3-") == true, "\(deleted)")
            #expect(try client.ask("GET", "note:1").json["reason"] == "deleted")
            let again = try client.ask("PUT", "note:1", #"{"text":"back"}"#)
            #expect(again.json["rev"]?.asString?.hasPrefix("4-") == true, "\(again)")
            #expect(try client.ask("GET", "note:1?revs=true").json["_revisions"]?.asObject?["ids"]?.asArray?.count == 4)
            let bulk = try client.ask(
                "POST", "_bulk_docs", #"{"docs":[{"_id":"note:5","n":1},{"_id":"note:1","n":2},{"_id":"plain"}]}"#)
            let results = try #require((try? JSONValue.parse(bulk.body))?.asArray).compactMap(\.asObject)
            #expect(
                results[0]["ok"] == true && results[1]["error"] == "conflict" && results[2]["error"] == "forbidden", "\(bulk)")
            let database = try client.ask("GET", "")
            #expect(database.json["doc_count"] == 2 && database.json["doc_del_count"] == 0, "\(database)")
        }
    }

    @Test("Revisions and bodies that cannot be are refused as CouchDB does, and what is missing is reported as missing")
    func wrongRequests() async throws {
        try await withCouch { client in
            let revision = try #require(try client.ask("PUT", "note:1", #"{"text":"one"}"#).json["rev"]?.asString)
            let list = "%5B%221-a%22%5D"
            for (method, path, body, status, name) in [
                ("GET", "note:9?open_revs=all", nil, 404, "not_found"), ("GET", "note:9?open_revs=1-a", nil, 400, "bad_request"),
                ("GET", "note:1?rev=garbage", nil, 400, "bad_request"), ("GET", "note:9?rev=1", nil, 400, "bad_request"),
                ("GET", "note:1?rev=1-zz", nil, 404, "not_found"),
                ("PUT", "note:2", nil, 400, "bad_request"), ("PUT", "note:2", "[]", 400, "bad_request"),
                ("PUT", "_local/x", nil, 400, "bad_request"),
                ("PUT", "note:1?rev=1-a", #"{"_rev":"1-b"}"#, 400, "bad_request"),
                ("PUT", "note:1?rev=1-a", #"{"_rev":"\#(revision)"}"#, 400, "bad_request"),
                ("PUT", "_design/x", #"{"views":{}}"#, 403, "forbidden"), ("PUT", "_design%2Fx", "{}", 403, "forbidden"),
                ("GET", "_design/x", nil, 404, "not_found"),
            ] as [(String, String, String?, Int, String)] {
                let answer = try client.ask(method, path, body)
                #expect(answer.status == status && answer.json["error"]?.asString == name, "\(method) \(path): \(answer)")
            }
            let missing = try client.ask("GET", "note:9?open_revs=\(list)")
            #expect(missing.status == 200 && missing.text == #"[{"missing":"1-a"}]"#, "\(missing)")
            let nowhere = try CouchClient(client.house, "nowhere").ask("GET", "note:9?open_revs=\(list)")
            #expect(nowhere.status == 404, "\(nowhere)")
            #expect(try client.ask("GET", "note:2").status == 404 && client.ask("GET", "_local/x").status == 404)
            let same = try client.ask("PUT", "note:1?rev=\(revision)", #"{"_rev":"\#(revision)","text":"two"}"#)
            #expect(same.status == 201, "\(same)")
        }
    }

    @Test("More documents than a request takes are written and read in parts")
    func bulk() async throws {
        try await withCouch { client in
            let text = String(repeating: "x", count: 3000)
            let documents = (1...600).map { document("note:\($0)", 2, ["b", "a"], text: text) }
            let body: JSONValue = ["docs": .array(documents), "new_edits": false]
            let answer = try client.ask("POST", "_bulk_docs", String(decoding: body.serialised(), as: UTF8.self))
            #expect(answer.status == 201 && answer.text == "[]", "\(answer)")
            #expect(try client.changes().rows.count == 600)
            let asked: JSONValue = ["docs": .array((1...600).map { ["id": .string("note:\($0)"), "rev": "2-b"] })]
            let stream = try client.stream("POST", "_bulk_get?revs=true", String(decoding: asked.serialised(), as: UTF8.self))
            #expect(try stream.head().hasPrefix("HTTP/1.1 200"))
            let got = try stream.rest()
            #expect(got.components(separatedBy: "\"ok\":").count == 601 && got.utf8.count > 600 * 3000)
            #expect(try client.push().isEmpty)
        }
    }
}
