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
    /// Removes the device with its publications, subscriptions, their pairs and its matches, those still to be delivered apart.
    case deleteDevice(dataset: String, id: String)
    case putPublication(PublicationRecord)
    /// Removes the publication and its pairs.
    case deletePublication(dataset: String, id: String)
    case putSubscription(SubscriptionRecord)
    /// Removes the subscription and its pairs; matches stay.
    case deleteSubscription(dataset: String, id: String)
    /// Replaces the delivery counters of a subscription; nothing happens where it is gone.
    case putDelivery(dataset: String, subscriptionId: String, Delivery)
    /// Replaces the hints of a subscription; nothing happens where it is gone.
    case putHints(dataset: String, subscriptionId: String, [String])
    case putPair(PairRecord)
    case putMatch(MatchRecord)
    /// The broker has the match: it is no longer pending.
    case matchDelivered(number: Int64)
    /// The match has left the newest hundred of its device.
    case forgetMatch(number: Int64)
    /// Also behind the deletion of its dataset, without a payload and with the timestamp `Int64.min`: what the broker may still retain
    /// of it, until it was cleared there and is forgotten.
    case putLiveState(LiveStateRecord)
    case forgetLiveState(dataset: String, topic: String)
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
        case .putMatch(let record): record.dataset
        case .putLiveState(let record): record.dataset
        case .putReply(let record): record.dataset
        case .deleteDevice(let dataset, _), .deletePublication(let dataset, _), .deleteSubscription(let dataset, _),
            .putDelivery(let dataset, _, _), .putHints(let dataset, _, _), .forgetLiveState(let dataset, _):
            dataset
        case .matchDelivered, .forgetMatch, .forgetReplies, .putFilters: nil
        }
    }
}
