import Foundation
import SeededRandom
import Testing
import Wire

@testable import geomatch

@Suite("A day of a building")
struct DemoTests {
    private func updates(_ day: DemoDay) -> [(second: Int, update: DemoDay.Update)] {
        var day = day
        var all: [(Int, DemoDay.Update)] = []
        while !day.isOver {
            let second = day.second
            all += day.next().map { (second, $0) }
        }
        #expect(day.next().isEmpty)
        return all
    }

    @Test("The same seed makes the same day, another one another")
    func seeded() {
        let day = { (seed: UInt64) in updates(DemoDay(people: 5, floors: 2, hours: 2, seed: seed)).map(\.update) }
        #expect(day(1) == day(1))
        #expect(day(1) != day(2))
    }

    @Test("People are where their topic says, go through corridors and stairs from room to room, and are gone in the evening")
    func people() throws {
        var random = SplitMix64.forTest()
        let day = DemoDay(people: 12, floors: 3, hours: 4, seed: random.next())
        let rooms = day.building.rooms
        var at: [String: (room: Int, second: Int, latitude: Double, longitude: Double)] = [:]
        var cameIn: Set<String> = []
        for (second, update) in updates(day) where update.levels[5] == "position" {
            let id = update.levels[4]
            let room = try #require(rooms.firstIndex { "\($0.floor)" == update.levels[2] && $0.id == update.levels[3] })
            guard let properties = update.properties else {
                // Cleared where they were published last: on the topic that holds their state.
                #expect(at.removeValue(forKey: id)?.room == room && room == day.building.lobby)
                continue
            }
            let latitude = try #require(properties["latitude"]?.asDouble)
            let longitude = try #require(properties["longitude"]?.asDouble)
            let accuracy = try #require(properties["horizontalAccuracy"]?.asDouble)
            #expect(accuracy >= 1 && accuracy <= 5)
            #expect(properties["floorIndex"] == .integer(Int64(rooms[room].floor)))
            let south = DemoBuilding.position(DemoBuilding.Point(x: rooms[room].west, y: rooms[room].south))
            let north = DemoBuilding.position(DemoBuilding.Point(x: rooms[room].east, y: rooms[room].north))
            // A walker is counted in a room from the step that leads into it on; degrees are taken generously.
            let margin = (accuracy + 4) / 70_000
            #expect(latitude >= south.latitude - margin && latitude <= north.latitude + margin)
            #expect(longitude >= south.longitude - margin && longitude <= north.longitude + margin)
            if let before = at[id] {
                #expect(before.second <= second)
                if before.room != room {
                    let kinds = [rooms[before.room].kind, rooms[room].kind]
                    let isOnStairs = kinds == [.stairs, .stairs]
                    #expect(isOnStairs || (kinds.contains(.corridor) && rooms[before.room].floor == rooms[room].floor))
                }
            } else {
                cameIn.insert(id)
                #expect(room == day.building.lobby)
            }
            at[id] = (room, second, latitude, longitude)
        }
        #expect(cameIn.count == 12)
        #expect(at.isEmpty)
    }

    @Test("Rooms count who is in them, desks are taken and left, and no update is out of its domain")
    func sensors() throws {
        var random = SplitMix64.forTest()
        let day = DemoDay(people: 40, floors: 2, hours: 4, seed: random.next())
        var free: [[String]: Bool] = [:]
        var inRooms: [[String]: Int64] = [:]
        var mostInRooms: Int64 = 0
        var leastFree = Int.max
        var co2: [Int64] = []
        for (second, update) in updates(day) {
            guard let properties = update.properties else { continue }
            switch update.levels[5] {
            case "availability": free[update.levels] = properties["available"]?.asBool
            case "occupancy":
                let people = try #require(properties["nrOfPeople"]?.asInt64)
                #expect(people >= 0 && people <= 40)
                inRooms[update.levels] = people
                mostInRooms = max(mostInRooms, inRooms.values.reduce(0, +))
            case "co2": co2.append(try #require(properties["co2"]?.asInt64))
            case "temperature", "humidity", "position": break
            default: Issue.record("\(update)")
            }
            if second > 1200 { leastFree = min(leastFree, free.values.count { $0 }) }
        }
        #expect(free.count == day.building.deskCount && free.count == 24 + 42)
        #expect(free.values.count { $0 } >= free.count - 1)
        #expect(leastFree < free.count - 20)
        // A change is published within five seconds: who walks from one room to another may be counted in both.
        #expect(mostInRooms > 30 && mostInRooms <= 45)
        #expect(inRooms.values.allSatisfy { $0 == 0 })
        #expect(co2.allSatisfy { (400...3000).contains($0) } && co2.contains { $0 > 600 })
    }

    @Test("One sensor falls silent in the middle of the day, and one desk flaps")
    func faults() {
        var random = SplitMix64.forTest()
        let day = DemoDay(people: 3, floors: 1, hours: 4, seed: random.next())
        var last: [[String]: Int] = [:]
        var toggles: [[String]: Int] = [:]
        for (second, update) in updates(day) {
            if update.levels[5] == "co2" { last[update.levels] = second }
            if update.levels[5] == "availability" { toggles[update.levels, default: 0] += 1 }
        }
        #expect(last.values.filter { $0 < day.seconds / 2 }.count == 1)
        #expect(last.values.filter { $0 >= day.seconds - 300 }.count == last.count - 1)
        #expect(toggles.values.filter { $0 > day.seconds / 2 / 3 - 2 }.count == 1)
        #expect(toggles.values.filter { $0 < 30 }.count == toggles.count - 1)
    }

    @Test("Even a day of seconds, without people or with more than desks, ends")
    func extremes() {
        for (people, hours) in [(0, 0.001), (50, 0.01), (100, 0.3), (1, 2)] {
            _ = updates(DemoDay(people: people, floors: 1, hours: hours, seed: 1))
        }
    }

    @Test("The structure names parents first, and holds every level that updates use")
    func structure() throws {
        let day = DemoDay(people: 3, floors: 2, hours: 3, seed: 5)
        var known: Set<String> = []
        for feature in day.building.features {
            let properties = try #require(feature.member("properties"))
            let parents = properties.member("parents")?.asObject?.members.compactMap(\.value.asString) ?? []
            let path = parents.joined(separator: "/")
            #expect(path.isEmpty || known.contains(path))
            let id = try #require(properties.member("id")?.asString)
            #expect(known.insert(path.isEmpty ? id : path + "/" + id).inserted)
        }
        for (_, update) in updates(day) {
            let isPerson = update.levels[5] == "position" || update.levels[4] == "-"
            #expect(known.contains(update.levels.prefix(isPerson ? 4 : 5).joined(separator: "/")))
        }
    }

    @Test("demo publishes the day at the broker and sums it up; without a word it names the demos")
    func command() throws {
        #expect(try geomatch("demo").out.contains("building"))
        var day = DemoDay(people: 2, floors: 1, hours: 0.2, seed: 3)
        var expected: [String] = []
        while !day.isOver { expected += day.next().map { "d/" + $0.levels.joined(separator: "/") } }
        try withDaemon(filters: ["d/#"]) { broker, daemon in
            let said = try geomatch(
                "--broker", broker.url, "--dataset", "d", "demo", "building", "--people", "2", "--floors", "1", "--hours", "0.2",
                "--seed", "3", "--speed", "1000000", "--no-structure")
            #expect(said.code == 0 && said.out.isEmpty)
            #expect(
                said.error.split(separator: "\n").last?.hasPrefix("geomatch: the day is over: \(expected.count) updates") == true)
            #expect(said.error.contains("geomatch: dataset d; the page shows it: http://localhost:8080/?client=admin#d "))
            let messages = daemon.received(expected.count)
            #expect(messages.map(\.topic) == expected)
            #expect(messages.allSatisfy { $0.payload.isEmpty || $0.payload.contains("timestamp") })
        }
    }

    /// Imports everything it is asked to.
    private static let importer: FakeDaemon.Answer = { daemon, message, correlation in
        guard message.topic.hasSuffix("/dataset/import"),
            let id = (try? JSONValue.parse(message.payload))?.member("requestId")?.asString
        else { return }
        daemon.publish(
            "geomatch/d/admin/reply", #"{"requestId":"\#(id)","result":{"imported":1,"replaced":0,"refused":[]}}"#,
            correlation: correlation)
    }

    @Test(
        "A demo whose broker is gone went on after SIGINT and SIGTERM, and published at the next one",
        arguments: [SIGINT, SIGTERM])
    func endsWithoutBroker(_ signal: Int32) throws {
        let broker = try TestBroker()
        let daemon = try FakeDaemon(broker, filters: ["d/#", "geomatch/+/+/request/dataset/import"], answer: Self.importer)
        let run = try CommandLineRun([
            "--broker", broker.url, "--dataset", "d", "demo", "building", "--people", "2", "--floors", "1", "--seed", "3",
        ])
        #expect(run.waitForError("Ctrl-C ends").contains("Ctrl-C ends"))
        #expect(daemon.received(5).count >= 5)
        broker.end()
        #expect(run.waitForError("trying again").contains("trying again"))
        run.interrupt(signal)
        let said = run.finish()
        #expect(said.code == 0 && said.error.contains("interrupted at"), "\(said)")
        daemon.end()
    }
}
