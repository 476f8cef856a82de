import Circumstances
import GRDB
import Records

// Circumstances, what is held of them, where devices were, and incidents on their way.

extension Store {
    static func registerCircumstances(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("4 circumstances") { db in
            try db.execute(
                sql: """
                    CREATE TABLE circumstance (
                        dataset TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, expression TEXT NOT NULL, trigger TEXT, name TEXT,
                        tags TEXT NOT NULL, devices TEXT NOT NULL, nearRadius REAL, exitMargin REAL, debug INTEGER NOT NULL,
                        enabled INTEGER NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL,
                        PRIMARY KEY (dataset, id)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE held (
                        dataset TEXT NOT NULL, circumstanceId TEXT NOT NULL, deviceId TEXT NOT NULL,
                        PRIMARY KEY (dataset, circumstanceId, deviceId)
                    ) STRICT, WITHOUT ROWID;
                    CREATE INDEX heldOfDevice ON held (dataset, deviceId);
                    CREATE TABLE placeVisit (
                        dataset TEXT NOT NULL, deviceId TEXT NOT NULL, placeId TEXT NOT NULL, count INTEGER NOT NULL, ends TEXT NOT NULL,
                        openSince INTEGER, level INTEGER NOT NULL,
                        PRIMARY KEY (dataset, deviceId, placeId)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE stay (
                        dataset TEXT NOT NULL, deviceId TEXT NOT NULL, latitude REAL, longitude REAL, since INTEGER NOT NULL, moving INTEGER,
                        PRIMARY KEY (dataset, deviceId)
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE incident (
                        number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, circumstanceId TEXT NOT NULL, owner TEXT NOT NULL,
                        createdAt INTEGER NOT NULL, body BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX incidentOfDataset ON incident (dataset);
                    """)
        }
    }

    static func put(_ record: CircumstanceRecord, _ db: Database) throws {
        try db.run(
            Table.circumstance.upsert, record.dataset, record.id, record.owner, record.expression, record.trigger?.rawValue,
            record.name, ListText.encode(record.tags), ListText.encode(record.devices), record.nearRadius, record.exitMargin,
            record.debug, record.isEnabled, record.createdAt, record.updatedAt, record.revision)
        try db.run("DELETE FROM held WHERE dataset = ? AND circumstanceId = ?", record.dataset, record.id)
    }

    static func deleteCircumstance(_ dataset: String, _ id: String, _ db: Database) throws {
        try db.run("DELETE FROM circumstance WHERE dataset = ? AND id = ?", dataset, id)
        try db.run("DELETE FROM held WHERE dataset = ? AND circumstanceId = ?", dataset, id)
    }

    static func put(_ record: HeldRecord, _ db: Database) throws {
        try db.run("INSERT OR IGNORE INTO held VALUES (?, ?, ?)", record.dataset, record.circumstanceID, record.deviceID)
    }

    static func delete(_ record: HeldRecord, _ db: Database) throws {
        try db.run(
            "DELETE FROM held WHERE dataset = ? AND circumstanceId = ? AND deviceId = ?", record.dataset, record.circumstanceID,
            record.deviceID)
    }

    static func put(_ record: PlaceVisitRecord, _ db: Database) throws {
        let visits = record.visits
        try db.run(
            Table.placeVisit.upsert, record.dataset, record.deviceID, visits.placeID, visits.count,
            ListText.encode(visits.ends.map { String($0) }), visits.openSince, Int(visits.level.rawValue))
    }

    static func deletePlaceVisit(_ dataset: String, _ device: String, _ place: String, _ db: Database) throws {
        try db.run("DELETE FROM placeVisit WHERE dataset = ? AND deviceId = ? AND placeId = ?", dataset, device, place)
    }

    static func put(_ record: StayRecord, _ db: Database) throws {
        try db.run(
            Table.stay.upsert, record.dataset, record.deviceID, record.stay.latitude, record.stay.longitude, record.stay.since,
            record.stay.isMoving)
    }

    static func put(_ record: IncidentRecord, _ db: Database) throws {
        try db.run(
            Table.incident.upsert, record.number, record.dataset, record.id, record.sourceID, record.owner, record.createdAt,
            record.body,
            record.source.rawValue)
    }

    static func restoreCircumstances(_ db: Database, of dataset: String?, _ visit: (DurableChange) throws -> Void) throws {
        func each(_ table: Table, _ read: (Columns) throws -> DurableChange) throws {
            let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
            try db.rows("\(table.select) WHERE \(scope)", dataset) { try visit(try read($0)) }
        }
        try each(.circumstance) { .putCircumstance(try CircumstanceRecord($0)) }
        try each(.held) {
            .putHeld(HeldRecord(dataset: $0.text(0), circumstanceID: $0.text(1), deviceID: $0.text(2)))
        }
        try each(.placeVisit) { .putPlaceVisit(try PlaceVisitRecord($0)) }
        try each(.stay) { .putStay(StayRecord($0)) }
        // By number, which is the order of delivery.
        try each(.incident) { .putIncident(try IncidentRecord($0)) }
    }
}

extension Table {
    static let circumstance = Table(
        "circumstance", key: 2,
        """
        dataset id owner expression trigger name tags devices nearRadius exitMargin debug enabled createdAt updatedAt revision
        """)
    static let held = Table("held", key: 2, "dataset circumstanceId deviceId")
    static let placeVisit = Table("placeVisit", key: 3, "dataset deviceId placeId count ends openSince level")
    static let stay = Table("stay", key: 2, "dataset deviceId latitude longitude since moving")
    static let incident = Table("incident", key: 1, "number dataset id sourceId owner createdAt body source")
}

extension CircumstanceRecord {
    fileprivate init(_ row: Columns) throws {
        let trigger = try row.optionalText(4).map { text in
            guard let trigger = CircumstanceRule.Trigger(rawValue: text) else { throw StoreError.corrupt }
            return trigger
        }
        self.init(
            dataset: row.text(0), id: row.text(1), owner: row.text(2), expression: row.text(3), trigger: trigger,
            name: row.optionalText(5), tags: try row.list(6), devices: try row.list(7), nearRadius: row.double(8),
            exitMargin: row.double(9), debug: row.flag(10), isEnabled: row.flag(11), createdAt: row.int64(12),
            updatedAt: row.int64(13), revision: row.text(14))
    }
}

extension PlaceVisitRecord {
    fileprivate init(_ row: Columns) throws {
        guard let level = ThresholdLevel(rawValue: UInt8(clamping: row.int(6))) else { throw StoreError.corrupt }
        self.init(
            dataset: row.text(0), deviceID: row.text(1),
            visits: VisitRow(
                placeID: row.text(2), count: row.int(3), ends: try row.list(4).compactMap { Int64($0) },
                openSince: row.optionalInt64(5), level: level))
    }
}

extension StayRecord {
    fileprivate init(_ row: Columns) {
        self.init(
            dataset: row.text(0), deviceID: row.text(1),
            stay: StayRow(
                latitude: row.double(2), longitude: row.double(3), since: row.int64(4),
                isMoving: row.isNull(5) ? nil : row.flag(5)))
    }
}

extension IncidentRecord {
    fileprivate init(_ row: Columns) throws {
        guard let source = Source(rawValue: row.text(7)) else { throw StoreError.corrupt }
        self.init(
            number: row.int64(0), dataset: row.text(1), id: row.text(2), source: source, sourceID: row.text(3),
            owner: row.text(4), createdAt: row.int64(5), body: row.bytes(6))
    }
}
