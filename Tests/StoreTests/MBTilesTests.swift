import Foundation
import GRDB
import Testing

@testable import Store

@Suite("MBTiles")
struct MBTilesTests {
    private func write(_ path: String, attribution: String?) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE metadata (name TEXT, value TEXT);
                    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
                    """)
            for (zoom, column, row) in [(0, 0, 0), (2, 1, 0), (2, 1, 3)] {
                try database.execute(
                    sql: "INSERT INTO tiles VALUES (?, ?, ?, ?)",
                    arguments: [zoom, column, row, Data("\(zoom) \(column) \(row)".utf8)])
            }
            if let attribution {
                try database.execute(sql: "INSERT INTO metadata VALUES ('attribution', ?)", arguments: [attribution])
            }
        }
        try queue.close()
    }

    @Test("Rows are counted from the north, what the file has not is nil, and its attribution is text")
    func tiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tiles-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("city.mbtiles").path
        try write(path, attribution: #"© <a href="https://maps.example">Example</a> & others"#)
        let tiles = try MBTiles(path: path)
        #expect(tiles.attribution == "© Example & others")
        func text(_ zoom: Int, _ column: Int, _ row: Int) -> String? {
            tiles.tile(zoom: zoom, column: column, row: row).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(text(0, 0, 0) == "0 0 0" && text(2, 1, 3) == "2 1 0" && text(2, 1, 0) == "2 1 3")
        #expect(text(2, 0, 0) == nil && text(1, 0, 0) == nil && text(2, 1, 9) == nil && text(30, 1 << 29, 0) == nil)
        let bare = folder.appendingPathComponent("bare.mbtiles").path
        try write(bare, attribution: nil)
        #expect(try MBTiles(path: bare).attribution == "")
    }

    @Test("A file that is missing or no MBTiles file is refused at the start")
    func wrongFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tiles-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("none.mbtiles").path
        #expect(throws: (any Error).self) { try MBTiles(path: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data("this is no database, however long it is".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: (any Error).self) { try MBTiles(path: path) }
    }
}
