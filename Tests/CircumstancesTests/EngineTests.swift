import Circumstances
import Testing

@Suite("The engine of circumstances")
struct EngineTests {
    @Test("Arriving fires when the value becomes true, also at registration, and departing when it becomes false after that")
    func arrivingAndDeparting() throws {
        var town = EngineHarness()
        town.move(0)
        let arriving = try town.register("(at (= factual-id \"cafe\"))")
        let departing = try town.register("(at (= factual-id \"cafe\"))", .departing)
        let atStart = town.fired()
        #expect(atStart.map(\.circumstance) == [arriving])
        #expect(atStart.first?.atPlaces.map(\.place) == [1])
        #expect(atStart.first?.nearPlaces.isEmpty == true)
        town.move(30)
        #expect(town.fired().isEmpty)
        town.move(300)
        #expect(town.fired().map(\.circumstance) == [departing])
        town.move(0)
        #expect(town.fired().map(\.circumstance) == [arriving])
    }

    @Test("A place is left only beyond the exit margin, and entered at its reach")
    func exitMargin() throws {
        var town = EngineHarness()
        try town.register("(at (= factual-id \"cafe\"))")
        try town.register("(at (= factual-id \"cafe\"))", .departing)
        var fired: [Int] = []
        for (step, east) in [55.0, 49, 55, 59, 49, 61, 55, 49].enumerated() {
            town.move(east)
            if !town.fired().isEmpty { fired.append(step) }
        }
        #expect(fired == [1, 5, 7])
    }

    @Test("Under a not the margin works the other way round, except at the first evaluation")
    func exitMarginOfNot() throws {
        var town = EngineHarness()
        try town.register("(not (at (= factual-id \"cafe\")))")
        var fired: [Int] = []
        for (step, east) in [55.0, 49, 55, 59, 61, 55, 49, 61].enumerated() {
            town.move(east)
            if !town.fired().isEmpty { fired.append(step) }
        }
        #expect(fired == [0, 4, 7])
    }

    @Test("A rule that is true of a place only from afar is not ended by the exit margin bringing the place nearer")
    func exitMarginOfThreshold() throws {
        var town = EngineHarness()
        try town.register("(at (= factual-id \"cafe\") (not (= threshold-met \"high\")))")
        var fired: [Int] = []
        for (step, east) in [25.0, 26, 25, 26, 5, 25].enumerated() {
            town.move(east)
            if !town.fired().isEmpty { fired.append(step) }
        }
        #expect(fired == [0, 5])
    }

    @Test("How far at reaches depends on the accuracy of the fix")
    func accuracy() throws {
        var town = EngineHarness()
        try town.register("(at (= factual-id \"cafe\"))")
        for (accuracy, fires) in [(5.0, false), (50, false), (80, true), (300, false), (300, false)] {
            town.move(75, accuracy: accuracy)
            #expect(town.fired().isEmpty == !fires)
        }
        town.move(99, accuracy: 500)
        town.move(112, accuracy: 500)
        town.move(99, accuracy: 500)
        #expect(town.fired().count == 1)
    }

    @Test(
        "Who was at a place was not near it where `nearRadius` is small",
        arguments: [
            "(= factual-id \"cafe\")", "any-factual-place", "(= category-id \"food\")", "(not is-open)",
            "(= threshold-met \"low\")",
        ])
    func smallNearRadius(_ rule: String) throws {
        for (east, accuracy, isNear) in [
            (48, nil, true), (52, nil, false), (78, 80, true), (82, 80, false), (98, 150, true), (102, 150, false),
        ] as [(Double, Double?, Bool)] {
            var town = EngineHarness()
            try town.register("(near \(rule))", nearRadius: 10)
            let asked = try town.register("(near \(rule))", nil, nearRadius: 10)
            town.move(500)
            #expect(town.fired().isEmpty)
            town.move(east, after: 60, accuracy: accuracy)
            #expect(town.fired().map { $0.nearPlaces.map(\.place) } == (isNear ? [[1]] : []))
            let answer = town.engine.evaluate(asked, for: 0, at: town.now, in: town.world)
            #expect(answer.value == isNear && answer.nearPlaces.map(\.place) == (isNear ? [1] : []))
        }
        // It is left like any place, and a fix at the same position that may be farther off is enough to be near.
        var town = EngineHarness()
        try town.register("(near \(rule))", nearRadius: 10)
        let left = try town.register("(near \(rule))", .departing, nearRadius: 10)
        town.move(30)
        town.move(58, after: 60)
        #expect(town.fired().count == 1)
        town.move(62, after: 60)
        #expect(town.fired().map(\.circumstance) == [left])
        town.move(62, after: 60, accuracy: 70)
        #expect(town.fired().count == 1)
    }

    @Test("A shop that opens and closes fires by time alone, at its minute")
    func timeAlone() throws {
        var town = EngineHarness()
        town.move(0)
        try town.register("(at (= category-id \"food\") is-open)")
        try town.register("(at (= category-id \"food\") is-open)", .departing)
        try town.register("(and (at any-factual-place) (= local-minute-of-day 750))")
        town.pass(86_400)
        let minutes = town.firedAt().map { $0 / 60 }
        #expect(minutes == [480, 750, 1080])
        town.pass(86_400)
        #expect(town.fired().count == 3)
    }

    @Test("A day of the week comes at midnight of the dataset's clock, far from all places")
    func dayOfWeek() throws {
        var town = EngineHarness()
        town.world.offsets = [(.min, 60)]
        town.move(500)
        try town.register("(= local-day-of-week tue)")
        town.pass(3 * 86_400)
        let hours = town.firedAt().map { $0 / 3600 }
        #expect(hours == [23])
    }

    @Test("Unknown fires nothing and keeps the last definite value")
    func unknown() throws {
        var town = EngineHarness()
        let open = try town.register("(at (= factual-id \"kiosk\") is-open)")
        let closed = try town.register("(at (= factual-id \"kiosk\") (not is-open))")
        let departing = try town.register("(at (= factual-id \"cafe\"))", .departing)
        town.move(2000)
        #expect(town.fired().isEmpty)
        #expect(town.engine.evaluate(open, for: 0, at: town.now, in: town.world).value == nil)
        #expect(town.engine.evaluate(closed, for: 0, at: town.now, in: town.world).value == nil)
        town.move(0)
        town.engine.clear(0, into: &town.effects)
        #expect(town.fired().isEmpty)
        #expect(town.engine.evaluate(departing, for: 0, at: town.now, in: town.world).value == nil)
        town.move(500)
        #expect(town.fired().map(\.circumstance) == [departing])
    }

    @Test("Categories include those below them, unless they are exact")
    func categories() throws {
        var town = EngineHarness()
        town.move(0)
        let food = try town.register("(at (= category-id \"food\"))", nil)
        let exact = try town.register("(at (= exact-category-id \"food\"))", nil)
        func values() -> [Bool?] {
            [food, exact].map { town.engine.evaluate($0, for: 0, at: town.now, in: town.world).value }
        }
        #expect(values() == [true, false])
        town.world.parents = [:]
        town.engine.worldDidChange()
        #expect(values() == [false, false])
    }

    @Test("A chain visited before is one that was left before")
    func visited() throws {
        var town = EngineHarness()
        try town.register("(and (at (= chain-id \"x\")) (visited (= chain-id \"x\")))")
        town.move(0)
        town.move(20)
        #expect(town.fired().isEmpty)
        town.move(1000, after: 600)
        #expect(town.fired().isEmpty)
        town.move(2000, after: 600)
        #expect(town.fired().count == 1)
    }

    @Test("Visits that lasted three minutes are known to circumstances that come later, until they are forgotten")
    func earlierVisits() throws {
        var town = EngineHarness()
        town.move(0)
        town.move(5, after: 200)
        town.move(1000, after: 600)
        let rule = try town.register("(visited (= factual-id \"cafe\"))", nil)
        #expect(town.engine.evaluate(rule, for: 0, at: town.now, in: town.world).value == true)
        town.engine.forgetWhereabouts(of: 0)
        town.move(1000)
        #expect(town.engine.evaluate(rule, for: 0, at: town.now, in: town.world).value == false)
    }

    @Test("A short visit counts for what is only asked for, and for what is disabled, from the registration on")
    func visitsOnDemand() throws {
        var town = EngineHarness()
        town.move(0)
        let asked = try town.register("(visited (= factual-id \"cafe\"))", nil)
        let disabled = try town.register("(frequents (= factual-id \"museum\") 1 1)", isEnabled: false)
        func value(_ circumstance: CircumstanceRef) -> Bool? {
            town.engine.evaluate(circumstance, for: 0, at: town.now, in: town.world).value
        }
        #expect(value(asked) == false)
        town.move(1000, after: 60)
        #expect(value(asked) == true)
        #expect(value(disabled) == true)
        town.engine.unregister(asked)
        town.engine.unregister(disabled)
        town.move(2000, after: 60)
        town.move(500, after: 60)
        #expect(!town.engine.visits(of: 0).rows.contains { $0.placeID == "kiosk" })
    }

    @Test("Frequents counts visits of the last days, that of now included, and ends by time alone")
    func frequents() throws {
        var town = EngineHarness()
        try town.register("(frequents (= factual-id \"cafe\") 2 1)")
        try town.register("(frequents (= factual-id \"cafe\") 2 1)", .departing)
        town.move(0)
        town.move(500, after: 600)
        #expect(town.fired().isEmpty)
        town.move(0, after: 600)
        let arrived = town.firedAt()
        #expect(arrived == [1200])
        town.move(500, after: 600)
        town.pass(2 * 86_400)
        // The first visit was over with its only fix at 0; a millisecond after a day it no longer counts.
        let instants = town.fired().map(\.timestamp)
        let midnight: Int64 = 1_772_409_600_000
        #expect(instants == [midnight + 86_400_001])
    }

    @Test("Dwelling begins by time alone and ends with the first fix beyond 50 m")
    func dwelling() throws {
        var town = EngineHarness()
        try town.register("(dwelling 300)")
        try town.register("(dwelling 300)", .departing)
        town.move(0)
        town.move(40, after: 100)
        town.pass(1000)
        let dwelt = town.firedAt()
        #expect(dwelt == [300])
        town.move(45)
        #expect(town.fired().isEmpty)
        town.move(60)
        #expect(town.fired().count == 1)
    }

    @Test("A backlog dwells by its own times: that of a walk fired arriving with its first fix, and never departed")
    func dwellingOfWalk() throws {
        var town = EngineHarness()
        try town.register("(dwelling 300)")
        try town.register("(dwelling 300)", .departing)
        for step in 0..<6 { town.move(Double(step) * 60, late: 3600 - Int64(step) * 10) }
        #expect(town.fired().isEmpty)
        // Where it was heard of last it stays since then.
        town.pass(1000)
        let dwelt = town.firedAt()
        #expect(dwelt == [300])
        town.move(1000)
        #expect(town.fired().count == 1)
    }

    @Test("A backlog of a stay dwells with the fix that is late enough, not before and not later")
    func dwellingOfStay() throws {
        var town = EngineHarness()
        try town.register("(dwelling 300)")
        var fired: [Int64] = []
        for step in 0..<Int64(40) {
            town.move(Double(step % 3), late: 3600 - step * 10)
            if !town.fired().isEmpty { fired.append(step) }
        }
        #expect(fired == [30])
    }

    @Test(
        "Between fixes a stay lasts on from the one heard with the least delay, by time alone",
        arguments: [
            // Seconds after the fix before, and late; when it dwells.
            ([(0, 100)], 300), ([(0, 100), (50, 10)], 210), ([(0, 0), (100, 50)], 300), ([(0, 100), (50, 10), (50, 60)], 210),
            ([(0, 0), (301, 20)], 300),
        ] as [([(Int64, Int64)], Int64)])
    func dwellingByDelay(_ fixes: [(Int64, Int64)], _ dwells: Int64) throws {
        var town = EngineHarness()
        try town.register("(dwelling 300)")
        try town.register("(dwelling 300)", .departing)
        for (seconds, late) in fixes {
            town.pass(seconds)
            town.move(0, late: late)
        }
        town.pass(1000)
        let fired = town.firedAt()
        #expect(fired == [dwells])
    }

    @Test("A long backlog of one stay is queued a few times, not once for each fix")
    func dwellingQueue() throws {
        var town = EngineHarness()
        try town.register("(dwelling 2592000)")
        for step in 0..<Int64(5000) { town.move(0, late: 86_400 - step * 10) }
        #expect(town.engine.reviews < 20)
        var turns = 0
        while let due = town.engine.nextDue, turns < 20 {
            town.now = max(town.now, due)
            town.engine.advance(to: town.now, in: town.world, into: &town.effects)
            turns += 1
        }
        #expect(turns < 20)
        let dwelt = town.firedAt()
        #expect(dwelt == [2_592_000 - 49_990])
    }

    @Test("After a restart a stay lasts on from when its last fix was heard")
    func dwellingAndRestart() throws {
        var town = EngineHarness()
        let rule = CircumstanceRule(try CircumstanceExpression("(dwelling 300)"), trigger: .arriving, owner: "a")
        _ = town.engine.restore(rule, isEnabled: true, in: town.world)
        let at = EngineHarness.position(east: 0)
        // An hour ago it came, 50 s later it was there still, which was heard 100 s ago.
        town.engine.restore(
            0, at: Fix(latitude: at.latitude, longitude: at.longitude, timestamp: town.now - 3_550_000),
            heardAt: town.now - 100_000,
            stay: StayRow(latitude: at.latitude, longitude: at.longitude, since: town.now - 3_600_000, isMoving: nil, delay: nil))
        town.engine.resume(at: town.now)
        town.pass(1000)
        let dwelt = town.firedAt()
        #expect(dwelt == [150])
    }

    @Test(
        "After a restart a stay lasts on from the fix heard with the least delay, which need not be the last",
        arguments: [true, false])
    func dwellingAndRestartAfterLateFix(_ isRegisteredLate: Bool) throws {
        var town = EngineHarness()
        if !isRegisteredLate { try town.register("(dwelling 300)") }
        town.move(0, late: 100)
        town.move(0, after: 50, late: 10)
        if isRegisteredLate { try town.register("(dwelling 300)") }
        town.pass(1)
        town.move(0, after: 49, late: 60)
        let kept = town.effects.compactMap { if case .stay(_, let row) = $0 { row } else { nil } }.last
        town.restart(lastHeardLate: 60, stay: kept)
        let rule = CircumstanceRule(try CircumstanceExpression("(dwelling 300)"), trigger: .arriving, owner: "a")
        _ = town.engine.restore(rule, isEnabled: true, in: town.world)
        town.engine.resume(at: town.now)
        town.pass(1000)
        let dwelt = town.firedAt()
        #expect(dwelt == [210])
    }

    @Test(
        "Moving is a metre a second, as sent or between two fixes beyond their accuracies",
        arguments: [
            (0.0, 30.0, nil as Double?, false), (5, 30, nil, true), (15, 30, nil, false), (5, 30, 0.9, false), (5, 0, 1.0, true),
        ])
    func moving(_ accuracy: Double, _ east: Double, _ speed: Double?, _ isMoving: Bool) throws {
        var town = EngineHarness()
        let rule = try town.register("(moving)", nil)
        town.move(0, accuracy: accuracy)
        #expect(town.engine.evaluate(rule, for: 0, at: town.now, in: town.world).value == nil)
        town.move(east, after: accuracy == 0 ? 31 : 20, accuracy: accuracy, speed: speed)
        #expect(town.engine.evaluate(rule, for: 0, at: town.now, in: town.world).value == isMoving)
    }

    @Test("Live data of the room count when the engine is notified that they changed")
    func live() throws {
        var town = EngineHarness()
        town.move(0)
        try town.register("(live occupancy nrOfPeople > 10)")
        #expect(town.engine.devicesAskingLive == [0])
        town.world.occupancy[0] = 11
        town.engine.review(0, at: town.now, in: town.world, into: &town.effects)
        #expect(town.fired().count == 1)
    }

    @Test("Enabling takes the value of now silently")
    func enabling() throws {
        var town = EngineHarness()
        town.move(0)
        let rule = try town.register("(at (= factual-id \"cafe\"))", isEnabled: false)
        town.move(10)
        town.engine.enable(rule, at: town.now, in: town.world, into: &town.effects)
        #expect(town.fired().isEmpty)
        #expect(town.engine.holds(rule, 0))
        town.move(500)
        town.move(0)
        #expect(town.fired().count == 1)
        town.engine.disable(rule)
        town.move(500)
        town.move(0)
        #expect(town.fired().isEmpty)
    }

    @Test("A circumstance sees its owner's devices and nobody's, or those of them that it names")
    func scope() throws {
        var town = EngineHarness()
        town.engine.restoreDevice(0, DeviceIdentity(id: "d", owner: "a", groups: ["fleet"]))
        try town.register("(at (= factual-id \"cafe\"))", owner: "b")
        try town.register("(at (= factual-id \"cafe\"))", owner: "b", devices: ["d"])
        try town.register("(at (= factual-id \"cafe\"))", devices: ["other"])
        let fleet = try town.register("(at (= factual-id \"cafe\"))", devices: ["fleet"])
        town.move(0)
        #expect(town.fired().map(\.circumstance) == [fleet])
        town.engine.setDevice(0, DeviceIdentity(id: "d"), at: town.now, in: town.world, into: &town.effects)
        #expect(town.effects.contains(.held(fleet, device: 0, false)))
        #expect(town.fired().count == 2)
    }

    @Test("A place that comes, goes or changes fires where devices stand")
    func edits() throws {
        var town = EngineHarness()
        town.move(500)
        try town.register("(at any-factual-place)")
        try town.register("(at any-factual-place)", .departing)
        town.world.places[9] = town.place("new", east: 490, category: "cafe", hours: nil)
        town.engine.placeDidChange(9, exists: true, at: town.now, in: town.world, into: &town.effects)
        #expect(town.fired().map(\.trigger) == [.arriving])
        town.engine.placeWillChange(9, in: town.world)
        town.world.places[9] = nil
        town.engine.placeDidChange(9, exists: false, at: town.now, in: town.world, into: &town.effects)
        #expect(town.fired().map(\.trigger) == [.departing])
    }

    @Test("What nothing can match is unknown, so that a not of it is silent until it exists")
    func notKnownYet() throws {
        var town = EngineHarness()
        town.move(5000)
        let absent = try town.register("(not (near (= factual-id \"later\")))")
        let either = try town.register("(near (any-of factual-id \"later\" \"cafe\"))", nil)
        let never = try town.register("(not (visited (= chain-id \"none\") (= category-id \"food\")))")
        func value(_ circumstance: CircumstanceRef) -> Bool? {
            town.engine.evaluate(circumstance, for: 0, at: town.now, in: town.world).value
        }
        #expect(town.fired().isEmpty)
        #expect(value(absent) == nil && value(either) == false && value(never) == nil)
        town.world.places[4] = town.place("later", east: -5000, category: "food", chain: "y", hours: nil)
        town.engine.placeDidChange(4, exists: true, at: town.now, in: town.world, into: &town.effects)
        town.pass(1)
        #expect(town.fired().map(\.circumstance) == [absent])
        #expect(value(absent) == true)
    }

    /// Of the café alone, with each kind of ``Basis``.
    private static let ofCafe = [
        "(at (= factual-id \"cafe\"))", "(near (= exact-category-id \"cafe\"))",
        "(near (any-of category-id \"cafe\" \"bakery\"))",
        "(at (= factual-id \"cafe\") (not is-open))", "(and (near (= category-id \"cafe\")) true)",
        "(or (at (= factual-id \"cafe\")) (moving))", "(not (not (at (= factual-id \"cafe\"))))",
    ]

    @Test(
        "What is held stays held without the only place it is about: departing fired while it was unknown, and arriving again",
        arguments: ofCafe)
    func lastPlace(_ text: String) throws {
        var town = EngineHarness()
        town.world.parents = [:]
        let cafe = town.world.places[1]
        town.move(0, speed: 0)
        let arriving = try town.register(text)
        let departing = try town.register(text, .departing)
        #expect(town.fired().map(\.circumstance) == [arriving])
        town.change(1, to: nil)
        #expect(town.engine.evaluate(departing, for: 0, at: town.now, in: town.world).value == nil)
        town.move(5, after: 10, speed: 0)
        town.move(300, after: 10, speed: 0)
        #expect(!town.effects.contains { if case .held = $0 { true } else { false } })
        town.change(1, to: town.place("cafe", east: 290, category: "cafe", hours: [480..<1080]))
        #expect(town.fired().isEmpty && town.engine.holds(departing, 0))
        town.change(1, to: nil)
        town.move(5000, after: 10, speed: 0)
        #expect(town.fired().isEmpty)
        // It is back where the device is not.
        town.change(1, to: cafe)
        #expect(town.fired().map(\.circumstance) == [departing])
        town.move(0, after: 10, speed: 0)
        #expect(town.fired().map(\.circumstance) == [arriving])
    }

    @Test("What is held without the only place it is about stays held over a restart", arguments: ofCafe)
    func lastPlaceAndRestart(_ text: String) throws {
        var town = EngineHarness()
        town.world.parents = [:]
        let cafe = town.world.places[1]
        town.world.places[1] = nil
        let rule = CircumstanceRule(try CircumstanceExpression(text), trigger: .departing, owner: "a")
        let departing = town.engine.restore(rule, isEnabled: true, in: town.world)
        town.engine.restoreHeld(departing, 0)
        let at = EngineHarness.position(east: 5000)
        town.engine.restore(
            0, at: Fix(latitude: at.latitude, longitude: at.longitude, timestamp: town.now), heardAt: town.now,
            stay: StayRow(latitude: at.latitude, longitude: at.longitude, since: town.now, isMoving: false, delay: 0))
        town.engine.resume(at: town.now)
        town.pass(1)
        town.move(5001, after: 10, speed: 0)
        #expect(town.effects.isEmpty && town.engine.holds(departing, 0))
        town.change(1, to: cafe)
        #expect(town.fired().map(\.circumstance) == [departing])
    }

    @Test("What is held ends with its place where another one could make it true, or another part is false")
    func notTheLastPlace() throws {
        var town = EngineHarness()
        town.move(0, speed: 2)
        let chain = try town.register("(at (= chain-id \"x\"))", .departing)
        let either = try town.register("(at (any-of factual-id \"none\" \"cafe\" \"museum\"))", .departing)
        let moving = try town.register("(and (at (= factual-id \"cafe\")) (moving))", .departing)
        town.change(1, to: nil)
        #expect(town.fired().map(\.circumstance) == [chain, either])
        town.move(1, after: 10, speed: 0)
        #expect(town.fired().map(\.circumstance) == [moving])
    }

    @Test("A visit to a place that is gone is unknown, and what it made true stays")
    func visitedPlaceGone() throws {
        var town = EngineHarness()
        let cafe = town.world.places[1]
        try town.register("(visited (= factual-id \"cafe\"))")
        try town.register("(visited (= factual-id \"cafe\"))", .departing)
        town.move(0)
        town.move(500, after: 60)
        #expect(town.fired().count == 1)
        town.change(1, to: nil)
        town.change(1, to: cafe)
        #expect(town.fired().isEmpty)
    }

    @Test("The trace has each part with its value")
    func trace() throws {
        var town = EngineHarness()
        town.move(0)
        let rule = try town.register("(and (at (= category-id \"food\") (not is-open)) (or (moving) true))", nil)
        let lines = town.engine.trace(rule, for: 0, at: town.now, in: town.world)
        let expected: [(Int, String, Bool?)] = [
            (0, "(and (at (= category-id \"food\") (not is-open)) (or (moving) true))", true),
            (1, "(at (= category-id \"food\") (not is-open))", true),
            (2, "(= category-id \"food\")", true),
            (2, "(not is-open)", true),
            (3, "is-open", false),
            (1, "(or (moving) true)", true),
            (2, "(moving)", nil),
            (2, "true", true),
        ]
        #expect(lines.count == expected.count)
        for (line, row) in zip(lines, expected) {
            #expect(line.depth == row.0)
            #expect(line.expression == row.1)
            #expect(line.value == row.2)
        }
    }

    @Test("A device's history has a bound, at which the place left longest ago gives way")
    func historyBound() throws {
        var town = EngineHarness()
        town.world.places = [:]
        for number in 0..<UInt32(VisitHistory.placesMax + 5) {
            town.world.places[number] = town.place("p\(number)", east: Double(number) * 200, category: "cafe", hours: nil)
        }
        try town.register("(visited any-factual-place)")
        for number in 0..<VisitHistory.placesMax + 5 { town.move(Double(number) * 200, after: 60) }
        let rows = town.engine.visits(of: 0).rows
        #expect(rows.count == VisitHistory.placesMax)
        #expect(!rows.contains { $0.placeID == "p0" } && rows.contains { $0.placeID == "p5" })
        #expect(town.effects.contains(.visitForgotten(device: 0, placeID: "p4")))
    }

    @Test("Circumstances cost nothing for devices that they do not concern")
    func onlyWhatCanChange() throws {
        var town = EngineHarness()
        for number in 0..<500 { try town.register("(at (= factual-id \"far-\(number)\") is-open)") }
        town.move(300)
        let reviews = town.engine.reviews
        let evaluations = town.engine.evaluations
        for step in 0..<100 { town.move(300 + Double(step % 7)) }
        #expect(town.engine.evaluations == evaluations)
        #expect(town.engine.reviews <= reviews + 1)
    }
}
