import GRDB

extension Store {
    /// `geom`: what makes a SQLite file ours.
    static let applicationID: Int64 = 0x6765_6F6D

    /// Forward only: a migration that was released is never edited, and the next one is added below it.
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
        migrator.registerMigration("1 foundation") { db in
            try db.execute(sql: foundation)
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
        }
        addLiveSubscriptions(to: &migrator)
        migrator.registerMigration("2 visits and pushers") { db in try db.execute(sql: visitsAndPushers) }
        registerStructure(in: &migrator)
        registerPlaces(in: &migrator)
        registerCircumstances(in: &migrator)
        registerChangeFeed(in: &migrator)
        registerBeacons(in: &migrator)
        registerPlaceRows(in: &migrator)
        registerLivePositions(in: &migrator)
        registerGeofences(in: &migrator)
        registerAccessKeys(in: &migrator)
        registerReplication(in: &migrator)
        registerPush(in: &migrator)
        registerRadioMaps(in: &migrator)
        registerDelayOfStay(in: &migrator)
        registerOutsideOfVisits(in: &migrator)
        return migrator
    }()

    /// Each kind of record has a table, with its fields as columns: as small as packed bytes would be, found by an index wherever the
    /// table of kinds refers to a column, and readable for an operator.
    ///
    /// Tables have no foreign keys and no constraint that a well-formed change could break: what waits in the journal must always
    /// be writable once the disk is, and what a deletion takes along is said by the table of kinds.
    ///
    /// Keys come in random order (UUIDs). Short rows are clustered by key. Longer ones are appended, with a narrow index of their keys:
    /// clustered, each new row would split a page of few rows, and measured half as many were written a second. Matches are
    /// clustered by number, and their bodies lie apart, so that a start reads numbers and not bodies.
    private static let foundation = """
        CREATE TABLE metadata (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE counter (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
        CREATE TABLE dataset (
            id TEXT NOT NULL PRIMARY KEY, name TEXT, policy TEXT NOT NULL, domains TEXT, autoCreateDevices INTEGER NOT NULL,
            derivedOccupancy INTEGER NOT NULL, timeZone TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL,
            revision TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE deletedDataset (id TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE device (
            dataset TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, groupNames TEXT NOT NULL, platform TEXT,
            deviceToken TEXT, proximityUUID TEXT, major INTEGER, minor INTEGER, owner TEXT, createdAt INTEGER NOT NULL,
            updatedAt INTEGER NOT NULL, revision TEXT NOT NULL,
            PRIMARY KEY (dataset, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE publication (
            row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, deviceId TEXT NOT NULL, topic TEXT NOT NULL, range REAL, duration REAL,
            properties TEXT NOT NULL, owner TEXT, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX publicationByKey ON publication (dataset, id);
        CREATE INDEX publicationOfDevice ON publication (dataset, deviceId);
        CREATE TABLE subscription (
            row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, deviceId TEXT NOT NULL, topic TEXT NOT NULL, range REAL, duration REAL,
            selector TEXT NOT NULL, matchTTL REAL, matchDTL REAL, excludeSelf INTEGER NOT NULL, pushers TEXT NOT NULL,
            hints TEXT NOT NULL, owner TEXT, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL,
            matched INTEGER NOT NULL, delivered INTEGER NOT NULL, retried INTEGER NOT NULL, expired INTEGER NOT NULL,
            dropped INTEGER NOT NULL, lastMatchAt INTEGER, lastError TEXT
        ) STRICT;
        CREATE UNIQUE INDEX subscriptionByKey ON subscription (dataset, id);
        CREATE INDEX subscriptionOfDevice ON subscription (dataset, deviceId);
        CREATE TABLE pair (
            dataset TEXT NOT NULL, subscriptionId TEXT NOT NULL, publicationId TEXT NOT NULL, lastMatchAt INTEGER NOT NULL,
            publicationLatitude REAL, publicationLongitude REAL, subscriptionLatitude REAL, subscriptionLongitude REAL,
            PRIMARY KEY (dataset, subscriptionId, publicationId)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pairOfPublication ON pair (dataset, publicationId);
        CREATE TABLE liveState (
            row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, topic TEXT NOT NULL, timestamp INTEGER NOT NULL, receivedAt INTEGER NOT NULL,
            number INTEGER NOT NULL, payload BLOB
        ) STRICT;
        CREATE UNIQUE INDEX liveStateByKey ON liveState (dataset, topic);
        CREATE TABLE match (
            number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, deviceId TEXT NOT NULL, subscriptionId TEXT NOT NULL,
            publicationId TEXT NOT NULL, owner TEXT, createdAt INTEGER NOT NULL, pending INTEGER NOT NULL, listed INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX matchOfDevice ON match (dataset, deviceId, listed);
        CREATE INDEX matchById ON match (dataset, id);
        CREATE TABLE matchBody (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
        CREATE TABLE reply (
            number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, client TEXT NOT NULL, requestId TEXT NOT NULL, at INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX replyByRequest ON reply (dataset, client, requestId);
        CREATE INDEX replyByAge ON reply (at);
        CREATE TABLE filter (
            broker TEXT NOT NULL, position INTEGER NOT NULL, filter TEXT NOT NULL,
            PRIMARY KEY (broker, position)
        ) STRICT, WITHOUT ROWID;
        """

    /// Visits are short rows and clustered by key like pairs. What a match still owes to whom is in its row: the pushers as they were
    /// when it was made, which of its targets are settled (a bit each), and the worst that became of those.
    private static let visitsAndPushers = """
        ALTER TABLE subscription ADD COLUMN mode TEXT NOT NULL DEFAULT 'once';
        ALTER TABLE subscription ADD COLUMN exitMargin REAL DEFAULT 10;
        ALTER TABLE subscription ADD COLUMN dwell REAL DEFAULT 0;
        ALTER TABLE subscription ADD COLUMN staleAfter REAL;
        ALTER TABLE subscription ADD COLUMN accuracy TEXT NOT NULL DEFAULT 'centre';
        ALTER TABLE subscription ADD COLUMN floor TEXT NOT NULL DEFAULT 'any';
        ALTER TABLE subscription ADD COLUMN secret TEXT;
        CREATE TABLE visit (
            dataset TEXT NOT NULL, subscriptionId TEXT NOT NULL, publicationId TEXT NOT NULL, id TEXT NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (dataset, subscriptionId, publicationId)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX visitOfPublication ON visit (dataset, publicationId);
        ALTER TABLE match ADD COLUMN pushers TEXT;
        ALTER TABLE match ADD COLUMN secret TEXT;
        ALTER TABLE match ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE match ADD COLUMN fate INTEGER NOT NULL DEFAULT 0;
        """
}
