/// A part of the earth's surface. What is exactly on its boundary is in it.
public enum Area: Equatable, Sendable {
    case box(Box)
    case circle(Circle)
    case polygon(Polygon)

    /// Whether a position, in valid degrees (``Position/isValid(latitude:longitude:)``), lies in the area.
    public func contains(latitude: Double, longitude: Double) -> Bool {
        switch self {
        case .box(let box): box.contains(latitude: latitude, longitude: longitude)
        case .circle(let circle): circle.contains(latitude: latitude, longitude: longitude)
        case .polygon(let polygon): polygon.contains(latitude: latitude, longitude: longitude)
        }
    }

    /// A box that holds the whole area; of a circle it may be a hundredth wider than needed.
    public var bounds: Box {
        switch self {
        case .box(let box): box
        case .circle(let circle): circle.bounds
        case .polygon(let polygon): polygon.bounds
        }
    }
}
