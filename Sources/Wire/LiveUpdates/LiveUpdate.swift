import Geodesy

/// What the daemon needs to know of a live update apart from its normalised properties.
public struct LiveUpdate: Equatable, Sendable {
    /// When the data was true at its source, milliseconds since 1970 UTC, 0 or later; nil where it was not sent.
    public var timestamp: Int64?
    /// The id of the data's source in another system.
    public var originSourceId: String?
    /// Where the item is, in the domain `position` only.
    public var position: Position?
    public var floorIndex: Int?
    /// Metres per second, not negative; nil where none was sent.
    public var speed: Double?

    public init(
        timestamp: Int64? = nil, originSourceId: String? = nil, position: Position? = nil, floorIndex: Int? = nil
    ) {
        self.timestamp = timestamp
        self.originSourceId = originSourceId
        self.position = position
        self.floorIndex = floorIndex
    }
}
