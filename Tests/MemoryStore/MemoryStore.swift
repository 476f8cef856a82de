import Datasets
import Records

/// What the store promises of durable changes, in a few tables: a restart is a replay of them.
public struct MemoryStore {
    private struct Key: Hashable {
        var dataset: String
        /// By bytes: Swift's strings compare by canonical equivalence.
        var id: [UInt8]
        var other: [UInt8]

        init(_ dataset: String, _ id: String, _ other: String = "") {
            (self.dataset, self.id, self.other) = (dataset, Array(id.utf8), Array(other.utf8))
        }
    }

    public private(set) var datasets: [String: DatasetRecord] = [:]
    private var deleted: [String: Int64] = [:]
    private var structure: [Key: StructureRecord] = [:]
    private var categories: [Key: CategoryRecord] = [:]
    public private(set) var places: [PlaceRecord] = []
    private var verifications: [Key: VerificationRecord] = [:]
    private var circumstances: [Key: CircumstanceRecord] = [:]
    public private(set) var held: [HeldRecord] = []
    public private(set) var placeVisits: [PlaceVisitRecord] = []
    public private(set) var stays: [StayRecord] = []
    public private(set) var incidents: [IncidentRecord] = []
    private var devices: [Key: DeviceRecord] = [:]
    private var publications: [Key: PublicationRecord] = [:]
    private var subscriptions: [Key: SubscriptionRecord] = [:]
    private var pairs: [Key: PairRecord] = [:]
    public private(set) var visits: [VisitRecord] = []
    private var liveStates: [Key: LiveStateRecord] = [:]
    private var matches: [Int64: (record: MatchRecord, listed: Bool)] = [:]
    private var liveSubscriptions: [Key: LiveSubscriptionRecord] = [:]
    private var monitors: [Key: BeaconMonitorRecord] = [:]
    private var replies: [(key: Key, record: ReplyRecord)] = []
    private var feed = MemoryFeed()
    public private(set) var highestLiveNumber: Int64 = 0
    public private(set) var highestMatchNumber: Int64 = 0

    public init() {}

    public var liveStateCount: Int { liveStates.count }
    public var pendingMatches: [MatchRecord] { sortedMatches.map(\.record).filter(\.pending) }
    private var sortedMatches: [(record: MatchRecord, listed: Bool)] { matches.sorted { $0.key < $1.key }.map(\.value) }

    public func liveState(_ topic: String) -> LiveStateRecord? {
        liveStates.values.first { $0.topic.utf8.elementsEqual(topic.utf8) }
    }

    public func delivery(_ dataset: String, _ id: String) -> Delivery? { subscriptions[Key(dataset, id)]?.delivery }

    public mutating func apply(_ change: DurableChange) {
        if let entry = change.feedEntry, let dataset = change.dataset { enter(entry, in: dataset) }
        switch change {
        case .putDataset(let record):
            datasets[record.id] = record
            deleted[record.id] = nil
        case .deleteDataset(let id, let at):
            deleteDataset(id)
            deleted[id] = at
        case .putStructure(let record):
            structure[Key(record.dataset, (record.parents + [record.id]).joined(separator: "\u{0}"))] = record
        case .putCategory(let record): categories[Key(record.dataset, record.category.id)] = record
        case .putPlace(let record):
            removePlace(record.dataset, record.place.id)
            places.append(record)
        case .deletePlace(let dataset, let id):
            removePlace(dataset, id)
            verifications = verifications.filter { !($0.value.dataset == dataset && $0.value.placeID.hasSameBytes(as: id)) }
        case .putVerification(let record): verifications[Key(record.dataset, record.placeID, "\(record.hour)")] = record
        case .putDevice(let record): devices[Key(record.dataset, record.id)] = record
        case .deleteDevice(let dataset, let id): deleteDevice(dataset, id)
        case .forgetDevice(let dataset, let id): forgetDevice(dataset, id)
        case .putPublication(let record): publications[Key(record.dataset, record.id)] = record
        case .deletePublication(let dataset, let id):
            publications[Key(dataset, id)] = nil
            pairs = pairs.filter { !($0.value.dataset == dataset && $0.value.publicationId.hasSameBytes(as: id)) }
            visits.removeAll { $0.dataset == dataset && $0.publicationId.hasSameBytes(as: id) }
        case .putSubscription(let record): subscriptions[Key(record.dataset, record.id)] = record
        case .deleteSubscription(let dataset, let id):
            subscriptions[Key(dataset, id)] = nil
            pairs = pairs.filter { !($0.value.dataset == dataset && $0.value.subscriptionId.hasSameBytes(as: id)) }
            visits.removeAll { $0.dataset == dataset && $0.subscriptionId.hasSameBytes(as: id) }
        case .putDelivery(let dataset, let id, let delivery): subscriptions[Key(dataset, id)]?.delivery = delivery
        case .putHints(let dataset, let id, let hints): subscriptions[Key(dataset, id)]?.hints = hints
        case .putCircumstance(let record):
            circumstances[Key(record.dataset, record.id)] = record
            removeHeld(record.dataset) { $0.circumstanceID.hasSameBytes(as: record.id) }
        case .deleteCircumstance(let dataset, let id):
            circumstances[Key(dataset, id)] = nil
            removeHeld(dataset) { $0.circumstanceID.hasSameBytes(as: id) }
        case .putHeld(let record): if !held.contains(record) { held.append(record) }
        case .deleteHeld(let record): held.removeAll { $0 == record }
        case .putPlaceVisit(let record):
            apply(.deletePlaceVisit(dataset: record.dataset, deviceId: record.deviceID, placeId: record.visits.placeID))
            placeVisits.append(record)
        case .deletePlaceVisit(let dataset, let device, let place):
            placeVisits.removeAll {
                $0.dataset == dataset && $0.deviceID.hasSameBytes(as: device) && $0.visits.placeID.hasSameBytes(as: place)
            }
        case .putStay(let record):
            stays.removeAll { $0.dataset == record.dataset && $0.deviceID.hasSameBytes(as: record.deviceID) }
            stays.append(record)
        case .putIncident(let record):
            incidents.append(record)
            highestMatchNumber = max(highestMatchNumber, record.number)
        case .incidentSettled(let number): incidents.removeAll { $0.number == number }
        case .putPair(let record): pairs[Key(record.dataset, record.subscriptionId, record.publicationId)] = record
        case .putMatch(let record):
            matches[record.number] = (record, true)
            highestMatchNumber = max(highestMatchNumber, record.number)
        case .putVisit(let record):
            apply(
                .deleteVisit(
                    dataset: record.dataset, subscriptionId: record.subscriptionId, publicationId: record.publicationId))
            visits.append(record)
        case .deleteVisit(let dataset, let subscription, let publication):
            visits.removeAll {
                $0.dataset == dataset && $0.subscriptionId.hasSameBytes(as: subscription)
                    && $0.publicationId.hasSameBytes(as: publication)
            }
        case .matchProgress(let number, let settled, let fate):
            matches[number]?.record.settled = settled
            matches[number]?.record.fate = fate
        case .matchSettled(let number):
            matches[number]?.record.pending = false
            matches[number]?.record.pushers = []
            matches[number]?.record.secret = nil
            dropUnneeded(number)
        case .forgetMatch(let number):
            matches[number]?.listed = false
            dropUnneeded(number)
        case .putLiveState(let record):
            liveStates[Key(record.dataset, record.topic)] = record
            highestLiveNumber = max(highestLiveNumber, record.number)
        case .forgetLiveState(let dataset, let topic): liveStates[Key(dataset, topic)] = nil
        case .putReply(let record):
            let key = Key(record.dataset, record.client, record.requestId)
            replies.removeAll { $0.key == key }
            replies.append((key, record))
        case .forgetReplies(let instant): replies.removeAll { $0.record.at < instant }
        case .putLiveSubscription(let record): liveSubscriptions[Key(record.dataset, record.client, record.id)] = record
        case .deleteLiveSubscription(let dataset, let client, let id): liveSubscriptions[Key(dataset, client, id)] = nil
        case .putBeaconMonitor(let record): monitors[Key(record.dataset, record.client, record.id)] = record
        case .deleteBeaconMonitor(let dataset, let client, let id): monitors[Key(dataset, client, id)] = nil
        case .putDocument(let record): feed.put(record)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): feed.forgetTombstones(before: instant, at: now)
        case .putFollower(let record): feed.put(record)
        case .deleteFollower(let dataset, let client): feed.deleteFollower(dataset, client)
        case .putFilters: break
        }
    }

    private mutating func removeHeld(_ dataset: String, where isGone: (HeldRecord) -> Bool) {
        held.removeAll { $0.dataset == dataset && isGone($0) }
    }

    private mutating func removePlace(_ dataset: String, _ id: String) {
        places.removeAll { $0.dataset == dataset && $0.place.id.hasSameBytes(as: id) }
    }

    private mutating func enter(_ entry: FeedEntry, in dataset: String) {
        switch entry {
        case .object(let type, let id, let revision, let owner, let reader):
            feed.enter(type: type, id: id, revision: revision, owner: owner, reader: reader, in: dataset)
        case .burial(let type, let id): feed.bury(type: type, id: id, in: dataset)
        }
    }

    /// What is known of documents, in the order asked.
    public func documents(_ lookups: [DocumentLookup]) -> [KnownDocument?] { lookups.map(feed.document) }

    private mutating func dropUnneeded(_ number: Int64) {
        if let match = matches[number], !match.record.pending, !match.listed { matches[number] = nil }
    }

    private mutating func deleteDevice(_ dataset: String, _ id: String) {
        for record in publications.values where record.dataset == dataset && record.deviceId.hasSameBytes(as: id) {
            apply(.deletePublication(dataset: dataset, id: record.id))
        }
        for record in subscriptions.values where record.dataset == dataset && record.deviceId.hasSameBytes(as: id) {
            apply(.deleteSubscription(dataset: dataset, id: record.id))
        }
        forgetDevice(dataset, id)
        removeHeld(dataset) { $0.deviceID.hasSameBytes(as: id) }
        devices[Key(dataset, id)] = nil
    }

    private mutating func forgetDevice(_ dataset: String, _ id: String) {
        func isOfDevice(_ subscription: String, _ publication: String) -> Bool {
            subscriptions[Key(dataset, subscription)]?.deviceId.hasSameBytes(as: id) == true
                || publications[Key(dataset, publication)]?.deviceId.hasSameBytes(as: id) == true
        }
        placeVisits.removeAll { $0.dataset == dataset && $0.deviceID.hasSameBytes(as: id) }
        stays.removeAll { $0.dataset == dataset && $0.deviceID.hasSameBytes(as: id) }
        pairs = pairs.filter { $0.value.dataset != dataset || !isOfDevice($0.value.subscriptionId, $0.value.publicationId) }
        visits.removeAll { $0.dataset == dataset && isOfDevice($0.subscriptionId, $0.publicationId) }
        for (number, match) in matches where match.record.dataset == dataset && match.record.deviceId.hasSameBytes(as: id) {
            apply(.forgetMatch(number: number))
        }
    }

    private mutating func deleteDataset(_ id: String) {
        datasets[id] = nil
        structure = structure.filter { $0.key.dataset != id }
        categories = categories.filter { $0.key.dataset != id }
        places.removeAll { $0.dataset == id }
        verifications = verifications.filter { $0.key.dataset != id }
        circumstances = circumstances.filter { $0.key.dataset != id }
        removeHeld(id) { _ in true }
        placeVisits.removeAll { $0.dataset == id }
        stays.removeAll { $0.dataset == id }
        incidents.removeAll { $0.dataset == id }
        devices = devices.filter { $0.key.dataset != id }
        publications = publications.filter { $0.key.dataset != id }
        subscriptions = subscriptions.filter { $0.key.dataset != id }
        pairs = pairs.filter { $0.key.dataset != id }
        visits.removeAll { $0.dataset == id }
        liveStates = liveStates.filter { $0.key.dataset != id }
        matches = matches.filter { $0.value.record.dataset != id }
        replies.removeAll { $0.key.dataset == id }
        liveSubscriptions = liveSubscriptions.filter { $0.key.dataset != id }
        monitors = monitors.filter { $0.key.dataset != id }
        feed.deleteDataset(id)
    }

    /// In the order the store gives back; of one dataset, or all.
    public func restored(_ dataset: String? = nil) -> [DurableChange] {
        func isWanted(_ name: String) -> Bool { dataset == nil || dataset == name }
        var changes: [DurableChange] = []
        changes += datasets.values.filter { isWanted($0.id) }.map { .putDataset($0) }
        changes += deleted.filter { isWanted($0.key) }.map { .deleteDataset(id: $0.key, at: $0.value) }
        changes += structure.values.filter { isWanted($0.dataset) }.map { .putStructure($0) }
        // Memory takes back by itself what was refused of places.
        if dataset == nil {
            changes += categories.values.map { .putCategory($0) }
            changes += places.map { .putPlace($0) }
            changes += verifications.values.map { .putVerification($0) }
        }
        changes += devices.values.filter { isWanted($0.dataset) }.map { .putDevice($0) }
        changes += publications.values.filter { isWanted($0.dataset) }.map { .putPublication($0) }
        changes += subscriptions.values.filter { isWanted($0.dataset) }.map { .putSubscription($0) }
        changes += pairs.values.filter { isWanted($0.dataset) }.map { .putPair($0) }
        changes += visits.filter { isWanted($0.dataset) }.map { .putVisit($0) }
        changes += circumstances.values.filter { isWanted($0.dataset) }.map { .putCircumstance($0) }
        changes += held.filter { isWanted($0.dataset) }.map { .putHeld($0) }
        changes += placeVisits.filter { isWanted($0.dataset) }.map { .putPlaceVisit($0) }
        changes += stays.filter { isWanted($0.dataset) }.map { .putStay($0) }
        changes += incidents.filter { isWanted($0.dataset) }.map { .putIncident($0) }
        changes += liveStates.values.filter { isWanted($0.dataset) }.map { .putLiveState($0) }
        changes += liveSubscriptions.values.filter { isWanted($0.dataset) }.map { .putLiveSubscription($0) }
        changes += monitors.values.filter { isWanted($0.dataset) }.map { .putBeaconMonitor($0) }
        changes += feed.counts.filter { isWanted($0.key) }.map { .countDocuments(dataset: $0.key, $0.value) }
        changes += feed.followers.filter { isWanted($0.dataset) }.map { .putFollower($0) }
        for match in sortedMatches where isWanted(match.record.dataset) {
            var record = match.record
            if !record.pending { record.body = [] }
            changes.append(.putMatch(record))
        }
        changes += replies.filter { isWanted($0.key.dataset) }.map { .putReply($0.record) }
        return changes
    }

    public func finding(_ kind: StoreQuery.Kind) -> StoreFinding {
        let listed = sortedMatches.filter(\.listed).map(\.record)
        switch kind {
        case .feed(let query): return .feed(feed.page(query))
        case .documents(let lookups): return .documents(documents(lookups))
        case .match(let dataset, let id): return .match(listed.first { $0.dataset == dataset && $0.id == id })
        case .matches(let dataset, let device, let after):
            let all = listed.filter { $0.dataset == dataset && $0.deviceId.hasSameBytes(as: device) }.suffix(100)
            guard let after else { return .matches(Array(all)) }
            guard let index = all.firstIndex(where: { $0.id == after }) else { return .noSuchMatch }
            return .matches(Array(all[(index + 1)...]))
        }
    }
}

extension String {
    fileprivate func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension MemoryStore {
    /// The durable reply to a request.
    public func reply(dataset: String, client: String, requestId: String) -> [UInt8]? {
        replies.last { $0.key == Key(dataset, client, requestId) }?.record.body
    }

    /// Whether the pair's last match is remembered.
    public func hasPair(dataset: String, subscriptionId: String, publicationId: String) -> Bool {
        pairs[Key(dataset, subscriptionId, publicationId)] != nil
    }
}
