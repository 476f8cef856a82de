import Geodesy
import Ranging
import Records

/// Somebody who sees beacons: a phone, or a gateway on a wall.
final class Observer {
    let number: UInt32
    let key: String
    /// The id of its device, if it is one.
    let id: String
    /// The live topic it reports its sightings on; nil until the first was accepted.
    var state: LiveState?
    /// Its live message is behind.
    var isBehind = false
    var reportedAt: Int64 = 0
    /// Sightings that it may send at present.
    private var allowance: Double?
    private var allowedAt: Int64 = 0
    /// Where it is as a gateway, as last looked up.
    var place: GatewayPlace?

    init(number: UInt32, key: String, id: String) {
        self.number = number
        self.key = key
        self.id = id
    }

    /// A full list of beacons is sent at most so often.
    private static let longListMilliseconds: Int64 = 250

    /// Its last live message is long enough ago for a long one.
    func mayReport(at now: Int64) -> Bool { now - reportedAt >= Self.longListMilliseconds || now < reportedAt }

    /// It reports its sightings on this topic from now on.
    ///
    /// - Returns: The former topic, whose message is no longer true.
    func move(to state: LiveState) -> LiveState? {
        guard self.state !== state else { return nil }
        defer { self.state = state }
        place = nil
        return self.state
    }

    /// Charges it for so many sightings: `rate` a second, five seconds' worth at once.
    ///
    /// - Returns: false where it has sent too many; it is charged for none then.
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

/// Where an observer is, for the beacons it sees.
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
