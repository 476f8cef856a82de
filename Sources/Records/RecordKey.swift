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
