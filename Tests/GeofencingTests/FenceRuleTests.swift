import Geodesy
import Testing

@testable import Geofencing

/// One circle of 100 m, and a device that walks north from its middle.
struct FenceWalk: ~Copyable {
    var engine = GeofenceEngine()
    private(set) var log: [String] = []
    private var now: Int64 = 0
    static let latitude = 43.73

    init(_ rule: FenceRule, radius: Double = 100) throws {
        var effects: [FenceEffect] = []
        let area = FenceArea(try Area.Circle(latitude: Self.latitude, longitude: 7.42, radius: radius))
        engine.restore(0, FenceDevice(id: "phone", owner: "alice"), nil)
        engine.insert(0, Fence(rule: rule, area: area, owner: "alice"), at: 0, into: &effects)
    }

    /// Degrees north of the middle for metres at this latitude.
    static func north(_ metres: Double) -> Double { latitude + metres / 111_100 }

    mutating func fix(_ metres: Double, accuracy: Double = 0, at seconds: Double, heardAt: Double? = nil) {
        let time = Int64(seconds * 1000)
        now = heardAt.map { Int64($0 * 1000) } ?? time
        var effects: [FenceEffect] = []
        engine.move(
            0,
            to: FenceFix(
                latitude: Self.north(metres), longitude: 7.42, accuracy: accuracy, timestamp: time, heardAt: now),
            into: &effects)
        note(effects)
    }

    mutating func pass(to seconds: Double) {
        var effects: [FenceEffect] = []
        engine.advance(to: Int64(seconds * 1000), into: &effects)
        note(effects)
    }

    private mutating func note(_ effects: [FenceEffect]) {
        for effect in effects {
            switch effect {
            case .entered(_, _, _, let at): log.append("entered \(at / 1000)")
            case .dwelled(_, _, _, let at): log.append("dwelled \(at / 1000)")
            case .exited(_, _, _, let at, _, let reason): log.append("\(reason.rawValue) \(at / 1000)")
            }
        }
    }
}

@Suite("When a device is inside of a geofence")
struct FenceRuleTests {
    @Test("By the centre a visit begins inside and ends beyond the exit margin")
    func centre() throws {
        var walk = try FenceWalk(FenceRule(accuracy: .centre))
        walk.fix(105, at: 0)
        walk.fix(99, at: 1)
        walk.fix(109, at: 2)
        walk.fix(111, at: 3)
        walk.fix(105, at: 4)
        #expect(walk.log == ["entered 1", "left 3"])
    }

    @Test("Possible subtracts the accuracy from the distance, certain adds it")
    func accuracies() throws {
        var possible = try FenceWalk(FenceRule(accuracy: .possible))
        possible.fix(5000, accuracy: 4950, at: 0)
        possible.fix(5000, accuracy: 4800, at: 1)
        #expect(possible.log == ["entered 0", "left 1"])
        var certain = try FenceWalk(FenceRule(accuracy: .certain))
        certain.fix(50, accuracy: 60, at: 0)
        certain.fix(50, accuracy: 40, at: 1)
        certain.fix(50, accuracy: 55, at: 2)
        certain.fix(50, accuracy: 61, at: 3)
        #expect(certain.log == ["entered 1", "left 3"])
    }

    @Test("A likely exit takes two usable fixes that span a minute, all outside by more than margin and accuracy")
    func likelyExit() throws {
        var walk = try FenceWalk(FenceRule())
        walk.fix(0, accuracy: 20, at: 0)
        walk.fix(300, accuracy: 20, at: 10)
        walk.fix(300, accuracy: 20, at: 69)
        // One within its accuracy of the edge begins the minute again; one too coarse to decide does not.
        walk.fix(115, accuracy: 20, at: 75)
        walk.fix(300, accuracy: 20, at: 80)
        walk.fix(0, accuracy: 500, at: 100)
        walk.fix(300, accuracy: 20, at: 139)
        #expect(walk.log == ["entered 0"])
        walk.fix(300, accuracy: 20, at: 140)
        #expect(walk.log == ["entered 0", "left 140"])
    }

    @Test("A likely entry lies inside by half the accuracy or half the depth; a fix that is too coarse decides nothing")
    func likelyEntry() throws {
        var walk = try FenceWalk(FenceRule())
        walk.fix(95, accuracy: 20, at: 0)
        walk.fix(0, accuracy: 101, at: 1)
        #expect(walk.log.isEmpty)
        walk.fix(89, accuracy: 20, at: 2)
        #expect(walk.log == ["entered 2"])
        var coarse = try FenceWalk(FenceRule())
        coarse.fix(49, accuracy: 100, at: 0)
        #expect(coarse.log == ["entered 0"])
        var large = try FenceWalk(FenceRule(), radius: 10_000)
        large.fix(0, accuracy: 5001, at: 0)
        large.fix(8000, accuracy: 4900, at: 1)
        large.fix(7000, accuracy: 4900, at: 2)
        #expect(large.log == ["entered 2"])
    }

    @Test("Dwelling is reported once when it is due, by the fixes' times where they lie behind")
    func dwelling() throws {
        var walk = try FenceWalk(FenceRule(accuracy: .centre, dwell: 60_000))
        walk.fix(0, at: 0)
        walk.pass(to: 59)
        #expect(walk.log == ["entered 0"])
        walk.pass(to: 61)
        walk.pass(to: 200)
        #expect(walk.log == ["entered 0", "dwelled 60"])
        var late = try FenceWalk(FenceRule(accuracy: .centre, dwell: 60_000))
        late.fix(0, at: 0, heardAt: 10_000)
        late.pass(to: 10_001)
        late.fix(0, at: 59, heardAt: 10_002)
        late.pass(to: 10_002)
        #expect(late.log == ["entered 0"])
        late.fix(0, at: 90, heardAt: 10_003)
        #expect(late.log == ["entered 0", "dwelled 60"])
    }

    @Test("A fix too coarse to decide made a visit dwell whose last usable fix was outside", arguments: [true, false])
    func coarseDwelling(_ isOutsideBefore: Bool) throws {
        var walk = try FenceWalk(FenceRule(dwell: 300_000), radius: 50)
        walk.fix(0, accuracy: 5, at: 0)
        walk.fix(isOutsideBefore ? 500 : 0, accuracy: 5, at: 20)
        walk.fix(500, accuracy: 500, at: 310)
        #expect(walk.log == (isOutsideBefore ? ["entered 0"] : ["entered 0", "dwelled 300"]))
        walk.fix(500, accuracy: 5, at: 320)
        walk.fix(500, accuracy: 5, at: 390)
        #expect(walk.log == (isOutsideBefore ? ["entered 0", "left 320"] : ["entered 0", "dwelled 300", "left 390"]))
    }

    @Test("Who is not heard of is lost, and comes back with the next fix")
    func silence() throws {
        var walk = try FenceWalk(FenceRule(accuracy: .centre, staleAfter: 100_000))
        walk.fix(0, at: 0)
        walk.fix(0, at: 50)
        walk.pass(to: 149)
        #expect(walk.log == ["entered 0"])
        walk.pass(to: 151)
        walk.fix(0, at: 160)
        #expect(walk.log == ["entered 0", "lost 150", "entered 160"])
    }

    @Test("An update, a clearing and a deletion end visits at once; a fence that moves away ends them as fixes do")
    func ends() throws {
        let area = FenceArea(try Area.Circle(latitude: 10, longitude: 7.42, radius: 100))
        var walk = try FenceWalk(FenceRule())
        walk.fix(0, at: 0)
        var effects: [FenceEffect] = []
        walk.engine.update(0, Fence(rule: FenceRule(), area: area, owner: "alice"), at: 1000, into: &effects)
        guard case .exited(_, _, _, _, _, .left)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(walk.engine.members(of: 0).isEmpty && walk.engine.visits(of: 0).isEmpty)
        var gone = try FenceWalk(FenceRule())
        gone.fix(0, at: 0)
        effects = []
        gone.engine.remove(0 as Int32, into: &effects)
        guard case .exited(_, _, _, _, _, .deleted)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
    }
}
