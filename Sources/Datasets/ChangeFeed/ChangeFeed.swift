import Records
import Wire

/// What is known of one dataset's change feed beside what the store has: how long it is, and how far replicators are.
///
/// The documents that are objects of ours are read from the components of the dataset, see ``Dataset/content(of:_:)``.
final class ChangeFeed {
    /// Documents that are no objects of ours, those deleted and not yet forgotten included.
    private(set) var documentCount = 0
    private(set) var documentsHeld = Holdings()
    /// How far clients have replicated.
    var checkpoints = Checkpoints()
    /// How many documents the feed shows to everybody, and to administrators.
    var counts: (shared: CountedFeed?, all: CountedFeed?)
    let followers: Followers
    let limits: HubLimits

    init(_ shared: Shared) {
        followers = shared.followers
        limits = shared.limits
    }

    /// So many documents more that are no objects of ours.
    func countDocuments(of owner: String?, by step: Int) {
        documentCount += step
        documentsHeld.count(owner, by: step)
    }

    /// Before the store gives everything back.
    func reset() {
        documentCount = 0
        documentsHeld = Holdings()
        checkpoints = Checkpoints()
        counts = (nil, nil)
    }
}

extension Dataset {
    /// Names its feed in this store: one that was deleted and made again has another.
    var storeId: String { "\(shared.configuration.instance).\(record.createdAt)" }
}
