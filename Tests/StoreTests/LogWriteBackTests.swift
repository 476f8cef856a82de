import Foundation
import GRDB
import Records
import Testing

@testable import Store

@Suite("SQLite's log is written back beside the commits")
struct LogWriteBackTests {
    /// 400 kB in about a hundred pages of the log.
    private func commit(_ number: Int, to store: Store) throws {
        try store.commit([
            .put(
                LiveStateRecord(
                    dataset: "d", topic: "d/-/-/-/-/l\(number % 5)/x", timestamp: 0, receivedAt: 0, number: Int64(number),
                    payload: Array(repeating: UInt8(truncatingIfNeeded: number), count: 400_000)))
        ])
    }

    private func size(_ path: String) -> Int { (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0 }

    @Test("Commits without pause have it written back beside them, and the log starts over")
    func startsOver() throws {
        try withScratch { scratch in
            let (path, store) = (scratch.storePath, try scratch.store())
            for number in 0..<600 { try commit(number, to: store) }
            #expect(store.log.count > 5)
            // 240 MB came; commits wait at 66.
            #expect(size(path + "-wal") < 75_000_000)
            #expect(size(path) > 2_000_000)
            try store.close()
            #expect(size(path + "-wal") == 0)
        }
    }

    @Test("What is forgotten is out of the log with the commit, also while that is written back; and so is all at the end")
    func forgets() throws {
        for round in 0..<20 {
            try withScratch { scratch in
                let store = try scratch.store()
                for number in 0..<(9 + round % 5) { try commit(number, to: store) }
                try store.commit([
                    .put(
                        LiveStateRecord(
                            dataset: "d", topic: "d/-/-/-/-/secret/x", timestamp: 0, receivedAt: 0, number: 1,
                            payload: Array("whispered".utf8)))
                ])
                try commit(99, to: store)
                if round % 2 == 0 {
                    try store.commit([.forgetDevice(dataset: "d", id: "secret")])
                    #expect(size(scratch.storePath + "-wal") == 0)
                }
                try store.close()
                #expect(size(scratch.storePath + "-wal") == 0)
                #expect(try scratch.store().isAsClosed)
            }
        }
    }

    @Test("Somebody who reads for long keeps the log, and commits go on")
    func longReading() throws {
        try withScratch { scratch in
            let (path, store) = (scratch.storePath, try scratch.store())
            try commit(0, to: store)
            try store.reader.inDatabase { db in
                try db.inTransaction(.deferred) {
                    #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM liveState") == 1)
                    for number in 0..<250 { try commit(number, to: store) }
                    #expect(size(path + "-wal") > 80_000_000)
                    #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM liveState") == 1)
                    return .commit
                }
            }
            for number in 0..<100 { try commit(number, to: store) }
            // Once it has started over it is cut to its usual length.
            #expect(size(path + "-wal") < 80_000_000)
            try store.close()
        }
    }
}
