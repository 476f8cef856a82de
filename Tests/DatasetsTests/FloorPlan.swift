import Geodesy
import Wire

/// Structure in metres east and north of a corner, as GeoJSON.
struct FloorPlan {
    static let latitude = 43.73
    static let longitude = 7.42
    private static let degreesNorth = 1 / 111_195.0
    private static let degreesEast = 1 / 80_355.0

    static func position(_ x: Double, _ y: Double, accuracy: Double? = nil) -> Position {
        Position(
            latitude: latitude + y * degreesNorth, longitude: longitude + x * degreesEast, altitude: nil,
            horizontalAccuracy: accuracy)
    }

    /// The payload of a position.
    static func payload(_ x: Double, _ y: Double, _ extra: String = "") -> String {
        let position = position(x, y)
        return #"{"latitude":\#(position.latitude),"longitude":\#(position.longitude)\#(extra)}"#
    }

    /// A Polygon between two corners.
    static func rectangle(_ x0: Double, _ y0: Double, _ x1: Double, _ y1: Double) -> String {
        let ring = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)].map { x, y in
            let position = position(x, y)
            return "[\(position.longitude),\(position.latitude)]"
        }
        return #"{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ","))]]}"#
    }

    static func feature(_ properties: String, _ geometry: String = "null") -> String {
        #"{"type":"Feature","properties":{\#(properties)},"geometry":\#(geometry)}"#
    }

    static func collection(_ features: [String]) -> String {
        #"{"structure":{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}}"#
    }

    /// One venue, one building of 30 × 10 m with two floors, on each of which are rooms a, b and c of 10 × 10 m from west to
    /// east; in room c of floor 0 a booth of 4 × 4 m. Room a is for 5.
    static var house: String {
        var features = [
            feature(#""level":"venue","id":"v""#, rectangle(-50, -50, 80, 60)),
            feature(#""level":"building","id":"h","parents":["v"]"#, rectangle(0, 0, 30, 10)),
        ]
        for floor in 0...1 {
            features.append(
                feature(#""level":"floor","id":"\#(floor)","parents":{"venue":"v","building":"h"},"floorIndex":\#(floor)"#))
            for (place, room) in ["a", "b", "c"].enumerated() {
                let west = Double(place) * 10
                let capacity = room == "a" ? #","capacity":5"# : ""
                features.append(
                    feature(
                        #""level":"room","id":"\#(room)","parents":["v","h","\#(floor)"]\#(capacity)"#,
                        rectangle(west, 0, west + 10, 10)))
            }
        }
        features.append(
            feature(#""level":"room","id":"booth","parents":["v","h","0"]"#, rectangle(23, 3, 27, 7)))
        return collection(features)
    }
}

extension HubHarness {
    /// Imports a structure as an administrator.
    @discardableResult
    func importStructure(_ parameters: String, dataset: String = "d") -> JSONValue? {
        result("dataset/import", parameters, client: "admin", dataset: dataset)
    }

    /// What is retained of the occupancy of a place: `nrOfPeople`; nil for nothing.
    func occupancy(_ levels: String) -> Double? {
        retained["live/d/\(levels)/-/occupancy"].flatMap { try? JSONValue.parse($0) }?["properties"]?["nrOfPeople"]?.number
    }
}
