import Geodesy
import Matching
import SeededRandom
import Selectors
import Testing

/// A publication on one device and a subscription on another, which are moved along a meridian.
final class Meridian {
    let engine = Engine()
    let publisher: DeviceRef
    let subscriber: DeviceRef
    private(set) var publication = PublicationRef(index: 0)
    private(set) var subscription = SubscriptionRef(index: 0)
    var effects: [Effect] = []

    static let never = Int64.max
    /// Degrees of latitude in a metre at the equator.
    static let metre = 1 / 110_574.2758

    init(
        at: Double = 0, ranges: (Double, Double) = (100, 50), selector: String = "", properties: Properties = .none,
        matchTTL: Int64 = never, matchDTL: Double = 1e7, expiresAt: (Int64, Int64) = (never, never),
        topics: (String, String) = ("t", "t")
    ) throws {
        publisher = engine.addDevice()
        subscriber = engine.addDevice()
        engine.move(publisher, to: Position(latitude: 0, longitude: 0), at: 0, into: &effects)
        engine.move(subscriber, to: Position(latitude: at * Self.metre, longitude: 0), at: 0, into: &effects)
        publication = engine.addPublication(
            on: publisher, topic: topics.0, range: ranges.0, expiresAt: expiresAt.0, properties: properties, at: 0, into: &effects
        )
        subscription = engine.addSubscription(
            on: subscriber, topic: topics.1, range: ranges.1, expiresAt: expiresAt.1, selector: try Selector(selector),
            options: MatchOptions(matchTTL: matchTTL, matchDTL: matchDTL), at: 0, into: &effects)
    }

    /// Matches since the last call.
    func matches() -> Int {
        defer { effects = [] }
        return effects.count { if case .met = $0 { true } else { false } }
    }

    /// Moves the subscriber to so many metres north and says how many matches that made.
    func stand(_ metres: Double, at now: Int64) -> Int {
        engine.move(subscriber, to: Position(latitude: metres * Self.metre, longitude: 0), at: now, into: &effects)
        return matches()
    }

    func advance(to now: Int64) -> Int {
        engine.advance(to: now, into: &effects)
        return matches()
    }
}

@Suite("Rules of matching")
struct RuleTests {
    @Test(
        "Two are in range up to the sum of both ranges",
        arguments: [
            (publication: 100.0, subscription: 50.0, distance: 149.97, matches: 1),
            (publication: 100, subscription: 50, distance: 150.03, matches: 0),
            (publication: 1, subscription: 1, distance: 0, matches: 1),
            (publication: 5000, subscription: 5000, distance: 9_999.97, matches: 1),
            (publication: 5000, subscription: 5000, distance: 10_000.03, matches: 0),
        ])
    func touching(_ row: (publication: Double, subscription: Double, distance: Double, matches: Int)) throws {
        let meridian = try Meridian(at: row.distance, ranges: (row.publication, row.subscription))
        #expect(meridian.matches() == row.matches)
    }

    @Test("A pair matches once: leaving and coming back alone changes nothing")
    func once() throws {
        let meridian = try Meridian(at: 10)
        #expect(meridian.matches() == 1)
        #expect(meridian.stand(20, at: 1) == 0)
        #expect(meridian.stand(1000, at: 2) == 0)
        #expect(meridian.stand(20, at: 3) == 0)
        #expect(meridian.engine.pairCount == 1)
    }

    @Test("Topics must be equal")
    func topics() throws {
        #expect(try Meridian(topics: ("t", "T")).matches() == 0)
    }

    @Test("A TTL that elapses in range matches by itself, and only then")
    func matchTTL() throws {
        let meridian = try Meridian(at: 10, matchTTL: 1000)
        #expect(meridian.matches() == 1)
        #expect(meridian.engine.nextDeadline == 1000)
        #expect(meridian.advance(to: 999) == 0)
        #expect(meridian.advance(to: 1000) == 1)
        #expect(meridian.engine.nextDeadline == 2000)
    }

    @Test("A TTL that elapses out of range matches on coming back")
    func matchTTLOutside() throws {
        let meridian = try Meridian(at: 10, matchTTL: 1000)
        #expect(meridian.matches() == 1)
        #expect(meridian.stand(1000, at: 500) == 0)
        #expect(meridian.advance(to: 1500) == 0)
        #expect(meridian.stand(10, at: 1600) == 1)
    }

    @Test("A TTL of 0 matches with every movement in range, and never by time alone")
    func everyMovement() throws {
        let meridian = try Meridian(at: 10, matchTTL: 0)
        #expect(meridian.matches() == 1)
        #expect(meridian.stand(11, at: 1) == 1)
        #expect(meridian.stand(11, at: 1) == 1)
        #expect(meridian.advance(to: 1_000_000) == 0)
        #expect(meridian.stand(500, at: 1_000_001) == 0)
        #expect(meridian.stand(10, at: 1_000_002) == 1)
        meridian.engine.move(meridian.publisher, to: Position(latitude: 0, longitude: 0), at: 1_000_003, into: &meridian.effects)
        #expect(meridian.matches() == 1)
    }

    @Test("A side that is matchDTL from where it was at the match matches again; its path does not count")
    func matchDTL() throws {
        let meridian = try Meridian(at: 0, matchDTL: 30)
        #expect(meridian.matches() == 1)
        for step in 1...10 { #expect(meridian.stand(step.isMultiple(of: 2) ? 0 : 20, at: Int64(step)) == 0) }
        #expect(meridian.stand(29.95, at: 20) == 0)
        #expect(meridian.stand(30.05, at: 21) == 1)
        #expect(meridian.stand(59, at: 22) == 0)
        #expect(meridian.stand(0, at: 23) == 1)
    }

    @Test("A distance travelled out of range counts on coming back")
    func matchDTLOutside() throws {
        let meridian = try Meridian(at: 0, matchDTL: 100)
        #expect(meridian.matches() == 1)
        #expect(meridian.stand(1000, at: 1) == 0)
        #expect(meridian.stand(90, at: 2) == 0)
        #expect(meridian.stand(1000, at: 3) == 0)
        #expect(meridian.stand(101, at: 4) == 1)
    }

    @Test("Lives are half open: at its end an entry no longer matches, reported or not")
    func expiry() throws {
        let meridian = try Meridian(at: 1000, expiresAt: (500, 600))
        #expect(meridian.stand(10, at: 500) == 0)
        meridian.engine.advance(to: 700, into: &meridian.effects)
        #expect(meridian.effects == [.publicationExpired(meridian.publication), .subscriptionExpired(meridian.subscription)])
        #expect(meridian.engine.publicationCount == 0)
        let young = try Meridian(at: 1000, expiresAt: (500, 600))
        #expect(young.stand(10, at: 499) == 1)
    }

    @Test("A device matches itself unless the subscription excludes it", arguments: [false, true])
    func excludeSelf(_ excluded: Bool) throws {
        let engine = Engine()
        let device = engine.addDevice()
        var effects: [Effect] = []
        _ = engine.addPublication(on: device, topic: "t", range: 1, expiresAt: .max, properties: .none, at: 0, into: &effects)
        _ = engine.addSubscription(
            on: device, topic: "t", range: 1, expiresAt: .max, selector: try Selector(""),
            options: MatchOptions(matchTTL: .max, matchDTL: 10, excludesSelf: excluded), at: 0, into: &effects)
        #expect(effects.isEmpty, "Without a position nothing is in range")
        engine.move(device, to: Position(latitude: 89.99999, longitude: 0), at: 0, into: &effects)
        #expect(effects.count == (excluded ? 0 : 1))
        engine.move(device, to: Position(latitude: 89.99999, longitude: 180), at: 0, into: &effects)
        #expect(effects.count == (excluded ? 0 : 1), "2.2 m over the pole are less than the 10 m it may go")
    }

    @Test("A device that stands nowhere is in nobody's range, and is evaluated when it comes back")
    func nowhere() throws {
        let meridian = try Meridian(at: 10, matchTTL: 1000)
        #expect(meridian.matches() == 1)
        meridian.engine.move(meridian.subscriber, to: nil, at: 1, into: &meridian.effects)
        #expect(meridian.engine.position(of: meridian.subscriber) == nil)
        #expect(meridian.advance(to: 2000) == 0)
        #expect(meridian.stand(10, at: 2001) == 1)
    }

    @Test(
        "A position that is none on the earth is ignored", arguments: [(Double.nan, 0), (0, .infinity), (90.1, 0), (0, -180.1)])
    func invalid(_ latitude: Double, _ longitude: Double) throws {
        let meridian = try Meridian(at: 1000)
        let before = meridian.engine.position(of: meridian.subscriber)
        let nowhere = Position(latitude: latitude, longitude: longitude)
        meridian.engine.move(meridian.subscriber, to: nowhere, at: 1, into: &meridian.effects)
        meridian.engine.move([Move(device: meridian.subscriber, position: nowhere)], at: 1, into: &meridian.effects)
        meridian.engine.place(meridian.subscriber, at: nowhere, heardAt: 1)
        #expect(meridian.engine.position(of: meridian.subscriber) == before)
        #expect(meridian.stand(10, at: 2) == 1)
    }

    @Test("An update evaluates the pair at once, and what is remembered of it survives")
    func update() throws {
        let meridian = try Meridian(at: 10, selector: "k = 1", properties: Properties([(name: "k", value: .integer(2))]))
        #expect(meridian.matches() == 0)
        for at in [Int64(1), 2] {
            meridian.engine.update(
                meridian.publication, topic: "t", range: 100, expiresAt: .max,
                properties: Properties([(name: "k", value: .integer(1))]), at: at, into: &meridian.effects)
            #expect(meridian.matches() == (at == 1 ? 1 : 0))
        }
        #expect(meridian.engine.suppression(of: meridian.subscription, meridian.publication)?.lastMatchAt == 1)
    }

    @Test("A restored last match stands, and its TTL runs on")
    func restoring() throws {
        let engine = Engine()
        var effects: [Effect] = []
        let device = engine.addDevice()
        let here = Position(latitude: 47, longitude: 8)
        engine.place(device, at: here, heardAt: 4500)
        let p = engine.addPublication(
            on: device, topic: "t", range: 10, expiresAt: .max, properties: .none, at: 5000, evaluate: false, into: &effects)
        let s = engine.addSubscription(
            on: device, topic: "t", range: 10, expiresAt: .max, selector: try Selector(""),
            options: MatchOptions(matchTTL: 1000, matchDTL: 50), at: 5000, evaluate: false, into: &effects)
        let last = Suppression(lastMatchAt: 4500, publicationPosition: here, subscriptionPosition: here)
        engine.restoreSuppression(s, p, last)
        #expect(effects.isEmpty)
        engine.move(device, to: here, at: 5001, into: &effects)
        #expect(effects.isEmpty)
        #expect(engine.nextDeadline == 5500)
        engine.advance(to: 5500, into: &effects)
        #expect(effects.count == 1)
    }

    @Test("What came into range in steps that a crash lost is met with the next movement")
    func lostSteps() throws {
        let engine = Engine()
        var effects: [Effect] = []
        let here = Position(latitude: 47, longitude: 8)
        let devices = [engine.addDevice(), engine.addDevice()]
        for device in devices { engine.place(device, at: here, heardAt: 0) }
        _ = engine.addPublication(
            on: devices[0], topic: "t", range: 10, expiresAt: .max, properties: .none, at: 0, evaluate: false, into: &effects)
        _ = engine.addSubscription(
            on: devices[1], topic: "t", range: 10, expiresAt: .max, selector: try Selector(""),
            options: MatchOptions(matchTTL: .max, matchDTL: 1e9), at: 0, evaluate: false, into: &effects)
        #expect(effects.isEmpty)
        engine.move(devices[1], to: here, at: 1, into: &effects)
        #expect(effects.count == 1)
        engine.move(devices[0], to: here, at: 2, into: &effects)
        #expect(effects.count == 1)
    }

    @Test("A selector that can never be TRUE of what is there is reported once")
    func mismatch() throws {
        let meridian = try Meridian(at: 10, selector: "k = '1'", properties: Properties([(name: "k", value: .integer(2))]))
        let reported = meridian.effects
        #expect(reported.count == 1)
        guard case .mismatch(meridian.subscription, let hints) = reported.first else {
            Issue.record("No mismatch: \(reported)")
            return
        }
        #expect(!hints.isEmpty)
        meridian.effects = []
        for now in 1...20 { _ = meridian.stand(now.isMultiple(of: 2) ? 10 : 1000, at: Int64(now)) }
        #expect(meridian.effects.isEmpty)
    }
}

@Suite("Memory of the engine")
struct MemoryTests {
    @Test("Churn does not make the engine grow, and removing everything gives the memory back")
    func churn() throws {
        let engine = Engine()
        let empty = engine.memoryBytes
        var random = SplitMix64.forTest()
        var effects: [Effect] = []
        let selector = try Selector("k > 1")
        var devices: [DeviceRef] = []
        func fill() {
            for number in 0..<600 {
                let device = engine.addDevice()
                devices.append(device)
                let position = Position(
                    latitude: Double.random(in: 46...46.1, using: &random), longitude: Double.random(in: 7...7.1, using: &random))
                engine.move(device, to: position, at: 0, into: &effects)
                _ = engine.addPublication(
                    on: device, topic: "t\(number % 2)", range: 300, expiresAt: 1_000_000 + Int64(number),
                    properties: Properties([(name: "k", value: .integer(Int64(number % 4)))]), at: 0, into: &effects)
                _ = engine.addSubscription(
                    on: device, topic: "t\(number % 2)", range: 300, expiresAt: 2_000_000 + Int64(number), selector: selector,
                    options: MatchOptions(matchTTL: 1000, matchDTL: 5), at: 0, into: &effects)
            }
            effects = []
        }
        fill()
        let full = engine.memoryBytes
        for _ in 0..<6 {
            for device in devices { _ = engine.removeDevice(device, at: 0, into: &effects) }
            devices = []
            fill()
        }
        #expect(engine.memoryBytes < full + full / 4, "\(engine.memoryBytes) after churn, \(full) before")
        for device in devices { _ = engine.removeDevice(device, at: 0, into: &effects) }
        #expect(engine.memoryBytes < empty + 600_000, "\(engine.memoryBytes) when empty again, \(empty) before")
        #expect(engine.nextDeadline == nil)
        #expect(engine.tally.arrivals > 0)
    }
}
