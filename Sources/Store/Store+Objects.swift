import GRDB
import Records

// Writing what clients make, and what is known of it: a row each.

extension Store {
    static func put(_ record: DatasetRecord, _ db: Database) throws {
        try db.run(
            Table.dataset.upsert,
            record.id, record.name, record.policy, record.domains.map(ListText.encode), record.autoCreateDevices,
            record.derivedOccupancy, record.timeZone, record.createdAt, record.updatedAt, record.revision)
        try db.run("DELETE FROM deletedDataset WHERE id = ?", record.id)
    }

    static func put(_ record: DeviceRecord, _ db: Database) throws {
        try db.run(
            Table.device.upsert,
            record.dataset, record.id, record.type.rawValue, record.name, ListText.encode(record.group), record.platform,
            record.deviceToken, record.beacon?.proximityUUID, record.beacon?.major, record.beacon?.minor, record.owner,
            record.createdAt, record.updatedAt, record.revision, record.carries?.proximityUUID, record.carries?.major,
            record.carries?.minor, record.ranging?.n, record.ranging?.rssiOffset, record.ranging?.filter.rawValue)
    }

    static func put(_ record: PublicationRecord, _ db: Database) throws {
        try db.run(
            Table.publication.upsert,
            record.dataset, record.id, record.deviceId, record.topic, record.range, record.duration, record.properties,
            record.owner, record.createdAt, record.updatedAt, record.revision)
    }

    static func put(_ record: SubscriptionRecord, _ db: Database) throws {
        let delivery = record.delivery
        try db.run(
            Table.subscription.upsert,
            record.dataset, record.id, record.deviceId, record.topic, record.range, record.duration, record.selector,
            record.matchTTL, record.matchDTL, record.excludeSelf, ListText.encode(record.pushers), ListText.encode(record.hints),
            record.owner, record.createdAt, record.updatedAt, record.revision, delivery.matched, delivery.delivered,
            delivery.retried, delivery.expired, delivery.dropped, delivery.lastMatchAt, delivery.lastError, record.mode.rawValue,
            record.exitMargin, record.dwell, record.staleAfter, record.accuracy.rawValue, record.floor.rawValue, record.secret)
    }

    static func put(_ delivery: Delivery, _ dataset: String, _ subscription: String, _ db: Database) throws {
        try db.run(
            """
            UPDATE subscription SET matched = ?3, delivered = ?4, retried = ?5, expired = ?6, dropped = ?7, lastMatchAt = ?8, \
            lastError = ?9 WHERE dataset = ?1 AND id = ?2
            """,
            dataset, subscription, delivery.matched, delivery.delivered, delivery.retried, delivery.expired, delivery.dropped,
            delivery.lastMatchAt, delivery.lastError)
    }

    static func put(_ record: PairRecord, _ db: Database) throws {
        try db.run(
            Table.pair.upsert,
            record.dataset, record.subscriptionId, record.publicationId, record.lastMatchAt, record.publicationLatitude,
            record.publicationLongitude, record.subscriptionLatitude, record.subscriptionLongitude)
    }

    static func put(_ record: LiveStateRecord, _ db: Database) throws {
        try db.run(
            Table.liveState.upsert,
            record.dataset, record.topic, record.timestamp, record.receivedAt, record.number, record.payload)
    }
}
