/// The stay of one device in one geofence.
public struct FenceVisit: Equatable, Sendable {
    public let fence: Int32
    /// The index of its device among the fence's members.
    var place: Int32
    public let since: Int64
    /// When it is one of dwelling, by our clock.
    var dwellsAt: Int64 = .max
    // Times are half as large as optional ones.
    private var dwelled = Int64.min
    private var outside = Int64.min

    init(fence: Int32, place: Int32, since: Int64, dwelledAt: Int64? = nil) {
        self.fence = fence
        self.place = place
        self.since = since
        self.dwelledAt = dwelledAt
    }

    /// When it was one of dwelling.
    var dwelledAt: Int64? {
        get { dwelled == .min ? nil : dwelled }
        set { dwelled = newValue ?? .min }
    }

    /// When the first of the fixes that are all outside was; nil where the last one was not.
    public internal(set) var outsideSince: Int64? {
        get { outside == .min ? nil : outside }
        set { outside = newValue ?? .min }
    }

    public var hasDwelled: Bool { dwelledAt != nil }
}
