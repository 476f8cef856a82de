internal import Wire

/// What runs for a store, and how far it is.
struct Replication: Sendable {
    /// What a store asks about a conflict.
    typealias Resolver = @Sendable (OfflineConflict) async -> OfflineConflict.Resolution

    var task: Task<Void, Never>?
    /// Where news for the task go.
    var news: Mailbox<ChangeFeed.News, Never>?
    var resolver: Resolver?
    /// Conflicts the application was asked about.
    var asked: Set<String> = []
    var isActive = false
    var isRunning = false
    var isReachable = false
    var lastError: GeomatchError?
    private var total: Int64 = 0
    private var completed: Int64 = 0
    let observers = Broadcast<SyncProgress, Never>()

    /// Begins a bout of activity.
    mutating func begin(pending: Int) {
        isActive = true
        (total, completed) = (Int64(pending), 0)
    }

    mutating func end() {
        isActive = false
        (total, completed) = (0, 0)
    }

    mutating func restart() { (total, completed) = (0, 0) }

    /// How much follows is known when it has come: a page that is part of more counts as one of two.
    mutating func pulled(from since: Int64, to last: Int64, isPart: Bool) {
        let step = max(0, last - since)
        completed += step
        total = max(total, completed) + (isPart ? 1 : 0)
    }

    mutating func pushed(_ count: Int) {
        completed += Int64(count)
        total = max(total, completed)
    }

    func progress(pending: Int) -> SyncProgress {
        let status: SyncProgress.Status =
            !isRunning ? .stopped : !isReachable ? .offline : isActive ? .active : .idle
        return SyncProgress(
            status: status, changesCount: Int(clamping: total), completedChangesCount: Int(clamping: min(completed, total)),
            pending: pending, lastError: lastError)
    }
}
