import Geodesy
import Matching
import Selectors

/// The test Tile38's users report about 6,000 updates a second of (tidwall/tile38#491): 23,000 fences of 5 km around places
/// that cluster in towns, and points set on the same places one after the other, each of which enters the fences around it.
///
/// Their places are retail locations of the USA; here are 900 towns, whose sizes fall as a town's rank rises (Zipf), over as
/// large a country, places normally spread around the middle of each. A fence is a subscription of a pin, without selector. In
/// the first round each place gets its own mover, as in the report; then one mover visits all places in random order, and at
/// last it drives a kilometre at a time.
struct FenceTest {
    var fences = 23_000
    private static let towns = 900
    private static let start: Int64 = 1_700_000_000_000
    private static let topic = "fleet"

    func measure(into report: inout Report) throws {
        for mode in [MatchOptions.Mode.once, .visit] { try measure(mode, into: &report) }
    }

    private func measure(_ mode: MatchOptions.Mode, into report: inout Report) throws {
        let engine = Engine()
        var random = SplitMix64(seed: 23)
        var effects: [Effect] = []
        let places = places(&random)
        let options = MatchOptions(mode: mode, matchTTL: .max, matchDTL: 10_000)
        let selector = try Selector("")
        for place in places {
            let pin = engine.addDevice()
            engine.place(pin, at: place, heardAt: Self.start)
            _ = engine.addSubscription(
                on: pin, topic: Self.topic, range: 5000, expiresAt: .max, selector: selector, options: options, at: Self.start,
                evaluate: false, into: &effects)
        }
        let movers = places.indices.map { _ in engine.addDevice() }
        for mover in movers {
            _ = engine.addPublication(
                on: mover, topic: Self.topic, range: 0, expiresAt: .max, properties: .none, at: Self.start, into: &effects)
        }
        let name = "fences, \(mode == .once ? "once" : "visits")"
        run("\(name): a new point on each place", engine, movers.count, into: &report) { number, effects in
            engine.move(movers[number], to: places[number], at: Self.start, into: &effects)
        }
        run("\(name): the same points again", engine, movers.count, into: &report) { number, effects in
            engine.move(movers[number], to: places[number], at: Self.start + 1, into: &effects)
        }
        for mover in movers.dropFirst() { _ = engine.removeDevice(mover, at: Self.start + 2, into: &effects) }
        effects.removeAll()
        let order = (0..<60_000).map { _ in Int.random(in: places.indices, using: &random) }
        run("\(name): one mover from place to place", engine, order.count, into: &report) { number, effects in
            engine.move(movers[0], to: places[order[number]], at: Self.start + 3, into: &effects)
        }
        var (latitude, longitude) = (places[0].latitude, places[0].longitude)
        let drive = (0..<60_000).map { number in
            latitude += number / 30 % 2 == 0 ? 0.009 : -0.009
            longitude += number / 15 % 2 == 0 ? 0.002 : -0.002
            return Position(latitude: latitude, longitude: longitude)
        }
        run("\(name): one mover, 1 km at a time in the largest town", engine, drive.count, into: &report) { number, effects in
            engine.move(movers[0], to: drive[number], at: Self.start + 4, into: &effects)
        }
    }

    func places(_ random: inout SplitMix64) -> [Position] {
        let towns = (0..<Self.towns).map { _ in
            Position(
                latitude: Double.random(in: 28..<46, using: &random), longitude: Double.random(in: -122..<(-72), using: &random))
        }
        let weights = (1...Self.towns).map { 1 / Double($0) }
        let total = weights.reduce(0, +)
        var places: [Position] = []
        for (town, weight) in zip(towns, weights) {
            let count = Int((Double(fences) * weight / total).rounded())
            // A large town is wide as well: about four kilometres for a hundred places.
            let spread = 0.004 * Double(count).squareRoot()
            for _ in 0..<max(1, count) {
                places.append(
                    Position(
                        latitude: town.latitude + spread * bell(&random),
                        longitude: town.longitude + spread * 1.25 * bell(&random)))
            }
        }
        return Array(places.shuffled(using: &random).prefix(fences)).sorted { $0.latitude < $1.latitude }
    }

    /// About normally distributed with variance 1: the sum of twelve.
    private func bell(_ random: inout SplitMix64) -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
    }

    private func run(
        _ name: String, _ engine: Engine, _ count: Int, into report: inout Report, _ step: (Int, inout [Effect]) -> Void
    ) {
        var effects: [Effect] = []
        let before = engine.tally
        var seen = 0
        let elapsed = seconds {
            for number in 0..<count {
                step(number, &effects)
                seen += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        let after = engine.tally
        let each = Double(count)
        report.add(
            name, each / elapsed, "1/s",
            note: "\(fences) fences of 5 km; each: \(figure(Double(after.candidates - before.candidates) / each)) candidates, "
                + "\(figure(Double(after.arrivals - before.arrivals) / each)) entered, \(figure(Double(seen) / each)) effects")
    }
}
