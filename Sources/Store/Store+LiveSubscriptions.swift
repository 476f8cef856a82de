import GRDB
import Records

// Live subscriptions that the daemon manages.

extension Store {
    static func addLiveSubscriptions(to migrator: inout DatabaseMigrator) {
        migrator.registerMigration("live subscriptions") { db in
            try db.execute(
                sql: """
                    CREATE TABLE liveSubscription (
                        dataset TEXT NOT NULL, client TEXT NOT NULL, id TEXT NOT NULL, criteria TEXT NOT NULL, condition TEXT, within TEXT,
                        minInterval INTEGER NOT NULL, qos INTEGER NOT NULL, snapshot INTEGER NOT NULL, lease REAL, leaseUntil INTEGER NOT NULL,
                        createdAt INTEGER NOT NULL, number INTEGER NOT NULL,
                        PRIMARY KEY (dataset, client, id)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
    }

    static func put(_ record: LiveSubscriptionRecord, _ db: Database) throws {
        try db.run(
            Table.liveSubscription.upsert,
            record.dataset, record.client, record.id, record.criteria, record.condition, record.within, record.minInterval,
            Int(record.qos), record.snapshot, record.lease, record.leaseUntil, record.createdAt, record.number)
    }

    static func deleteLiveSubscription(_ dataset: String, _ client: String, _ id: String, _ db: Database) throws {
        try db.run("DELETE FROM liveSubscription WHERE dataset = ? AND client = ? AND id = ?", dataset, client, id)
    }
}

extension Table {
    static let liveSubscription = Table(
        "liveSubscription", key: 3,
        "dataset client id criteria condition within minInterval qos snapshot lease leaseUntil createdAt number")
}

extension LiveSubscriptionRecord {
    init(_ row: Columns) {
        self.init(
            dataset: row.text(0), client: row.text(1), id: row.text(2), criteria: row.text(3), condition: row.optionalText(4),
            within: row.optionalText(5), minInterval: row.int64(6), qos: row.int(7) == 1 ? 1 : 0, snapshot: row.flag(8),
            lease: row.double(9), leaseUntil: row.int64(10), createdAt: row.int64(11), number: row.int64(12))
    }
}
