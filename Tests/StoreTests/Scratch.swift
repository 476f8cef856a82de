import Foundation
import GRDB

@testable import Store

/// A folder of its own for the body, gone afterwards.
func withScratch<Value>(_ body: (Scratch) throws -> Value) throws -> Value {
    let scratch = Scratch(path: NSTemporaryDirectory() + "/geomatch-store-" + UUID().uuidString)
    try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: scratch.path) }
    return try body(scratch)
}

struct Scratch {
    let path: String

    var storePath: String { path + "/geomatch.sqlite" }

    func store(repliesMax: Int = 10_000) throws -> Store { try Store(path: storePath, repliesMax: repliesMax) }

    /// Puts another file in the store's place, which nobody knows as closed.
    func replace(_ bytes: Data) throws {
        StoreDigest.remove(besides: storePath)
        try bytes.write(to: URL(fileURLWithPath: storePath))
    }

    func bytes(_ suffix: String = "") throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: storePath + suffix))
    }
}

extension Store {
    /// From now on the database may grow by so many pages only: SQLite then says that the disk is full.
    func limitGrowth(pages: Int) throws {
        try queue.inDatabase { db in
            let count = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(count + pages)")
        }
    }

    func liftLimit() throws {
        try queue.inDatabase { try $0.execute(sql: "PRAGMA max_page_count = 1073741823") }
    }
}
