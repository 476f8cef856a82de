import Foundation
import Geodesy
import Wire

/// Walkers and vehicles on a grid of streets, as a value: time in, updates out, the same for the same seed.
///
/// Blocks of houses lie between the streets, with shops at some corners. A mover that comes to a crossing goes on somewhere, seldom back.
struct DemoCity: DemoScene {
    /// Who is on the way.
    struct Mover {
        var id: String
        /// Metres a second.
        var pace: Double
        /// From the axis of the street, to the right.
        var lane: Double
        /// Seconds between two of its positions.
        var every: Int
        var column, row: Int
        /// To the next crossing.
        var east, north: Int
        /// Metres from the last crossing.
        var way: Double
    }

    /// A shop at a corner.
    struct Shop {
        var id: String
        var kind: Kind
        var position: Position
    }

    enum Kind: String, CaseIterable {
        case cafe, bakery, pharmacy, books

        var name: String {
            switch self {
            case .cafe: "Café"
            case .bakery: "Bakery"
            case .pharmacy: "Pharmacy"
            case .books: "Bookshop"
            }
        }
    }

    static let venue = "city"
    /// Blocks along each side.
    static let blocks = 16
    /// Metres from one street to the next, and across a street.
    static let pitch = 96.0
    static let street = 18.0
    /// The south-west corner, in degrees.
    static let corner = Position(latitude: 43.7000, longitude: 7.2500)

    let seconds: Int
    private(set) var second = 0
    private(set) var movers: [Mover] = []
    let shops: [Shop]
    private let walkers: Int
    private var random: DemoRandom

    /// - Parameters:
    ///   - walkers: At least 0.
    ///   - vehicles: At least 0.
    init(walkers: Int, vehicles: Int, seconds: Int, seed: UInt64) {
        self.seconds = seconds
        self.walkers = walkers
        var random = DemoRandom(seed: seed)
        shops = Self.shops(&random)
        for number in 0..<walkers + vehicles {
            let isWalker = number < walkers
            let pace = isWalker ? 0.9 + random.unit() * 0.8 : 6 + random.unit() * 7
            var mover = Mover(
                id: isWalker ? "walker\(number + 1)" : "taxi\(number - walkers + 1)", pace: pace, lane: isWalker ? 6.5 : 2.2,
                every: isWalker ? 2 : 1, column: random.below(Self.blocks + 1), row: random.below(Self.blocks + 1), east: 0,
                north: 0,
                way: random.unit() * Self.pitch)
            Self.turn(&mover, &random)
            movers.append(mover)
        }
        self.random = random
    }

    var clock: String { "\(second) s" }

    var details: JSONObject {
        [
            "walkers": .integer(Int64(walkers)), "vehicles": .integer(Int64(movers.count - walkers)),
            "shops": .integer(Int64(shops.count)),
        ]
    }

    var outcome: String { "\(walkers) walkers, \(movers.count - walkers) vehicles, \(shops.count) shops" }

    mutating func next() -> [DemoDay.Update] {
        guard !isOver else { return [] }
        var updates: [DemoDay.Update] = []
        for index in movers.indices {
            advance(index)
            // Not all in the same second.
            if (second + index) % movers[index].every == 0 { updates.append(update(of: movers[index])) }
        }
        second += 1
        return updates
    }

    // MARK: On the way

    private mutating func advance(_ index: Int) {
        movers[index].way += movers[index].pace
        while movers[index].way >= Self.pitch {
            movers[index].way -= Self.pitch
            movers[index].column += movers[index].east
            movers[index].row += movers[index].north
            Self.turn(&movers[index], &random)
        }
    }

    /// Where it goes on at a crossing: straight rather than elsewhere, and back only at the edge.
    private static func turn(_ mover: inout Mover, _ random: inout DemoRandom) {
        let (east, north) = (mover.east, mover.north)
        let ways = [(east, north), (east, north), (1, 0), (-1, 0), (0, 1), (0, -1)].filter { way in
            (way.0 != 0 || way.1 != 0) && (0...blocks).contains(mover.column + way.0) && (0...blocks).contains(mover.row + way.1)
                && !(way.0 == -east && way.1 == -north)
        }
        (mover.east, mover.north) = ways.isEmpty ? (-east, -north) : ways[random.below(ways.count)]
    }

    private func update(of mover: Mover) -> DemoDay.Update {
        let x = Double(mover.column) * Self.pitch + Double(mover.east) * mover.way + Double(mover.north) * mover.lane
        let y = Double(mover.row) * Self.pitch + Double(mover.north) * mover.way - Double(mover.east) * mover.lane
        let position = Self.position(x, y)
        let course = mover.east == 1 ? 90 : mover.east == -1 ? 270 : mover.north == 1 ? 0 : 180
        return DemoDay.Update(
            levels: ["-", "-", "-", "-", mover.id, "position"],
            properties: [
                "latitude": .double(position.latitude), "longitude": .double(position.longitude),
                "horizontalAccuracy": .double(mover.every == 1 ? 4 : 6), "speed": .double((mover.pace * 10).rounded() / 10),
                "course": .integer(Int64(course)),
            ])
    }

    // MARK: On paper

    /// Metres east and north of the corner.
    static func position(_ x: Double, _ y: Double) -> Position {
        let metres = 111_195.0
        let rounded = { (degrees: Double) in (degrees * 1e7).rounded() / 1e7 }
        return Position(
            latitude: rounded(corner.latitude + y / metres),
            longitude: rounded(corner.longitude + x / (metres * cos(corner.latitude * .pi / 180))))
    }

    private static func shops(_ random: inout DemoRandom) -> [Shop] {
        var shops: [Shop] = []
        for row in 0..<blocks {
            for column in 0..<blocks where random.unit() < 0.5 {
                let kind = Kind.allCases[random.below(Kind.allCases.count)]
                let (x, y) = (Double(column) * pitch + street / 2 + 3, Double(row) * pitch + street / 2 + 3)
                shops.append(Shop(id: "shop-\(column)-\(row)", kind: kind, position: position(x, y)))
            }
        }
        return shops
    }

    /// The blocks as buildings of a venue.
    static var features: [JSONValue] {
        let end = Double(blocks) * pitch
        let area = feature(
            ["level": "venue", "id": .string(venue), "name": "City"],
            ring(-pitch / 2, -pitch / 2, end + pitch / 2, end + pitch / 2))
        return [area]
            + (0..<blocks * blocks).map { number in
                let (column, row) = (number % blocks, number / blocks)
                let (x, y) = (Double(column) * pitch + street / 2, Double(row) * pitch + street / 2)
                return feature(
                    ["level": "building", "id": .string("block-\(column)-\(row)"), "parents": [.string(venue)]],
                    ring(x, y, x + pitch - street, y + pitch - street))
            }
    }

    private static func feature(_ properties: JSONObject, _ geometry: JSONValue) -> JSONValue {
        ["type": "Feature", "properties": .object(properties), "geometry": geometry]
    }

    private static func ring(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> JSONValue {
        let corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
        return ["type": "Polygon", "coordinates": .array([.array(corners.map { coordinates(position($0.0, $0.1)) })])]
    }

    static func coordinates(_ position: Position) -> JSONValue { [.double(position.longitude), .double(position.latitude)] }
}
