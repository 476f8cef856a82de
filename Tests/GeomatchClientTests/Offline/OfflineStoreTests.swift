import Foundation
import SeededRandom
import Testing
import struct Wire.JSONObject
import enum Wire.JSONValue

@testable import GeomatchClient
@testable import Records

@Suite("The offline store without a network", .timeLimit(.minutes(5)))
struct OfflineStoreTests {
    @Test("A replica was readable by everybody on the machine: it is its owner's alone")
    func mode() async throws {
        try await withFolder { folder in
            let file = URL(fileURLWithPath: folder + "/o.sqlite")
            let store = try OfflineStore(file: file, dataset: "museum", client: "app")
            try store.put([:], type: "note", id: "n")
            for suffix in ["", "-wal"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path + suffix)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test("What is written is there at once and after a restart, with a new revision each time")
    func writing() async throws {
        try await withFolder { folder in
            let file = URL(fileURLWithPath: folder + "/o.sqlite")
            let store = try OfflineStore(file: file, dataset: "museum", client: "app")
            let changes = store.changes
            let first = try store.put(["text": "one", "deep": ["a": [1, nil, 2.5]], "id": "ignored"], type: "note", id: "n")
            #expect(first.revision.hasPrefix("1-") && first.isPending && first["id"] == nil)
            let second = try store.put(["text": "two"], type: "note", id: "n", revision: first.revision)
            #expect(second.revision.hasPrefix("2-"))
            #expect(
                await failure { () throws(GeomatchError) in try store.put([:], type: "note", id: "n", revision: first.revision) }?
                    .kind == .conflict)
            try store.put([:], type: "note", id: "o")
            #expect(
                await failure { () throws(GeomatchError) in try store.put(["deleted": true], type: "note", id: "o") }?.kind
                    == .invalid)
            try store.delete(type: "note", id: "o")
            try store.delete(type: "note", id: "absent")
            let made = try store.put([:], type: "other")
            #expect(made.id.utf8.count == 36)
            let again = try OfflineStore(file: file, dataset: "museum", client: "app")
            #expect(try again.document(type: "note", id: "n") == second)
            #expect(try again.document(type: "note", id: "o") == nil)
            #expect(try again.documents(type: "note").map(\.id) == ["n"])
            #expect(again.progress == SyncProgress(status: .stopped, pending: 3))
            var reported: [String] = []
            for _ in 0..<5 { if let change = await changes.next() { reported.append("\(change.id) \(change.isDeleted)") } }
            #expect(reported == ["n false", "n false", "o false", "o true", "\(made.id) false"])
        }
    }

    @Test("Pages come in the order of ids, whatever waits and whatever is deleted")
    func pages() async throws {
        try await withFolder { folder in
            let store = try OfflineStore(file: URL(fileURLWithPath: folder + "/o.sqlite"), dataset: "museum", client: "app")
            for index in 0..<50 { try store.put([:], type: "note", id: String(format: "%02d", index)) }
            for index in stride(from: 0, to: 50, by: 2) { try store.delete(type: "note", id: String(format: "%02d", index)) }
            var seen: [String] = []
            while true {
                let page = try store.documents(type: "note", after: seen.last, limit: 7)
                seen += page.map(\.id)
                guard page.count == 7 else { break }
            }
            #expect(seen == stride(from: 1, to: 50, by: 2).map { String(format: "%02d", $0) })
        }
    }

    @Test("What can be no document, and a file that is another's or damaged, is refused")
    func refused() async throws {
        try await withFolder { folder in
            let file = URL(fileURLWithPath: folder + "/o.sqlite")
            let store = try OfflineStore(file: file, dataset: "museum", client: "app")
            let long = String(repeating: "x", count: 200_000)
            #expect(await failure { () throws(GeomatchError) in try store.put([:], type: "", id: "n") }?.field == "type")
            #expect(await failure { () throws(GeomatchError) in try store.put([:], type: "note", id: "-") }?.field == "id")
            #expect(
                await failure { () throws(GeomatchError) in try store.put(["t": .string(long)], type: "n", id: "n") }?.kind
                    == .tooLarge)
            #expect(
                await failure { () throws(GeomatchError) in try OfflineStore(file: file, dataset: "museum", client: "other") }?
                    .kind == .file)
            #expect(
                await failure { () throws(GeomatchError) in try OfflineStore(file: file, dataset: "zoo", client: "app") }?.kind
                    == .file)
            let damaged = URL(fileURLWithPath: folder + "/d.sqlite")
            try Data(repeating: 7, count: 5000).write(to: damaged)
            #expect(
                await failure { () throws(GeomatchError) in try OfflineStore(file: damaged, dataset: "museum", client: "app") }?
                    .kind == .file)
            let client = try GeomatchClient(broker: "mqtt://127.0.0.1:1", dataset: "zoo", client: "app")
            #expect(await failure { () throws(GeomatchError) in try store.start(with: client) }?.kind == .invalid)
        }
    }

    @Test("A page that is none is refused and changes nothing, whatever is in it; a whole one behind it is taken")
    func malformedPages() async throws {
        try await withFolder { folder in
            let store = try OfflineStore(file: URL(fileURLWithPath: folder + "/o.sqlite"), dataset: "museum", client: "app")
            var random = SplitMix64.forTest("malformedPages")
            let values: [JSONValue] = [
                1, "x", nil, [], [:], true, 1e300, -1, "note", [["id": "a"]], [["id": "a", "type": "note", "revision": "1-a"]],
                [["id": "a", "type": "note", "revision": "1-a", "doc": ["t": 1]]],
                [["id": "a", "type": "b", "revision": "1-a", "deleted": true]],
            ]
            for _ in 0..<1500 {
                var page = JSONObject()
                for key in ["storeId", "since", "last", "rows", "more"] where random.chance(85) {
                    page[key] = random.pick(values)
                }
                let before = (try store.database.checkpoint().since, try store.count())
                do throws(GeomatchError) {
                    _ = try store.database.take(page, isStreamed: random.chance(50))
                } catch {
                    #expect(error.kind == .malformed)
                    #expect(try (store.database.checkpoint().since, store.count()) == before)
                }
            }
            let row: JSONObject = ["id": "b", "type": "b", "revision": "1-b", "doc": ["t": 1]]
            let page: JSONObject = ["storeId": "s", "since": 0, "last": 7, "rows": [.object(row)], "more": true]
            #expect(try store.database.take(page, isStreamed: false)?.changes.map(\.id) == ["b"])
        }
    }
}
