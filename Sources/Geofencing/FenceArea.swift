import Geodesy

/// What a geofence encloses: what lies exactly on its edge is inside.
///
/// Circles are geodesic, other edges straight in longitude and latitude, the shorter way round.
public struct FenceArea: Sendable {
    private enum Shape: Sendable {
        case circle(Area.Circle)
        /// Apart from each other, or overlapping.
        case polygons([FencePolygon])
        /// The whole earth.
        case everywhere
    }

    private let shape: Shape
    public let squareMetres: Double

    public init(_ circle: Area.Circle) {
        shape = .circle(circle)
        squareMetres = .pi * circle.radius * circle.radius
    }

    public init(_ polygons: [Area.Polygon]) {
        let pieces = polygons.map(FencePolygon.init)
        shape = .polygons(pieces)
        squareMetres = pieces.reduce(0) { $0 + $1.squareMetres }
    }

    public init(_ box: Area.Box) {
        let polygon = FencePolygon(box)
        if let polygon { shape = .polygons([polygon]) } else { shape = .everywhere }
        squareMetres = polygon?.squareMetres ?? 4 * .pi * Ellipsoid.meanRadius * Ellipsoid.meanRadius
    }

    /// What it is where that is a circle.
    var circle: Area.Circle? { if case .circle(let circle) = shape { circle } else { nil } }

    /// What it is where that is one polygon.
    var polygon: FencePolygon? {
        guard case .polygons(let polygons) = shape, polygons.count == 1 else { return nil }
        return polygons[0]
    }

    /// Boxes that together hold the area.
    public var bounds: [Area.Box] {
        switch shape {
        case .circle(let circle): [circle.bounds]
        case .polygons(let polygons): polygons.map(\.bounds)
        case .everywhere: [Self.earth].compactMap { $0 }
        }
    }

    private static let earth = try? Area.Box(west: -180, south: -90, east: 180, north: 90)

    public func contains(latitude: Double, longitude: Double) -> Bool {
        switch shape {
        case .circle(let circle): circle.contains(latitude: latitude, longitude: longitude)
        case .polygons(let polygons): polygons.contains { $0.contains(latitude: latitude, longitude: longitude) }
        case .everywhere: true
        }
    }

    /// Metres to the edge, negative inside; right to a millimetre.
    public func signedMetres(latitude: Double, longitude: Double) -> Double {
        switch shape {
        case .circle(let circle):
            let distance = Geodesic.distance(
                fromLatitude: circle.latitude, fromLongitude: circle.longitude, toLatitude: latitude, toLongitude: longitude)
            return distance - circle.radius
        case .polygons(let polygons):
            // Inside of several that overlap the deepest counts.
            var signed = Double.infinity
            for polygon in polygons {
                let distance = polygon.metresToEdge(latitude: latitude, longitude: longitude)
                signed = min(signed, polygon.contains(latitude: latitude, longitude: longitude) ? -distance : distance)
            }
            return signed
        case .everywhere: return -Area.Circle.radiusMax
        }
    }

    /// Whether a position lies outside by more than so many metres, at least 0; costs less than its distance.
    func isBeyond(_ metres: Double, latitude: Double, longitude: Double) -> Bool {
        switch shape {
        case .circle(let circle):
            guard !circle.contains(latitude: latitude, longitude: longitude) else { return false }
            return metres <= 0 || signedMetres(latitude: latitude, longitude: longitude) > metres
        case .polygons(let polygons):
            return polygons.allSatisfy { $0.isBeyond(metres, latitude: latitude, longitude: longitude) }
        case .everywhere: return false
        }
    }

    /// Whether a position lies inside, so many metres from the edge or more; costs less than its distance.
    func isInside(by metres: Double, latitude: Double, longitude: Double) -> Bool {
        switch shape {
        case .circle: -signedMetres(latitude: latitude, longitude: longitude) >= metres
        case .polygons(let polygons): polygons.contains { $0.isInside(by: metres, latitude: latitude, longitude: longitude) }
        case .everywhere: true
        }
    }

    /// Metres that ``depth`` is at least, known without a search.
    var leastDepth: Double {
        switch shape {
        case .circle(let circle): circle.radius
        case .polygons(let polygons): polygons.reduce(0) { max($0, $1.fan.leastDepth) }
        case .everywhere: Area.Circle.radiusMax
        }
    }

    /// Metres from the edge to the point that lies deepest inside: a circle's radius, of others within two hundredths.
    public var depth: Double {
        switch shape {
        case .circle(let circle): circle.radius
        case .polygons(let polygons): polygons.reduce(0) { max($0, $1.depth) }
        case .everywhere: Area.Circle.radiusMax
        }
    }

    /// Whether a position may be within so many metres of the area, by its bounds.
    public func mayReach(latitude: Double, longitude: Double, metres: Double) -> Bool {
        if case .circle = shape { return true }
        let north = metres / 110_500
        let cosine = Turned.cosine(min(89.999, abs(latitude) + north))
        let east = min(360, north / max(cosine, 1e-9))
        return bounds.contains { box in
            guard box.south - north <= latitude, latitude <= box.north + north else { return false }
            if box.width + 2 * east >= 360 || abs(latitude) + north >= 89.99 { return true }
            var ahead = longitude - (box.west - east)
            while ahead < 0 { ahead += 360 }
            while ahead >= 360 { ahead -= 360 }
            return ahead <= box.width + 2 * east
        }
    }
}
