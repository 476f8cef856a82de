import MemoryStore
import Records

/// What a restore gives back, whatever its order where none is promised.
struct Snapshot: Equatable {
    var datasets: [String: DatasetRecord] = [:]
    var deletedDatasets: [String: Int64] = [:]
    var structure: [StructureKey: StructureRecord] = [:]
    var categories: [Key: CategoryRecord] = [:]
    var places: [Key: PlaceRecord] = [:]
    var verifications: [PairKey: VerificationRecord] = [:]
    var circumstances: [Key: CircumstanceRecord] = [:]
    var held: [PairKey: HeldRecord] = [:]
    var placeVisits: [PairKey: PlaceVisitRecord] = [:]
    var stays: [Key: StayRecord] = [:]
    var incidents: [IncidentRecord] = []
    var devices: [Key: DeviceRecord] = [:]
    var publications: [Key: PublicationRecord] = [:]
    var subscriptions: [Key: SubscriptionRecord] = [:]
    var pairs: [PairKey: PairRecord] = [:]
    var visits: [PairKey: VisitRecord] = [:]
    var liveStates: [Key: LiveStateRecord] = [:]
    var liveSubscriptions: [PairKey: LiveSubscriptionRecord] = [:]
    var monitors: [PairKey: BeaconMonitorRecord] = [:]
    var matches: [MatchRecord] = []
    var replies: [ReplyRecord] = []
    var filters: [String: [String]] = [:]
    private var rank = 0

    struct Key: Hashable {
        var dataset: String
        var id: String
    }

    struct StructureKey: Hashable {
        var dataset: String
        var path: [String]

        init(_ record: StructureRecord) {
            (dataset, path) = (record.dataset, record.parents + [record.id])
        }
    }

    struct PairKey: Hashable {
        var dataset: String
        var subscription: String
        var publication: String
    }
}

extension Snapshot.PairKey {
    /// So is a monitor of beacons.
    init(_ record: BeaconMonitorRecord) {
        self.init(dataset: record.dataset, subscription: record.client, publication: record.id)
    }

    init(_ record: HeldRecord) {
        self.init(dataset: record.dataset, subscription: record.circumstanceID, publication: record.deviceID)
    }

    init(_ record: PlaceVisitRecord) {
        self.init(dataset: record.dataset, subscription: record.deviceID, publication: record.visits.placeID)
    }

    init(_ record: VerificationRecord) {
        self.init(dataset: record.dataset, subscription: record.placeID, publication: "\(record.hour)")
    }

    /// A live subscription is known by its client and that client's id.
    init(_ record: LiveSubscriptionRecord) {
        self.init(dataset: record.dataset, subscription: record.client, publication: record.id)
    }
}

extension Snapshot {
    init(_ memory: MemoryStore) throws {
        self.init()
        for change in memory.restored() { try take(change) }
    }

    struct OutOfOrder: Error {
        var change: DurableChange
    }

    /// Takes one change of a restore; throws where it comes in the wrong order, or twice.
    mutating func take(_ change: DurableChange) throws {
        let isNew: Bool
        let next: Int
        switch change {
        case .putDataset(let record):
            (next, isNew) = (1, datasets.updateValue(record, forKey: record.id) == nil)
        case .deleteDataset(let id, let instant):
            (next, isNew) = (2, deletedDatasets.updateValue(instant, forKey: id) == nil)
        case .putStructure(let record):
            (next, isNew) = (2, structure.updateValue(record, forKey: .init(record)) == nil)
        case .putCategory(let record):
            (next, isNew) = (
                2, categories.updateValue(record, forKey: .init(dataset: record.dataset, id: record.category.id)) == nil
            )
        case .putPlace(let record):
            (next, isNew) = (2, places.updateValue(record, forKey: .init(dataset: record.dataset, id: record.place.id)) == nil)
        case .putVerification(let record):
            (next, isNew) = (2, verifications.updateValue(record, forKey: .init(record)) == nil)
        case .putDevice(let record):
            (next, isNew) = (3, devices.updateValue(record, forKey: .init(dataset: record.dataset, id: record.id)) == nil)
        case .putPublication(let record):
            (next, isNew) = (4, publications.updateValue(record, forKey: .init(dataset: record.dataset, id: record.id)) == nil)
        case .putSubscription(let record):
            (next, isNew) = (5, subscriptions.updateValue(record, forKey: .init(dataset: record.dataset, id: record.id)) == nil)
        case .putPair(let record):
            let key = PairKey(
                dataset: record.dataset, subscription: record.subscriptionId, publication: record.publicationId)
            (next, isNew) = (6, pairs.updateValue(record, forKey: key) == nil)
        case .putVisit(let record):
            let key = PairKey(
                dataset: record.dataset, subscription: record.subscriptionId, publication: record.publicationId)
            (next, isNew) = (7, visits.updateValue(record, forKey: key) == nil)
        case .putCircumstance(let record):
            (next, isNew) = (7, circumstances.updateValue(record, forKey: .init(dataset: record.dataset, id: record.id)) == nil)
        case .putHeld(let record): (next, isNew) = (7, held.updateValue(record, forKey: .init(record)) == nil)
        case .putPlaceVisit(let record): (next, isNew) = (7, placeVisits.updateValue(record, forKey: .init(record)) == nil)
        case .putStay(let record):
            (next, isNew) = (7, stays.updateValue(record, forKey: .init(dataset: record.dataset, id: record.deviceID)) == nil)
        case .putIncident(let record):
            (next, isNew) = (7, (incidents.last?.number ?? 0) < record.number)
            incidents.append(record)
        case .putLiveState(let record):
            (next, isNew) = (8, liveStates.updateValue(record, forKey: .init(dataset: record.dataset, id: record.topic)) == nil)
        case .putLiveSubscription(let record):
            (next, isNew) = (9, liveSubscriptions.updateValue(record, forKey: .init(record)) == nil)
        case .putBeaconMonitor(let record): (next, isNew) = (9, monitors.updateValue(record, forKey: .init(record)) == nil)
        case .countDocuments, .putFollower: (next, isNew) = (9, true)
        case .putMatch(let record):
            (next, isNew) = (9, (matches.last?.number ?? 0) < record.number)
            matches.append(record)
        case .putReply(let record):
            (next, isNew) = (10, true)
            replies.append(record)
        case .putFilters(let broker, let list):
            (next, isNew) = (11, filters.updateValue(list, forKey: broker) == nil)
        default: throw OutOfOrder(change: change)
        }
        guard isNew, next >= rank else { throw OutOfOrder(change: change) }
        rank = next
    }

    static func == (left: Self, right: Self) -> Bool { left.difference(from: right).isEmpty }

    /// The kinds that are not equal.
    func difference(from other: Self) -> [String] {
        [
            ("datasets", datasets == other.datasets), ("deletedDatasets", deletedDatasets == other.deletedDatasets),
            ("structure", structure == other.structure), ("categories", categories == other.categories),
            ("places", places == other.places), ("verifications", verifications == other.verifications),
            ("devices", devices == other.devices),
            ("circumstances", circumstances == other.circumstances), ("held", held == other.held),
            ("placeVisits", placeVisits == other.placeVisits), ("stays", stays == other.stays),
            ("incidents", incidents == other.incidents),
            ("publications", publications == other.publications),
            ("subscriptions", subscriptions == other.subscriptions), ("pairs", pairs == other.pairs),
            ("liveStates", liveStates == other.liveStates),
            ("liveSubscriptions", liveSubscriptions == other.liveSubscriptions), ("visits", visits == other.visits),
            ("monitors", monitors == other.monitors),
            ("matches", matches == other.matches),
            ("replies", replies == other.replies), ("filters", filters == other.filters),
        ].compactMap { $0.1 ? nil : $0.0 }
    }
}
