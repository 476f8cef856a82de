import GRDB
import Ranging
import Records

extension Store {
    /// Gives everything back, one row in memory at a time.
    ///
    /// In this order: datasets, deletions of datasets, structure, categories, places, verifications, devices, publications,
    /// subscriptions, pairs, visits, circumstances with what is held of them, visits to places, stays, incidents, live states,
    /// live subscriptions, monitors of beacons, counts of documents, followers, matches, replies
    /// (oldest first, the newest 10,000 of each client), filters (one change for each broker). Where no order is named, there is
    /// none within a kind.
    ///
    /// Matches come by number. One that is still to be delivered has its body; one that was delivered has an **empty body**: the reader
    /// needs to know which there are, and reads a body when it is asked for it. A match to be delivered may be of a device that is gone.
    ///
    /// - Parameters:
    ///   - dataset: Gives back what belongs to this dataset only, without filters, categories and places, and does not wait for a write.
    ///   - repliesSince: Older replies are left out; milliseconds since 1970.
    ///   - visit: Must not use the store; an error it throws ends the restore and is passed on as it is.
    /// - Throws: ``StoreError``, or what `visit` threw.
    public func restore(
        dataset: String? = nil, repliesSince: Int64 = .min, _ visit: (DurableChange) throws -> Void
    ) throws {
        do {
            if let dataset {
                try snapshot { try restoreRows($0, of: dataset, since: repliesSince, visit) }
            } else {
                try placeSnapshot { db, places in
                    try restoreRows(db, of: nil, since: repliesSince, visit)
                    // The pages of a whole database were read: give the memory back.
                    db.releaseMemory()
                }
            }
        } catch let failure as DatabaseError {
            throw StoreError(failure)
        }
    }

    private func restoreRows(
        _ db: Database, of dataset: String?, since: Int64, _ visit: (DurableChange) throws -> Void
    ) throws {
        try Self.restoreObjects(db, places, of: dataset, visit)
        try Self.restoreMatches(db, of: dataset, visit)
        try Self.restoreReplies(db, of: dataset, since: since, keeping: repliesMax, visit)
        if dataset == nil { try Self.restoreFilters(db, visit) }
    }

    /// - Parameter places: Used only where all datasets are restored.
    private static func restoreObjects(
        _ db: Database, _ places: PlaceRows, of dataset: String?, _ visit: (DurableChange) throws -> Void
    ) throws {
        /// The plan of each statement is fixed when it is compiled, so all and one are two statements.
        func each(_ table: Table, of key: String = "dataset", _ read: (Columns) throws -> DurableChange) throws {
            let scope = dataset == nil ? "?1 IS NULL" : "\(key) = ?1"
            try db.rows("\(table.select) WHERE \(scope)", dataset) { try visit(try read($0)) }
        }
        try each(.dataset, of: "id") { .putDataset(try DatasetRecord($0)) }
        try each(.deletedDataset, of: "id") { .deleteDataset(id: $0.text(0), at: $0.int64(1)) }
        try each(.structure) { .putStructure(try StructureRecord($0)) }
        // Memory takes back by itself what was refused of places: there may be millions of them.
        if dataset == nil { try restorePlaces(db, places, visit) }
        try each(.device) { .putDevice(try DeviceRecord($0)) }
        try each(.publication) { .putPublication(PublicationRecord($0)) }
        try each(.subscription) { .putSubscription(try SubscriptionRecord($0)) }
        try each(.pair) { .putPair(PairRecord($0)) }
        try each(.visit) { .putVisit(VisitRecord($0)) }
        try restoreCircumstances(db, of: dataset, visit)
        try each(.liveState) { .putLiveState(LiveStateRecord($0)) }
        try each(.liveSubscription) { .putLiveSubscription(LiveSubscriptionRecord($0)) }
        try each(.beaconMonitor) { .putBeaconMonitor(try BeaconMonitorRecord($0)) }
        try restoreDocumentCounts(db, of: dataset, visit)
        try each(.follower) { .putFollower(FollowerRecord($0)) }
    }

    private static func restoreMatches(_ db: Database, of dataset: String?, _ visit: (DurableChange) throws -> Void) throws {
        let sql = """
            SELECT \(matchColumns), CASE pending WHEN 1 THEN (SELECT body FROM matchBody WHERE matchBody.number = match.number) END FROM match \
            WHERE \(dataset == nil ? "?1 IS NULL" : "dataset = ?1") ORDER BY number
            """
        try db.rows(sql, dataset) { try visit(.putMatch(try MatchRecord($0, body: $0.bytes(13)))) }
    }

    private static func restoreReplies(
        _ db: Database, of dataset: String?, since: Int64, keeping most: Int64, _ visit: (DurableChange) throws -> Void
    ) throws {
        // What a client has too much of are its oldest, which come first.
        var surplus: [Client: Int64] = [:]
        for client in try surplusReplies(db, of: dataset, keeping: most) {
            surplus[Client(client.dataset, client.client)] = client.count
        }
        let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
        let sql = "SELECT dataset, client, requestId, at, body FROM reply WHERE \(scope) ORDER BY number"
        try db.rows(sql, dataset) { row in
            if !surplus.isEmpty {
                let client = Client(row.text(0), row.text(1))
                if let left = surplus[client] {
                    surplus[client] = left > 1 ? left - 1 : nil
                    return
                }
            }
            guard row.int64(3) >= since else { return }
            try visit(.putReply(ReplyRecord(row)))
        }
    }

    private static func restoreFilters(_ db: Database, _ visit: (DurableChange) throws -> Void) throws {
        var broker: String?
        var filters: [String] = []
        try db.rows("SELECT broker, filter FROM filter ORDER BY broker, position") { row in
            let next = row.text(0)
            if let known = broker, known != next {
                try visit(.putFilters(broker: known, filters))
                filters = []
            }
            broker = next
            filters.append(row.text(1))
        }
        if let broker { try visit(.putFilters(broker: broker, filters)) }
    }

    /// A client of a dataset; both are ASCII.
    private struct Client: Hashable {
        let dataset: String
        let name: String

        init(_ dataset: String, _ name: String) {
            self.dataset = dataset
            self.name = name
        }
    }
}

// The columns are those of `Table`, in order.

extension DatasetRecord {
    fileprivate init(_ row: Columns) throws {
        self.init(
            id: row.text(0), name: row.optionalText(1), policy: row.text(2), domains: try row.optionalList(3),
            autoCreateDevices: row.flag(4), derivedOccupancy: row.flag(5), timeZone: row.text(6), createdAt: row.int64(7),
            updatedAt: row.int64(8), revision: row.text(9))
    }
}

extension DeviceRecord {
    fileprivate init(_ row: Columns) throws {
        guard let type = DeviceType(rawValue: row.text(2)) else { throw StoreError.corrupt }
        let beacon = row.optionalText(7).map { BeaconIdentity(proximityUUID: $0, major: row.int(8), minor: row.int(9)) }
        self.init(
            dataset: row.text(0), id: row.text(1), type: type, name: row.text(3), group: try row.list(4),
            platform: row.optionalText(5), deviceToken: row.optionalText(6), beacon: beacon, owner: row.optionalText(10),
            createdAt: row.int64(11), updatedAt: row.int64(12), revision: row.text(13))
        carries = BeaconIdentity(row, from: 14)
        ranging = try RangingSettings(row, from: 17)
    }
}

extension PublicationRecord {
    init(_ row: Columns) {
        self.init(
            dataset: row.text(0), id: row.text(1), deviceId: row.text(2), topic: row.text(3), range: row.double(4),
            duration: row.double(5), properties: row.text(6), owner: row.optionalText(7), createdAt: row.int64(8),
            updatedAt: row.int64(9), revision: row.text(10))
    }
}

extension SubscriptionRecord {
    fileprivate init(_ row: Columns) throws {
        guard let mode = Mode(rawValue: row.text(23)), let accuracy = Accuracy(rawValue: row.text(27)),
            let floor = Floor(rawValue: row.text(28))
        else { throw StoreError.corrupt }
        self.init(
            dataset: row.text(0), id: row.text(1), deviceId: row.text(2), topic: row.text(3), range: row.double(4),
            duration: row.double(5), selector: row.text(6), matchTTL: row.optionalDouble(7), matchDTL: row.optionalDouble(8),
            excludeSelf: row.flag(9), pushers: try row.list(10), delivery: Delivery(row, from: 16), hints: try row.list(11),
            owner: row.optionalText(12), createdAt: row.int64(13), updatedAt: row.int64(14), revision: row.text(15))
        self.mode = mode
        exitMargin = row.double(24)
        dwell = row.double(25)
        staleAfter = row.optionalDouble(26)
        self.accuracy = accuracy
        self.floor = floor
        secret = row.optionalText(29)
    }
}

extension Delivery {
    fileprivate init(_ row: Columns, from column: Int32) {
        self.init()
        matched = row.int64(column)
        delivered = row.int64(column + 1)
        retried = row.int64(column + 2)
        expired = row.int64(column + 3)
        dropped = row.int64(column + 4)
        lastMatchAt = row.optionalInt64(column + 5)
        lastError = row.optionalText(column + 6)
    }
}

extension PairRecord {
    init(_ row: Columns) {
        self.init(
            dataset: row.text(0), subscriptionId: row.text(1), publicationId: row.text(2), lastMatchAt: row.int64(3),
            publicationLatitude: row.optionalDouble(4), publicationLongitude: row.optionalDouble(5),
            subscriptionLatitude: row.optionalDouble(6),
            subscriptionLongitude: row.optionalDouble(7))
    }
}

extension VisitRecord {
    init(_ row: Columns) {
        self.init(
            dataset: row.text(0), subscriptionId: row.text(1), publicationId: row.text(2), id: row.text(3), since: row.int64(4))
    }
}

extension LiveStateRecord {
    init(_ row: Columns) {
        self.init(
            dataset: row.text(0), topic: row.text(1), timestamp: row.int64(2), receivedAt: row.int64(3), number: row.int64(4),
            payload: row.optionalBytes(5))
    }
}

extension MatchRecord {
    /// The columns of `Store.matchColumns`.
    init(_ row: Columns, body: [UInt8]) throws {
        guard let fate = MatchFate(rank: row.int(12)) else { throw StoreError.corrupt }
        self.init(
            number: row.int64(0), dataset: row.text(1), id: row.text(2), deviceId: row.text(3), subscriptionId: row.text(4),
            publicationId: row.text(5), owner: row.optionalText(6), createdAt: row.int64(7), body: body, pending: row.flag(8),
            pushers: try row.optionalList(9) ?? [], secret: row.optionalText(10))
        settled = UInt32(truncatingIfNeeded: row.int64(11))
        self.fate = fate
    }
}

extension ReplyRecord {
    init(_ row: Columns) {
        self.init(dataset: row.text(0), client: row.text(1), requestId: row.text(2), at: row.int64(3), body: row.bytes(4))
    }
}
