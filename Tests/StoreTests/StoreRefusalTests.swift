import Datasets
import Foundation
import GRDB
import SeededRandom
import Testing

@testable import Store
@testable import Records

@Suite("What the store refuses")
struct StoreRefusalTests {
    private static func dataset(_ id: String) -> DurableChange {
        .put(DatasetRecord(id: id, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    private static func live(_ number: Int) -> DurableChange {
        .put(
            LiveStateRecord(
                dataset: "city", topic: "t\(number)", timestamp: 1, receivedAt: 1, number: Int64(number),
                payload: [UInt8](repeating: 7, count: 500)))
    }

    @Test("A file that is no database is refused and left as it is", arguments: [1, 99, 511, 4096, 10_000])
    func garbage(_ size: Int) throws {
        try withScratch { scratch in
            var random = SplitMix64(seed: SplitMix64.seed())
            let bytes = Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) })
            try bytes.write(to: URL(fileURLWithPath: scratch.storePath))
            #expect(throws: StoreError.corrupt) { try scratch.store() }
            #expect(try scratch.bytes() == bytes)
        }
    }

    @Test("Another program's database is refused and left as it is")
    func foreign() throws {
        try withScratch { scratch in
            let other = try DatabaseQueue(path: scratch.storePath)
            try other.inDatabase { try $0.execute(sql: "CREATE TABLE recipe (name TEXT)") }
            try other.close()
            let bytes = try scratch.bytes()
            #expect(throws: StoreError.corrupt) { try scratch.store() }
            #expect(try scratch.bytes() == bytes)
        }
    }

    @Test("A newer version's database is refused and left as it is")
    func newer() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([Self.dataset("city")])
            try store.queue.inDatabase { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 later')") }
            try store.close()
            let bytes = try scratch.bytes()
            #expect(throws: StoreError.newerVersion) { try scratch.store() }
            #expect(try scratch.bytes() == bytes)
            #expect("\(StoreError.newerVersion)".contains("--data-dir"))
        }
    }

    @Test("A database that was cut off is reported as damaged, at the latest when it is read")
    func cutOff() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit((0..<500).map { Self.live($0) })
            try store.close()
            let bytes = try scratch.bytes()
            for part in [1, 2, 3, 9] {
                try scratch.replace(bytes.prefix(bytes.count * part / 10 / 4096 * 4096 + 4096))
                #expect(throws: StoreError.corrupt) { try scratch.store().restore { _ in } }
            }
        }
    }

    @Test("Overwritten pages are reported as damaged, or read as what they are, and stop nothing")
    func overwritten() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit((0..<500).map { Self.live($0) } + [Self.dataset("city")])
            try store.close()
            let bytes = try scratch.bytes()
            var random = SplitMix64(seed: SplitMix64.seed())
            var refused = 0
            for _ in 0..<40 {
                var damaged = bytes
                let page = Int.random(in: 1..<(bytes.count / 4096), using: &random)
                for index in page * 4096..<page * 4096 + 200 { damaged[index] = UInt8.random(in: 0...255, using: &random) }
                try scratch.replace(damaged)
                do {
                    try scratch.store().restore { _ in }
                } catch let error as StoreError {
                    refused += error == .corrupt ? 1 : 0
                }
            }
            #expect(refused > 10)
        }
    }

    @Test("A folder that is not there cannot be written")
    func missingFolder() throws {
        try withScratch { scratch in
            let error = #expect(throws: StoreError.self) { try Store(path: scratch.path + "/none/geomatch.sqlite") }
            guard case .unwritable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test("While another process writes, the store is busy, and keeps nothing of what it could not write")
    func busy() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let other = try DatabaseQueue(path: scratch.storePath)
            try other.inDatabase { db in
                try db.execute(sql: "BEGIN IMMEDIATE")
                defer { try? db.execute(sql: "ROLLBACK") }
                #expect(throws: StoreError.busy) { try store.commit([Self.dataset("city")]) }
            }
            #expect(try store.restored().datasets.isEmpty)
            try store.commit([Self.dataset("city")])
            #expect(try store.restored().datasets.count == 1)
        }
    }

    @Test("A full disk keeps nothing of a batch, and the batch can be written when there is space")
    func full() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([Self.dataset("city")])
            try store.limitGrowth(pages: 3)
            let batch = [Self.dataset("park")] + (0..<100).map { Self.live($0) }
            #expect(throws: StoreError.full) { try store.commit(batch) }
            #expect(try store.restored().datasets.keys.sorted() == ["city"])
            #expect(try store.restored().liveStates.isEmpty)
            #expect(throws: StoreError.full) { try store.probe() }
            try store.liftLimit()
            try store.probe()
            try store.commit(batch)
            #expect(try store.restored().datasets.keys.sorted() == ["city", "park"])
            #expect(try store.restored().liveStates.count == 100)
        }
    }

    @Test("A closed store refuses everything and stops nothing")
    func closed() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.close()
            #expect(throws: StoreError.self) { try store.commit([Self.dataset("city")]) }
            #expect(throws: StoreError.self) { try store.metadata("a") }
            #expect(throws: StoreError.self) { try store.restore { _ in } }
        }
    }

    @Test("The log is cut to nothing when the store is closed, and stays short when much is written")
    func logIsBounded() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            for _ in 0..<30 { try store.commit((0..<2000).map { Self.live($0) }) }
            let size = try scratch.bytes("-wal").count
            // Where the log starts over (4000 pages), and the transaction that took it there.
            #expect(size < 32 << 20)
            try store.close()
            #expect(!FileManager.default.fileExists(atPath: scratch.storePath + "-wal"))
        }
    }

    @Test("Only its owner may read the store")
    func privacy() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit([Self.dataset("city")])
            for suffix in ["", "-wal", "-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: scratch.storePath + suffix)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test("No description of an error shows what is stored")
    func descriptions() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.queue.inDatabase { try $0.execute(sql: "DROP TABLE liveState") }
            do {
                try store.commit([
                    .put(
                        LiveStateRecord(dataset: "secret", topic: "secret", timestamp: 1, receivedAt: 1, number: 1, payload: []))
                ])
                Issue.record("a table that is gone was written")
            } catch {
                #expect("\(error)".contains("no such table"))
                #expect(!"\(error)".contains("secret"))
            }
        }
    }

    @Test("A check refuses what is damaged inside, which a start read as it was: seeds of flipped and emptied pages")
    func check() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit((0..<500).map { Self.live($0) } + [Self.dataset("city")])
            try store.check()
            try store.close()
            let bytes = try scratch.bytes()
            let pages = bytes.count / 4096
            var found = 0
            var random = SplitMix64.forTest("damaged pages")
            let copies = ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] == nil ? 20 : 200
            for _ in 0..<copies {
                var damaged = bytes
                // The head of a page says what is where on it.
                let page = 1 + random.below(pages - 1)
                for byte in 0..<8 { damaged[page * 4096 + byte] ^= UInt8(1 + random.below(255)) }
                try scratch.replace(damaged)
                do {
                    let store = try scratch.store()
                    defer { try? store.close() }
                    try store.check()
                } catch {
                    #expect(error as? StoreError == .corrupt)
                    found += 1
                }
                #expect(try scratch.bytes() == damaged)
            }
            #expect(found * 4 >= copies * 3, "pages that are free say nothing: \(found) of \(copies)")
        }
    }
}
