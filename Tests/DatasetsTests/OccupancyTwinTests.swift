import Geodesy
import SeededRandom
import Testing
import Wire

@testable import Datasets

/// What the documentation of ``Occupancy`` says, with everything looked through each time.
private struct NaiveOccupancy {
    struct Person {
        var room: String?
        var candidate: String??
        var candidateSince: Int64 = 0
        var seenAt: Int64
    }

    /// Rooms of one floor: west, south, east, north in metres; nested ones later.
    static let rooms: [(id: String, box: (Double, Double, Double, Double))] = [
        ("a", (0, 0, 10, 10)), ("b", (10, 0, 20, 10)), ("c", (20, 0, 30, 10)), ("booth", (23, 3, 27, 7)),
    ]
    var people: [String: Person] = [:]

    static func room(_ x: Double, _ y: Double) -> String? {
        rooms.last { $0.box.0 <= x && x <= $0.box.2 && $0.box.1 <= y && y <= $0.box.3 }?.id
    }

    /// Metres to the edge, negative inside.
    static func edge(_ id: String, _ x: Double, _ y: Double) -> Double {
        guard let box = rooms.first(where: { $0.id == id })?.box else { return .infinity }
        let inside = min(x - box.0, box.2 - x, y - box.1, box.3 - y)
        if inside >= 0 { return -inside }
        let dx = max(box.0 - x, 0, x - box.2)
        let dy = max(box.1 - y, 0, y - box.3)
        return (dx * dx + dy * dy).squareRoot()
    }

    mutating func see(_ id: String, _ x: Double, _ y: Double, at now: Int64) {
        let found = Self.room(x, y)
        guard var person = people[id], let present = person.room else {
            people[id] = found.map { Person(room: $0, candidate: nil, seenAt: now) }
            return
        }
        person.seenAt = now
        let isClear = Self.edge(present, x, y) > 2 || found.map { Self.edge($0, x, y) < -2 } ?? false
        if found == present {
            person.candidate = nil
        } else if isClear {
            person.room = found
            person.candidate = nil
        } else if person.candidate == nil || person.candidate! != found {
            person.candidate = .some(found)
            person.candidateSince = now
        }
        people[id] = person.room == nil ? nil : person
    }

    mutating func advance(to now: Int64) {
        for (id, var person) in people {
            if let candidate = person.candidate, now - person.candidateSince >= 5000 {
                person.room = candidate
                person.candidate = nil
            }
            people[id] = person.room == nil || now - person.seenAt >= 600_000 ? nil : person
        }
    }

    func count(_ room: String) -> Int { people.values.filter { $0.room == room }.count }
}

@Suite("Derived occupancy beside its twin")
struct OccupancyTwinTests {
    @Test("Random walks through walls, silence and restarts leave the same figures", arguments: 0..<3)
    func walks(_ run: UInt64) {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        let harness = HubHarness()
        harness.importStructure(FloorPlan.house)
        _ = harness.request("dataset/update", #"{"derivedOccupancy":true}"#, client: "admin")
        harness.advance(milliseconds: 1000)
        var twin = NaiveOccupancy()
        var places: [String: (Double, Double)] = [:]
        var reported = 0
        for step in 0..<400 {
            for _ in 0..<random.below(6) {
                let id = "p\(random.below(12))"
                var (x, y) = places[id] ?? (Double.random(in: -5...35, using: &random), 5)
                // Not on a wall to the centimetre, where degrees decide.
                x = ((max(-5, min(35, x + .random(in: -3...3, using: &random))) * 10).rounded(.down) + 0.5) / 10
                y = ((max(-3, min(13, y + .random(in: -2...2, using: &random))) * 10).rounded(.down) + 0.5) / 10
                places[id] = (x, y)
                harness.send("d/-/-/-/-/\(id)/position", FloorPlan.payload(x, y, #","floorIndex":0"#))
                twin.see(id, x, y, at: harness.now)
            }
            let (pause, tick): (Int64, Int64) = random.chance(2) ? (400_000, 5000) : (Int64(random.below(30)) * 100, 100)
            for _ in 0..<(pause / tick) {
                harness.advance(milliseconds: tick, step: tick)
                twin.advance(to: harness.now)
            }
            if step % 20 == 19 {
                // A second for what is held back; what comes to count meanwhile is held back for another.
                var quiet = 0
                while quiet < 11 {
                    let before = NaiveOccupancy.rooms.map { twin.count($0.id) }
                    harness.advance(milliseconds: 100)
                    twin.advance(to: harness.now)
                    quiet = NaiveOccupancy.rooms.map { twin.count($0.id) } == before ? quiet + 1 : 0
                }
                let isSettled = twin.people.values.allSatisfy { $0.candidate == nil }
                for (room, _) in NaiveOccupancy.rooms where isSettled || step % 40 == 39 {
                    let expected = twin.count(room)
                    #expect(harness.hub.datasets["d"]?.occupancy?.place(["v", "h", "0", room]).count == expected)
                    if isSettled { #expect(harness.occupancy("v/h/0/\(room)") == Double(expected)) }
                    reported += expected
                }
            }
            harness.published.removeAll()
        }
        #expect(reported > 20)
    }
}
