import Testing

@testable import Circumstances

@Suite("A place that very many name")
struct NamedPlaceCrowdTests {
    private static let owners = 100

    private var town = EngineHarness()

    /// Each owner has a device of its own, far from everything, and a circumstance about the café.
    init() throws {
        for number in 1...Self.owners {
            town.engine.restoreDevice(UInt32(number), DeviceIdentity(id: "d\(number)", owner: "o\(number)"))
            try town.register(#"(at (= factual-id "cafe"))"#, owner: "o\(number)")
            move(number, to: 100_000)
        }
        town.pass(1)
        town.effects = []
    }

    private mutating func move(_ device: Int, to east: Double) {
        let at = EngineHarness.position(east: east)
        town.engine.move(
            UInt32(device), to: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: town.now),
            at: town.now, in: town.world, into: &town.effects)
    }

    /// The café is somewhere else, or gone, and nothing goes on yet.
    private mutating func change(to east: Double?) {
        town.engine.placeWillChange(1, in: town.world)
        town.world.places[1] = east.map { town.place("cafe", east: $0, category: "cafe", hours: nil) }
        town.engine.placeDidChange(1, exists: east != nil, at: town.now, in: town.world, into: &town.effects)
    }

    /// So many owners find the café where it was.
    private var outdated: Int { town.engine.named.outdated.values.reduce(0, +) }

    @Test("Its change rewrote the grids of all in one turn: they follow in portions, and earlier where a device is looked at")
    mutating func portions() throws {
        change(to: 50_000)
        #expect(outdated == Self.owners)
        move(7, to: 50_000)
        move(8, to: 0)
        #expect(town.fired().map(\.device) == [7])
        var turns = 0
        while outdated > 0, turns < 1000 {
            let before = outdated
            let due = try #require(town.engine.nextDue)
            #expect(due <= town.now)
            town.engine.advance(to: town.now, atMost: 16, in: town.world, into: &town.effects)
            #expect(before - outdated <= 16)
            turns += 1
        }
        #expect(turns >= Self.owners / 16 && town.fired().isEmpty)
        town.pass(1)
        #expect(town.engine.named.outdated.isEmpty && town.engine.nextDue ?? .max > town.now)
        for number in 1...Self.owners { move(number, to: 50_000) }
        #expect(town.fired().map(\.device) == (1...UInt32(Self.owners)).filter { $0 != 7 })
    }

    @Test("It changes again, goes, and comes back in the middle of that")
    mutating func again() {
        change(to: 50_000)
        town.engine.advance(to: town.now, atMost: 40, in: town.world, into: &town.effects)
        change(to: 60_000)
        #expect(outdated == Self.owners)
        town.engine.advance(to: town.now, atMost: 40, in: town.world, into: &town.effects)
        change(to: nil)
        for number in 1...20 { move(number, to: 50_000) }
        for number in 1...20 { move(number, to: 60_000) }
        #expect(town.fired().isEmpty)
        town.world.places[1] = town.place("cafe", east: 70_000, category: "cafe", hours: nil)
        town.engine.placeDidChange(1, exists: true, at: town.now, in: town.world, into: &town.effects)
        for number in 40...60 { move(number, to: 70_000) }
        #expect(town.fired().map(\.device) == Array(40...60))
        town.pass(1)
        for number in 1...20 { move(number, to: 70_000) }
        #expect(town.fired().map(\.device) == Array(1...20))
    }
}
