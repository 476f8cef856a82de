import GRDB
import MemoryStore
import Testing

@testable import Store
@testable import Records

/// The schemas as they were released, written out: a released migration is never edited, and its data always come along.
@Suite("Migrations of the store")
struct StoreMigrationTests {
    @Test("A database of the first version is opened with everything in it")
    func fromFirstVersion() throws {
        try withScratch { scratch in
            let old = try DatabaseQueue(path: scratch.storePath)
            try old.inDatabase { db in
                try db.execute(sql: Self.firstVersion)
                try db.execute(sql: Self.firstVersionRows)
            }
            try old.close()
            let restored = try scratch.store().restored()
            #expect(restored.datasets["city"]?.domains == ["position"])
            #expect(restored.deletedDatasets == ["old": 9])
            #expect(restored.devices.first?.beacon == BeaconIdentity(proximityUUID: "F7", major: 1, minor: 2))
            #expect(restored.publications.first?.range == 100)
            #expect(restored.subscriptions.first?.matchDTL == 12.5)
            #expect(restored.subscriptions.first?.delivery.matched == 4)
            // What the first version knew nothing of has its default.
            let options = SubscriptionRecord(
                dataset: "city", id: "s", deviceId: "d", topic: "taxi", range: 100, duration: 60, matchDTL: 12.5,
                delivery: restored.subscriptions.first?.delivery ?? Delivery(), owner: nil, createdAt: 1, updatedAt: 2,
                revision: "1-a")
            #expect(restored.subscriptions.first == options)
            #expect(restored.pairs.first?.subscriptionLongitude == 4)
            #expect(restored.liveStates.first?.payload == [0x7B, 0x7D])
            #expect(restored.matches.map(\.body) == [[0x6D]])
            #expect(restored.replies.map(\.requestId) == ["r"])
            #expect(restored.filters == ["embedded": ["city/#"]])
        }
    }

    @Test("A database with a column for each field is opened with every kind in it, and goes on as one that never closed")
    func fromColumns() throws {
        try withScratch { scratch in
            let old = try DatabaseQueue(path: scratch.storePath)
            try old.inDatabase { try $0.execute(sql: DatabaseOfColumns.sql) }
            try old.close()
            let store = try scratch.store()
            var memory = MemoryStore()
            for change in EveryKind.older { memory.apply(change) }
            try expectSame(store, memory)
            #expect(try store.metadata("storeId") == "a")
            #expect(try store.hasPendingPurge)
            while try store.purgeSome(looking: 1) {}
            let more: [DurableChange] = [
                .put(DatasetRecord(id: "old", createdAt: 1, updatedAt: 1, revision: "1-a")), .matchCompleted(number: 3),
                .deletePlace(dataset: EveryKind.dataset, id: "café"), .forgetDevice(dataset: EveryKind.dataset, id: "tag"),
                .deleteDevice(dataset: EveryKind.dataset, id: "beacon"),
            ]
            try store.commit(more)
            for change in more { memory.apply(change) }
            try expectSame(store, memory)
        }
    }

    private func expectSame(_ store: Store, _ memory: MemoryStore) throws {
        #expect(try store.restored().difference(from: try Snapshot(memory)) == [])
        for dataset in [EveryKind.dataset, "park", "old"] {
            let query = FeedQuery(dataset: dataset, since: 0, limit: 100, bytes: .max, reader: nil)
            let page = memory.feedPage(query)
            #expect(try store.feedPage(query) == page)
            let lookups = page.rows.flatMap { row in
                [[], ["1-a", "2-a", "1-d", "1-i"]].map {
                    DocumentLookup(dataset: dataset, type: row.type, id: row.id, revisions: $0)
                }
            }
            #expect(try store.documents(lookups) == memory.documents(lookups))
            #expect(
                try store.matches(dataset: dataset, deviceId: "tag")
                    == memory.matches(dataset: dataset, deviceId: "tag", after: nil))
        }
        let follower = RecordKey.follower(dataset: EveryKind.dataset, client: "client")
        #expect(try store.records([follower]) == memory.records([follower]))
        #expect(try store.highestMatchNumber == memory.highestMatchNumber)
        #expect(try store.highestLiveNumber == memory.highestLiveNumber)
    }

    @Test("The first version's schema is what it was")
    func firstVersionIsFrozen() throws {
        try withScratch { scratch in
            let fresh = try DatabaseQueue(path: scratch.storePath)
            try Store.migrator.migrate(fresh, upTo: "1 foundation")
            let frozen = try DatabaseQueue()
            try frozen.inDatabase { try $0.execute(sql: Self.firstVersion) }
            #expect(try schema(fresh) == schema(frozen))
        }
    }

    private func schema(_ queue: DatabaseQueue) throws -> Set<String> {
        try queue.inDatabase { db in
            Set(
                try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL AND tbl_name NOT LIKE 'grdb%'")
                    .map { $0.split { $0.isWhitespace }.joined(separator: " ") })
        }
    }

    private static let firstVersionRows = """
        INSERT INTO dataset VALUES ('city', NULL, 'strict', '["position"]', 1, 0, 'UTC', 1, 2, '1-a');
        INSERT INTO deletedDataset VALUES ('old', 9);
        INSERT INTO device VALUES ('city', 'd', 'IBeaconDevice', '', '[]', NULL, NULL, 'F7', 1, 2, 'client', 1, 2, '1-a');
        INSERT INTO publication VALUES (1, 'city', 'p', 'd', 'taxi', 100, 60, '{}', NULL, 1, 2, '1-a');
        INSERT INTO subscription VALUES
            (1, 'city', 's', 'd', 'taxi', 100, 60, '', NULL, 12.5, 0, '[]', '[]', NULL, 1, 2, '1-a', 4, 3, 0, 0, 0, NULL, NULL);
        INSERT INTO pair VALUES ('city', 's', 'p', 5, 1, 2, 3, 4);
        INSERT INTO liveState VALUES (1, 'city', 't', 1, 2, 3, x'7B7D');
        INSERT INTO match VALUES (8, 'city', 'm', 'd', 's', 'p', NULL, 5, 1, 1);
        INSERT INTO matchBody VALUES (8, x'6D');
        INSERT INTO reply VALUES (1, 'city', 'client', 'r', 5, x'7B7D');
        INSERT INTO filter VALUES ('embedded', 0, 'city/#');
        """

    private static let firstVersion = """
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
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1 foundation');
        PRAGMA application_id = 1734700909;
        """
}
