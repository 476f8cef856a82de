import Geodesy
import Matching
import Selectors

/// A hundred thousand subscriptions on one topic, all in reach of the mover, with a thousand selectors; and the mirror of it,
/// a hundred thousand publications around a moving subscription.
///
/// Twenty subscriptions ask for what the mover's publication has, the rest share the other selectors evenly, half of them by
/// value (`line = 17 and …`), half by range (`price between 300 and 301`).
struct SelectorHeavy {
    var subscriptions = 100_000
    var selectors = 1000
    private static let wanted = 20
    private static let topic = "market"
    private static let start: Int64 = 1_700_000_000_000
    private static let south = Position(latitude: 47, longitude: 8)
    private static let options = MatchOptions(matchTTL: 0, matchDTL: 1)

    func measure(into report: inout Report) throws {
        try measureForward(into: &report)
        try measureReverse(into: &report)
    }

    /// Somewhere within 300 m.
    private func near(_ random: inout SplitMix64) -> Position {
        Position(
            latitude: Self.south.latitude + Double.random(in: -0.0019...0.0019, using: &random),
            longitude: Self.south.longitude + Double.random(in: -0.0027...0.0027, using: &random))
    }

    private func measureForward(into report: inout Report) throws {
        let engine = Engine()
        var random = SplitMix64(seed: 5)
        var effects: [Effect] = []
        let all = try (0..<selectors).map { number in
            if number == 0 { return try Selector("line = 0 and price < 10") }
            return try number.isMultiple(of: 2)
                ? Selector("line = \(number) and price < 900") : Selector("price between \(number) and \(Double(number) + 0.9)")
        }
        for number in 0..<subscriptions {
            let device = engine.addDevice()
            engine.place(device, at: near(&random), heardAt: Self.start)
            _ = engine.addSubscription(
                on: device, topic: Self.topic, range: 1000, expiresAt: .max,
                selector: number < Self.wanted ? all[0] : all[1 + number % (selectors - 1)], options: Self.options,
                at: Self.start,
                evaluate: false, into: &effects)
        }
        let mover = engine.addDevice()
        engine.place(mover, at: Self.south, heardAt: Self.start)
        let publication = engine.addPublication(
            on: mover, topic: Self.topic, range: 1000, expiresAt: .max, properties: mine, at: Self.start, into: &effects)
        effects.removeAll(keepingCapacity: true)
        let here = (0..<4096).map { _ in near(&random) }
        let far = Position(latitude: 46, longitude: 8)
        run("steps of up to 600 m among them", engine, here.count * 10, into: &report) { number, effects in
            engine.move(mover, to: here[number & 4095], at: Self.start, into: &effects)
        }
        run("jumps from far away into all of them and back", engine, 20_000, into: &report) { number, effects in
            engine.move(mover, to: number & 1 == 0 ? far : here[number & 4095], at: Self.start, into: &effects)
        }
        run("new properties each time", engine, 20_000, into: &report) { _, effects in
            engine.update(
                publication, topic: Self.topic, range: 1000, expiresAt: .max, properties: mine, at: Self.start, into: &effects)
        }
    }

    private var mine: Properties {
        Properties([
            (name: "line", value: .integer(0)), (name: "price", value: .double(0.5)), (name: "name", value: .string("bread")),
        ])
    }

    private func measureReverse(into report: inout Report) throws {
        let engine = Engine()
        var random = SplitMix64(seed: 6)
        var effects: [Effect] = []
        for number in 0..<subscriptions {
            let device = engine.addDevice()
            engine.place(device, at: near(&random), heardAt: Self.start)
            let properties = Properties([
                (name: "item", value: .integer(Int64(number))), (name: "price", value: .double(Double(number % 997))),
            ])
            _ = engine.addPublication(
                on: device, topic: Self.topic, range: 1000, expiresAt: .max, properties: properties, at: Self.start,
                evaluate: false, into: &effects)
        }
        let mover = engine.addDevice()
        engine.place(mover, at: Self.south, heardAt: Self.start)
        let selector = try Selector("item = 77")
        let subscription = engine.addSubscription(
            on: mover, topic: Self.topic, range: 1000, expiresAt: .max, selector: selector, options: Self.options, at: Self.start,
            into: &effects)
        effects.removeAll(keepingCapacity: true)
        let here = (0..<4096).map { _ in near(&random) }
        let far = Position(latitude: 46, longitude: 8)
        run("mirrored: steps among publications", engine, here.count * 2, into: &report) { number, effects in
            engine.move(mover, to: here[number & 4095], at: Self.start, into: &effects)
        }
        run("mirrored: jumps", engine, 2000, into: &report) { number, effects in
            engine.move(mover, to: number & 1 == 0 ? far : here[number & 4095], at: Self.start, into: &effects)
        }
        run("mirrored: subscription updates", engine, 1000, into: &report) { _, effects in
            engine.update(
                subscription, topic: Self.topic, range: 1000, expiresAt: .max, selector: selector, options: Self.options,
                at: Self.start, into: &effects)
        }
    }

    private func run(
        _ name: String, _ engine: Engine, _ count: Int, into report: inout Report, _ step: (Int, inout [Effect]) -> Void
    ) {
        var effects: [Effect] = []
        let before = engine.tally
        var matches = 0
        let elapsed = seconds {
            for number in 0..<count {
                step(number, &effects)
                matches += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        }
        let after = engine.tally
        let each = Double(count)
        report.add(
            "selectors: \(name)", each / elapsed, "1/s",
            note: "\(subscriptions) in reach; each: \(figure(Double(after.candidates - before.candidates) / each)) candidates, "
                + "\(figure(Double(after.arrivals - before.arrivals) / each)) into range, "
                + "\(figure(Double(matches) / each)) matches")
    }
}
