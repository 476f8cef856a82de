/// What is durable, kind by kind: the table that stores, restarts and refusals read. The order is that of a restore.
public enum Kind: Int, CaseIterable, Sendable {
    case dataset, deletedDataset, structure, category, place, verification, device, publication, subscription, pair, visit
    case circumstance, held, placeVisit, stay, geofence, geofenceVisit, event, liveState, liveSubscription, beaconMonitor,
        follower, accessKey, checkpoint, match, reply

    /// Lent, not copied: it is looked at with every change.
    public var row: KindRow {
        _read { yield Self.rows[rawValue] }
    }

    private static let rows: [KindRow] = {
        let rows: [KindRow] = [
            KindRow(
                DatasetRecord.self, "dataset", key: 1,
                "id name policy domains autoCreateDevices derivedOccupancy timeZone createdAt updatedAt revision livePositions"),
            // Remembered when the dataset is put again, too: what is repeated from before it is not of the new one.
            KindRow(DatasetDeletionRecord.self, "deletedDataset", key: 1, "id at").ending(),
            KindRow(StructureRecord.self, "structure", key: 4, "dataset level parents id name floorIndex capacity geometry"),
            KindRow(CategoryRecord.self, "category", key: 2, "dataset id name parentId owner revision")
                .fed(.category).readAlone(isRestoredWithDataset: false),
            KindRow(
                PlaceRecord.self, "place", key: 2,
                """
                dataset id name categoryIds chainId openingHours timeZone publicHolidays schoolHolidays placerank latitude longitude \
                outline owner revision
                """
            )
            .fed(.place).readAlone(isRestoredWithDataset: false).foundInMemory(),
            KindRow(VerificationRecord.self, "verification", key: 3, "dataset placeId hour count")
                .referring("placeId", to: .place, goes: .deleted).readAlone(isRestoredWithDataset: false),
            KindRow(
                DeviceRecord.self, "device", key: 2,
                """
                dataset id type name groupNames platform deviceToken proximityUUID major minor owner createdAt updatedAt revision \
                carriedUUID carriedMajor carriedMinor rangingExponent rangingOffset rangingFilter goneTargets \
                rangingMap heading tilt
                """
            )
            .fed(.device).amended(by: [GoneTargetsAmendment.self]),
            KindRow(
                PublicationRecord.self, "publication", key: 2,
                "dataset id deviceId topic range duration properties owner createdAt updatedAt revision"
            )
            .fed(.publication).referring("deviceId", to: .device, goes: .deleted).evaluated(.deletion),
            KindRow(
                SubscriptionRecord.self, "subscription", key: 2,
                """
                dataset id deviceId topic range duration selector matchTTL matchDTL excludeSelf pushers hints owner createdAt updatedAt \
                revision matched delivered retried expired dropped lastMatchAt lastError mode exitMargin dwell staleAfter accuracy floor \
                secret homeAssistant notification
                """
            )
            .fed(.subscription).referring("deviceId", to: .device, goes: .deleted).evaluated(.deletion)
            .amended(by: [DeliveryAmendment.self, HintsAmendment.self]),
            KindRow(
                PairRecord.self, "pair", key: 3,
                """
                dataset subscriptionId publicationId lastMatchAt publicationLatitude publicationLongitude subscriptionLatitude \
                subscriptionLongitude
                """
            )
            .referring("subscriptionId", to: .subscription, goes: [.deleted, .forgotten])
            .referring("publicationId", to: .publication, goes: [.deleted, .forgotten]).evaluated(.put),
            KindRow(VisitRecord.self, "visit", key: 3, "dataset subscriptionId publicationId id since outsideSince")
                .referring("subscriptionId", to: .subscription, goes: [.deleted, .forgotten])
                .referring("publicationId", to: .publication, goes: [.deleted, .forgotten]).evaluated([.put, .deletion]),
            KindRow(
                CircumstanceRecord.self, "circumstance", key: 2,
                """
                dataset id owner expression trigger name tags devices nearRadius exitMargin debug enabled createdAt updatedAt revision \
                pushers notification
                """
            )
            .fed(.circumstance),
            // What was held of a circumstance before is void once it is put.
            KindRow(HeldRecord.self, "held", key: 3, "dataset circumstanceId deviceId")
                .referring("circumstanceId", to: .circumstance, goes: [.deleted, .replaced])
                .referring("deviceId", to: .device, goes: .deleted).evaluated([.put, .deletion]),
            KindRow(PlaceVisitRecord.self, "placeVisit", key: 3, "dataset deviceId placeId count ends openSince level")
                .referring("deviceId", to: .device, goes: [.deleted, .forgotten]).evaluated([.put, .deletion]),
            KindRow(StayRecord.self, "stay", key: 2, "dataset deviceId latitude longitude since moving delay")
                .referring("deviceId", to: .device, goes: [.deleted, .forgotten]).evaluated(.put),
            KindRow(
                GeofenceRecord.self, "geofence", key: 2,
                """
                dataset path owner id name area devices accuracy floor exitMargin dwell staleAfter pushers secret notification enabled \
                createdAt updatedAt revision matched delivered retried expired dropped lastMatchAt lastError
                """
            )
            .fed(.geofence).amended(by: [GeofenceDeliveryAmendment.self]),
            KindRow(
                GeofenceVisitRecord.self, "geofenceVisit", key: 3, "dataset geofence deviceId id since dwelled outsideSince"
            )
            .referring("geofence", to: .geofence, goes: .deleted).referring("deviceId", to: .device, goes: .deleted)
            .evaluated([.put, .deletion]),
            KindRow(
                EventRecord.self, "incident", key: 1,
                "number dataset id sourceId owner createdAt body source pushers secret settled fate push"
            )
            .counted(.match).evaluated(.put).amended(by: [EventProgress.self]),
            KindRow(LiveStateRecord.self, "liveState", key: 2, "dataset topic timestamp receivedAt number payload")
                .counted(.live).readAlone().replacedByTheNext(),
            KindRow(
                LiveSubscriptionRecord.self, "liveSubscription", key: 3,
                "dataset client id criteria condition within minInterval qos snapshot lease leaseUntil createdAt number"
            )
            .readAlone(),
            KindRow(
                BeaconMonitorRecord.self, "beaconMonitor", key: 3,
                "dataset client id proximityUUID major minor devices createdAt"),
            KindRow(FollowerRecord.self, "follower", key: 2, "dataset client since lease leaseUntil").readAlone(),
            // A key for all datasets is of a dataset that cannot be.
            KindRow(
                AccessKeyRecord.self, "accessKey", key: 2,
                "dataset id client name createdAt expiresAt digest lastUsedAt"
            )
            .amended(by: [AccessKeyUse.self]),
            KindRow(CheckpointRecord.self, "checkpoint", key: 3, "dataset client id number at body"),
            // A start reads which matches there are, and the bodies of those that are owed.
            KindRow(
                MatchRecord.self, "match", key: 1,
                """
                number dataset id deviceId subscriptionId publicationId owner createdAt pending pushers secret settled fate push body
                """
            )
            .referring("deviceId", to: .device, goes: [.deleted, .forgotten]).counted(.match).evaluated(.put)
            .owed(while: "pending", listed: "listed", apart: "body").amended(by: [MatchProgress.self, MatchEnd.self]),
            KindRow(ReplyRecord.self, "reply", key: 3, "dataset client requestId at body").ageing(by: "at", keptOf: "client"),
        ]
        precondition(rows.map(\.kind) == allCases, "each kind has its row in the table, in order")
        return rows
    }()
}
