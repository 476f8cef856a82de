import Records
import Wire

/// Where records come back: at a start, or again after a refusal, where what only memory knows stays.
struct Restoration {
    let now: Int64
    let isAgain: Bool
}

/// How records of one kind come back and go in memory: at a restart, and after a refusal.
///
/// A class, so that a look at one copies nothing.
final class RestoredKind: Sendable {
    let kind: Kind
    let put: @Sendable (Hub, any DurableRecord, Restoration) throws(WireError) -> Void
    let delete: @Sendable (Hub, RecordKey) -> Void
    let amend: @Sendable (Hub, any RecordAmendment) -> Void
    /// Has one record become what is durable, of a kind that is read alone; nil: nothing is to be done.
    let reload: (@Sendable (Hub, RecordKey, ReloadedParts) throws -> Void)?

    init<Record: DurableRecord>(
        _ type: Record.Type,
        delete: @escaping @Sendable (Hub, RecordKey) -> Void = { _, _ in },
        amend: @escaping @Sendable (Hub, any RecordAmendment) -> Void = { _, _ in },
        reload: (@Sendable (Hub, RecordKey, ReloadedParts) throws -> Void)? = nil,
        put: @escaping @Sendable (Hub, Record, Restoration) throws(WireError) -> Void
    ) {
        kind = Record.kind
        self.put = { hub, record, restoration throws(WireError) in
            if let record = record as? Record { try put(hub, record, restoration) }
        }
        self.delete = delete
        self.amend = amend
        self.reload = reload
    }

    static subscript(_ kind: Kind) -> RestoredKind { table[kind.rawValue] }

    private static let table: [RestoredKind] = {
        let table: [RestoredKind] = [
            RestoredKind(DatasetRecord.self) { hub, record, _ in hub.restore(record) },
            RestoredKind(
                DatasetDeletionRecord.self, delete: { hub, key in hub.deletedDatasets[key.text(0)] = nil }
            ) { hub, record, _ in hub.deletedDatasets[record.dataset] = record.at },
            RestoredKind(
                StructureRecord.self, delete: { hub, key in hub.dataset(of: key)?.structure.restoreDeleted(key) }
            ) { hub, record, _ in hub.datasets[record.dataset]?.structure.restore(record) },
            RestoredKind(
                CategoryRecord.self, reload: { hub, key, found in hub.reload(category: key.id, found, in: key.text(0)) }
            ) { hub, record, _ in hub.datasets[record.dataset]?.places.restore(record.category) },
            RestoredKind(
                PlaceRecord.self, delete: { hub, key in hub.dataset(of: key)?.places.remove(key.id) },
                reload: { hub, key, found in try hub.reload(place: key.id, found, in: key.text(0)) }
            ) { hub, record, _ throws(WireError) in try hub.datasets[record.dataset]?.places.restore(record.place) },
            RestoredKind(
                VerificationRecord.self, reload: { hub, key, found in hub.reload(verification: key, found) }
            ) { hub, record, _ in
                hub.datasets[record.dataset]?.places.setVerifications(of: record.placeID, in: record.hour, to: record.count)
            },
            RestoredKind(
                DeviceRecord.self,
                delete: { hub, key in
                    if let dataset = hub.dataset(of: key), let device = dataset.devices[key.id] { dataset.remove(device) }
                },
                amend: { hub, amendment in
                    guard let amendment = amendment as? GoneTargetsAmendment else { return }
                    hub.dataset(of: amendment.key)?.devices[amendment.key.id]?.record.goneTargets = amendment.targets
                }
            ) { hub, record, _ in hub.restore(record) },
            RestoredKind(
                PublicationRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.geomatching.restoreDeleted(publication: key.id) }
            ) { hub, record, how throws(WireError) in
                try hub.datasets[record.dataset]?.geomatching.restore(record, at: how.now)
            },
            RestoredKind(
                SubscriptionRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.geomatching.restoreDeleted(subscription: key.id) },
                amend: { hub, amendment in hub.dataset(of: amendment.key)?.geomatching.restore(amendment) }
            ) { hub, record, how throws(WireError) in
                try hub.datasets[record.dataset]?.geomatching.restore(record, at: how.now)
            },
            RestoredKind(PairRecord.self) { hub, record, _ in
                hub.datasets[record.dataset]?.geomatching.restore(record)
            },
            RestoredKind(
                VisitRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.geomatching.restoreEnd(of: key.text(1), key.text(2)) }
            ) { hub, record, how in hub.datasets[record.dataset]?.geomatching.restore(record, at: how.now) },
            RestoredKind(
                CircumstanceRecord.self,
                delete: { hub, key in
                    if let book = hub.dataset(of: key)?.circumstances, let known = book[key.id] { book.unregister(known) }
                }
            ) { hub, record, how throws(WireError) in
                try hub.datasets[record.dataset]?.circumstances.restore(record, at: how.now)
            },
            RestoredKind(
                HeldRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.circumstances.restoreReleased(key.text(1), key.text(2)) }
            ) { hub, record, _ in hub.datasets[record.dataset]?.circumstances.restore(record) },
            RestoredKind(
                PlaceVisitRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.circumstances.restoreForgottenVisit(key.text(2), key.text(1)) }
            ) { hub, record, how in hub.datasets[record.dataset]?.circumstances.restore(record, at: how.now) },
            RestoredKind(StayRecord.self) { hub, record, _ in hub.datasets[record.dataset]?.circumstances.restore(record) },
            RestoredKind(
                GeofenceRecord.self, delete: { hub, key in hub.dataset(of: key)?.geofences.restoreDeleted(key) },
                amend: { hub, amendment in hub.dataset(of: amendment.key)?.geofences.restore(amendment) }
            ) { hub, record, _ throws(WireError) in try hub.datasets[record.dataset]?.geofences.restore(record) },
            RestoredKind(
                GeofenceVisitRecord.self, delete: { hub, key in hub.dataset(of: key)?.geofences.restoreEnd(of: key) }
            ) { hub, record, _ in hub.datasets[record.dataset]?.geofences.restore(record) },
            RestoredKind(EventRecord.self) { hub, record, _ throws(WireError) in
                guard let dataset = hub.datasets[record.dataset] else { return }
                let geofence = record.source == .geofence ? dataset.geofences[record.owner, record.sourceID] : nil
                try hub.outbox.restore(record, of: geofence, dataset.matchAccount)
            },
            RestoredKind(LiveStateRecord.self) { hub, record, _ in hub.restore(record) },
            RestoredKind(
                LiveSubscriptionRecord.self,
                delete: { hub, key in
                    if let known = hub.dataset(of: key)?.liveSubscriptions[key.text(1), key.text(2)] {
                        hub.liveSubscribers.remove(known)
                    }
                },
                reload: { hub, key, found in try hub.reload(live: key, found) }
            ) { hub, record, how throws(WireError) in
                if let dataset = hub.datasets[record.dataset] {
                    try hub.liveSubscribers.restore(record, in: dataset, again: how.isAgain)
                }
            },
            RestoredKind(
                BeaconMonitorRecord.self,
                delete: { hub, key in
                    hub.dataset(of: key)?.beacons.monitors.remove(client: key.text(1), id: key.text(2))
                }
            ) { hub, record, _ in hub.datasets[record.dataset]?.beacons.restore(record) },
            RestoredKind(
                FollowerRecord.self,
                delete: { hub, key in
                    if let dataset = key.dataset, let known = hub.followers[dataset, key.text(1)] { hub.followers.remove(known) }
                },
                reload: { hub, key, found in hub.reload(follower: key, found) }
            ) { hub, record, _ in if hub.datasets[record.dataset] != nil { hub.followers.restore(record) } },
            RestoredKind(
                AccessKeyRecord.self, delete: { hub, key in hub.accessKeys.remove(key.id) },
                amend: { hub, amendment in
                    if let use = amendment as? AccessKeyUse { hub.accessKeys.restore(use) }
                }
            ) { hub, record, _ in
                if hub.configuration.keysElsewhere?.keeps(record.dataset) ?? true { hub.accessKeys.insert(record) }
            },
            RestoredKind(
                CheckpointRecord.self,
                delete: { hub, key in hub.dataset(of: key)?.feed.checkpoints.remove(client: key.text(1), id: key.text(2)) }
            ) { hub, record, _ in hub.datasets[record.dataset]?.feed.checkpoints.insert(record) },
            RestoredKind(MatchRecord.self) { hub, record, how throws(WireError) in try hub.restore(record, again: how.isAgain) },
            RestoredKind(ReplyRecord.self) { hub, record, _ in hub.restore(record) },
        ]
        precondition(table.map(\.kind) == Kind.allCases, "each kind comes back, in the order of their table")
        return table
    }()
}
