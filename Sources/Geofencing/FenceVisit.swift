/// The stay of one device in one geofence.
public struct FenceVisit: Equatable, Sendable {
    public let fence: Int32
    public let since: Int64
    public var hasDwelled: Bool
    /// When the first of the fixes that are all outside was; nil where the last one was not.
    var outsideSince: Int64?
    /// When it is one of dwelling, by our clock.
    var dwellsAt: Int64 = .max
}
