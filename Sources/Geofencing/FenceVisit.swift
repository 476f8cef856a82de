/// The stay of one device in one geofence.
public struct FenceVisit: Equatable, Sendable {
    public let fence: Int32
    public let since: Int64
    /// When it was one of dwelling.
    var dwelledAt: Int64?
    /// When the first of the fixes that are all outside was; nil where the last one was not.
    var outsideSince: Int64?
    /// When it is one of dwelling, by our clock.
    var dwellsAt: Int64 = .max

    init(fence: Int32, since: Int64, dwelledAt: Int64? = nil) {
        self.fence = fence
        self.since = since
        self.dwelledAt = dwelledAt
    }

    public var hasDwelled: Bool { dwelledAt != nil }
}
