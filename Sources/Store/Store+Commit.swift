import Datasets
import GRDB

extension Store {
    /// Writes the changes in order, in one transaction. When it throws, none of them was kept.
    public func commit(_ changes: [DurableChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try transact { db in
            var highest = Highest()
            for change in changes {
                highest.note(change)
                try Self.clear(beforehand: change, db, places)
                let document = try Self.enter(change, db, places)
                try Self.apply(change, document: document, to: db, places)
            }
            try highest.write(to: db)
        }
    }

    /// One transaction, with the rows of places that it changes.
    func transact(_ body: (Database) throws -> Void) throws(StoreError) {
        try access { db in
            places.begin()
            do {
                try db.inTransaction(.immediate) {
                    try body(db)
                    return .commit
                }
            } catch {
                places.rollBack()
                throw error
            }
        }
    }

    /// The highest numbers of one transaction; kept apart from the rows so that a deletion does not give them free.
    private struct Highest {
        var match: Int64 = 0
        var live: Int64 = 0

        mutating func note(_ change: DurableChange) {
            switch change {
            case .putMatch(let record): match = max(match, record.number)
            case .putIncident(let record): match = max(match, record.number)
            case .putLiveState(let record): live = max(live, record.number)
            default: break
            }
        }

        func write(to db: Database) throws {
            let sql = "INSERT INTO counter VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = max(value, ?2)"
            if match > 0 { try db.run(sql, Counter.match.rawValue, match) }
            if live > 0 { try db.run(sql, Counter.live.rawValue, live) }
        }
    }

    /// - Parameter document: The row of the document that ``enter(_:_:_:)`` made for it.
    private static func apply(_ change: DurableChange, document: Int64?, to db: Database, _ places: PlaceRows) throws {
        switch change {
        case .putDataset(let record): try put(record, db)
        case .deleteDataset(let id, let instant): try deleteDataset(id, at: instant, db, places)
        case .putStructure(let record): try put(record, db)
        case .putCategory(let record): try put(record, db)
        case .putPlace(let record): try put(record, document: document, db, places)
        case .deletePlace(let dataset, let id): try deletePlace(dataset, id, db, places)
        case .putVerification(let record): try put(record, db)
        case .putCircumstance(let record): try put(record, db)
        case .deleteCircumstance(let dataset, let id): try deleteCircumstance(dataset, id, db)
        case .putHeld(let record): try put(record, db)
        case .deleteHeld(let record): try delete(record, db)
        case .putPlaceVisit(let record): try put(record, db)
        case .deletePlaceVisit(let dataset, let device, let place): try deletePlaceVisit(dataset, device, place, db)
        case .putStay(let record): try put(record, db)
        case .putIncident(let record): try put(record, db)
        case .incidentSettled(let number): try db.run("DELETE FROM incident WHERE number = ?", number)
        case .putDevice(let record): try put(record, db)
        case .deleteDevice(let dataset, let id): try run(deviceCascade, dataset, id, db)
        case .forgetDevice(let dataset, let id): try run(forgettingCascade, dataset, id, db)
        case .putPublication(let record): try put(record, db)
        case .deletePublication(let dataset, let id):
            try db.run("DELETE FROM pair WHERE dataset = ? AND publicationId = ?", dataset, id)
            try db.run("DELETE FROM visit WHERE dataset = ? AND publicationId = ?", dataset, id)
            try db.run("DELETE FROM publication WHERE dataset = ? AND id = ?", dataset, id)
        case .putSubscription(let record): try put(record, db)
        case .deleteSubscription(let dataset, let id):
            try db.run("DELETE FROM pair WHERE dataset = ? AND subscriptionId = ?", dataset, id)
            try db.run("DELETE FROM visit WHERE dataset = ? AND subscriptionId = ?", dataset, id)
            try db.run("DELETE FROM subscription WHERE dataset = ? AND id = ?", dataset, id)
        case .putDelivery(let dataset, let id, let delivery): try put(delivery, dataset, id, db)
        case .putHints(let dataset, let id, let hints):
            try db.run("UPDATE subscription SET hints = ?3 WHERE dataset = ?1 AND id = ?2", dataset, id, ListText.encode(hints))
        case .putPair(let record): try put(record, db)
        case .putMatch(let record): try put(record, db)
        case .putVisit(let record):
            try db.run(
                Table.visit.upsert,
                record.dataset, record.subscriptionId, record.publicationId, record.id, record.since)
        case .deleteVisit(let dataset, let subscription, let publication):
            try db.run(
                "DELETE FROM visit WHERE dataset = ? AND subscriptionId = ? AND publicationId = ?", dataset, subscription,
                publication)
        case .matchProgress(let number, let settled, let fate):
            try db.run("UPDATE match SET settled = ?2, fate = ?3 WHERE number = ?1", number, Int64(settled), fate.rank)
        case .matchSettled(let number): try matchSettled(number, db)
        case .forgetMatch(let number): try forgetMatch(number, db)
        case .putLiveState(let record): try put(record, db)
        case .forgetLiveState(let dataset, let topic):
            try db.run("DELETE FROM liveState WHERE dataset = ? AND topic = ?", dataset, topic)
        case .putLiveSubscription(let record): try put(record, db)
        case .deleteLiveSubscription(let dataset, let client, let id): try deleteLiveSubscription(dataset, client, id, db)
        case .putBeaconMonitor(let record): try put(record, db)
        case .deleteBeaconMonitor(let dataset, let client, let id): try deleteBeaconMonitor(dataset, client, id, db)
        case .putDocument(let record): try put(record, db, places)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): try forgetTombstones(before: instant, at: now, db)
        case .putFollower(let record): try put(record, db)
        case .deleteFollower(let dataset, let client):
            try db.run("DELETE FROM follower WHERE dataset = ? AND client = ?", dataset, client)
        case .putReply(let record):
            // A reply put again is the newest one: REPLACE gives it a new number.
            try db.run(
                "INSERT OR REPLACE INTO reply (dataset, client, requestId, at, body) VALUES (?, ?, ?, ?, ?)",
                record.dataset, record.client, record.requestId, record.at, record.body)
        case .forgetReplies(let instant): try forgetReplies(before: instant, db)
        case .putFilters(let broker, let filters): try putFilters(filters, broker: broker, db)
        }
    }

    // MARK: Objects

    private static func put(_ record: DatasetRecord, _ db: Database) throws {
        try db.run(
            Table.dataset.upsert,
            record.id, record.name, record.policy, record.domains.map(ListText.encode), record.autoCreateDevices,
            record.derivedOccupancy, record.timeZone, record.createdAt, record.updatedAt, record.revision)
        try db.run("DELETE FROM deletedDataset WHERE id = ?", record.id)
    }

    private static func put(_ record: DeviceRecord, _ db: Database) throws {
        try db.run(
            Table.device.upsert,
            record.dataset, record.id, record.type.rawValue, record.name, ListText.encode(record.group), record.platform,
            record.deviceToken, record.beacon?.proximityUUID, record.beacon?.major, record.beacon?.minor, record.owner,
            record.createdAt, record.updatedAt, record.revision, record.carries?.proximityUUID, record.carries?.major,
            record.carries?.minor, record.ranging?.n, record.ranging?.rssiOffset, record.ranging?.filter.rawValue)
    }

    private static func put(_ record: PublicationRecord, _ db: Database) throws {
        try db.run(
            Table.publication.upsert,
            record.dataset, record.id, record.deviceId, record.topic, record.range, record.duration, record.properties,
            record.owner, record.createdAt, record.updatedAt, record.revision)
    }

    private static func put(_ record: SubscriptionRecord, _ db: Database) throws {
        let delivery = record.delivery
        try db.run(
            Table.subscription.upsert,
            record.dataset, record.id, record.deviceId, record.topic, record.range, record.duration, record.selector,
            record.matchTTL, record.matchDTL, record.excludeSelf, ListText.encode(record.pushers), ListText.encode(record.hints),
            record.owner, record.createdAt, record.updatedAt, record.revision, delivery.matched, delivery.delivered,
            delivery.retried, delivery.expired, delivery.dropped, delivery.lastMatchAt, delivery.lastError, record.mode.rawValue,
            record.exitMargin, record.dwell, record.staleAfter, record.accuracy.rawValue, record.floor.rawValue, record.secret)
    }

    private static func put(_ delivery: Delivery, _ dataset: String, _ subscription: String, _ db: Database) throws {
        try db.run(
            """
            UPDATE subscription SET matched = ?3, delivered = ?4, retried = ?5, expired = ?6, dropped = ?7, lastMatchAt = ?8, \
            lastError = ?9 WHERE dataset = ?1 AND id = ?2
            """,
            dataset, subscription, delivery.matched, delivery.delivered, delivery.retried, delivery.expired, delivery.dropped,
            delivery.lastMatchAt, delivery.lastError)
    }

    private static func put(_ record: PairRecord, _ db: Database) throws {
        try db.run(
            Table.pair.upsert,
            record.dataset, record.subscriptionId, record.publicationId, record.lastMatchAt, record.publicationLatitude,
            record.publicationLongitude, record.subscriptionLatitude, record.subscriptionLongitude)
    }

    private static func put(_ record: LiveStateRecord, _ db: Database) throws {
        try db.run(
            Table.liveState.upsert,
            record.dataset, record.topic, record.timestamp, record.receivedAt, record.number, record.payload)
    }

    // MARK: Matches

    /// In the order in which records are bound and read.
    static let matchColumns =
        "number, dataset, id, deviceId, subscriptionId, publicationId, owner, createdAt, pending, pushers, secret, settled, fate"

    private static func put(_ record: MatchRecord, _ db: Database) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO match (\(Self.matchColumns), listed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
            """,
            record.number, record.dataset, record.id, record.deviceId, record.subscriptionId, record.publicationId, record.owner,
            record.createdAt, record.pending, record.pushers.isEmpty ? nil : ListText.encode(record.pushers), record.secret,
            Int64(record.settled), record.fate.rank)
        try db.run("INSERT OR REPLACE INTO matchBody VALUES (?, ?)", record.number, record.body)
    }

    private static func matchSettled(_ number: Int64, _ db: Database) throws {
        // Whom it was for, and what signed it, is nobody's business any more.
        try db.run("UPDATE match SET pending = 0, pushers = NULL, secret = NULL WHERE number = ?", number)
        try removeUnneeded(number, db)
    }

    /// A match that is still to be delivered leaves the list only: its delivery is owed, whatever became of its device.
    private static func forgetMatch(_ number: Int64, _ db: Database) throws {
        try db.run("UPDATE match SET listed = 0 WHERE number = ?", number)
        try removeUnneeded(number, db)
    }

    /// Removes a match that is neither listed nor to be delivered.
    private static func removeUnneeded(_ number: Int64, _ db: Database) throws {
        try db.run("DELETE FROM match WHERE number = ? AND pending = 0 AND listed = 0", number)
        guard db.changesCount > 0 else { return }
        try db.run("DELETE FROM matchBody WHERE number = ?", number)
    }

    // MARK: Cascades

    private static func run(_ cascade: [String], _ dataset: String, _ id: String, _ db: Database) throws {
        for sql in cascade { try db.run(sql, dataset, id) }
    }

    private static func deleteDataset(_ id: String, at instant: Int64, _ db: Database, _ places: PlaceRows) throws {
        try deletePlaces(of: id, db, places)
        for sql in datasetCascade { try db.run(sql, id) }
        try db.run(Table.deletedDataset.upsert, id, instant)
    }

    /// Parameters: the dataset, the device.
    static let deviceCascade =
        pairsOfDevice + [
            "DELETE FROM publication WHERE dataset = ?1 AND deviceId = ?2",
            "DELETE FROM subscription WHERE dataset = ?1 AND deviceId = ?2",
        ] + matchesOfDevice + whereaboutsOfDevice + [
            "DELETE FROM held WHERE dataset = ?1 AND deviceId = ?2", "DELETE FROM device WHERE dataset = ?1 AND id = ?2",
        ]

    /// Parameters: the dataset, the device, which stays.
    static let forgettingCascade = pairsOfDevice + matchesOfDevice + whereaboutsOfDevice

    private static let whereaboutsOfDevice = [
        "DELETE FROM placeVisit WHERE dataset = ?1 AND deviceId = ?2", "DELETE FROM stay WHERE dataset = ?1 AND deviceId = ?2",
    ]

    private static let pairsOfDevice = ["pair", "visit"].flatMap { table in
        [("subscriptionId", "subscription"), ("publicationId", "publication")].map { column, side in
            """
            DELETE FROM \(table) WHERE dataset = ?1 AND \(column) IN \
            (SELECT id FROM \(side) WHERE dataset = ?1 AND deviceId = ?2)
            """
        }
    }

    private static let matchesOfDevice = [
        """
        DELETE FROM matchBody WHERE number IN \
        (SELECT number FROM match WHERE dataset = ?1 AND deviceId = ?2 AND pending = 0)
        """,
        "DELETE FROM match WHERE dataset = ?1 AND deviceId = ?2 AND pending = 0",
        // What is left is still to be delivered, and no longer to be seen.
        "UPDATE match SET listed = 0 WHERE dataset = ?1 AND deviceId = ?2 AND listed = 1",
    ]

    /// Parameter: the dataset.
    static let datasetCascade =
        changeFeedOfDataset + [
            "DELETE FROM pair WHERE dataset = ?",
            "DELETE FROM visit WHERE dataset = ?",
            "DELETE FROM publication WHERE dataset = ?",
            "DELETE FROM subscription WHERE dataset = ?",
            "DELETE FROM structure WHERE dataset = ?",
            "DELETE FROM category WHERE dataset = ?",
            "DELETE FROM verification WHERE dataset = ?",
            "DELETE FROM circumstance WHERE dataset = ?",
            "DELETE FROM held WHERE dataset = ?",
            "DELETE FROM placeVisit WHERE dataset = ?",
            "DELETE FROM stay WHERE dataset = ?",
            "DELETE FROM incident WHERE dataset = ?",
            "DELETE FROM device WHERE dataset = ?",
            "DELETE FROM liveState WHERE dataset = ?",
            "DELETE FROM liveSubscription WHERE dataset = ?",
            "DELETE FROM beaconMonitor WHERE dataset = ?",
            "DELETE FROM matchBody WHERE number IN (SELECT number FROM match WHERE dataset = ?)",
            "DELETE FROM match WHERE dataset = ?",
            "DELETE FROM reply WHERE dataset = ?",
            "DELETE FROM dataset WHERE id = ?",
        ]

    // MARK: Replies and filters

    /// How many replies of one client are kept, the newest ones.
    static let repliesMax: Int64 = 10_000

    /// Removes the replies that are too old, and the oldest of each client that has too many.
    ///
    /// The second is done here, where time has passed anyway, and not at each reply: until then a client may have more on disk,
    /// and a restore leaves them out.
    private static func forgetReplies(before instant: Int64, _ db: Database) throws {
        try db.run("DELETE FROM reply WHERE at < ?", instant)
        for surplus in try surplusReplies(db, of: nil) {
            try db.run(
                """
                DELETE FROM reply WHERE number IN \
                (SELECT number FROM reply WHERE dataset = ? AND client = ? ORDER BY number LIMIT ?)
                """,
                surplus.dataset, surplus.client, surplus.count)
        }
    }

    /// The clients with more replies than are kept, and how many more; of one dataset, or of all where it is nil.
    static func surplusReplies(_ db: Database, of dataset: String?) throws -> [(dataset: String, client: String, count: Int64)] {
        var surplus: [(dataset: String, client: String, count: Int64)] = []
        let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
        let sql = "SELECT dataset, client, count(*) FROM reply WHERE \(scope) GROUP BY dataset, client HAVING count(*) > ?2"
        try db.rows(sql, dataset, repliesMax) { row in
            surplus.append((row.text(0), row.text(1), row.int64(2) - repliesMax))
        }
        return surplus
    }

    /// Writes from the first difference on: a dataset adds its filters at the end, and lists are long where datasets are many.
    private static func putFilters(_ filters: [String], broker: String, _ db: Database) throws {
        var known: [String] = []
        try db.rows("SELECT filter FROM filter WHERE broker = ? ORDER BY position", broker) { known.append($0.text(0)) }
        // By bytes: two filters that only look equal are two filters.
        let same = zip(known, filters).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        if same < known.count {
            try db.run("DELETE FROM filter WHERE broker = ? AND position >= ?", broker, same)
        }
        for position in same..<filters.count {
            try db.run("INSERT INTO filter VALUES (?, ?, ?)", broker, position, filters[position])
        }
    }
}
