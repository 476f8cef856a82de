import GRDB
import Records

// Single records of the kinds that are not restored with their dataset alone.

extension Store {
    /// What is durable of each key, in the order asked: the record, or the change that removes it from memory where there is none.
    ///
    /// Nothing deletes a category, so one that is not there is left out; a verification that is not there has the count 0.
    public func records(_ keys: [RecordKey]) throws(StoreError) -> [DurableChange] {
        do {
            return try placeSnapshot { db, places in try keys.compactMap { try Self.record($0, db, places) } }
        } catch {
            throw StoreError(error)
        }
    }

    private static func record(_ key: RecordKey, _ db: Database, _ places: PlaceRows) throws -> DurableChange? {
        switch key {
        case .category(let dataset, let id): try category(dataset, id, db).map { .putCategory($0) }
        case .place(let dataset, let id):
            try place(dataset, id, db, places).map { .putPlace($0) } ?? .deletePlace(dataset: dataset, id: id)
        case .verification(let dataset, let place, let hour):
            .putVerification(
                try verification(dataset, place, hour, db)
                    ?? VerificationRecord(dataset: dataset, placeID: place, hour: hour, count: 0))
        case .liveState(let dataset, let topic):
            try one(.liveState, where: "dataset = ?1 AND topic = ?2", dataset, topic, in: db) {
                .putLiveState(LiveStateRecord($0))
            }
                ?? .forgetLiveState(dataset: dataset, topic: topic)
        case .liveSubscription(let dataset, let client, let id):
            try one(.liveSubscription, where: "dataset = ?1 AND client = ?2 AND id = ?3", dataset, client, id, in: db) {
                .putLiveSubscription(LiveSubscriptionRecord($0))
            } ?? .deleteLiveSubscription(dataset: dataset, client: client, id: id)
        case .follower(let dataset, let client):
            try one(.follower, where: "dataset = ?1 AND client = ?2", dataset, client, in: db) {
                .putFollower(FollowerRecord($0))
            }
                ?? .deleteFollower(dataset: dataset, client: client)
        }
    }

    /// - Parameter condition: Of the values, `?1` and so on.
    private static func one<each Value: Bindable, Found>(
        _ table: Table, where condition: String, _ values: repeat each Value, in db: Database,
        _ read: (Columns) throws -> Found
    ) throws -> Found? {
        var found: Found?
        try db.rows("\(table.select) WHERE \(condition)", repeat each values) { found = try read($0) }
        return found
    }
}
