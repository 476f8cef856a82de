import Datasets
import Records

/// What a store promises of durable changes, in a few tables, each change as its documentation says: a restart is a replay of them.
public struct MemoryStore {
    private var datasetRows = Rows<DatasetRecord>()
    private var deletions = Rows<(id: String, at: Int64)>()
    private var structure = Rows<StructureRecord>()
    private var categories = Rows<CategoryRecord>()
    private var placeRows = Rows<PlaceRecord>()
    private var verifications = Rows<VerificationRecord>()
    private var circumstances = Rows<CircumstanceRecord>()
    private var heldRows = Rows<HeldRecord>()
    private var placeVisitRows = Rows<PlaceVisitRecord>()
    private var stayRows = Rows<StayRecord>()
    private var incidentRows: [Int64: IncidentRecord] = [:]
    private var devices = Rows<DeviceRecord>()
    private var publications = Rows<PublicationRecord>()
    private var subscriptions = Rows<SubscriptionRecord>()
    private var pairs = Rows<PairRecord>()
    private var visitRows = Rows<VisitRecord>()
    private var liveStates = Rows<LiveStateRecord>()
    private var liveSubscriptions = Rows<LiveSubscriptionRecord>()
    private var monitors = Rows<BeaconMonitorRecord>()
    private var followers = Rows<FollowerRecord>()
    private var matches: [Int64: (record: MatchRecord, listed: Bool)] = [:]
    private var replies: [ReplyRecord] = []
    private var filters: [String: [String]] = [:]
    private var feed = MemoryFeed()
    public private(set) var highestLiveNumber: Int64 = 0
    public private(set) var highestMatchNumber: Int64 = 0
    private let repliesMax: Int

    /// - Parameter repliesMax: How many replies of one client are kept, the newest ones.
    public init(repliesMax: Int = 10_000) { self.repliesMax = repliesMax }

    // MARK: Changes

    public mutating func apply(_ change: DurableChange) {
        if case .object(let type, let id, let revision, let owner, let reader)? = change.feedEntry, let dataset = change.dataset {
            feed.enter(type: type, id: id, revision: revision, owner: owner, reader: reader, in: dataset)
        }
        switch change {
        case .putDataset(let record):
            datasetRows[record.id] = record
            deletions[record.id] = nil
        case .deleteDataset(let id, let at):
            deleteDataset(id)
            deletions[id] = (id, at)
        case .putStructure(let record):
            structure[record.dataset, record.level.rawValue, record.parents.description, record.id] = record
        case .putCategory(let record): categories[record.dataset, record.category.id] = record
        case .putPlace(let record): placeRows[record.dataset, record.place.id] = record
        case .deletePlace(let dataset, let id):
            feed.bury(type: .place, id: id, in: dataset)
            placeRows[dataset, id] = nil
            verifications.remove(dataset) { $0.placeID.hasSameBytes(as: id) }
        case .putVerification(let record): verifications[record.dataset, record.placeID, "\(record.hour)"] = record
        case .putDevice(let record): devices[record.dataset, record.id] = record
        case .deleteDevice(let dataset, let id): deleteDevice(dataset, id)
        case .forgetDevice(let dataset, let id): forgetDevice(dataset, id)
        case .putPublication(let record): publications[record.dataset, record.id] = record
        case .deletePublication(let dataset, let id):
            feed.bury(type: .publication, id: id, in: dataset)
            publications[dataset, id] = nil
            pairs.remove(dataset) { $0.publicationId.hasSameBytes(as: id) }
            visitRows.remove(dataset) { $0.publicationId.hasSameBytes(as: id) }
        case .putSubscription(let record): subscriptions[record.dataset, record.id] = record
        case .deleteSubscription(let dataset, let id):
            feed.bury(type: .subscription, id: id, in: dataset)
            subscriptions[dataset, id] = nil
            pairs.remove(dataset) { $0.subscriptionId.hasSameBytes(as: id) }
            visitRows.remove(dataset) { $0.subscriptionId.hasSameBytes(as: id) }
        case .putDelivery(let dataset, let id, let delivery): subscriptions[dataset, id]?.delivery = delivery
        case .putHints(let dataset, let id, let hints): subscriptions[dataset, id]?.hints = hints
        case .putCircumstance(let record):
            circumstances[record.dataset, record.id] = record
            heldRows.remove(record.dataset) { $0.circumstanceID.hasSameBytes(as: record.id) }
        case .deleteCircumstance(let dataset, let id):
            feed.bury(type: .circumstance, id: id, in: dataset)
            circumstances[dataset, id] = nil
            heldRows.remove(dataset) { $0.circumstanceID.hasSameBytes(as: id) }
        case .putHeld(let record): heldRows[record.dataset, record.circumstanceID, record.deviceID] = record
        case .deleteHeld(let record): heldRows[record.dataset, record.circumstanceID, record.deviceID] = nil
        case .putPlaceVisit(let record): placeVisitRows[record.dataset, record.deviceID, record.visits.placeID] = record
        case .deletePlaceVisit(let dataset, let device, let place): placeVisitRows[dataset, device, place] = nil
        case .putStay(let record): stayRows[record.dataset, record.deviceID] = record
        case .putIncident(let record):
            incidentRows[record.number] = record
            highestMatchNumber = max(highestMatchNumber, record.number)
        case .incidentSettled(let number): incidentRows[number] = nil
        case .putPair(let record): pairs[record.dataset, record.subscriptionId, record.publicationId] = record
        case .putVisit(let record): visitRows[record.dataset, record.subscriptionId, record.publicationId] = record
        case .deleteVisit(let dataset, let subscription, let publication): visitRows[dataset, subscription, publication] = nil
        case .putMatch(let record):
            matches[record.number] = (record, true)
            highestMatchNumber = max(highestMatchNumber, record.number)
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
            liveStates[record.dataset, record.topic] = record
            highestLiveNumber = max(highestLiveNumber, record.number)
        case .forgetLiveState(let dataset, let topic): liveStates[dataset, topic] = nil
        case .putLiveSubscription(let record): liveSubscriptions[record.dataset, record.client, record.id] = record
        case .deleteLiveSubscription(let dataset, let client, let id): liveSubscriptions[dataset, client, id] = nil
        case .putBeaconMonitor(let record): monitors[record.dataset, record.client, record.id] = record
        case .deleteBeaconMonitor(let dataset, let client, let id): monitors[dataset, client, id] = nil
        case .putDocument(let record): feed.put(record)
        case .countDocuments: break
        case .forgetTombstones(let instant, let now): feed.forgetTombstones(before: instant, at: now)
        case .putFollower(let record): followers[record.dataset, record.client] = record
        case .deleteFollower(let dataset, let client): followers[dataset, client] = nil
        case .putReply(let record):
            replies.removeAll { $0.isReply(to: record.requestId, of: record.client, in: record.dataset) }
            replies.append(record)
        case .forgetReplies(let instant):
            replies.removeAll { $0.at < instant }
            replies = newestReplies(nil)
        case .putFilters(let broker, let list): filters[broker] = list.isEmpty ? nil : list
        }
    }

    private mutating func dropUnneeded(_ number: Int64) {
        if let match = matches[number], !match.record.pending, !match.listed { matches[number] = nil }
    }

    private mutating func deleteDevice(_ dataset: String, _ id: String) {
        for record in publications.of(dataset) where record.deviceId.hasSameBytes(as: id) {
            apply(.deletePublication(dataset: dataset, id: record.id))
        }
        for record in subscriptions.of(dataset) where record.deviceId.hasSameBytes(as: id) {
            apply(.deleteSubscription(dataset: dataset, id: record.id))
        }
        feed.bury(type: .device, id: id, in: dataset)
        forgetDevice(dataset, id)
        heldRows.remove(dataset) { $0.deviceID.hasSameBytes(as: id) }
        devices[dataset, id] = nil
    }

    private mutating func forgetDevice(_ dataset: String, _ id: String) {
        let (subscriptions, publications) = (self.subscriptions, self.publications)
        func isOfDevice(_ subscription: String, _ publication: String) -> Bool {
            subscriptions[dataset, subscription]?.deviceId.hasSameBytes(as: id) == true
                || publications[dataset, publication]?.deviceId.hasSameBytes(as: id) == true
        }
        placeVisitRows.remove(dataset) { $0.deviceID.hasSameBytes(as: id) }
        stayRows[dataset, id] = nil
        pairs.remove(dataset) { isOfDevice($0.subscriptionId, $0.publicationId) }
        visitRows.remove(dataset) { isOfDevice($0.subscriptionId, $0.publicationId) }
        for (number, match) in matches where match.record.dataset == dataset && match.record.deviceId.hasSameBytes(as: id) {
            apply(.forgetMatch(number: number))
        }
    }

    private mutating func deleteDataset(_ id: String) {
        datasetRows.remove(id)
        structure.remove(id)
        categories.remove(id)
        placeRows.remove(id)
        verifications.remove(id)
        circumstances.remove(id)
        heldRows.remove(id)
        placeVisitRows.remove(id)
        stayRows.remove(id)
        incidentRows = incidentRows.filter { $0.value.dataset != id }
        devices.remove(id)
        publications.remove(id)
        subscriptions.remove(id)
        pairs.remove(id)
        visitRows.remove(id)
        liveStates.remove(id)
        liveSubscriptions.remove(id)
        monitors.remove(id)
        followers.remove(id)
        matches = matches.filter { $0.value.record.dataset != id }
        replies.removeAll { $0.dataset == id }
        feed.deleteDataset(id)
    }

    // MARK: Reading

    /// In the order a store gives back; of one dataset, or all.
    public func restored(_ dataset: String? = nil, repliesSince: Int64 = .min) -> [DurableChange] {
        var changes: [DurableChange] = []
        changes += datasetRows.of(dataset).map { .putDataset($0) }
        changes += deletions.of(dataset).map { .deleteDataset(id: $0.id, at: $0.at) }
        changes += structure.of(dataset).map { .putStructure($0) }
        // These are read by their keys where one dataset is loaded again.
        if dataset == nil {
            changes += categories.all.map { .putCategory($0) }
            changes += placeRows.all.map { .putPlace($0) }
            changes += verifications.all.map { .putVerification($0) }
        }
        changes += devices.of(dataset).map { .putDevice($0) }
        changes += publications.of(dataset).map { .putPublication($0) }
        changes += subscriptions.of(dataset).map { .putSubscription($0) }
        changes += pairs.of(dataset).map { .putPair($0) }
        changes += visitRows.of(dataset).map { .putVisit($0) }
        changes += circumstances.of(dataset).map { .putCircumstance($0) }
        changes += heldRows.of(dataset).map { .putHeld($0) }
        changes += placeVisitRows.of(dataset).map { .putPlaceVisit($0) }
        changes += stayRows.of(dataset).map { .putStay($0) }
        changes += incidents.filter { dataset == nil || $0.dataset == dataset }.map { .putIncident($0) }
        changes += liveStates.of(dataset).map { .putLiveState($0) }
        changes += liveSubscriptions.of(dataset).map { .putLiveSubscription($0) }
        changes += monitors.of(dataset).map { .putBeaconMonitor($0) }
        changes += feed.counts.filter { dataset == nil || $0.key == dataset }.map { .countDocuments(dataset: $0.key, $0.value) }
        changes += followers.of(dataset).map { .putFollower($0) }
        for var record in sortedMatches.map(\.record) where dataset == nil || record.dataset == dataset {
            if !record.pending { record.body = [] }
            changes.append(.putMatch(record))
        }
        changes += newestReplies(dataset).filter { $0.at >= repliesSince }.map { .putReply($0) }
        if dataset == nil { changes += filters.map { .putFilters(broker: $0.key, $0.value) } }
        return changes
    }

    /// Oldest first, and of each client so many as are kept.
    private func newestReplies(_ dataset: String?) -> [ReplyRecord] {
        var counts: [[String]: Int] = [:]
        let newest = replies.reversed().filter { reply in
            guard dataset == nil || reply.dataset == dataset else { return false }
            counts[[reply.dataset, reply.client], default: 0] += 1
            return counts[[reply.dataset, reply.client], default: 0] <= repliesMax
        }
        return newest.reversed()
    }

    /// What is there of each key, or the change that removes it.
    public func records(_ keys: [RecordKey]) -> [DurableChange] {
        keys.compactMap { key -> DurableChange? in
            switch key {
            case .category(let dataset, let id): categories[dataset, id].map { .putCategory($0) }
            case .place(let dataset, let id):
                placeRows[dataset, id].map { .putPlace($0) } ?? .deletePlace(dataset: dataset, id: id)
            case .verification(let dataset, let place, let hour):
                .putVerification(
                    verifications[dataset, place, "\(hour)"]
                        ?? VerificationRecord(dataset: dataset, placeID: place, hour: hour, count: 0))
            case .liveState(let dataset, let topic):
                liveStates[dataset, topic].map { .putLiveState($0) } ?? .forgetLiveState(dataset: dataset, topic: topic)
            case .liveSubscription(let dataset, let client, let id):
                liveSubscriptions[dataset, client, id].map { .putLiveSubscription($0) }
                    ?? .deleteLiveSubscription(dataset: dataset, client: client, id: id)
            case .follower(let dataset, let client):
                followers[dataset, client].map { .putFollower($0) } ?? .deleteFollower(dataset: dataset, client: client)
            }
        }
    }

    /// The newest matches of a device, oldest first; nil where `after` is not among its newest hundred.
    public func matches(dataset: String, deviceId: String, after: String?, limit: Int = 100) -> [MatchRecord]? {
        let limit = min(max(limit, 1), 100)
        let newest = listedMatches.filter { $0.dataset == dataset && $0.deviceId.hasSameBytes(as: deviceId) }.suffix(100)
        guard let after else { return Array(newest.suffix(limit)) }
        guard let index = newest.firstIndex(where: { $0.id.hasSameBytes(as: after) }) else { return nil }
        return Array(newest[(index + 1)...].prefix(limit))
    }

    public func match(dataset: String, id: String) -> MatchRecord? {
        listedMatches.last { $0.dataset == dataset && $0.id.hasSameBytes(as: id) }
    }

    public func feedPage(_ query: FeedQuery) -> FeedPage { feed.page(query) }

    /// What is known of documents, in the order asked.
    public func documents(_ lookups: [DocumentLookup]) -> [KnownDocument?] { lookups.map(feed.document) }

    private var sortedMatches: [(record: MatchRecord, listed: Bool)] { matches.sorted { $0.key < $1.key }.map(\.value) }
    private var listedMatches: [MatchRecord] { sortedMatches.filter(\.listed).map(\.record) }
}

// MARK: What the tests of the daemon ask

extension MemoryStore {
    public var datasets: [String: DatasetRecord] { Dictionary(uniqueKeysWithValues: datasetRows.all.map { ($0.id, $0) }) }
    public var places: [PlaceRecord] { placeRows.all }
    public var held: [HeldRecord] { heldRows.all }
    public var placeVisits: [PlaceVisitRecord] { placeVisitRows.all }
    public var stays: [StayRecord] { stayRows.all }
    public var visits: [VisitRecord] { visitRows.all }
    /// By number, the order of delivery.
    public var incidents: [IncidentRecord] { incidentRows.sorted { $0.key < $1.key }.map(\.value) }
    public var liveStateCount: Int { liveStates.count }
    public var pendingMatches: [MatchRecord] { sortedMatches.map(\.record).filter(\.pending) }

    public func liveState(_ topic: String) -> LiveStateRecord? { liveStates.all.first { $0.topic.hasSameBytes(as: topic) } }

    public func delivery(_ dataset: String, _ id: String) -> Delivery? { subscriptions[dataset, id]?.delivery }

    /// The durable reply to a request.
    public func reply(dataset: String, client: String, requestId: String) -> [UInt8]? {
        replies.last { $0.isReply(to: requestId, of: client, in: dataset) }?.body
    }

    /// Whether the pair's last match is remembered.
    public func hasPair(dataset: String, subscriptionId: String, publicationId: String) -> Bool {
        pairs[dataset, subscriptionId, publicationId] != nil
    }

    public func finding(_ kind: StoreQuery.Kind) -> StoreFinding {
        switch kind {
        case .feed(let query): .feed(feedPage(query))
        case .documents(let lookups): .documents(documents(lookups))
        case .match(let dataset, let id): .match(match(dataset: dataset, id: id))
        case .matches(let dataset, let device, let after):
            matches(dataset: dataset, deviceId: device, after: after).map { .matches($0) } ?? .noSuchMatch
        }
    }
}

extension ReplyRecord {
    fileprivate func isReply(to requestId: String, of client: String, in dataset: String) -> Bool {
        self.dataset == dataset && self.client == client && self.requestId.hasSameBytes(as: requestId)
    }
}

extension String {
    fileprivate func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
