import GRDB
import Ranging
import Records

// What devices carry and how they range, and the monitors of beacon regions.

extension Store {
    static func registerBeacons(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("beacons") { db in
            try db.execute(
                sql: """
                    ALTER TABLE device ADD COLUMN carriedUUID TEXT;
                    ALTER TABLE device ADD COLUMN carriedMajor INTEGER;
                    ALTER TABLE device ADD COLUMN carriedMinor INTEGER;
                    ALTER TABLE device ADD COLUMN rangingExponent REAL;
                    ALTER TABLE device ADD COLUMN rangingOffset REAL;
                    ALTER TABLE device ADD COLUMN rangingFilter TEXT;
                    CREATE TABLE beaconMonitor (
                        dataset TEXT NOT NULL, client TEXT NOT NULL, id TEXT NOT NULL, proximityUUID TEXT NOT NULL, major INTEGER,
                        minor INTEGER, devices TEXT, createdAt INTEGER NOT NULL,
                        PRIMARY KEY (dataset, client, id)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("beacon incidents") { db in
            try db.execute(
                sql: """
                    ALTER TABLE incident RENAME COLUMN circumstanceId TO sourceId;
                    ALTER TABLE incident ADD COLUMN source TEXT NOT NULL DEFAULT 'circumstance';
                    """)
        }
    }

    static func put(_ record: BeaconMonitorRecord, _ db: Database) throws {
        try db.run(
            Table.beaconMonitor.upsert,
            record.dataset, record.client, record.id, record.proximityUUID, record.major, record.minor,
            record.devices.map(ListText.encode), record.createdAt)
    }

    static func deleteBeaconMonitor(_ dataset: String, _ client: String, _ id: String, _ db: Database) throws {
        try db.run("DELETE FROM beaconMonitor WHERE dataset = ? AND client = ? AND id = ?", dataset, client, id)
    }
}

extension Table {
    static let beaconMonitor = Table(
        "beaconMonitor", key: 3, "dataset client id proximityUUID major minor devices createdAt")
}

extension BeaconMonitorRecord {
    /// The columns of ``Table/beaconMonitor``, in order.
    init(_ row: Columns) throws {
        self.init(
            dataset: row.text(0), client: row.text(1), id: row.text(2), proximityUUID: row.text(3),
            major: row.optionalInt64(4).map { Int($0) }, minor: row.optionalInt64(5).map { Int($0) },
            devices: try row.optionalList(6), createdAt: row.int64(7))
    }
}

extension BeaconIdentity {
    /// Three columns, the first of which is NULL where there is none.
    init?(_ row: Columns, from column: Int32) {
        guard let uuid = row.optionalText(column) else { return nil }
        self.init(proximityUUID: uuid, major: row.int(column + 1), minor: row.int(column + 2))
    }
}

extension RangingSettings {
    /// Three columns, the last of which is NULL where there are none.
    init?(_ row: Columns, from column: Int32) throws {
        guard let word = row.optionalText(column + 2) else { return nil }
        guard let filter = Filter(rawValue: word) else { throw StoreError.corrupt }
        self.init(n: row.double(column), rssiOffset: row.double(column + 1), filter: filter)
    }
}
