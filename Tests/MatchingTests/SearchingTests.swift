import Geodesy
import Matching
import Selectors
import Testing

/// Selectors that search long texts, by the hundreds: what one call may cost is bounded, and nothing is lost.
@Suite("Searching selectors")
struct SearchingTests {
    private static let count = 1000
    private static let here = Position(latitude: 0, longitude: 0)

    /// 16 KiB, in which every other selector finds its word.
    private static let properties: Properties = {
        let words = stride(from: 0, to: count, by: 2).map { "<\($0)>" }.joined()
        let filler = String(repeating: "a", count: 4096)
        return Properties([
            (name: "p", value: .string(String(words.prefix(4096)))), (name: "q", value: .string(filler)),
            (name: "r", value: .string(filler)), (name: "s", value: .string(filler)),
        ])
    }()

    private static func selector(_ number: Int) throws -> Selector { try Selector("p LIKE '%<\(number)>%'") }

    private static let expected = stride(from: 0, to: count, by: 2).count { number in
        (try? selector(number).matches(properties)) == true
    }

    private func takeMatches(_ effects: inout [Effect]) -> Int {
        defer { effects = [] }
        return effects.count { if case .met = $0 { true } else { false } }
    }

    /// Matches of each call, the one that was made first.
    private func finish(_ engine: Engine, _ effects: inout [Effect], at now: Int64) -> [Int] {
        var matches = [takeMatches(&effects)]
        while let deadline = engine.nextDeadline, deadline <= now, matches.count < 1000 {
            engine.advance(to: now, into: &effects)
            matches.append(takeMatches(&effects))
        }
        return matches
    }

    @Test("A publication that meets a thousand of them is evaluated in pieces, each pair once")
    func publication() throws {
        let engine = Engine()
        var effects: [Effect] = []
        for number in 0..<Self.count {
            let device = engine.addDevice()
            engine.move(device, to: Self.here, at: 0, into: &effects)
            _ = engine.addSubscription(
                on: device, topic: "t", range: 10, expiresAt: .max, selector: try Self.selector(number),
                options: MatchOptions(matchTTL: .max, matchDTL: 1e7), at: 0, into: &effects)
        }
        let device = engine.addDevice()
        engine.move(device, to: Self.here, at: 0, into: &effects)
        _ = engine.addPublication(
            on: device, topic: "t", range: 10, expiresAt: .max, properties: Self.properties, at: 0, into: &effects)
        let matches = finish(engine, &effects, at: 1)
        #expect(matches.count > 2 && matches.allSatisfy { $0 <= 256 }, "\(matches)")
        #expect(matches.reduce(0, +) == Self.expected && Self.expected > 300)
        // What waited is known by now, as if it had been evaluated at once.
        engine.move(device, to: Position(latitude: 0.00001, longitude: 0), at: 2, into: &effects)
        #expect(finish(engine, &effects, at: 2).reduce(0, +) == 0)
    }

    @Test("A device that comes into range with a thousand of them is evaluated in pieces; out of range again, the rest is not")
    func subscriptions() throws {
        let engine = Engine()
        var effects: [Effect] = []
        let pin = engine.addDevice()
        engine.move(pin, to: Self.here, at: 0, into: &effects)
        let publication = engine.addPublication(
            on: pin, topic: "t", range: 10, expiresAt: .max, properties: Self.properties, at: 0, into: &effects)
        let far = Position(latitude: 1, longitude: 0)
        let phone = engine.addDevice()
        engine.move(phone, to: far, at: 0, into: &effects)
        for number in 0..<Self.count {
            _ = engine.addSubscription(
                on: phone, topic: "t", range: 10, expiresAt: .max, selector: try Self.selector(number),
                options: MatchOptions(matchTTL: .max, matchDTL: 1e7), at: 0, into: &effects)
        }
        engine.move(phone, to: Self.here, at: 1, into: &effects)
        let first = takeMatches(&effects)
        #expect(first > 0 && first <= 256)
        engine.move(phone, to: far, at: 2, into: &effects)
        #expect(finish(engine, &effects, at: 2).reduce(0, +) == 0)
        engine.move(phone, to: Self.here, at: 3, into: &effects)
        #expect(finish(engine, &effects, at: 3).reduce(0, +) == Self.expected - first)
        engine.move(phone, to: far, at: 4, into: &effects)
        engine.move(phone, to: Self.here, at: 5, into: &effects)
        engine.removePublication(publication, at: 5, into: &effects)
        _ = finish(engine, &effects, at: 5)
        #expect(engine.nextDeadline == nil)
    }
}
