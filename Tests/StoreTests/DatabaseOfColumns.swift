/// A database as it was when each kind had a table with a column for each field, with ``EveryKind/older`` in it.
///
/// Written out by the build that made it: places of the deleted dataset `old` are still being removed.
enum DatabaseOfColumns {
    static let sql = #"""
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE metadata (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE counter (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
        CREATE TABLE dataset ( id TEXT NOT NULL PRIMARY KEY, name TEXT, policy TEXT NOT NULL, domains TEXT,
            autoCreateDevices INTEGER NOT NULL, derivedOccupancy INTEGER NOT NULL, timeZone TEXT NOT NULL,
            createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL ) STRICT, WITHOUT ROWID;
        CREATE TABLE deletedDataset (id TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE device ( dataset TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL,
            groupNames TEXT NOT NULL, platform TEXT, deviceToken TEXT, proximityUUID TEXT, major INTEGER, minor INTEGER,
            owner TEXT, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL, carriedUUID TEXT,
            carriedMajor INTEGER, carriedMinor INTEGER, rangingExponent REAL, rangingOffset REAL, rangingFilter TEXT,
            PRIMARY KEY (dataset, id) ) STRICT, WITHOUT ROWID;
        CREATE TABLE publication ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL,
            deviceId TEXT NOT NULL, topic TEXT NOT NULL, range REAL, duration REAL, properties TEXT NOT NULL, owner TEXT,
            createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL ) STRICT;
        CREATE UNIQUE INDEX publicationByKey ON publication (dataset, id);
        CREATE INDEX publicationOfDevice ON publication (dataset, deviceId);
        CREATE TABLE subscription ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL,
            deviceId TEXT NOT NULL, topic TEXT NOT NULL, range REAL, duration REAL, selector TEXT NOT NULL,
            matchTTL REAL, matchDTL REAL, excludeSelf INTEGER NOT NULL, pushers TEXT NOT NULL, hints TEXT NOT NULL,
            owner TEXT, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL,
            matched INTEGER NOT NULL, delivered INTEGER NOT NULL, retried INTEGER NOT NULL, expired INTEGER NOT NULL,
            dropped INTEGER NOT NULL, lastMatchAt INTEGER, lastError TEXT , mode TEXT NOT NULL DEFAULT 'once',
            exitMargin REAL DEFAULT 10, dwell REAL DEFAULT 0, staleAfter REAL, accuracy TEXT NOT NULL DEFAULT 'centre',
            floor TEXT NOT NULL DEFAULT 'any', secret TEXT) STRICT;
        CREATE UNIQUE INDEX subscriptionByKey ON subscription (dataset, id);
        CREATE INDEX subscriptionOfDevice ON subscription (dataset, deviceId);
        CREATE TABLE pair ( dataset TEXT NOT NULL, subscriptionId TEXT NOT NULL, publicationId TEXT NOT NULL,
            lastMatchAt INTEGER NOT NULL, publicationLatitude REAL, publicationLongitude REAL, subscriptionLatitude REAL,
            subscriptionLongitude REAL, PRIMARY KEY (dataset, subscriptionId, publicationId) ) STRICT, WITHOUT ROWID;
        CREATE INDEX pairOfPublication ON pair (dataset, publicationId);
        CREATE TABLE liveState ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, topic TEXT NOT NULL,
            timestamp INTEGER NOT NULL, receivedAt INTEGER NOT NULL, number INTEGER NOT NULL, payload BLOB ) STRICT;
        CREATE UNIQUE INDEX liveStateByKey ON liveState (dataset, topic);
        CREATE TABLE match ( number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, deviceId TEXT NOT NULL,
            subscriptionId TEXT NOT NULL, publicationId TEXT NOT NULL, owner TEXT, createdAt INTEGER NOT NULL,
            pending INTEGER NOT NULL, listed INTEGER NOT NULL , pushers TEXT, secret TEXT,
            settled INTEGER NOT NULL DEFAULT 0, fate INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE INDEX matchOfDevice ON match (dataset, deviceId, listed);
        CREATE INDEX matchById ON match (dataset, id);
        CREATE TABLE matchBody (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
        CREATE TABLE reply ( number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, client TEXT NOT NULL,
            requestId TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL ) STRICT;
        CREATE UNIQUE INDEX replyByRequest ON reply (dataset, client, requestId);
        CREATE INDEX replyByAge ON reply (at);
        CREATE TABLE filter ( broker TEXT NOT NULL, position INTEGER NOT NULL, filter TEXT NOT NULL, PRIMARY KEY (broker,
            position) ) STRICT, WITHOUT ROWID;
        CREATE TABLE liveSubscription ( dataset TEXT NOT NULL, client TEXT NOT NULL, id TEXT NOT NULL,
            criteria TEXT NOT NULL, condition TEXT, within TEXT, minInterval INTEGER NOT NULL, qos INTEGER NOT NULL,
            snapshot INTEGER NOT NULL, lease REAL, leaseUntil INTEGER NOT NULL, createdAt INTEGER NOT NULL,
            number INTEGER NOT NULL, PRIMARY KEY (dataset, client, id) ) STRICT, WITHOUT ROWID;
        CREATE TABLE visit ( dataset TEXT NOT NULL, subscriptionId TEXT NOT NULL, publicationId TEXT NOT NULL,
            id TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (dataset, subscriptionId, publicationId) ) STRICT,
            WITHOUT ROWID;
        CREATE INDEX visitOfPublication ON visit (dataset, publicationId);
        CREATE TABLE structure ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, level TEXT NOT NULL,
            parents TEXT NOT NULL, id TEXT NOT NULL, name TEXT, floorIndex INTEGER, capacity INTEGER,
            geometry TEXT ) STRICT;
        CREATE UNIQUE INDEX structureByKey ON structure (dataset, level, parents, id);
        CREATE TABLE category ( dataset TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, parentId TEXT, owner TEXT,
            revision TEXT, PRIMARY KEY (dataset, id) ) STRICT, WITHOUT ROWID;
        CREATE TABLE place ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL, name TEXT,
            categoryIds TEXT NOT NULL, chainId TEXT, openingHours TEXT, timeZone TEXT, publicHolidays TEXT,
            schoolHolidays TEXT, placerank REAL, latitude REAL, longitude REAL, outline BLOB, owner TEXT, revision TEXT ,
            document INTEGER) STRICT;
        CREATE TABLE verification ( dataset TEXT NOT NULL, placeId TEXT NOT NULL, hour INTEGER NOT NULL,
            count INTEGER NOT NULL, PRIMARY KEY (dataset, placeId, hour) ) STRICT, WITHOUT ROWID;
        CREATE TABLE circumstance ( dataset TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL,
            expression TEXT NOT NULL, trigger TEXT, name TEXT, tags TEXT NOT NULL, devices TEXT NOT NULL,
            nearRadius REAL, exitMargin REAL, debug INTEGER NOT NULL, enabled INTEGER NOT NULL,
            createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, revision TEXT NOT NULL, PRIMARY KEY (dataset,
            id) ) STRICT, WITHOUT ROWID;
        CREATE TABLE held ( dataset TEXT NOT NULL, circumstanceId TEXT NOT NULL, deviceId TEXT NOT NULL,
            PRIMARY KEY (dataset, circumstanceId, deviceId) ) STRICT, WITHOUT ROWID;
        CREATE INDEX heldOfDevice ON held (dataset, deviceId);
        CREATE TABLE placeVisit ( dataset TEXT NOT NULL, deviceId TEXT NOT NULL, placeId TEXT NOT NULL,
            count INTEGER NOT NULL, ends TEXT NOT NULL, openSince INTEGER, level INTEGER NOT NULL, PRIMARY KEY (dataset,
            deviceId, placeId) ) STRICT, WITHOUT ROWID;
        CREATE TABLE stay ( dataset TEXT NOT NULL, deviceId TEXT NOT NULL, latitude REAL, longitude REAL,
            since INTEGER NOT NULL, moving INTEGER, PRIMARY KEY (dataset, deviceId) ) STRICT, WITHOUT ROWID;
        CREATE TABLE incident ( number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, id TEXT NOT NULL,
            sourceId TEXT NOT NULL, owner TEXT NOT NULL, createdAt INTEGER NOT NULL, body BLOB NOT NULL ,
            source TEXT NOT NULL DEFAULT 'circumstance') STRICT;
        CREATE INDEX incidentOfDataset ON incident (dataset);
        CREATE TABLE feed ( dataset TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL,
            purgedThrough INTEGER NOT NULL ) STRICT, WITHOUT ROWID;
        CREATE TABLE document ( row INTEGER PRIMARY KEY, dataset TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
            seq INTEGER NOT NULL, revision TEXT NOT NULL, deleted INTEGER NOT NULL, owner TEXT, reader TEXT NOT NULL,
            buriedAt INTEGER, content BLOB , byPlace INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE INDEX documentBySeq ON document (dataset, seq);
        CREATE INDEX documentByReader ON document (dataset, reader, seq);
        CREATE INDEX documentTombstone ON document (buriedAt) WHERE deleted = 1;
        CREATE TABLE leaf ( document INTEGER NOT NULL, revision TEXT NOT NULL, deleted INTEGER NOT NULL,
            content BLOB NOT NULL, PRIMARY KEY (document, revision) ) STRICT, WITHOUT ROWID;
        CREATE TABLE ancestor ( document INTEGER NOT NULL, generation INTEGER NOT NULL, revision TEXT NOT NULL,
            PRIMARY KEY (document, generation, revision) ) STRICT, WITHOUT ROWID;
        CREATE TABLE follower ( dataset TEXT NOT NULL, client TEXT NOT NULL, since INTEGER NOT NULL, lease REAL,
            leaseUntil INTEGER NOT NULL, PRIMARY KEY (dataset, client) ) STRICT, WITHOUT ROWID;
        CREATE TABLE beaconMonitor ( dataset TEXT NOT NULL, client TEXT NOT NULL, id TEXT NOT NULL,
            proximityUUID TEXT NOT NULL, major INTEGER, minor INTEGER, devices TEXT, createdAt INTEGER NOT NULL,
            PRIMARY KEY (dataset, client, id) ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX documentByKey ON document (dataset, type, id) WHERE byPlace = 0;
        CREATE TABLE condemned (dataset TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
        INSERT INTO grdb_migrations VALUES ('1 foundation');
        INSERT INTO grdb_migrations VALUES ('live subscriptions');
        INSERT INTO grdb_migrations VALUES ('2 visits and pushers');
        INSERT INTO grdb_migrations VALUES ('structure');
        INSERT INTO grdb_migrations VALUES ('3 places');
        INSERT INTO grdb_migrations VALUES ('4 circumstances');
        INSERT INTO grdb_migrations VALUES ('change feed');
        INSERT INTO grdb_migrations VALUES ('beacons');
        INSERT INTO grdb_migrations VALUES ('beacon incidents');
        INSERT INTO grdb_migrations VALUES ('place rows');
        INSERT INTO metadata VALUES ('storeId', 'a');
        INSERT INTO counter VALUES ('live', 8);
        INSERT INTO counter VALUES ('match', 4);
        INSERT INTO dataset VALUES ('city', 'City é', 'open', NULL, 1, 0, 'UTC', 1, 1, '1-a');
        INSERT INTO dataset VALUES ('park', NULL, 'strict', '["position","a\"b"]', 0, 1, 'Europe/Monaco', 2, 3, '2-b');
        INSERT INTO deletedDataset VALUES ('old', 20);
        INSERT INTO device VALUES ('city', 'beacon', 'IBeaconDevice', '', '[]', NULL, NULL, 'F7826DA6', 1, 2, NULL, 4, 4,
            '1-e', NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO device VALUES ('city', 'tag', 'MobileDevice', 'Tag', '["g",""]', 'ios', 't', NULL, NULL, NULL,
            'client', 4, 5, '1-d', 'F7826DA6', 0, 65535, 1.75, -3.5, 'kalman');
        INSERT INTO publication VALUES (1, 'city', 'offer', 'beacon', 'taxi', 5000.0, 0.001, '{"a":[1,"x"]}', 'client',
            6, 6, '1-h');
        INSERT INTO subscription VALUES (1, 'city', 'visiting', 'tag', 'taxi', 99.9, 1e300, 'a = ''b''', 0.0, 12.5, 1,
            '["https://example.com/é"]', '["mute"]', 'client', 6, 7, '3-f', 9, 4, 1, 2, 1, 8, 'refused', 'visit', 0.0,
            0.001, 90.5, 'certain', 'same', 's3cret é');
        INSERT INTO subscription VALUES (2, 'city', 'plain', 'tag', 'taxi', 10.0, 60.0, '', NULL, NULL, 0, '[]',
            '["a","b"]', NULL, 6, 6, '1-g', 0, 0, 0, 0, 0, NULL, NULL, 'once', 10.0, 0.0, NULL, 'centre', 'any', NULL);
        INSERT INTO pair VALUES ('city', 'visiting', 'offer', 14, -89.999999999, 180.0, NULL, 0.3333333333333333);
        INSERT INTO liveState VALUES (1, 'city', 'city/-/-/-/-/tag/position', 15, 16, 7, x'7B7D');
        INSERT INTO liveState VALUES (2, 'city', 'cleared', 15, 16, 8, NULL);
        INSERT INTO match VALUES (2, 'city', 'match 2', 'tag', 'visiting', 'offer', 'client', 14, 0, 1, NULL, NULL, 0,
            0);
        INSERT INTO match VALUES (3, 'city', 'match 3', 'tag', 'visiting', 'offer', 'client', 14, 1, 1,
            '["https://example.com/é"]', 's3cret é', 1, 1);
        INSERT INTO match VALUES (4, 'city', 'match 4', 'tag', 'visiting', 'offer', 'client', 14, 1, 0,
            '["https://example.com/é"]', 's3cret é', 0, 0);
        INSERT INTO matchBody VALUES (2, x'02');
        INSERT INTO matchBody VALUES (3, x'03');
        INSERT INTO matchBody VALUES (4, x'04');
        INSERT INTO reply VALUES (1, 'city', 'client', 'r', 17, x'7B7D');
        INSERT INTO filter VALUES ('embedded', 0, 'city/#');
        INSERT INTO filter VALUES ('embedded', 1, 'park/#');
        INSERT INTO liveSubscription VALUES ('city', 'client', 'l', 'city/#', 'a = ''é''', '{}', 5, 1, 0, 0.1, 10, 9,
            2);
        INSERT INTO visit VALUES ('city', 'visiting', 'offer', 'match 2', 14);
        INSERT INTO structure VALUES (1, 'city', 'floor', '["v","-"]', '1', 'First', 1, 12, '{}');
        INSERT INTO structure VALUES (2, 'city', 'venue', '[]', 'v', NULL, NULL, NULL, NULL);
        INSERT INTO category VALUES ('city', 'amenity=cafe', 'Cafés', 'amenity', 'client', '1-k');
        INSERT INTO place VALUES (1, 'city', 'café', 'Café', '["amenity=cafe"]', 'Q1', 'Mo-Fr 09:00-17:00',
            'Europe/Monaco', '["2026-12-25"]', '["2026-07-01","2026-08-31"]', 0.5, NULL, NULL,
            x'0100000001000000040000000000000000001C4000000000008045401B2FDD2406011C4000000000008045400000000000001C40E3A59BC4208045400000000000001C400000000000804540',
            'client', '1-i', 7);
        INSERT INTO place VALUES (2, 'city', 'bench', NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, 43.5, -7.5, NULL,
            NULL, '1-j', 8);
        INSERT INTO place VALUES (3, 'old', 'p', NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, 1.0, 2.0, NULL, NULL,
            '1-p', 14);
        INSERT INTO verification VALUES ('city', 'café', 167, 3);
        INSERT INTO circumstance VALUES ('city', 'asked', 'client', '(moving)', NULL, NULL, '[]', '[]', 250.0, 10.0, 0,
            1, 11, 11, '1-m');
        INSERT INTO circumstance VALUES ('city', 'coffee', 'client', '(moving)', 'arriving', 'Coffee', '["t"]',
            '["tag"]', 10.5, 0.0, 1, 0, 11, 12, '2-l');
        INSERT INTO held VALUES ('city', 'coffee', 'tag');
        INSERT INTO placeVisit VALUES ('city', 'tag', 'café', 3, '["1","2"]', 13, 2);
        INSERT INTO stay VALUES ('city', 'tag', 43.0, 7.0, 13, 1);
        INSERT INTO incident VALUES (1, 'city', 'i', 'm', 'client', 13, x'7B7D', 'beacon');
        INSERT INTO feed VALUES ('city', 17, 0);
        INSERT INTO document VALUES (1, 'city', 'device', 'tag', 12, '2-d', 0, 'client', 'client', NULL, NULL, 0);
        INSERT INTO document VALUES (2, 'city', 'device', 'beacon', 2, '1-e', 0, NULL, '', NULL, NULL, 0);
        INSERT INTO document VALUES (3, 'city', 'subscription', 'visiting', 3, '3-f', 0, 'client', 'client', NULL, NULL,
            0);
        INSERT INTO document VALUES (4, 'city', 'subscription', 'plain', 4, '1-g', 0, NULL, '', NULL, NULL, 0);
        INSERT INTO document VALUES (5, 'city', 'publication', 'offer', 5, '1-h', 0, 'client', 'client', NULL, NULL, 0);
        INSERT INTO document VALUES (6, 'city', 'category', 'amenity=cafe', 6, '1-k', 0, 'client', '', NULL, NULL, 0);
        INSERT INTO document VALUES (7, 'city', 'place', 'café', 13, '2-i', 0, 'client', '', NULL, NULL, 1);
        INSERT INTO document VALUES (8, 'city', 'place', 'bench', 8, '1-j', 0, NULL, '', NULL, NULL, 1);
        INSERT INTO document VALUES (9, 'city', 'circumstance', 'coffee', 9, '2-l', 0, 'client', 'client', NULL, NULL,
            0);
        INSERT INTO document VALUES (10, 'city', 'circumstance', 'asked', 10, '1-m', 0, 'client', 'client', NULL, NULL,
            0);
        INSERT INTO document VALUES (11, 'city', 'note', 'n', 11, '3-b', 0, 'client', 'client', NULL,
            x'7B2272223A22332D62227D', 0);
        INSERT INTO document VALUES (12, 'city', 'place', 'gone', 15, '2-f68b867b3441487a', 1, NULL, '', 19, NULL, 0);
        INSERT INTO document VALUES (13, 'city', 'device', 'gone', 17, '2-f68b877b34414a2d', 1, NULL, '', 19, NULL, 0);
        INSERT INTO document VALUES (14, 'old', 'place', 'p', 1, '1-p', 0, NULL, '', NULL, NULL, 1);
        INSERT INTO leaf VALUES (1, '2-a', 0, x'7B2272223A22322D61227D');
        INSERT INTO leaf VALUES (7, '2-a', 0, x'7B2272223A22322D61227D');
        INSERT INTO leaf VALUES (11, '3-a', 0, x'7B2272223A22332D61227D');
        INSERT INTO leaf VALUES (11, '4-d', 1, x'7B2272223A22342D64227D');
        INSERT INTO ancestor VALUES (1, 1, '1-d');
        INSERT INTO ancestor VALUES (7, 1, '1-i');
        INSERT INTO ancestor VALUES (11, 1, '1-a');
        INSERT INTO ancestor VALUES (11, 2, '2-a');
        INSERT INTO ancestor VALUES (12, 1, '1-n');
        INSERT INTO ancestor VALUES (13, 1, '1-o');
        INSERT INTO follower VALUES ('city', 'client', 2, 3600.0, 18);
        INSERT INTO beaconMonitor VALUES ('city', 'client', 'm', 'F7826DA6', 65535, 0, '["tag"]', 9);
        INSERT INTO condemned VALUES ('old');
        PRAGMA application_id = 1734700909;
        """#
}
