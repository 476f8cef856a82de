import GRDB

// The schema step by step, each as it was released. Forward only: a step that was released is never edited.

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

    /// A path is known once: the parents are in it as a list, since an id may hold any character.
    static func registerStructure(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("structure") { db in
            try db.execute(
                sql: """
                    CREATE TABLE structure (
                        row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, level TEXT NOT NULL, parents TEXT NOT NULL, id TEXT NOT NULL,
                        name TEXT, floorIndex INTEGER, capacity INTEGER, geometry TEXT
                    ) STRICT;
                    CREATE UNIQUE INDEX structureByKey ON structure (dataset, level, parents, id);
                    """)
        }
    }

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

    /// Objects of ours have their content in their own tables. `reader` is empty where everybody may see a row. A tombstone is dated by
    /// the first housekeeping behind it. What an earlier version stored enters the feed in the order in which it was made.
    static func registerChangeFeed(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("change feed") { db in
            try db.execute(sql: changeFeed)
        }
    }

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

    static func registerLivePositions(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("live positions") { db in
            try db.execute(sql: "ALTER TABLE dataset ADD COLUMN livePositions TEXT NOT NULL DEFAULT 'all'")
        }
    }

    static func registerGeofences(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("geofences") { db in
            try db.execute(
                sql: """
                    CREATE TABLE geofence (
                        row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, path TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, name TEXT,
                        area TEXT NOT NULL, devices TEXT NOT NULL, accuracy TEXT NOT NULL, floor TEXT NOT NULL, exitMargin REAL,
                        dwell INTEGER NOT NULL, staleAfter INTEGER, pushers TEXT NOT NULL, secret TEXT, notification TEXT,
                        enabled INTEGER NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL,
                        matched INTEGER NOT NULL, delivered INTEGER NOT NULL, retried INTEGER NOT NULL, expired INTEGER NOT NULL,
                        dropped INTEGER NOT NULL, lastMatchAt INTEGER, lastError TEXT
                    ) STRICT;
                    CREATE UNIQUE INDEX geofenceByKey ON geofence (dataset, path);
                    CREATE TABLE geofenceVisit (
                        dataset TEXT NOT NULL, geofence TEXT NOT NULL, deviceId TEXT NOT NULL, id TEXT NOT NULL, since INTEGER NOT NULL,
                        dwelled INTEGER NOT NULL,
                        PRIMARY KEY (dataset, geofence, deviceId)
                    ) STRICT, WITHOUT ROWID;
                    CREATE INDEX geofenceVisitOfDevice ON geofenceVisit (dataset, deviceId);
                    ALTER TABLE incident ADD COLUMN pushers TEXT;
                    ALTER TABLE incident ADD COLUMN secret TEXT;
                    ALTER TABLE incident ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE incident ADD COLUMN fate INTEGER NOT NULL DEFAULT 0;
                    """)
        }
        migrator.registerMigration("home assistant") { db in
            try db.execute(sql: "ALTER TABLE subscription ADD COLUMN homeAssistant INTEGER NOT NULL DEFAULT 0")
        }
    }

    static func registerAccessKeys(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("access keys") { db in
            try db.execute(
                sql: """
                    CREATE TABLE accessKey (
                        dataset TEXT NOT NULL, id TEXT NOT NULL, client TEXT NOT NULL, name TEXT NOT NULL, createdAt INTEGER NOT NULL,
                        expiresAt INTEGER, digest BLOB NOT NULL, lastUsedAt INTEGER,
                        PRIMARY KEY (dataset, id)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
    }

    /// Which revision was made from which, and how far clients have replicated. What an ancestor had become was not kept before.
    static func registerReplication(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("replication") { db in
            try db.execute(
                sql: """
                    CREATE TABLE lineage (
                        document INTEGER NOT NULL, generation INTEGER NOT NULL, revision TEXT NOT NULL, child TEXT NOT NULL,
                        PRIMARY KEY (document, generation, revision, child)
                    ) STRICT, WITHOUT ROWID;
                    INSERT INTO lineage SELECT document, generation, revision, '' FROM ancestor;
                    DROP TABLE ancestor;
                    ALTER TABLE lineage RENAME TO ancestor;
                    CREATE TABLE checkpoint (
                        dataset TEXT NOT NULL, client TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
                        body BLOB NOT NULL,
                        PRIMARY KEY (dataset, client, id)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
    }

    static func registerPush(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("push") { db in
            try db.execute(
                sql: """
                    ALTER TABLE device ADD COLUMN goneTargets TEXT;
                    ALTER TABLE subscription ADD COLUMN notification TEXT;
                    ALTER TABLE circumstance ADD COLUMN pushers TEXT;
                    ALTER TABLE circumstance ADD COLUMN notification TEXT;
                    ALTER TABLE match ADD COLUMN push TEXT;
                    ALTER TABLE incident ADD COLUMN push TEXT;
                    """)
        }
    }

    static func registerRadioMaps(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("radio maps") { db in
            try db.execute(
                sql: """
                    ALTER TABLE device ADD COLUMN rangingMap TEXT;
                    ALTER TABLE device ADD COLUMN heading REAL;
                    ALTER TABLE device ADD COLUMN tilt REAL;
                    """)
        }
    }

    static func registerDelayOfStay(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("delay of a stay") { db in try db.execute(sql: "ALTER TABLE stay ADD COLUMN delay INTEGER") }
    }

    static func registerOutsideOfVisits(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("outside of visits") { db in
            try db.execute(
                sql: """
                    ALTER TABLE visit ADD COLUMN outsideSince INTEGER;
                    ALTER TABLE geofenceVisit ADD COLUMN outsideSince INTEGER;
                    """)
        }
    }

    private static let changeFeed = """
        CREATE TABLE feed (
            dataset TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, purgedThrough INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE document (
            row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL,
            revision TEXT NOT NULL, deleted INTEGER NOT NULL, owner TEXT, reader TEXT NOT NULL, buriedAt INTEGER, content BLOB
        ) STRICT;
        CREATE UNIQUE INDEX documentByKey ON document (dataset, type, id);
        CREATE INDEX documentBySeq ON document (dataset, seq);
        CREATE INDEX documentByReader ON document (dataset, reader, seq);
        CREATE INDEX documentTombstone ON document (buriedAt) WHERE deleted = 1;
        CREATE TABLE leaf (
            document INTEGER NOT NULL, revision TEXT NOT NULL, deleted INTEGER NOT NULL, content BLOB NOT NULL,
            PRIMARY KEY (document, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE ancestor (
            document INTEGER NOT NULL, generation INTEGER NOT NULL, revision TEXT NOT NULL,
            PRIMARY KEY (document, generation, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE follower (
            dataset TEXT NOT NULL, client TEXT NOT NULL, since INTEGER NOT NULL, lease REAL, leaseUntil INTEGER NOT NULL,
            PRIMARY KEY (dataset, client)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO document (dataset, type, id, seq, revision, deleted, owner, reader)
            SELECT dataset, type, id, row_number() OVER (PARTITION BY dataset ORDER BY createdAt, type, id), revision, 0, owner, reader
            FROM (
                SELECT dataset, 'device' AS type, id, createdAt, revision, owner,
                    CASE type WHEN 'IBeaconDevice' THEN '' ELSE coalesce(owner, '') END AS reader FROM device
                UNION ALL
                SELECT dataset, 'publication', id, createdAt, revision, owner, coalesce(owner, '') FROM publication
                UNION ALL
                SELECT dataset, 'subscription', id, createdAt, revision, owner, coalesce(owner, '') FROM subscription
            );
        INSERT INTO feed SELECT dataset, max(seq), 0 FROM document GROUP BY dataset;
        """
}
