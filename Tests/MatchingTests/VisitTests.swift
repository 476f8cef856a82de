import Geodesy
import Matching
import Selectors
import Testing

/// A publication at 0° and a subscription of other options, moved along a meridian; what they lead to, in words.
final class Fence {
    let engine: Engine
    let publisher: DeviceRef
    let subscriber: DeviceRef
    private(set) var publication = PublicationRef(index: 0)
    private(set) var subscription = SubscriptionRef(index: 0)
    var effects: [Effect] = []
    /// When stays that were reported began; nil: one came to nothing.
    private(set) var stays: [Int64?] = []

    init(
        _ options: MatchOptions, at: Double? = nil, accuracy: (Double?, Double?) = (nil, nil), floors: (UInt32, UInt32) = (0, 0),
        expiresAt: (Int64, Int64) = (.max, .max), limits: EngineLimits = EngineLimits()
    ) throws {
        engine = Engine(limits: limits)
        publisher = engine.addDevice()
        subscriber = engine.addDevice()
        publication = engine.addPublication(
            on: publisher, topic: "t", range: 100, expiresAt: expiresAt.0, properties: .none, at: 0, into: &effects)
        subscription = engine.addSubscription(
            on: subscriber, topic: "t", range: 50, expiresAt: expiresAt.1, selector: try Selector(""), options: options, at: 0,
            into: &effects)
        engine.move(
            publisher, to: Fence.position(0, accuracy: accuracy.0), floor: FloorRef(number: floors.0), at: 0, into: &effects)
        guard let at else { return }
        engine.move(
            subscriber, to: Fence.position(at, accuracy: accuracy.1), floor: FloorRef(number: floors.1), at: 0, into: &effects)
    }

    static func position(_ metres: Double, accuracy: Double? = nil) -> Position {
        Position(latitude: metres * Meridian.metre, longitude: 0, horizontalAccuracy: accuracy)
    }

    /// What happened since the last time.
    var reported: [String] {
        defer { effects = [] }
        return effects.compactMap { effect in
            switch effect {
            case .met: return "met"
            case .stay(let stay):
                stays.append(stay.since)
                return nil
            case .visitBegan: return "began"
            case .visitEnded(let end): return "\(end.reason)"
            case .capacityExceeded(let exceeded): return "crowded \(exceeded.missed)"
            case .publicationExpired: return "publication expired"
            case .subscriptionExpired: return "subscription expired"
            case .mismatch: return "mismatch"
            }
        }
    }

    func stand(_ metres: Double, accuracy: Double? = nil, floor: UInt32 = 0, at now: Int64) -> [String] {
        engine.move(
            subscriber, to: Fence.position(metres, accuracy: accuracy), floor: FloorRef(number: floor), at: now, into: &effects)
        return reported
    }

    func hear(_ device: DeviceRef, at now: Int64) -> [String] {
        guard let position = engine.position(of: device) else { return ["nowhere"] }
        engine.move(device, to: position, at: now, into: &effects)
        return reported
    }

    func advance(to now: Int64) -> [String] {
        engine.advance(to: now, into: &effects)
        return reported
    }

    func update(_ options: MatchOptions, topic: String = "t", range: Double = 50, selector: String = "", at now: Int64) throws
        -> [String]
    {
        engine.update(
            subscription, topic: topic, range: range, expiresAt: .max, selector: try Selector(selector), options: options,
            at: now,
            into: &effects)
        return reported
    }

    var visits: Int { engine.visits(of: subscription).count }
}

extension MatchOptions {
    static func visit(
        margin: Double = 10, dwell: Int64 = 0, staleAfter: Int64 = .max, accuracy: Accuracy = .centre, sameFloor: Bool = false
    ) -> MatchOptions {
        MatchOptions(
            mode: .visit, matchTTL: 1, matchDTL: 1, exitMargin: margin, dwell: dwell, staleAfter: staleAfter, accuracy: accuracy,
            sameFloor: sameFloor)
    }

    static func once(_ accuracy: Accuracy = .centre, sameFloor: Bool = false) -> MatchOptions {
        MatchOptions(matchTTL: .max, matchDTL: 1e7, accuracy: accuracy, sameFloor: sameFloor)
    }
}

@Suite("Visits")
struct VisitTests {
    @Test(
        "A visit begins within reach and ends beyond the exit margin",
        arguments: [
            (margin: 10.0, at: 149.97, began: true, next: 159.95, ended: false),
            (margin: 10, at: 149.97, began: true, next: 160.05, ended: true),
            (margin: 10, at: 150.03, began: false, next: 159, ended: false),
            (margin: 0, at: 149.9, began: true, next: 150.03, ended: true),
            (margin: 50_000, at: 0, began: true, next: 50_149, ended: false),
            (margin: 50_000, at: 0, began: true, next: 50_151, ended: true),
        ])
    func margin(_ row: (margin: Double, at: Double, began: Bool, next: Double, ended: Bool)) throws {
        let fence = try Fence(.visit(margin: row.margin), at: row.at)
        #expect(fence.reported == (row.began ? ["began"] : []))
        #expect(fence.visits == (row.began ? 1 : 0))
        #expect(fence.stand(row.next, at: 1) == (row.ended ? ["left"] : []))
    }

    @Test("Neither time nor movement within the margin repeats a visit; coming back after its end begins another")
    func again() throws {
        let fence = try Fence(.visit(), at: 10)
        #expect(fence.reported == ["began"])
        for (now, metres) in [20.0, 155, 140, 0, 0].enumerated() { #expect(fence.stand(metres, at: Int64(now) + 1) == []) }
        #expect(fence.advance(to: 1_000_000) == [])
        #expect(fence.stand(400, at: 1_000_001) == ["left"])
        #expect(fence.engine.pairCount == 0)
        #expect(fence.stand(155, at: 1_000_002) == [])
        #expect(fence.stand(140, at: 1_000_003) == ["began"])
    }

    @Test("An end says where both sides stand and how far apart")
    func endSaysWhere() throws {
        let fence = try Fence(.visit(), at: 10)
        fence.effects = []
        fence.engine.move(fence.subscriber, to: Fence.position(300), at: 7, into: &fence.effects)
        guard case .visitEnded(let end) = fence.effects.first else {
            Issue.record("No end: \(fence.effects)")
            return
        }
        #expect(end.publication == fence.publication && end.subscription == fence.subscription && end.at == 7)
        #expect(abs((end.distance ?? 0) - 300) < 0.01)
        #expect(end.publicationPosition == Fence.position(0) && end.subscriptionPosition == Fence.position(300))
    }

    @Test("A visit with a dwell begins by time alone, when the pair has stayed in range for it")
    func dwell() throws {
        let fence = try Fence(.visit(dwell: 60_000), at: 10)
        #expect(fence.reported == [])
        #expect(fence.engine.nextDeadline == 60_000)
        #expect(fence.stand(20, at: 30_000) == [])
        #expect(fence.advance(to: 59_999) == [])
        #expect(fence.advance(to: 60_000) == ["began"])
        #expect(fence.engine.visits(of: fence.subscription) == [Visit(publication: fence.publication, since: 60_000)])
    }

    @Test("Leaving reach, even within the margin, cancels a stay without a word")
    func cancelledStay() throws {
        let fence = try Fence(.visit(dwell: 60_000), at: 10)
        #expect(fence.stand(155, at: 30_000) == [])
        #expect(fence.stand(10, at: 31_000) == [])
        #expect(fence.advance(to: 60_000) == [])
        #expect(fence.advance(to: 91_000) == ["began"])
    }

    @Test("A stay is reported when it begins and when it comes to nothing, but not where it becomes a visit or goes with a side")
    func toldStays() throws {
        func check(_ options: MatchOptions, stays expected: [Int64?], reports: [String] = [], _ act: (Fence) throws -> [String])
            throws
        {
            let fence = try Fence(options, at: 10, expiresAt: (90_000, .max))
            #expect(fence.reported == (options.dwell == 0 ? ["began"] : []))
            let reported = try act(fence)
            #expect(reported == reports)
            #expect(fence.stays == expected)
        }
        let dwelling = MatchOptions.visit(dwell: 60_000)
        try check(dwelling, stays: [0], reports: ["began"]) { $0.advance(to: 60_000) }
        try check(dwelling, stays: [0, nil, 30_000]) { $0.stand(155, at: 30_000) + $0.stand(10, at: 30_000) }
        try check(dwelling, stays: [0, nil]) {
            $0.engine.move($0.subscriber, to: nil, at: 1, into: &$0.effects)
            return $0.reported
        }
        try check(dwelling, stays: [0], reports: ["began"]) { try $0.update(.visit(), at: 30_000) }
        try check(dwelling, stays: [0, nil]) { try $0.update(dwelling, topic: "u", at: 1) }
        try check(dwelling, stays: [0, nil], reports: ["met"]) { try $0.update(.once(), at: 1) }
        try check(.visit(dwell: 60_000, staleAfter: 1000), stays: [0, nil]) { $0.advance(to: 1000) }
        try check(.visit(dwell: 100_000), stays: [0], reports: ["publication expired"]) { $0.advance(to: 90_000) }
        try check(.visit(), stays: [], reports: ["left"]) { $0.stand(400, at: 1) }
    }

    @Test("A dwell handled late begins its visit then, and not where the pair has left or a life is over meanwhile")
    func lateDwell() throws {
        let late = try Fence(.visit(dwell: 1000), at: 10)
        #expect(late.advance(to: 5000) == ["began"])
        let gone = try Fence(.visit(dwell: 1000), at: 10)
        #expect(gone.stand(500, at: 2000) == [])
        #expect(gone.advance(to: 5000) == [])
        let over = try Fence(.visit(dwell: 1000), at: 10, expiresAt: (3000, .max))
        #expect(over.advance(to: 5000) == ["publication expired"])
    }

    @Test("The end of either side's time ends the visit first", arguments: [true, false])
    func expired(_ isPublication: Bool) throws {
        let fence = try Fence(.visit(), at: 10, expiresAt: isPublication ? (500, .max) : (.max, 500))
        #expect(fence.reported == ["began"])
        #expect(fence.advance(to: 500) == ["expired", isPublication ? "publication expired" : "subscription expired"])
    }

    @Test("Removing a side or its device ends the visit", arguments: 0..<4)
    func deleted(_ what: Int) throws {
        let fence = try Fence(.visit(), at: 10)
        #expect(fence.reported == ["began"])
        switch what {
        case 0: fence.engine.removePublication(fence.publication, at: 9, into: &fence.effects)
        case 1: fence.engine.removeSubscription(fence.subscription, at: 9, into: &fence.effects)
        case 2: _ = fence.engine.removeDevice(fence.publisher, at: 9, into: &fence.effects)
        default: _ = fence.engine.removeDevice(fence.subscriber, at: 9, into: &fence.effects)
        }
        #expect(fence.reported == ["deleted"])
        #expect(fence.engine.pairCount == 0)
    }

    @Test("A visit of a device with itself ends once when the device goes")
    func deletedSelf() throws {
        let engine = Engine()
        let device = engine.addDevice()
        var effects: [Effect] = []
        engine.move(device, to: Fence.position(0), at: 0, into: &effects)
        _ = engine.addPublication(on: device, topic: "t", range: 1, expiresAt: .max, properties: .none, at: 0, into: &effects)
        _ = engine.addSubscription(
            on: device, topic: "t", range: 1, expiresAt: .max, selector: try Selector(""), options: .visit(), at: 0,
            into: &effects)
        #expect(effects.count == 1)
        _ = engine.removeDevice(device, at: 1, into: &effects)
        #expect(effects.count == 2)
    }

    @Test("A side whose position is cleared loses its visit where it was; the end had neither distance nor location")
    func cleared() throws {
        let fence = try Fence(.visit(), at: 10)
        fence.effects = []
        fence.engine.move(fence.publisher, to: nil, at: 5, into: &fence.effects)
        guard case .visitEnded(let end) = fence.effects.first else {
            Issue.record("No end: \(fence.effects)")
            return
        }
        #expect(end.reason == .lost && end.distance.map { abs($0 - 10) < 0.01 } == true)
        #expect(end.publicationPosition == Fence.position(0))
        #expect(end.subscriptionPosition == Fence.position(10))
        fence.effects = []
        fence.engine.move(fence.publisher, to: Fence.position(0), at: 6, into: &fence.effects)
        #expect(fence.reported == ["began"])
    }

    @Test("A side that is not heard of for staleAfter loses its visit, and begins another once heard in range")
    func stale() throws {
        let fence = try Fence(.visit(staleAfter: 60_000), at: 10)
        #expect(fence.reported == ["began"])
        #expect(fence.hear(fence.publisher, at: 50_000) == [])
        #expect(fence.advance(to: 59_999) == [])
        #expect(fence.advance(to: 60_000) == ["lost"])
        #expect(fence.hear(fence.publisher, at: 70_000) == [], "The other one is still silent")
        #expect(fence.hear(fence.subscriber, at: 80_000) == ["began"])
        #expect(fence.hear(fence.subscriber, at: 120_000) == [])
        #expect(fence.engine.nextDeadline.map { $0 <= 130_000 } == true)
        #expect(fence.advance(to: 130_000) == ["lost"])
    }

    @Test("A silent partner begins no visit, however near one comes")
    func silentPartner() throws {
        let fence = try Fence(.visit(staleAfter: 60_000), at: 1000)
        #expect(fence.stand(10, at: 100_000) == [])
        #expect(fence.hear(fence.publisher, at: 100_001) == ["began"])
    }

    @Test(
        "An update that makes a visit impossible ends it",
        arguments: ["topic", "selector", "their topic", "their range", "floor", "mode"])
    func impossible(_ what: String) throws {
        let fence = try Fence(.visit(), at: 100)
        #expect(fence.reported == ["began"])
        let expected = ["left"]
        switch what {
        case "topic": #expect(try fence.update(.visit(), topic: "u", at: 1) == expected)
        case "selector": #expect(try fence.update(.visit(), selector: "k = 1", at: 1) == expected)
        case "floor": #expect(try fence.update(.visit(sameFloor: true), at: 1) == expected)
        case "mode": #expect(try fence.update(.once(), at: 1) == expected + ["met"])
        case "their topic":
            fence.engine.update(
                fence.publication, topic: "v", range: 100, expiresAt: .max, properties: .none, at: 1, into: &fence.effects)
            #expect(fence.reported == expected)
        default:
            fence.engine.update(
                fence.publication, topic: "t", range: 20, expiresAt: .max, properties: .none, at: 1, into: &fence.effects)
            #expect(fence.reported == expected)
        }
        #expect(fence.visits == 0)
    }

    @Test("An update that leaves a visit possible changes nothing")
    func possibleUpdate() throws {
        let fence = try Fence(.visit(), at: 100)
        #expect(fence.reported == ["began"])
        #expect(try fence.update(.visit(margin: 50, dwell: 1_000_000), range: 40, selector: "absent IS NULL", at: 1) == [])
        #expect(fence.visits == 1)
    }

    @Test("Where an accuracy counts, it decides both ends of a visit and a match")
    func accuracy() throws {
        #expect(try Fence(.once(.possible), at: 180, accuracy: (20, 15)).reported == ["met"])
        #expect(try Fence(.once(.possible), at: 180, accuracy: (20, 5)).reported == [])
        #expect(try Fence(.once(.possible), at: 149, accuracy: (nil, nil)).reported == ["met"])
        #expect(try Fence(.once(.certain), at: 120, accuracy: (20, 15)).reported == [])
        #expect(try Fence(.once(.certain), at: 120, accuracy: (20, 5)).reported == ["met"])
        #expect(try Fence(.once(.centre), at: 149, accuracy: (2000, 2000)).reported == ["met"])
        let possible = try Fence(.visit(accuracy: .possible), at: 180, accuracy: (20, 15))
        #expect(possible.reported == ["began"])
        #expect(possible.stand(190, accuracy: 15, at: 1) == [])
        #expect(possible.stand(190, accuracy: 5, at: 2) == ["left"])
        #expect(possible.stand(190, accuracy: 30, at: 3) == ["began"])
        let certain = try Fence(.visit(accuracy: .certain), at: 140, accuracy: (nil, 5))
        #expect(certain.reported == ["began"])
        #expect(certain.stand(140, accuracy: 19, at: 1) == [])
        #expect(certain.stand(140, accuracy: 21, at: 2) == ["left"])
    }

    @Test("A likely visit begins well inside; coarse fixes decide nothing, and fixes of a minute outside end it")
    func likely() throws {
        let fence = try Fence(.visit(accuracy: .likely), at: 149, accuracy: (nil, 20))
        #expect(fence.reported == [])
        #expect(fence.stand(10, accuracy: 101, at: 1_000) == [])
        #expect(fence.stand(139, accuracy: 20, at: 2_000) == ["began"])
        #expect(fence.stand(400, accuracy: 20, at: 10_000) == [])
        #expect(fence.stand(160, accuracy: 20, at: 69_000) == [])
        #expect(fence.stand(400, accuracy: 20, at: 75_000) == [])
        #expect(fence.stand(10, accuracy: 5_000, at: 100_000) == [])
        #expect(fence.stand(400, accuracy: 20, at: 134_999) == [])
        #expect(fence.stand(400, accuracy: 20, at: 135_000) == ["left"])
        #expect(fence.stand(140, accuracy: 0, at: 136_000) == ["began"])
        #expect(try fence.update(.visit(accuracy: .likely), range: 1, at: 137_000) == ["left"])
    }

    @Test("A batch of likely fixes makes the visits of their own times: exits after a minute, visits after their dwell")
    func likelyBatch() throws {
        let fence = try Fence(.visit(dwell: 300_000, accuracy: .likely))
        func fix(_ metres: Double, of seconds: Int64) -> [String] {
            fence.engine.move(
                fence.subscriber, to: Fence.position(metres, accuracy: 20), fixedAt: seconds * 1000, at: 10_000_000,
                into: &fence.effects)
            return fence.reported
        }
        #expect(fix(0, of: 0) == [])
        #expect(fix(0, of: 200) == [])
        #expect(fix(400, of: 250) == [])
        #expect(fix(0, of: 301) == ["began"])
        #expect(fix(400, of: 400) == [])
        #expect(fix(400, of: 461) == ["left"])
        #expect(fix(0, of: 500) == [])
        #expect(fence.engine.nextDeadline.map(Int.init) == 10_300_000)
        #expect(fence.advance(to: 10_300_000) == ["began"])
    }

    @Test("A position whose accuracy is hundreds of kilometres may be anywhere within them")
    func coarse() throws {
        #expect(try Fence(.once(.possible), at: 300_000, accuracy: (nil, 300_000)).reported == ["met"])
        #expect(try Fence(.once(.possible), at: 300_000, accuracy: (299_000, nil)).reported == [])
        #expect(try Fence(.once(.possible), at: 900_000, accuracy: (.infinity, -3)).reported == ["met"])
    }

    @Test(
        "On the same floor means both known and equal",
        arguments: [(1, 1, true), (1, 2, false), (0, 0, false), (0, 1, false)] as [(UInt32, UInt32, Bool)])
    func floors(_ publisher: UInt32, _ subscriber: UInt32, _ isMatch: Bool) throws {
        #expect(try Fence(.once(sameFloor: true), at: 10, floors: (publisher, subscriber)).reported == (isMatch ? ["met"] : []))
        #expect(try Fence(.once(), at: 10, floors: (publisher, subscriber)).reported == ["met"])
    }

    @Test("Changing the floor ends a visit and begins one, without a step")
    func stairs() throws {
        let fence = try Fence(.visit(sameFloor: true), at: 10, floors: (1, 1))
        #expect(fence.reported == ["began"])
        #expect(fence.engine.floor(of: fence.subscriber) == FloorRef(number: 1))
        #expect(fence.stand(10, floor: 2, at: 1) == ["left"])
        #expect(fence.stand(10, floor: 1, at: 2) == ["began"])
    }

    @Test("Beyond a limit a pair is not remembered, and reported once for each input and subscription with a count")
    func crowded() throws {
        let fence = try Fence(.visit(), limits: EngineLimits(partnersPerSubscription: 2))
        for _ in 0..<4 {
            _ = fence.engine.addPublication(
                on: fence.publisher, topic: "t", range: 100, expiresAt: .max, properties: .none, at: 0, into: &fence.effects)
        }
        #expect(fence.stand(10, at: 1) == ["began", "began", "crowded 3"])
        #expect(fence.engine.visits(of: fence.subscription).map(\.publication.index) == [0, 1])
        #expect(fence.stand(11, at: 2) == [])
        #expect(fence.stand(1000, at: 3) == ["left", "left"])
        #expect(fence.stand(10, at: 4) == ["began", "began", "crowded 3"])
    }

    @Test("The limit of all pairs holds too, and what is forgotten makes room")
    func crowdedInAll() throws {
        let fence = try Fence(.visit(), limits: EngineLimits(pairs: 1))
        let other = fence.engine.addPublication(
            on: fence.publisher, topic: "t", range: 10, expiresAt: .max, properties: .none, at: 0, into: &fence.effects)
        #expect(fence.stand(10, at: 1) == ["began", "crowded 1"])
        fence.engine.removePublication(fence.publication, at: 2, into: &fence.effects)
        #expect(fence.reported == ["deleted"])
        fence.engine.update(other, topic: "t", range: 10, expiresAt: .max, properties: .none, at: 3, into: &fence.effects)
        #expect(fence.reported == ["began"])
    }
}
