import Geodesy
import Ranging
import Records

/// Somebody who sees beacons: a phone, or a gateway on a wall.
final class Observer {
    let number: UInt32
    let key: String
    /// The id of its device, if it is one.
    let id: String
    /// The live topic it tells its sightings on; nil until the first was accepted.
    var state: LiveState?
    /// Its live message is behind.
    var isUntold = false
    var toldAt: Int64 = 0
    /// Sightings that it may tell at present.
    private var allowance: Double?
    private var allowedAt: Int64 = 0
    /// Where it is as a gateway, as last looked up.
    var place: GatewayPlace?

    init(number: UInt32, key: String, id: String) {
        self.number = number
        self.key = key
        self.id = id
    }

    /// Takes so many sightings out of what it may tell: `rate` a second, five seconds' worth at once.
    ///
    /// - Returns: false where it has told too many; nothing is taken then.
    func spend(_ count: Int, at now: Int64, rate: Int) -> Bool {
        let most = Double(rate) * 5
        let gained = Double(max(0, min(now - allowedAt, 60_000))) / 1000 * Double(rate)
        let have = min(most, (allowance ?? most) + gained)
        allowedAt = now
        guard have >= Double(count) else {
            allowance = have
            return false
        }
        allowance = have - Double(count)
        return true
    }
}

/// Where an observer stands, for the beacons it hears.
struct GatewayPlace {
    /// The number of the live message and of the dataset's declarations that this was read from.
    var asOf: (number: Int64, declarations: UInt32)
    /// nil: not known.
    var position: Position?
    /// A number of ``GatewayRooms``; nil: not known.
    var room: Int?
}

/// The rooms that gateways are in, by number.
struct GatewayRooms {
    private var numbers = ByteKeyed<Int>()
    private var levels: [[String]] = []

    /// - Parameter path: Venue, building, floor and room.
    mutating func number(of path: [String]) -> Int {
        // No level has a NUL: topics cannot.
        let key = path.joined(separator: "\u{0}")
        if let known = numbers[key] { return known }
        numbers[key] = levels.count
        levels.append(path)
        return levels.count - 1
    }

    subscript(number: Int) -> [String] { levels[number] }
}
