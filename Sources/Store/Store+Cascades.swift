import GRDB

// Deleting what hangs on what is deleted.

extension Store {
    static func run(_ cascade: [String], _ dataset: String, _ id: String, _ db: Database) throws {
        for sql in cascade { try db.run(sql, dataset, id) }
    }

    static func deleteDataset(_ id: String, at instant: Int64, _ db: Database, _ places: PlaceRows) throws {
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

    static let whereaboutsOfDevice = [
        "DELETE FROM placeVisit WHERE dataset = ?1 AND deviceId = ?2", "DELETE FROM stay WHERE dataset = ?1 AND deviceId = ?2",
    ]

    static let pairsOfDevice = ["pair", "visit"].flatMap { table in
        [("subscriptionId", "subscription"), ("publicationId", "publication")].map { column, side in
            """
            DELETE FROM \(table) WHERE dataset = ?1 AND \(column) IN \
            (SELECT id FROM \(side) WHERE dataset = ?1 AND deviceId = ?2)
            """
        }
    }

    static let matchesOfDevice = [
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
}
