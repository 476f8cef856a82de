import GRDB
import Records

// Places, of which there may be millions: their rows are found by an index in memory, see ``PlaceRows``.

extension Store {
    private static let columns = Kind.place.row.columns
    private static let names = columns.joined(separator: ", ")
    private static let values = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
    private static let insertPlace = "INSERT INTO place (\(names), document) VALUES (\(values), ?\(columns.count + 1))"
    private static let updatePlace = "UPDATE place SET (\(names)) = (\(values)) WHERE row = ?\(columns.count + 1)"

    /// - Parameter document: The row of its document, where nothing else leads there.
    static func put(_ record: PlaceRecord, document: Int64?, _ db: Database, _ places: PlaceRows) throws {
        let known = try places.row(record.dataset, record.place.id, db)
        // A new row comes after all others: no page but the last is touched.
        try db.run(known == nil ? insertPlace : updatePlace) {
            record.write(to: &$0)
            $0.write(known ?? document)
        }
        if known == nil { try places.enter(db.lastInsertedRowID, record.dataset, record.place.id) }
    }

    /// Writes a place into an empty store, whose documents are there already, and has its document found through it.
    static func insert(_ record: PlaceRecord, _ db: Database) throws {
        var document: Int64?
        try db.rows(
            "SELECT row FROM document WHERE dataset = ? AND type = 'place' AND id = ? AND byPlace = 0", record.dataset,
            record.place.id
        ) { document = $0.int64(0) }
        try db.run(insertPlace) {
            record.write(to: &$0)
            $0.write(document)
        }
        if let document { try db.run("UPDATE document SET byPlace = 1 WHERE row = ?", document) }
    }

    static func deletePlace(_ dataset: String, _ id: String, _ db: Database, _ places: PlaceRows) throws {
        guard let row = try places.row(dataset, id, db) else { return }
        // Its document is found by itself from now on.
        try db.run(
            """
            UPDATE document SET byPlace = 0 WHERE row = (SELECT document FROM place WHERE row = ?1) AND dataset = ?2 \
            AND type = 'place' AND id = ?3
            """, row, dataset, id)
        try db.run("DELETE FROM place WHERE row = ?", row)
        places.remove(row, dataset, id)
    }

    static func restorePlaces(_ db: Database, _ places: PlaceRows, _ visit: (DurableChange) throws -> Void) throws {
        let index = Int32(columns.count)
        try places.read { note in
            try db.rows("SELECT \(names), row FROM place") { row in
                var reader = RowReader(row)
                let record = try PlaceRecord(from: &reader)
                try note(row.int64(index), record.dataset, record.place.id)
                if places.pendingPurge.isEmpty || !places.pendingPurge.contains(record.dataset) { try visit(.put(record)) }
            }
        }
    }
}
