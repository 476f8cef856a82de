import Geodesy
import Glibc
import Places
import SeededRandom

/// What ``PlaceTable`` answers, found by looking at every place and every edge.
struct NaivePlaces {
    var places: [String: Place] = [:]

    /// Metres from a position to a place; 0 inside. What is more than `limit` may be infinite.
    static func distance(_ place: Place, latitude: Double, longitude: Double, limit: Double) -> Double {
        switch place.geometry {
        case .point(let placeLatitude, let placeLongitude):
            return Geodesic.distance(
                fromLatitude: latitude, fromLongitude: longitude, toLatitude: placeLatitude, toLongitude: placeLongitude)
        case .polygons(let polygons):
            if polygons.contains(where: { $0.contains(latitude: latitude, longitude: longitude) }) { return 0 }
            var nearest = Double.infinity
            for polygon in polygons {
                polygon.forEachEdge { from, to, _ in
                    nearest = min(nearest, distance(from, to, latitude: latitude, longitude: longitude, limit: limit))
                }
            }
            return nearest
        }
    }

    /// To an edge, by thirds: away from the poles the distance along it falls and then rises.
    private static func distance(
        _ from: SIMD2<Double>, _ to: SIMD2<Double>, latitude: Double, longitude: Double, limit: Double
    ) -> Double {
        func distance(_ share: Double) -> Double {
            let point = from + (to - from) * share
            let x = point.x > 180 ? point.x - 360 : point.x < -180 ? point.x + 360 : point.x
            return Geodesic.distance(fromLatitude: latitude, fromLongitude: longitude, toLatitude: point.y, toLongitude: x)
        }
        let ends = min(distance(0), distance(1))
        let length = (abs(to.x - from.x) + abs(to.y - from.y)) * 111_700
        guard ends - length < limit else { return .infinity }
        var low = 0.0
        var high = 1.0
        while (high - low) * length > 0.01 {
            let third = (high - low) / 3
            if distance(low + third) < distance(high - third) { high -= third } else { low += third }
        }
        return min(distance((low + high) / 2), ends)
    }

    /// Where tests put their places: a town, the equator, both sides of the antimeridian, the north, and a pole.
    static let sites: [(latitude: Double, longitude: Double)] = [
        (43.7384, 7.4246), (0, 20), (-17.8, 180), (66.5, -179.999), (78.2, 15.6), (89.9995, 40), (-90, 0),
    ]

    /// A position some metres from a site.
    static func position(
        near site: (latitude: Double, longitude: Double), metres: Double, _ random: inout SplitMix64
    ) -> (latitude: Double, longitude: Double) {
        let north = Double.random(in: -metres...metres, using: &random) / 111_195
        let latitude = max(-90, min(90, site.latitude + north))
        let wide = metres / 111_195 / max(0.000_01, cos(latitude * .pi / 180))
        var longitude = site.longitude + Double.random(in: -min(180, wide)...min(180, wide), using: &random)
        if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
        return (latitude, longitude)
    }

    /// A star-shaped polygon of so many metres, some with a hole; nil where it would go round a pole or is refused.
    static func polygon(
        at centre: (latitude: Double, longitude: Double), metres: Double, _ random: inout SplitMix64
    ) -> [[Area.Polygon.Vertex]]? {
        guard abs(centre.latitude) + metres * 2 / 111_195 < 89.99 else { return nil }
        let count = 3 + random.below(9)
        let east = 1 / cos(centre.latitude * .pi / 180)
        func ring(_ scale: Double) -> [Area.Polygon.Vertex] {
            (0..<count).map { corner in
                let angle = 2 * Double.pi * Double(corner) / Double(count)
                let reach = metres / 111_195 * scale * Double.random(in: 0.6...1, using: &random)
                var longitude = centre.longitude + reach * cos(angle) * east
                if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
                // As files have them: seven decimals.
                return Area.Polygon.Vertex(
                    longitude: (longitude * 1e7).rounded() / 1e7,
                    latitude: ((centre.latitude + reach * sin(angle)) * 1e7).rounded() / 1e7)
            }
        }
        return random.chance(30) && count > 4 ? [ring(1), ring(0.4)] : [ring(1)]
    }

    static func place(_ id: String, near site: (latitude: Double, longitude: Double), _ random: inout SplitMix64) -> Place {
        let position = position(near: site, metres: random.chance(20) ? 3000 : 200, &random)
        var geometry = PlaceGeometry.point(latitude: position.latitude, longitude: position.longitude)
        if random.chance(40) {
            let metres = random.pick([8.0, 20, 60, 300, 2000, 60_000])
            let polygons = (0..<(random.chance(20) ? 2 : 1)).compactMap { _ in
                polygon(at: NaivePlaces.position(near: site, metres: 300, &random), metres: metres, &random)
            }
            if let read = try? PlaceGeometry(polygons: polygons) { geometry = read }
        }
        return Place(
            id: id, name: random.chance(50) ? "Name of \(id)" : nil,
            categoryIDs: Array(["c0", "c1", "c2", "c3", "c4"].shuffled(using: &random).prefix(random.below(4))),
            chainID: random.chance(30) ? "chain\(random.below(4))" : nil,
            openingHours: random.chance(30) ? "Mo-Fr 0\(random.below(9)):00+" : nil,
            timeZone: random.chance(50) ? "Europe/Monaco" : nil,
            placerank: random.chance(50) ? Double(random.below(100)) : nil, geometry: geometry,
            owner: random.chance(50) ? "client" : nil, revision: random.chance(50) ? "1-\(random.below(99))" : nil)
    }
}
