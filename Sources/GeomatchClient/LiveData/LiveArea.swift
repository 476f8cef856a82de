internal import Wire

/// A part of the world that a live subscription is limited to.
public enum LiveArea: Sendable, Hashable {
    /// A corner of an area: degrees, WGS 84.
    public struct Point: Sendable, Hashable {
        public var latitude: Double
        public var longitude: Double

        public init(latitude: Double, longitude: Double) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    /// Degrees; across the antimeridian where `west` is greater than `east`.
    case box(west: Double, south: Double, east: Double, north: Double)
    /// The radius in metres, geodesic.
    case circle(latitude: Double, longitude: Double, radius: Double)
    /// The outer ring, then holes. A ring that is not closed is closed with its first corner.
    case polygon([[Point]])

    var json: JSONValue {
        switch self {
        case .box(let west, let south, let east, let north):
            ["bbox": [.double(west), .double(south), .double(east), .double(north)]]
        case .circle(let latitude, let longitude, let radius):
            ["circle": ["latitude": .double(latitude), "longitude": .double(longitude), "radius": .double(radius)]]
        case .polygon(let rings):
            ["type": "Polygon", "coordinates": .array(rings.map { Self.json(ring: $0) })]
        }
    }

    private static func json(ring: [Point]) -> JSONValue {
        var corners = ring
        if let first = ring.first, ring.last != first { corners.append(first) }
        return .array(corners.map { .array([.double($0.longitude), .double($0.latitude)]) })
    }
}
