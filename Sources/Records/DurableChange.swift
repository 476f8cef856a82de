/// One thing that must outlive the process.
///
/// The hub emits changes in the order they happened; the store applies a batch of them in one transaction and
/// gives the same kind back when it restores, so that a restart is a replay.
public enum DurableChange: Equatable, Sendable {
    case putDataset(DatasetRecord)
    /// Removes the dataset with everything it holds: devices, publications, subscriptions, pairs, matches, live state, replies.
    /// The deletion itself is remembered until the dataset is put again, and is given back when restoring.
    case deleteDataset(id: String, at: Int64)
    case putStructure(StructureRecord)
    case putCategory(CategoryRecord)
    case putPlace(PlaceRecord)
    /// Removes the place, and how often it was verified.
    case deletePlace(dataset: String, id: String)
    /// How often devices said to be at a place, in one hour of its week (0…167, from Monday 00:00 on).
    case putVerification(VerificationRecord)
    case putDevice(DeviceRecord)
    /// Removes the device with its publications, subscriptions, their pairs and visits, what is held of it, where it was, and its matches,
    /// those still to be delivered apart.
    case deleteDevice(dataset: String, id: String)
    /// Removes what is remembered of a device that stays: the pairs and visits of its publications and subscriptions, its visits to
    /// places and its stay, and its matches, those still to be delivered apart.
    case forgetDevice(dataset: String, id: String)
    case putPublication(PublicationRecord)
    /// Removes the publication with its pairs and visits.
    case deletePublication(dataset: String, id: String)
    case putSubscription(SubscriptionRecord)
    /// Removes the subscription with its pairs and visits; matches stay.
    case deleteSubscription(dataset: String, id: String)
    /// Replaces the delivery counters of a subscription; nothing happens where it is gone.
    case putDelivery(dataset: String, subscriptionId: String, Delivery)
    /// Replaces the hints of a subscription; nothing happens where it is gone.
    case putHints(dataset: String, subscriptionId: String, [String])
    case putPair(PairRecord)
    /// A visit is under way.
    case putVisit(VisitRecord)
    /// The visit of the pair is over.
    case deleteVisit(dataset: String, subscriptionId: String, publicationId: String)
    /// What was held of the circumstance before is void.
    case putCircumstance(CircumstanceRecord)
    /// Removes the circumstance with what is held of it; messages on their way stay.
    case deleteCircumstance(dataset: String, id: String)
    case putHeld(HeldRecord)
    case deleteHeld(HeldRecord)
    case putPlaceVisit(PlaceVisitRecord)
    case deletePlaceVisit(dataset: String, deviceId: String, placeId: String)
    case putStay(StayRecord)
    case putIncident(IncidentRecord)
    /// The broker has the message.
    case incidentSettled(number: Int64)
    case putMatch(MatchRecord)
    /// Some of the match's targets are settled, as in ``MatchRecord/settled``, and others are not.
    case matchProgress(number: Int64, settled: UInt32, fate: MatchFate)
    /// All targets of the match are settled: it is no longer pending.
    case matchSettled(number: Int64)
    /// The match has left the newest hundred of its device.
    case forgetMatch(number: Int64)
    /// Also behind the deletion of its dataset, without a payload and with the timestamp `Int64.min`: what the broker may still retain
    /// of it, until it was cleared there and is forgotten.
    case putLiveState(LiveStateRecord)
    case forgetLiveState(dataset: String, topic: String)
    case putLiveSubscription(LiveSubscriptionRecord)
    case deleteLiveSubscription(dataset: String, client: String, id: String)
    case putBeaconMonitor(BeaconMonitorRecord)
    case deleteBeaconMonitor(dataset: String, client: String, id: String)
    /// Replaces a document with all its leaves, where they are not what an object of ours says itself; its row in the feed is the newest.
    case putDocument(DocumentRecord)
    /// How many documents a dataset has that are no objects of ours. Only given back: who writes it changes nothing.
    case countDocuments(dataset: String, Int)
    /// Tombstones of the feed that were first seen here before an instant are forgotten; those that are new have been seen now.
    case forgetTombstones(before: Int64, at: Int64)
    case putFollower(FollowerRecord)
    case deleteFollower(dataset: String, client: String)
    case putReply(ReplyRecord)
    case forgetReplies(before: Int64)
    /// The filters held at the broker of this name, replacing those known before.
    case putFilters(broker: String, [String])
}

extension DurableChange {
    /// The dataset it belongs to; nil where it belongs to none.
    public var dataset: String? {
        switch self {
        case .putDataset(let record): record.id
        case .deleteDataset(let id, _): id
        case .putStructure(let record): record.dataset
        case .putCategory(let record): record.dataset
        case .putPlace(let record): record.dataset
        case .deletePlace(let dataset, _): dataset
        case .putVerification(let record): record.dataset
        case .putCircumstance(let record): record.dataset
        case .deleteCircumstance(let dataset, _), .deletePlaceVisit(let dataset, _, _): dataset
        case .putHeld(let record), .deleteHeld(let record): record.dataset
        case .putPlaceVisit(let record): record.dataset
        case .putStay(let record): record.dataset
        case .putIncident(let record): record.dataset
        case .putDevice(let record): record.dataset
        case .putPublication(let record): record.dataset
        case .putSubscription(let record): record.dataset
        case .putPair(let record): record.dataset
        case .putVisit(let record): record.dataset
        case .putMatch(let record): record.dataset
        case .putLiveState(let record): record.dataset
        case .putReply(let record): record.dataset
        case .putDocument(let record): record.dataset
        case .putFollower(let record): record.dataset
        case .deleteFollower(let dataset, _), .countDocuments(let dataset, _): dataset
        case .putLiveSubscription(let record): record.dataset
        case .deleteLiveSubscription(let dataset, _, _): dataset
        case .putBeaconMonitor(let record): record.dataset
        case .deleteBeaconMonitor(let dataset, _, _): dataset
        case .deleteDevice(let dataset, _), .forgetDevice(let dataset, _), .deleteVisit(let dataset, _, _),
            .deletePublication(let dataset, _), .deleteSubscription(let dataset, _),
            .putDelivery(let dataset, _, _), .putHints(let dataset, _, _), .forgetLiveState(let dataset, _):
            dataset
        case .matchProgress, .matchSettled, .incidentSettled, .forgetMatch, .forgetReplies, .forgetTombstones, .putFilters: nil
        }
    }
}
