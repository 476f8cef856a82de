import Geodesy
import Places

/// Places for measurements: evenly over square towns, a twentieth of them as outlines of eight corners, every eighth with opening
/// hours, every fifth of a chain.
struct PlaceMaker {
    let towns: [Town]

    private static let placesOfTown = 20_000

    /// - Parameter density: Places in a square kilometre of a town.
    init(places: Int, density: Double, _ random: inout SplitMix64) {
        towns = (0..<max(1, places / Self.placesOfTown)).map { _ in
            Town(
                south: Double.random(in: -55..<65, using: &random), west: Double.random(in: -180..<179, using: &random),
                metres: (Double(Self.placesOfTown) / density).squareRoot() * 1000)
        }
    }

    /// A square of places.
    struct Town {
        var south, west, metres: Double

        func position(_ random: inout SplitMix64) -> (latitude: Double, longitude: Double) {
            let north = south + metres / 111_195
            let latitude = Double.random(in: south..<north, using: &random)
            let wide = metres / 111_195 / Turning.cosine(south)
            return (latitude, west + Double.random(in: 0..<wide, using: &random))
        }
    }

    func place(_ number: Int, _ random: inout SplitMix64) -> Place {
        let point = towns[Int.random(in: towns.indices, using: &random)].position(&random)
        let hasHours = Int.random(in: 0..<8, using: &random) == 0
        return Place(
            id: "node/\(1_000_000_000 + number * 7)", name: "Place \(number)",
            categoryIDs: ["category \(Int.random(in: 0..<500, using: &random))"],
            chainID: Int.random(in: 0..<5, using: &random) == 0 ? "chain \(Int.random(in: 0..<2000, using: &random))" : nil,
            openingHours: hasHours ? "Mo-Fr \(Int.random(in: 0..<5000, using: &random))" : nil, timeZone: "Europe/Berlin",
            placerank: Double(number % 100), geometry: geometry(point, number))
    }

    /// A point, or an octagon of 25 m.
    private func geometry(_ point: (latitude: Double, longitude: Double), _ number: Int) -> PlaceGeometry {
        guard number % 20 == 0 else { return .point(latitude: point.latitude, longitude: point.longitude) }
        let north = 12.5 / 111_195
        let east = north / Turning.cosine(point.latitude)
        let corners = [(1, 0.4), (0.4, 1), (-0.4, 1), (-1, 0.4), (-1, -0.4), (-0.4, -1), (0.4, -1), (1, -0.4), (1, 0.4)]
        let ring = corners.map { corner in
            Area.Polygon.Vertex(longitude: point.longitude + corner.0 * east, latitude: point.latitude + corner.1 * north)
        }
        return (try? PlaceGeometry(polygons: [[ring]])) ?? .point(latitude: point.latitude, longitude: point.longitude)
    }
}
