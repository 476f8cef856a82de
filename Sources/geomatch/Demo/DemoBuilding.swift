import Foundation
import Geodesy
import Wire

/// A building on paper: the same on every floor but for the ground floor's lobby and canteen.
///
/// A corridor runs from west to east through the middle; rooms with one door each lie north and south of it.
struct DemoBuilding {
    enum Kind: String {
        case office, meeting, lobby, canteen, stairs, corridor
    }

    /// A room, in metres from the south-west corner of the building.
    struct Room {
        var id: String
        var kind: Kind
        /// From 0.
        var floor: Int
        var west, south, east, north: Double
        /// Where desks are; empty but in offices.
        var desks: [Point] = []

        /// People who fit; 0 where nobody stays.
        var capacity: Int {
            switch kind {
            case .office: desks.count
            case .meeting: 8
            case .lobby: 20
            case .canteen: 60
            case .stairs, .corridor: 0
            }
        }

        /// Where the door to the corridor is, along it.
        var door: Double { (west + east) / 2 }
        var centre: Point { Point(x: (west + east) / 2, y: (south + north) / 2) }
    }

    /// Metres east and north of the corner.
    struct Point: Equatable {
        var x, y: Double
    }

    static let venue = "hq"
    static let building = "main"
    static let width = 40.0
    static let depth = 16.0
    static let corridorSouth = 6.5
    static let corridorNorth = 9.5
    /// The axis of the corridor.
    static let axis = (corridorSouth + corridorNorth) / 2
    /// The corner in degrees.
    static let corner = Position(latitude: 43.73, longitude: 7.42)

    let floors: Int
    private(set) var rooms: [Room] = []
    /// By floor, into ``rooms``.
    private(set) var corridors: [Int] = []
    private(set) var stairs: [Int] = []
    private(set) var lobby = 0
    private(set) var canteen = 0

    /// - Parameter floors: At least 1.
    init(floors: Int) {
        self.floors = floors
        for floor in 0..<floors { addFloor(floor) }
    }

    private mutating func addFloor(_ floor: Int) {
        corridors.append(rooms.count)
        rooms.append(
            Room(
                id: "corridor", kind: .corridor, floor: floor, west: 0, south: Self.corridorSouth, east: Self.width,
                north: Self.corridorNorth))
        let south: [(String, Kind, Double, Double)] =
            floor == 0
            ? [("s1", .office, 0, 8), ("s2", .office, 8, 16), ("lobby", .lobby, 16, 24), ("canteen", .canteen, 24, 40)]
            : (0..<5).map { ("s\($0 + 1)", .office, Double($0) * 8, Double($0 + 1) * 8) }
        let north: [(String, Kind, Double, Double)] = [
            ("n1", .meeting, 0, 8), ("n2", .office, 8, 16), ("stairs", .stairs, 16, 24), ("n4", .office, 24, 32),
            ("n5", .meeting, 32, 40),
        ]
        for (rooms, lower, upper) in [(south, 0, Self.corridorSouth), (north, Self.corridorNorth, Self.depth)] {
            for (id, kind, west, east) in rooms {
                var room = Room(id: id, kind: kind, floor: floor, west: west, south: lower, east: east, north: upper)
                if kind == .office { room.desks = Self.desks(in: room) }
                switch kind {
                case .stairs: stairs.append(self.rooms.count)
                case .lobby: lobby = self.rooms.count
                case .canteen: canteen = self.rooms.count
                default: break
                }
                self.rooms.append(room)
            }
        }
    }

    /// Two rows of three.
    private static func desks(in room: Room) -> [Point] {
        (0..<6).map { number in
            Point(
                x: room.west + (Double(number % 3) + 0.5) * (room.east - room.west) / 3,
                y: room.south + (Double(number / 3) + 0.5) * (room.north - room.south) / 2)
        }
    }

    static func floorID(_ floor: Int) -> String { "\(floor)" }

    var deskCount: Int { rooms.reduce(0) { $0 + $1.desks.count } }

    // MARK: On the earth

    /// Source of the radii of curvature: any text of geodesy; within a building the surface is flat to less than a millimetre.
    private static let metresPerDegree: (latitude: Double, longitude: Double) = {
        let radians = corner.latitude * .pi / 180
        let root = (1 - Ellipsoid.eccentricitySquared * sin(radians) * sin(radians)).squareRoot()
        let meridian = Ellipsoid.equatorialRadius * (1 - Ellipsoid.eccentricitySquared) / (root * root * root)
        let normal = Ellipsoid.equatorialRadius / root
        return (meridian * .pi / 180, normal * cos(radians) * .pi / 180)
    }()

    /// Degrees to 1 cm.
    static func position(_ point: Point) -> Position {
        let rounded = { (degrees: Double) in (degrees * 1e7).rounded() / 1e7 }
        return Position(
            latitude: rounded(corner.latitude + point.y / metresPerDegree.latitude),
            longitude: rounded(corner.longitude + point.x / metresPerDegree.longitude))
    }

    // MARK: As structure

    /// Venue, building, floors, rooms and desks as the features of `dataset/import`, parents first.
    var features: [JSONValue] {
        let outline = Self.rectangle(0, 0, Self.width, Self.depth)
        let inBuilding: JSONObject = ["venue": .string(Self.venue), "building": .string(Self.building)]
        var features = [
            Self.feature("venue", Self.venue, [:], Self.rectangle(-20, -20, Self.width + 20, Self.depth + 20)),
            Self.feature("building", Self.building, ["venue": .string(Self.venue)], outline),
        ]
        for floor in 0..<floors {
            features.append(
                Self.feature("floor", Self.floorID(floor), inBuilding, outline, ["floorIndex": .integer(Int64(floor))]))
        }
        for room in rooms {
            var parents = inBuilding
            parents["floor"] = .string(Self.floorID(room.floor))
            let capacity: JSONObject = room.capacity > 0 ? ["capacity": .integer(Int64(room.capacity))] : [:]
            features.append(
                Self.feature("room", room.id, parents, Self.rectangle(room.west, room.south, room.east, room.north), capacity))
        }
        for room in rooms {
            var parents = inBuilding
            parents["floor"] = .string(Self.floorID(room.floor))
            parents["room"] = .string(room.id)
            for (number, desk) in room.desks.enumerated() {
                features.append(
                    Self.feature(
                        "location", Self.deskID(number), parents,
                        ["type": "Point", "coordinates": .array(Self.coordinates(desk))]))
            }
        }
        return features
    }

    static func deskID(_ number: Int) -> String { "desk\(number + 1)" }

    private static func feature(
        _ level: String, _ id: String, _ parents: JSONObject, _ geometry: JSONValue, _ more: JSONObject = [:]
    ) -> JSONValue {
        var properties: JSONObject = ["level": .string(level), "id": .string(id), "parents": .object(parents)]
        for member in more.members { properties[member.key] = member.value }
        return ["type": "Feature", "properties": .object(properties), "geometry": geometry]
    }

    private static func rectangle(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> JSONValue {
        let ring = [(west, south), (east, south), (east, north), (west, north), (west, south)].map {
            JSONValue.array(coordinates(Point(x: $0.0, y: $0.1)))
        }
        return ["type": "Polygon", "coordinates": .array([.array(ring)])]
    }

    private static func coordinates(_ point: Point) -> [JSONValue] {
        let position = position(point)
        return [.double(position.longitude), .double(position.latitude)]
    }
}
