/// Why figures are not an area. Rings are counted from 0, the outer one first; positions from 0 in their ring.
public enum AreaError: Error, Equatable, Sendable {
    /// A box's degrees are not on the earth, or its south is north of its north.
    case box
    case centre
    /// The radius in metres.
    case radius(Double)
    case noRing
    /// The position is not finite, or not on the earth.
    case position(ring: Int, position: Int)
    case tooFewPositions(ring: Int, count: Int)
    case notClosed(ring: Int)
    /// All rings together have this many vertices.
    case tooManyVertices(Int, limit: Int)
    /// The ring goes round a pole, or round the earth more than once.
    case roundPole(ring: Int)
    /// The ring encloses nothing.
    case flat(ring: Int)
    /// The edge that begins at this position crosses, touches or retraces another one.
    case crossing(ring: Int, position: Int)
    /// The hole is not in the outer ring, or is in another hole.
    case hole(ring: Int)

    /// The rule that was broken, as the rest of a sentence about the area.
    public var message: String {
        switch self {
        case .box: "must be [west, south, east, north] in degrees, with south not above north"
        case .centre: "must have a centre with latitude -90 to 90 and longitude -180 to 180"
        case .radius(let metres): "must have a radius above 0 and up to \(Int(Area.Circle.radiusMax)) metres, not \(metres)"
        case .noRing: "must have at least one ring"
        case .position(let ring, let position):
            "must have positions [longitude, latitude] within [±180, ±90]; ring \(ring) has another at \(position)"
        case .tooFewPositions(let ring, let count): "must have at least 4 positions in a ring; ring \(ring) has \(count)"
        case .notClosed(let ring): "must have closed rings; the last position of ring \(ring) is not its first"
        case .tooManyVertices(let count, let limit): "must have at most \(limit) vertices, not \(count)"
        case .roundPole(let ring): "must not go round a pole, and ring \(ring) does"
        case .flat(let ring): "must enclose something, and ring \(ring) does not"
        case .crossing(let ring, let position):
            "must not cross or touch itself, as the edge from position \(position) of ring \(ring) does"
        case .hole(let ring): "must have its holes inside the outer ring and outside each other, and ring \(ring) is not"
        }
    }
}
