import GRDB
import Records

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
                try apply(change, document: document, to: db)
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
    private func apply(_ change: DurableChange, document: Int64?, to db: Database) throws {
        switch change {
        case .putDataset(let record): try Self.put(record, db)
        case .deleteDataset(let id, let instant): try Self.deleteDataset(id, at: instant, db, places)
        case .putStructure(let record): try Self.put(record, db)
        case .putCategory(let record): try Self.put(record, db)
        case .putPlace(let record): try Self.put(record, document: document, db, places)
        case .deletePlace(let dataset, let id): try Self.deletePlace(dataset, id, db, places)
        case .putVerification(let record): try Self.put(record, db)
        case .putCircumstance(let record): try Self.put(record, db)
        case .deleteCircumstance(let dataset, let id): try Self.deleteCircumstance(dataset, id, db)
        case .putHeld(let record): try Self.put(record, db)
        case .deleteHeld(let record): try Self.delete(record, db)
        case .putPlaceVisit(let record): try Self.put(record, db)
        case .deletePlaceVisit(let dataset, let device, let place): try Self.deletePlaceVisit(dataset, device, place, db)
        case .putStay(let record): try Self.put(record, db)
        case .putIncident(let record): try Self.put(record, db)
        case .incidentSettled(let number): try db.run("DELETE FROM incident WHERE number = ?", number)
        case .putDevice(let record): try Self.put(record, db)
        case .deleteDevice(let dataset, let id): try Self.run(Self.deviceCascade, dataset, id, db)
        case .forgetDevice(let dataset, let id): try Self.run(Self.forgettingCascade, dataset, id, db)
        case .putPublication(let record): try Self.put(record, db)
        case .deletePublication(let dataset, let id):
            try db.run("DELETE FROM pair WHERE dataset = ? AND publicationId = ?", dataset, id)
            try db.run("DELETE FROM visit WHERE dataset = ? AND publicationId = ?", dataset, id)
            try db.run("DELETE FROM publication WHERE dataset = ? AND id = ?", dataset, id)
        case .putSubscription(let record): try Self.put(record, db)
        case .deleteSubscription(let dataset, let id):
            try db.run("DELETE FROM pair WHERE dataset = ? AND subscriptionId = ?", dataset, id)
            try db.run("DELETE FROM visit WHERE dataset = ? AND subscriptionId = ?", dataset, id)
            try db.run("DELETE FROM subscription WHERE dataset = ? AND id = ?", dataset, id)
        case .putDelivery(let dataset, let id, let delivery): try Self.put(delivery, dataset, id, db)
        case .putHints(let dataset, let id, let hints):
            try db.run("UPDATE subscription SET hints = ?3 WHERE dataset = ?1 AND id = ?2", dataset, id, ListText.encode(hints))
        case .putPair(let record): try Self.put(record, db)
        case .putMatch(let record): try Self.put(record, db)
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
        case .matchSettled(let number): try Self.matchSettled(number, db)
        case .forgetMatch(let number): try Self.forgetMatch(number, db)
        case .putLiveState(let record): try Self.put(record, db)
        case .forgetLiveState(let dataset, let topic):
            try db.run("DELETE FROM liveState WHERE dataset = ? AND topic = ?", dataset, topic)
        case .putLiveSubscription(let record): try Self.put(record, db)
        case .deleteLiveSubscription(let dataset, let client, let id): try Self.deleteLiveSubscription(dataset, client, id, db)
        case .putBeaconMonitor(let record): try Self.put(record, db)
        case .deleteBeaconMonitor(let dataset, let client, let id): try Self.deleteBeaconMonitor(dataset, client, id, db)
        case .putDocument(let record): try Self.put(record, db, places)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): try Self.forgetTombstones(before: instant, at: now, db)
        case .putFollower(let record): try Self.put(record, db)
        case .deleteFollower(let dataset, let client):
            try db.run("DELETE FROM follower WHERE dataset = ? AND client = ?", dataset, client)
        case .putReply(let record):
            // A reply put again is the newest one: REPLACE gives it a new number.
            try db.run(
                "INSERT OR REPLACE INTO reply (dataset, client, requestId, at, body) VALUES (?, ?, ?, ?, ?)",
                record.dataset, record.client, record.requestId, record.at, record.body)
        case .forgetReplies(let instant): try Self.forgetReplies(before: instant, keeping: repliesMax, db)
        case .putFilters(let broker, let filters): try Self.putFilters(filters, broker: broker, db)
        }
    }
}
