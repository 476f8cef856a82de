/// How far a replication is.
public struct SyncProgress: Sendable, Equatable {
    /// What the replication does now.
    public enum Status: String, Sendable {
        /// None was started, or it ended: finished, or failed for good.
        case stopped
        /// The broker or the daemon cannot be reached; it is tried again.
        case offline
        /// Everything is exchanged, and what comes next is waited for.
        case idle
        case active
    }

    public var status: Status = .stopped
    /// What there is to do in this bout of activity: places in the daemon's feed, and documents written here. 0 when it is over.
    public var changesCount = 0
    /// What of it is done, never more.
    public var completedChangesCount = 0
    /// Documents written here that the daemon does not have yet.
    public var pending = 0
    /// What went wrong last; nil again after the next complete exchange.
    public var lastError: GeomatchError?
}
