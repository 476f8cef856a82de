import Geodesy
import Glibc
import Wire

/// Where a part of the structure is: one polygon, or several.
struct Outline {
    let polygons: [Area.Polygon]
    let squareMetres: Double

    /// Corners of all polygons together, at most.
    static let verticesMax = 5000

    init(_ polygons: [Area.Polygon]) {
        self.polygons = polygons
        squareMetres = polygons.reduce(0) { $0 + $1.squareMetres }
    }

    /// Reads a GeoJSON geometry (RFC 7946, section 3.1); nil for a Point, which has no extent, and for none.
    ///
    /// - Throws: `invalid`, field `geometry`, for another type and for rings that are no polygon.
    init?(geometry: JSONValue?) throws(WireError) {
        guard let geometry, geometry != .null else { return nil }
        guard case .object(let object) = geometry, let type = object["type"]?.asString else {
            throw Self.error("must be a GeoJSON geometry or null")
        }
        let coordinates = object["coordinates"]?.asArray ?? []
        switch type {
        case "Point":
            _ = try Self.vertex(object["coordinates"] ?? .null)
            return nil
        case "Polygon": self.init([try Self.polygon(coordinates, of: Self.verticesMax)])
        case "MultiPolygon":
            var polygons: [Area.Polygon] = []
            var left = Self.verticesMax
            for element in coordinates {
                guard let rings = element.asArray else { throw Self.error("must have arrays of rings") }
                let polygon = try Self.polygon(rings, of: left)
                left -= polygon.rings.reduce(0) { $0 + $1.count - 1 }
                polygons.append(polygon)
            }
            guard !polygons.isEmpty else { throw Self.error("must have at least one polygon") }
            self.init(polygons)
        default: throw Self.error("must be a Point, a Polygon or a MultiPolygon, not a \(type.prefix(40))")
        }
    }

    /// The position of a GeoJSON Point; nil for anything else.
    static func point(_ geometry: String?) -> Position? {
        guard let geometry, let object = (try? JSONValue.parse(Array(geometry.utf8)))?.asObject,
            object["type"]?.asString == "Point", let vertex = try? vertex(object["coordinates"] ?? .null)
        else { return nil }
        return Position(latitude: vertex.latitude, longitude: vertex.longitude)
    }

    /// The middle of the box around its first polygon.
    var middle: Position? {
        guard let box = polygons.first?.bounds else { return nil }
        let longitude = box.west + box.width / 2
        return Position(
            latitude: (box.south + box.north) / 2, longitude: longitude > 180 ? longitude - 360 : longitude)
    }

    func contains(_ position: Position) -> Bool {
        polygons.contains { $0.contains(latitude: position.latitude, longitude: position.longitude) }
    }

    /// Metres from a position to the nearest edge, whichever side it is on.
    ///
    /// On a plane that touches the earth at the position: right to a percent within some kilometres, which is what deciding
    /// on which side of a wall somebody is needs.
    func metresToEdge(from position: Position) -> Double {
        let perDegree = 111_195.0
        let east = perDegree * cos(position.latitude * .pi / 180)
        func plane(_ vertex: Area.Polygon.Vertex) -> SIMD2<Double> {
            var degrees = vertex.longitude - position.longitude
            if degrees > 180 { degrees -= 360 } else if degrees < -180 { degrees += 360 }
            return SIMD2(degrees * east, (vertex.latitude - position.latitude) * perDegree)
        }
        var nearest = Double.infinity
        for ring in polygons.lazy.flatMap(\.rings) {
            for (from, to) in zip(ring, ring.dropFirst()) {
                nearest = min(nearest, Self.squaredDistance(from: plane(from), to: plane(to)))
            }
        }
        return nearest.squareRoot()
    }

    /// From the origin to the line between two points.
    private static func squaredDistance(from start: SIMD2<Double>, to end: SIMD2<Double>) -> Double {
        let along = end - start
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, -(start * along).sum() / length)) : 0
        let nearest = start + along * share
        return (nearest * nearest).sum()
    }

    // MARK: Reading

    private static func polygon(_ rings: [JSONValue], of verticesMax: Int) throws(WireError) -> Area.Polygon {
        var read: [[Area.Polygon.Vertex]] = []
        for ring in rings {
            guard let positions = ring.asArray else { throw error("must have arrays of positions") }
            var vertices: [Area.Polygon.Vertex] = []
            vertices.reserveCapacity(positions.count)
            for position in positions { vertices.append(try vertex(position)) }
            read.append(vertices)
        }
        do throws(AreaError) {
            return try Area.Polygon(rings: read, verticesMax: verticesMax)
        } catch {
            throw Self.error(error.message)
        }
    }

    /// `[longitude, latitude, …]`; an altitude is left out.
    private static func vertex(_ value: JSONValue) throws(WireError) -> Area.Polygon.Vertex {
        guard let numbers = value.asArray, numbers.count >= 2, let longitude = numbers[0].asDouble,
            let latitude = numbers[1].asDouble, Position.isValid(latitude: latitude, longitude: longitude)
        else { throw error("must have positions [longitude, latitude] within [±180, ±90]") }
        return Area.Polygon.Vertex(longitude: longitude, latitude: latitude)
    }

    private static func error(_ rule: String) -> WireError {
        WireError(.invalid, "`geometry` \(rule)", field: "geometry")
    }
}
