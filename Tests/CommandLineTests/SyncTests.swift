import Foundation
import Testing
import Wire

@testable import geomatch

@Suite("geomatch sync")
struct SyncTests {
    @Test("Documents are written and shown without a network, in the order of their ids")
    func offline() throws {
        let file = NSTemporaryDirectory() + "geomatch-sync-\(UInt32.random(in: 0 ... .max)).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        let written = try geomatch(
            "sync", file, "--offline", "--put", #"{"type":"note","id":"b","text":"two"}"#, "--put",
            #"{"type":"note","id":"a","x":[1]}"#)
        #expect(written.code == 0 && written.out.isEmpty)
        let lines = written.error.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix("geomatch: written note b 1-"))
        let shown = try geomatch("sync", file, "--show", "note")
        let documents = shown.out.split(separator: "\n").compactMap { try? JSONValue.parse(String($0)) }
        #expect(documents.map { $0.asObject?["id"] } == ["a", "b"])
        #expect(documents.first?.asObject?["x"] == [1] && documents.last?.asObject?["text"] == "two")
        #expect(try geomatch("sync", file, "--show", "other") == Said(out: "", error: "", code: 0))
        // The file is of one client and dataset.
        #expect(try geomatch("--client", "bob", "sync", file, "--show", "note").code == 1)
        #expect(try geomatch("sync", file, "--offline", "--put", "[]").code == 64)
        #expect(try geomatch("sync", file, "--offline", "--put", #"{"type":"-"}"#).code == 1)
    }

    @Test("A document put with `deleted` became a live one without content: it deletes what the file holds")
    func deletion() throws {
        let file = NSTemporaryDirectory() + "geomatch-sync-\(UInt32.random(in: 0 ... .max)).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        func put(_ document: String) throws -> Said { try geomatch("sync", file, "--offline", "--put", document) }
        let deletion = #"{"type":"note","id":"1","deleted":true}"#
        let absent = try put(deletion)
        #expect(absent.code == 1 && absent.error.contains("the file has no note 1 to delete"), "\(absent)")
        #expect(try put(#"{"type":"note","id":"1","text":"x","deleted":false}"#).code == 0)
        #expect(try geomatch("sync", file, "--show", "note").out.contains(#""text":"x""#))
        let deleted = try put(deletion)
        #expect(deleted.code == 0 && deleted.error.contains("geomatch: deleted note 1"), "\(deleted)")
        #expect(try geomatch("sync", file, "--show", "note").out.isEmpty)
        #expect(try put(#"{"type":"note","deleted":true}"#).code == 64)
        #expect(try put(#"{"type":"note","id":"1","deleted":"yes"}"#).code == 64)
    }

    @Test("Without a broker it ends with 69; what makes no sense is 64")
    func refused() throws {
        let file = NSTemporaryDirectory() + "geomatch-sync-\(UInt32.random(in: 0 ... .max)).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        let said = try geomatch("--broker", "mqtt://127.0.0.1:1", "--timeout", "1", "sync", file, "--once")
        #expect(said.code == 69 && said.error.contains("127.0.0.1:1"), "\(said)")
        #expect(try geomatch("sync").code == 64)
        #expect(try geomatch("sync", file, "--offline").code == 64)
        #expect(try geomatch("sync", file, "--show", "note", "--once").code == 64)
        #expect(try geomatch("sync", "/nowhere/at/all.sqlite", "--show", "note").code == 1)
        #expect(try geomatch("watch", "matches", "--since", "0").code == 64)
        #expect(try geomatch("watch", "changes", "--since", "-1").code == 64)
    }

    @Test("A change is a line with its place, its type, its id and its revision")
    func lines() {
        #expect(WatchLine.change(["seq": 1, "type": "note", "id": "n\u{1B}", "revision": "1-a"]) == #"1 note n\u001b 1-a"#)
        #expect(
            WatchLine.change([
                "seq": 2, "type": "note", "id": "n", "revision": "2-b", "conflicts": ["2-a"], "doc": ["id": "n"],
            ]) == #"2 note n 2-b beside ["2-a"] {"id":"n"}"#)
        #expect(
            WatchLine.change(["seq": 3, "type": "note", "id": "n", "revision": "3-c", "deleted": true]) == "3 note n 3-c deleted")
        #expect(WatchLine.change([:]) == "? ? ? ?")
    }
}
