import Geodesy

/// Where a place is: a point, or the ground it covers.
public enum PlaceGeometry: Equatable, Sendable {
    /// Degrees.
    case point(latitude: Double, longitude: Double)
    /// At least one; of a GeoJSON MultiPolygon all. Made by ``init(polygons:)``.
    case polygons([Area.Polygon])

    /// The most vertices of all rings of one place.
    public static let verticesMax = 10_000
    /// The most polygons of one place.
    public static let polygonsMax = 1000

    /// - Throws: ``PlaceGeometryError/position`` unless these are degrees on the earth.
    public init(latitude: Double, longitude: Double) throws(PlaceGeometryError) {
        guard Position.isValid(latitude: latitude, longitude: longitude) else { throw .position }
        self = .point(latitude: latitude, longitude: longitude)
    }

    /// Reads the coordinates of a GeoJSON Polygon (an array of one) or MultiPolygon (RFC 7946, 3.1.6 and 3.1.7), repaired where
    /// what is meant is clear: rings that are not closed are closed, positions that repeat the one before are left out, and the
    /// direction of a ring does not matter. A polygon may lie across the antimeridian.
    ///
    /// - Parameter polygons: Of each polygon its rings, the outer one first.
    /// - Throws: Where there is no polygon, a position is not on the earth, a ring encloses nothing, crosses or touches itself or
    ///   goes round a pole, a hole lies outside, or there are more than ``verticesMax`` vertices.
    public init(polygons: [[[Area.Polygon.Vertex]]]) throws(PlaceGeometryError) {
        guard !polygons.isEmpty else { throw .noPolygon }
        guard polygons.count <= Self.polygonsMax else { throw .tooManyPolygons(polygons.count) }
        var made: [Area.Polygon] = []
        var left = Self.verticesMax
        for (number, rings) in polygons.enumerated() {
            let repaired = rings.map(Self.repaired)
            let count = repaired.reduce(0) { $0 + max(0, $1.count - 1) }
            guard count <= left else { throw .tooManyVertices }
            left -= count
            do throws(AreaError) {
                made.append(try Area.Polygon(rings: repaired, verticesMax: Self.verticesMax))
            } catch {
                throw .polygon(number, of: polygons.count, error)
            }
        }
        self = .polygons(made)
    }

    /// Whether it is as the initialisers would have it: a case can be made without them.
    var isComplete: Bool {
        switch self {
        case .point(let latitude, let longitude): return Position.isValid(latitude: latitude, longitude: longitude)
        case .polygons(let polygons):
            let corners = polygons.reduce(0) { $0 + $1.rings.reduce(0) { $0 + $1.count - 1 } }
            return (1...Self.polygonsMax).contains(polygons.count) && corners <= Self.verticesMax
        }
    }

    private static func repaired(_ ring: [Area.Polygon.Vertex]) -> [Area.Polygon.Vertex] {
        var result: [Area.Polygon.Vertex] = []
        result.reserveCapacity(ring.count + 1)
        for vertex in ring where result.last != vertex { result.append(vertex) }
        if let first = result.first, let last = result.last, !isSame(first, last) || result.count == 1 { result.append(first) }
        return result
    }

    /// One position may be written on both sides of the antimeridian.
    private static func isSame(_ left: Area.Polygon.Vertex, _ right: Area.Polygon.Vertex) -> Bool {
        let turn = abs(left.longitude - right.longitude)
        return left.latitude == right.latitude && (turn == 0 || turn == 360)
    }
}

/// Why figures are not the geometry of a place.
public enum PlaceGeometryError: Error, Equatable, Sendable {
    /// Not finite, or not on the earth.
    case position
    case noPolygon
    case tooManyPolygons(Int)
    /// All polygons together.
    case tooManyVertices
    /// Which of how many polygons, counted from 0, and what is wrong with it.
    case polygon(Int, of: Int, AreaError)

    /// The rule that was broken, as the rest of a sentence about the geometry.
    public var message: String {
        switch self {
        case .position: "must have a position [longitude, latitude] within [±180, ±90]"
        case .noPolygon: "must have at least one polygon"
        case .tooManyPolygons(let count): "must have at most \(PlaceGeometry.polygonsMax) polygons, not \(count)"
        case .tooManyVertices: "must have at most \(PlaceGeometry.verticesMax) vertices"
        case .polygon(let number, let count, let error): error.message + (count > 1 ? " (polygon \(number))" : "")
        }
    }
}
