import Datasets
import Testing
@testable import Records

/// The naive twin of the store: dictionaries, and each change as its documentation says.
struct TwinStore {
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
    }

    private(set) var state = Snapshot()
    private var unlisted: Set<Int64> = []
    private(set) var highestMatchNumber: Int64 = 0
    private(set) var highestLiveNumber: Int64 = 0

    /// What the store must give back.
    var snapshot: Snapshot {
        var snapshot = state
        for index in snapshot.matches.indices where !snapshot.matches[index].pending { snapshot.matches[index].body = [] }
        return snapshot
    }

    /// The newest hundred of a device, oldest first.
    func matches(dataset: String, deviceId: String) -> [MatchRecord] {
        state.matches.filter { $0.dataset == dataset && $0.deviceId == deviceId && !unlisted.contains($0.number) }.suffix(100)
    }

    mutating func apply(_ changes: [DurableChange]) {
        for change in changes { apply(change) }
    }

    private mutating func apply(_ change: DurableChange) {
        switch change {
        case .putDataset(let record):
            state.datasets[record.id] = record
            state.deletedDatasets[record.id] = nil
        case .deleteDataset(let id, let instant): deleteDataset(id, at: instant)
        case .putStructure(let record): state.structure[StructureKey(record)] = record
        case .putCategory(let record): state.categories[Key(dataset: record.dataset, id: record.category.id)] = record
        case .putPlace(let record): state.places[Key(dataset: record.dataset, id: record.place.id)] = record
        case .deletePlace(let dataset, let id):
            state.places[Key(dataset: dataset, id: id)] = nil
            state.verifications = state.verifications.filter { $0.key.dataset != dataset || $0.key.subscription != id }
        case .putVerification(let record): state.verifications[PairKey(record)] = record
        case .putDevice(let record): state.devices[Key(dataset: record.dataset, id: record.id)] = record
        case .deleteDevice(let dataset, let id): deleteDevice(dataset, id)
        case .forgetDevice(let dataset, let id): forgetDevice(dataset, id)
        case .putPublication(let record): state.publications[Key(dataset: record.dataset, id: record.id)] = record
        case .deletePublication(let dataset, let id): deletePublication(dataset, id)
        case .putSubscription(let record): state.subscriptions[Key(dataset: record.dataset, id: record.id)] = record
        case .deleteSubscription(let dataset, let id): deleteSubscription(dataset, id)
        case .putDelivery(let dataset, let id, let delivery):
            state.subscriptions[Key(dataset: dataset, id: id)]?.delivery = delivery
        case .putHints(let dataset, let id, let hints): state.subscriptions[Key(dataset: dataset, id: id)]?.hints = hints
        case .putCircumstance(let record):
            state.circumstances[Key(dataset: record.dataset, id: record.id)] = record
            removeHeld { $0.dataset == record.dataset && $0.subscription == record.id }
        case .deleteCircumstance(let dataset, let id):
            state.circumstances[Key(dataset: dataset, id: id)] = nil
            removeHeld { $0.dataset == dataset && $0.subscription == id }
        case .putHeld(let record): state.held[PairKey(record)] = record
        case .deleteHeld(let record): state.held[PairKey(record)] = nil
        case .putPlaceVisit(let record): state.placeVisits[PairKey(record)] = record
        case .deletePlaceVisit(let dataset, let device, let place):
            state.placeVisits[PairKey(dataset: dataset, subscription: device, publication: place)] = nil
        case .putStay(let record): state.stays[Key(dataset: record.dataset, id: record.deviceID)] = record
        case .putIncident(let record):
            highestMatchNumber = max(highestMatchNumber, record.number)
            // Another history may give a number again.
            state.incidents.removeAll { $0.number == record.number }
            let place = state.incidents.firstIndex { $0.number > record.number } ?? state.incidents.endIndex
            state.incidents.insert(record, at: place)
        case .incidentSettled(let number): state.incidents.removeAll { $0.number == number }
        case .putPair(let record):
            let key = PairKey(
                dataset: record.dataset, subscription: record.subscriptionId, publication: record.publicationId)
            state.pairs[key] = record
        case .putMatch(let record):
            highestMatchNumber = max(highestMatchNumber, record.number)
            unlisted.remove(record.number)
            state.matches.removeAll { $0.number == record.number }
            state.matches.append(record)
            state.matches.sort { $0.number < $1.number }
        case .putVisit(let record):
            let key = PairKey(
                dataset: record.dataset, subscription: record.subscriptionId, publication: record.publicationId)
            state.visits[key] = record
        case .deleteVisit(let dataset, let subscription, let publication):
            state.visits[PairKey(dataset: dataset, subscription: subscription, publication: publication)] = nil
        case .matchProgress(let number, let settled, let fate):
            for index in state.matches.indices where state.matches[index].number == number {
                state.matches[index].settled = settled
                state.matches[index].fate = fate
            }
        case .matchSettled(let number):
            for index in state.matches.indices where state.matches[index].number == number {
                state.matches[index].pending = false
                state.matches[index].pushers = []
                state.matches[index].secret = nil
            }
            removeUnneeded()
        case .forgetMatch(let number):
            unlisted.insert(number)
            removeUnneeded()
        case .putLiveState(let record):
            highestLiveNumber = max(highestLiveNumber, record.number)
            state.liveStates[Key(dataset: record.dataset, id: record.topic)] = record
        case .forgetLiveState(let dataset, let topic): state.liveStates[Key(dataset: dataset, id: topic)] = nil
        case .putLiveSubscription(let record): state.liveSubscriptions[PairKey(record)] = record
        case .deleteLiveSubscription(let dataset, let client, let id):
            state.liveSubscriptions[PairKey(dataset: dataset, subscription: client, publication: id)] = nil
        case .putBeaconMonitor(let record): state.monitors[PairKey(record)] = record
        case .deleteBeaconMonitor(let dataset, let client, let id):
            state.monitors[PairKey(dataset: dataset, subscription: client, publication: id)] = nil
        case .putReply(let record):
            state.replies.removeAll {
                $0.dataset == record.dataset && $0.client == record.client && $0.requestId == record.requestId
            }
            state.replies.append(record)
        case .forgetReplies(let instant): state.replies.removeAll { $0.at < instant }
        // The change feed has a twin of its own.
        case .putDocument, .countDocuments, .forgetTombstones, .putFollower, .deleteFollower: break
        case .putFilters(let broker, let filters): state.filters[broker] = filters.isEmpty ? nil : filters
        }
    }

    private mutating func removeHeld(_ isGone: (PairKey) -> Bool) { state.held = state.held.filter { !isGone($0.key) } }

    private mutating func deletePublication(_ dataset: String, _ id: String) {
        state.publications[Key(dataset: dataset, id: id)] = nil
        forgetPairs { $0.dataset == dataset && $0.publication == id }
    }

    private mutating func deleteSubscription(_ dataset: String, _ id: String) {
        state.subscriptions[Key(dataset: dataset, id: id)] = nil
        forgetPairs { $0.dataset == dataset && $0.subscription == id }
    }

    private mutating func forgetPairs(_ isGone: (PairKey) -> Bool) {
        state.pairs = state.pairs.filter { !isGone($0.key) }
        state.visits = state.visits.filter { !isGone($0.key) }
    }

    private mutating func deleteDevice(_ dataset: String, _ id: String) {
        state.devices[Key(dataset: dataset, id: id)] = nil
        for (key, publication) in state.publications where key.dataset == dataset && publication.deviceId == id {
            deletePublication(dataset, key.id)
        }
        for (key, subscription) in state.subscriptions where key.dataset == dataset && subscription.deviceId == id {
            deleteSubscription(dataset, key.id)
        }
        forgetDevice(dataset, id)
        removeHeld { $0.dataset == dataset && $0.publication == id }
    }

    private mutating func forgetDevice(_ dataset: String, _ id: String) {
        let publications = state.publications.filter { $0.key.dataset == dataset && $0.value.deviceId == id }.map(\.key.id)
        let subscriptions = state.subscriptions.filter { $0.key.dataset == dataset && $0.value.deviceId == id }.map(\.key.id)
        forgetPairs {
            $0.dataset == dataset && (publications.contains($0.publication) || subscriptions.contains($0.subscription))
        }
        state.placeVisits = state.placeVisits.filter { $0.key.dataset != dataset || $0.key.subscription != id }
        state.stays[Key(dataset: dataset, id: id)] = nil
        for match in state.matches where match.dataset == dataset && match.deviceId == id { unlisted.insert(match.number) }
        removeUnneeded()
    }

    private mutating func deleteDataset(_ id: String, at instant: Int64) {
        state.datasets[id] = nil
        state.deletedDatasets[id] = instant
        state.structure = state.structure.filter { $0.key.dataset != id }
        state.categories = state.categories.filter { $0.key.dataset != id }
        state.places = state.places.filter { $0.key.dataset != id }
        state.verifications = state.verifications.filter { $0.key.dataset != id }
        state.circumstances = state.circumstances.filter { $0.key.dataset != id }
        removeHeld { $0.dataset == id }
        state.placeVisits = state.placeVisits.filter { $0.key.dataset != id }
        state.stays = state.stays.filter { $0.key.dataset != id }
        state.incidents.removeAll { $0.dataset == id }
        state.devices = state.devices.filter { $0.key.dataset != id }
        state.publications = state.publications.filter { $0.key.dataset != id }
        state.subscriptions = state.subscriptions.filter { $0.key.dataset != id }
        forgetPairs { $0.dataset == id }
        state.liveStates = state.liveStates.filter { $0.key.dataset != id }
        state.liveSubscriptions = state.liveSubscriptions.filter { $0.key.dataset != id }
        state.monitors = state.monitors.filter { $0.key.dataset != id }
        state.matches.removeAll { $0.dataset == id }
        state.replies.removeAll { $0.dataset == id }
    }

    private mutating func removeUnneeded() {
        state.matches.removeAll { !$0.pending && unlisted.contains($0.number) }
    }
}

extension TwinStore.PairKey {
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

extension TwinStore.Snapshot {
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
            let key = TwinStore.PairKey(
                dataset: record.dataset, subscription: record.subscriptionId, publication: record.publicationId)
            (next, isNew) = (6, pairs.updateValue(record, forKey: key) == nil)
        case .putVisit(let record):
            let key = TwinStore.PairKey(
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
