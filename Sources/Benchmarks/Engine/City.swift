import Geodesy
import Matching
import Selectors

/// A square of evenly spread devices that move in small steps.
struct City {
    static let range = 250.0
    static let topic = "fleet"
    static let start: Int64 = 1_700_000_000_000

    let engine = Engine()
    private(set) var devices: [DeviceRef] = []
    private(set) var random = SplitMix64(seed: 7)
    private var positions: [Position] = []
    private let side: Double
    private let metresPerDegreeEast: Double
    private static let south = 47.0
    private static let west = 8.0

    /// - Parameter reach: Entries of the other side within 500 m of each.
    /// - Parameter hasSelectors: false: each subscription takes whatever is in range.
    init(devices count: Int, reach: Double, hasSelectors: Bool = true) throws {
        let circle = Double.pi * (2 * City.range) * (2 * City.range)
        side = (Double(count / 2) * circle / reach).squareRoot()
        let middle = ECEF(latitude: City.south + side / 222_400, longitude: 0)
        metresPerDegreeEast = middle.x * .pi / 180
        let selectors = try hasSelectors ? City.selectors() : [Selector("")]
        var effects: [Effect] = []
        for number in 0..<count {
            let device = engine.addDevice()
            devices.append(device)
            positions.append(newPosition())
            // Moved, not placed: what is placed is looked at whole with its first movement.
            engine.move(device, to: positions[number], at: City.start, into: &effects)
            if number.isMultiple(of: 2) {
                addPublication(on: device, evaluate: false, into: &effects)
            } else {
                addSubscription(on: device, selectors, evaluate: false, into: &effects)
            }
        }
    }

    /// Fifty selectors; a publication's `kind` is one of a hundred, so that one pair in a hundred matches.
    static func selectors() throws -> [Selector] { try (0..<50).map { try Selector("kind = \($0) and speed < 200") } }

    mutating func newPosition() -> Position {
        position(east: Double.random(in: 0..<side, using: &random), north: Double.random(in: 0..<side, using: &random))
    }

    mutating func addPublication(on device: DeviceRef, evaluate: Bool, into effects: inout [Effect]) {
        let kind = Int64.random(in: 0..<100, using: &random)
        let speed = Double.random(in: 0..<50, using: &random)
        let properties = Properties([
            (name: "kind", value: .integer(kind)), (name: "speed", value: .double(speed)), (name: "free", value: .boolean(true)),
        ])
        _ = engine.addPublication(
            on: device, topic: City.topic, range: City.range, expiresAt: City.start + 86_400_000, properties: properties,
            at: City.start, evaluate: evaluate, into: &effects)
    }

    mutating func addSubscription(on device: DeviceRef, _ selectors: [Selector], evaluate: Bool, into effects: inout [Effect]) {
        _ = engine.addSubscription(
            on: device, topic: City.topic, range: City.range, expiresAt: City.start + 86_400_000,
            selector: selectors.randomElement(using: &random)!,
            options: MatchOptions(matchTTL: 86_400_000, matchDTL: 2 * City.range),
            at: City.start, evaluate: evaluate, into: &effects)
    }

    /// The next moves of randomly chosen devices.
    mutating func moves(_ count: Int) -> [Move] {
        (0..<count).map { _ in step(Int.random(in: devices.indices, using: &random)) }
    }

    private mutating func step(_ number: Int) -> Move {
        // A step along one of sixteen thousand directions; sine and cosine come from a point on the unit sphere's equator.
        let direction = ECEF(latitude: 0, longitude: Double.random(in: -180..<180, using: &random))
        let east = 10 * direction.x / Ellipsoid.equatorialRadius
        let north = 10 * direction.y / Ellipsoid.equatorialRadius
        let here = positions[number]
        let next = Position(
            latitude: bounced(here.latitude, by: north / 111_200, from: City.south, width: side / 111_200),
            longitude: bounced(
                here.longitude, by: east / metresPerDegreeEast, from: City.west, width: side / metresPerDegreeEast))
        positions[number] = next
        return Move(device: devices[number], position: next)
    }

    /// The next fixes of randomly chosen devices, of which four of five are at rest.
    mutating func fixes(_ count: Int, noise metres: Double) -> [Move] {
        (0..<count).map { _ in
            let number = Int.random(in: devices.indices, using: &random)
            if number % 5 == 0 { return step(number) }
            let here = positions[number]
            let north = metres * bell() / 111_200
            let east = metres * bell() / metresPerDegreeEast
            return Move(
                device: devices[number], position: Position(latitude: here.latitude + north, longitude: here.longitude + east))
        }
    }

    /// About normally distributed with variance 1.
    private mutating func bell() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += Double.random(in: 0..<1, using: &random) }
        return sum
    }

    private func bounced(_ value: Double, by step: Double, from: Double, width: Double) -> Double {
        let next = value + step
        return next < from || next > from + width ? value - step : next
    }

    private func position(east: Double, north: Double) -> Position {
        Position(latitude: City.south + north / 111_200, longitude: City.west + east / metresPerDegreeEast)
    }
}
