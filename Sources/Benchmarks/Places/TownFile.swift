import Foundation
import Geodesy
import Places

/// The places of a real town, from GeoJSON files of points and polygons.
struct TownFile {
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var places: [Place] = []

    init(paths: [String]) throws {
        for path in paths {
            let value = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
            guard let features = (value as? [String: Any])?["features"] as? [[String: Any]] else {
                throw Unreadable(description: "\(path) is no FeatureCollection")
            }
            for feature in features {
                guard let geometry = Self.geometry(feature["geometry"] as? [String: Any]) else { continue }
                places.append(Place(id: "\(places.count)", geometry: geometry))
            }
        }
        guard !places.isEmpty else { throw Unreadable(description: "no places in \(paths)") }
    }

    private static func geometry(_ value: [String: Any]?) -> PlaceGeometry? {
        switch (value?["type"] as? String, value?["coordinates"]) {
        case ("Point"?, let position?):
            vertex(position).flatMap { try? PlaceGeometry(latitude: $0.latitude, longitude: $0.longitude) }
        case ("Polygon"?, let rings as [[Any]]): try? PlaceGeometry(polygons: [rings.map { $0.compactMap(vertex) }])
        case ("MultiPolygon"?, let polygons as [[[Any]]]):
            try? PlaceGeometry(polygons: polygons.map { $0.map { $0.compactMap(vertex) } })
        default: nil
        }
    }

    private static func vertex(_ value: Any) -> Area.Polygon.Vertex? {
        guard let numbers = value as? [Double], numbers.count >= 2 else { return nil }
        return Area.Polygon.Vertex(longitude: numbers[0], latitude: numbers[1])
    }

    /// Where people are: some metres from a place, any direction.
    func position(_ table: PlaceTable, _ random: inout SplitMix64) -> (latitude: Double, longitude: Double) {
        let point = table.point(of: UInt32(Int.random(in: places.indices, using: &random)))
        let north = Double.random(in: -100...100, using: &random) / 111_195
        let east = Double.random(in: -100...100, using: &random) / 111_195 / Turning.cosine(point.latitude)
        return (point.latitude + north, point.longitude + east)
    }
}
