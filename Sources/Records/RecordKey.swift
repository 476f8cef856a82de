/// The name of one record of a kind that is read by itself, not with its whole dataset.
public enum RecordKey: Hashable, Sendable {
    case category(dataset: String, id: String)
    case place(dataset: String, id: String)
    /// The hour is that of ``VerificationRecord/hour``.
    case verification(dataset: String, placeId: String, hour: Int)
    case liveState(dataset: String, topic: String)
    case liveSubscription(dataset: String, client: String, id: String)
    case follower(dataset: String, client: String)
}

extension DurableChange {
    /// The records that it is about, of those that are read one by one.
    package var keys: [RecordKey] {
        switch self {
        case .putPlace(let record): [.place(dataset: record.dataset, id: record.place.id)]
        case .deletePlace(let dataset, let id):
            [.place(dataset: dataset, id: id)]
                + (0..<168).map { .verification(dataset: dataset, placeId: id, hour: $0) }
        case .putCategory(let record): [.category(dataset: record.dataset, id: record.category.id)]
        case .putVerification(let record):
            [.verification(dataset: record.dataset, placeId: record.placeID, hour: record.hour)]
        case .putLiveState(let record): [.liveState(dataset: record.dataset, topic: record.topic)]
        case .forgetLiveState(let dataset, let topic): [.liveState(dataset: dataset, topic: topic)]
        case .putLiveSubscription(let record):
            [.liveSubscription(dataset: record.dataset, client: record.client, id: record.id)]
        case .deleteLiveSubscription(let dataset, let client, let id):
            [.liveSubscription(dataset: dataset, client: client, id: id)]
        case .putFollower(let record): [.follower(dataset: record.dataset, client: record.client)]
        case .deleteFollower(let dataset, let client): [.follower(dataset: dataset, client: client)]
        default: []
        }
    }
}
