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
    case putDevice(DeviceRecord)
    /// Removes the device with its publications, subscriptions, their pairs and visits, and its matches, those still to be delivered
    /// apart.
    case deleteDevice(dataset: String, id: String)
    /// Removes what is remembered of a device that stays: the pairs and visits of its publications and subscriptions, and its matches,
    /// those still to be delivered apart.
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
        case .putDevice(let record): record.dataset
        case .putPublication(let record): record.dataset
        case .putSubscription(let record): record.dataset
        case .putPair(let record): record.dataset
        case .putVisit(let record): record.dataset
        case .putMatch(let record): record.dataset
        case .putLiveState(let record): record.dataset
        case .putReply(let record): record.dataset
        case .putLiveSubscription(let record): record.dataset
        case .deleteLiveSubscription(let dataset, _, _): dataset
        case .putBeaconMonitor(let record): record.dataset
        case .deleteBeaconMonitor(let dataset, _, _): dataset
        case .deleteDevice(let dataset, _), .forgetDevice(let dataset, _), .deleteVisit(let dataset, _, _),
            .deletePublication(let dataset, _), .deleteSubscription(let dataset, _),
            .putDelivery(let dataset, _, _), .putHints(let dataset, _, _), .forgetLiveState(let dataset, _):
            dataset
        case .matchProgress, .matchSettled, .forgetMatch, .forgetReplies, .putFilters: nil
        }
    }
}
