import GRDB
import Geodesy
import Places
import Records

// Places, categories, and how often places were verified.

extension Store {
    static func registerPlaces(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("3 places") { db in
            try db.execute(
                sql: """
                    CREATE TABLE category (
                        dataset TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, parentId TEXT, owner TEXT, revision TEXT,
                        PRIMARY KEY (dataset, id)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE place (
                        row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, name TEXT, categoryIds TEXT NOT NULL, chainId TEXT,
                        openingHours TEXT, timeZone TEXT, publicHolidays TEXT, schoolHolidays TEXT, placerank REAL, latitude REAL,
                        longitude REAL, outline BLOB, owner TEXT, revision TEXT
                    ) STRICT;
                    CREATE UNIQUE INDEX placeByKey ON place (dataset, id);
                    CREATE TABLE verification (
                        dataset TEXT NOT NULL, placeId TEXT NOT NULL, hour INTEGER NOT NULL, count INTEGER NOT NULL,
                        PRIMARY KEY (dataset, placeId, hour)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
    }

    /// Places are found by ``PlaceRows``, and by their place the documents that came with it: neither needs an index of ids in any order.
    static func registerPlaceRows(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("place rows") { db in
            try db.execute(
                sql: """
                    ALTER TABLE place ADD COLUMN document INTEGER;
                    ALTER TABLE document ADD COLUMN byPlace INTEGER NOT NULL DEFAULT 0;
                    DROP INDEX placeByKey;
                    DROP INDEX documentByKey;
                    CREATE UNIQUE INDEX documentByKey ON document (dataset, type, id) WHERE byPlace = 0;
                    CREATE TABLE condemned (dataset TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
                    """)
        }
    }

    static func put(_ record: CategoryRecord, _ db: Database) throws {
        try db.run(
            Table.category.upsert, record.dataset, record.category.id, record.category.name,
            record.category.parentID, record.category.owner, record.category.revision)
    }

    /// - Parameter document: The row of its document, where nothing else leads there.
    static func put(_ record: PlaceRecord, document: Int64?, _ db: Database, _ places: PlaceRows) throws {
        let place = record.place
        let holidays = place.holidays
        var point: (latitude: Double, longitude: Double)?
        if case .point(let latitude, let longitude) = place.geometry { point = (latitude, longitude) }
        let known = try places.row(record.dataset, place.id, db)
        // A new row stands behind all others: no page but the last is touched.
        try db.run(
            known == nil ? insertPlace : updatePlace, record.dataset, place.id, place.name, ListText.encode(place.categoryIDs),
            place.chainID, place.openingHours, place.timeZone,
            holidays.publicDays.isEmpty ? nil : ListText.encode(holidays.publicDays),
            holidays.schoolRanges.isEmpty ? nil : ListText.encode(holidays.schoolRanges.flatMap { [$0.first, $0.last] }),
            place.placerank, point?.latitude, point?.longitude, OutlineBytes.encode(place.geometry), place.owner, place.revision,
            known ?? document)
        if known == nil { try places.enter(db.lastInsertedRowID, record.dataset, place.id) }
    }

    private static let placeColumns = """
        dataset, id, name, categoryIds, chainId, openingHours, timeZone, publicHolidays, schoolHolidays, placerank, latitude, \
        longitude, outline, owner, revision
        """

    private static let insertPlace = """
        INSERT INTO place (\(placeColumns), document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """

    private static let updatePlace = """
        UPDATE place SET (\(placeColumns)) = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) WHERE row = ?16
        """

    static func deletePlace(_ dataset: String, _ id: String, _ db: Database, _ places: PlaceRows) throws {
        if let row = try places.row(dataset, id, db) {
            // Its document is found by itself from now on.
            try db.run(
                """
                UPDATE document SET byPlace = 0 WHERE row = (SELECT document FROM place WHERE row = ?1) AND dataset = ?2 \
                AND type = 'place' AND id = ?3
                """, row, dataset, id)
            try db.run("DELETE FROM place WHERE row = ?", row)
            places.remove(row, dataset, id)
        }
        try db.run("DELETE FROM verification WHERE dataset = ? AND placeId = ?", dataset, id)
    }

    static func put(_ record: VerificationRecord, _ db: Database) throws {
        try db.run(Table.verification.upsert, record.dataset, record.placeID, record.hour, record.count)
    }

    static func category(_ dataset: String, _ id: String, _ db: Database) throws -> CategoryRecord? {
        var found: CategoryRecord?
        try db.rows("\(Table.category.select) WHERE dataset = ? AND id = ?", dataset, id) { found = CategoryRecord($0) }
        return found
    }

    static func place(_ dataset: String, _ id: String, _ db: Database, _ places: PlaceRows) throws -> PlaceRecord? {
        guard let row = try places.row(dataset, id, db) else { return nil }
        var found: PlaceRecord?
        try db.rows("SELECT \(placeColumns) FROM place WHERE row = ?", row) { found = try PlaceRecord($0) }
        return found
    }

    static func verification(_ dataset: String, _ place: String, _ hour: Int, _ db: Database) throws -> VerificationRecord? {
        var found: VerificationRecord?
        try db.rows("\(Table.verification.select) WHERE dataset = ? AND placeId = ? AND hour = ?", dataset, place, hour) {
            found = VerificationRecord($0)
        }
        return found
    }

    static func restorePlaces(_ db: Database, _ places: PlaceRows, _ visit: (DurableChange) throws -> Void) throws {
        try db.rows(Table.category.select) { try visit(.putCategory(CategoryRecord($0))) }
        try places.read { note in
            try db.rows("SELECT \(placeColumns), row FROM place") { row in
                let record = try PlaceRecord(row)
                try note(row.int64(15), record.dataset, record.place.id)
                if !places.condemned.contains(record.dataset) { try visit(.putPlace(record)) }
            }
        }
        try db.rows(Table.verification.select) { try visit(.putVerification(VerificationRecord($0))) }
    }
}

extension Table {
    static let category = Table("category", key: 2, "dataset id name parentId owner revision")
    static let verification = Table("verification", key: 3, "dataset placeId hour count")
}

extension CategoryRecord {
    fileprivate init(_ row: Columns) {
        self.init(
            dataset: row.text(0),
            category: Category(
                id: row.text(1), name: row.text(2), parentID: row.optionalText(3), owner: row.optionalText(4),
                revision: row.optionalText(5)))
    }
}

extension VerificationRecord {
    fileprivate init(_ row: Columns) {
        self.init(dataset: row.text(0), placeID: row.text(1), hour: row.int(2), count: row.int(3))
    }
}

extension PlaceRecord {
    /// The columns of ``Store/placeColumns``, in order.
    fileprivate init(_ row: Columns) throws {
        let geometry: PlaceGeometry
        if row.isNull(12) {
            geometry = .point(latitude: row.double(10), longitude: row.double(11))
        } else {
            guard let outline = OutlineBytes.decode(row.bytes(12)) else { throw StoreError.corrupt }
            geometry = outline
        }
        var holidays = Holidays.none
        if !row.isNull(7) { holidays.publicDays = try row.list(7) }
        if !row.isNull(8) {
            let days = try row.list(8)
            guard days.count % 2 == 0 else { throw StoreError.corrupt }
            holidays.schoolRanges = stride(from: 0, to: days.count, by: 2).map {
                Holidays.ClosedDays(first: days[$0], last: days[$0 + 1])
            }
        }
        self.init(
            dataset: row.text(0),
            place: Place(
                id: row.text(1), name: row.optionalText(2), categoryIDs: try row.list(3), chainID: row.optionalText(4),
                openingHours: row.optionalText(5), timeZone: row.optionalText(6), holidays: holidays,
                placerank: row.optionalDouble(9), geometry: geometry, owner: row.optionalText(13), revision: row.optionalText(14))
        )
    }
}
