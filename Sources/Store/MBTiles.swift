import Foundation
import GRDB

/// Pictures of the world from an MBTiles file, whose rows count from the south.
///
/// Source: MBTiles specification 1.3.
public struct MBTiles: Sendable {
    private let queue: DatabaseQueue
    /// As the file says it, as text.
    public let attribution: String

    /// - Throws: Where the file is none.
    public init(path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        queue = try DatabaseQueue(path: path, configuration: configuration)
        attribution = try queue.read { database in
            // Looked at now, so that a wrong file is noticed at the start.
            _ = try Row.fetchOne(database, sql: "SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles LIMIT 1")
            let text = try String.fetchOne(database, sql: "SELECT value FROM metadata WHERE name = 'attribution'")
            return text.map { $0.replacing(/<[^>]*>/, with: "") } ?? ""
        }
    }

    /// The tile, with rows counted from the north; nil where the file has none.
    public func tile(zoom: Int, column: Int, row: Int) -> [UInt8]? {
        let south = (1 << zoom) - 1 - row
        return try? queue.read { database in
            try Data.fetchOne(
                database, sql: "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?",
                arguments: [zoom, column, south]
            ).map { Array($0) }
        }
    }
}
