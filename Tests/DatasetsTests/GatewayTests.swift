import FlatRecording
import Geodesy
import Ranging
import Testing
import Wire

@testable import Datasets

@Suite("Gateways tell where a carried beacon is")
struct GatewayTests {
    private let harness = HubHarness()

    /// Two rooms, a gateway in each, 20 m apart.
    init() {
        for (name, longitude) in [("one", 7.42), ("two", 7.42025)] {
            _ = harness.request(
                "device/create",
                #"{"deviceType":"PinDevice","id":"gw-\#(name)","location":{"latitude":43.73,"longitude":\#(longitude)}}"#)
        }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"tag"}"#)
        _ = harness.request(
            "device/update", #"{"id":"tag","carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}}"#)
    }

    private func hear(_ room: String, _ distance: Double) {
        harness.send("d/v/b/1/\(room)/gw-\(room)/proximity", Sample.sighting(1, #""distance":\#(distance)"#))
    }

    private func position(_ room: String) -> JSONValue? {
        harness.retained["live/d/v/b/1/\(room)/tag/position"].flatMap { try? JSONValue.parse($0) }
    }

    @Test("its device takes the room of the nearest and a position, derived and with an accuracy")
    func located() {
        hear("one", 2)
        harness.advance(milliseconds: 200)
        let seen = position("one")
        #expect(seen?["derived"] == true && seen?["itemId"]?.text == "tag")
        #expect(seen?["properties"]?["room"]?.text == "one" && seen?["properties"]?["gateway"]?.text == "gw-one")
        #expect(seen?["properties"]?["horizontalAccuracy"]?.number == 2)
        #expect(seen?["properties"]?["latitude"]?.number == 43.73)
        #expect(seen?["properties"]?["roomReason"]?.text == "first heard by gw-one at 2.0 m")
        #expect(seen?["properties"]?["roomProbability"]?.number == 1)
        #expect(harness.result("device/get", #"{"id":"tag"}"#)?["location"]?["longitude"]?.number == 7.42)
    }

    @Test("it changes rooms once it is clear enough that another gateway is nearer, and says why")
    func changesRooms() {
        for _ in 0..<5 {
            hear("one", 2)
            hear("two", 10)
            harness.advance(milliseconds: 1000)
        }
        for _ in 0..<4 {
            hear("one", 10)
            hear("two", 9.9)
            harness.advance(milliseconds: 1000)
        }
        #expect(position("one") != nil && position("two") == nil)
        for _ in 0..<8 {
            hear("one", 10)
            hear("two", 2)
            harness.advance(milliseconds: 1000)
        }
        #expect(position("one") == nil && position("two") != nil)
        #expect(position("two")?["properties"]?["roomReason"]?.text?.contains("was nearer than gw-one") == true)
    }

    @Test("what the device sends itself is not late beside what was worked out")
    func ownFix() {
        hear("one", 2)
        harness.advance(milliseconds: 200)
        harness.send("d/-/-/-/-/tag/position", #"{"lat":43.8,"lon":7.5,"timestamp":\#(harness.now - 60_000)}"#)
        #expect(position("one") == nil && harness.counters.updates.late == 0)
        #expect(harness.retained["live/d/-/-/-/-/tag/position"] != nil)
    }

    @Test("what the device sends itself stands for ten seconds where it is as accurate")
    func accurateFix() {
        func fix(_ accuracy: Double) {
            harness.send(
                "d/-/-/-/-/tag/position", #"{"lat":43.8,"lon":7.5,"horizontalAccuracy":\#(accuracy),"timestamp":\#(harness.now)}"#
            )
        }
        fix(2)
        for _ in 0..<9 {
            hear("one", 2)
            harness.advance(milliseconds: 1000)
            #expect(position("one") == nil)
        }
        harness.advance(milliseconds: 1000)
        hear("one", 2)
        harness.advance(milliseconds: 200)
        #expect(position("one") != nil)
        fix(50)
        #expect(position("one") == nil)
        hear("one", 2)
        harness.advance(milliseconds: 1200)
        #expect(position("one") != nil)
    }

    @Test("after a restart it is in the room it was in, regardless of who is the first to hear it")
    func restart() {
        for _ in 0..<3 {
            hear("one", 3)
            hear("two", 6)
            harness.advance(milliseconds: 1000)
        }
        let before = position("one")?["properties"]
        harness.restart()
        harness.advance(milliseconds: 25_000)
        for _ in 0..<3 {
            hear("two", 6)
            harness.advance(milliseconds: 500)
        }
        #expect(position("one")?["properties"]?["roomSince"] == before?["roomSince"] && position("two") == nil)
        #expect(position("one")?["properties"]?["roomReason"] == before?["roomReason"])
        for _ in 0..<5 {
            hear("one", 3)
            hear("two", 6)
            harness.advance(milliseconds: 1000)
        }
        #expect(position("one")?["properties"]?["roomSince"] == before?["roomSince"] && position("two") == nil)
    }

    @Test("after a restart it changes rooms where those of the former one stay silent")
    func restartElsewhere() {
        hear("one", 3)
        harness.advance(milliseconds: 1000)
        harness.restart()
        harness.advance(milliseconds: 25_000)
        for _ in 0..<5 {
            hear("two", 6)
            harness.advance(milliseconds: 1000)
        }
        #expect(position("one") == nil && position("two") != nil)
        #expect(position("two")?["properties"]?["roomReason"]?.text?.contains("nobody in the former room") == true)
    }

    @Test("a distance and a direction place it, turned by how the gateway hangs")
    func turned() throws {
        _ = harness.request("device/update", #"{"id":"gw-one","orientation":{"heading":80,"tilt":30}}"#)
        // As high as the gateway, which faces upwards, and to the east.
        let angles = #""distance":4,"distanceAccuracy":0.1,"azimuth":10,"elevation":-29.6,"angleAccuracy":1"#
        for _ in 0..<4 {
            harness.send("d/v/b/1/one/gw-one/proximity", Sample.sighting(1, angles))
            harness.advance(milliseconds: 1000)
        }
        let seen = try #require(position("one")?["properties"])
        let place = LocalPlane(around: Position(latitude: 43.73, longitude: 7.42)).point(
            Position(latitude: try #require(seen["latitude"]?.number), longitude: try #require(seen["longitude"]?.number)))
        #expect(abs(place.x - 4) < 0.15 && abs(place.y - 0.09) < 0.15)
        #expect(try #require(seen["horizontalAccuracy"]?.number) < 0.3)
    }

    @Test("two directions cross where it is, without any distance")
    func crossing() throws {
        for _ in 0..<4 {
            // 20.1 m apart: 10 m to the north-east of the one is 10 m to the north-west of the other.
            harness.send("d/v/b/1/one/gw-one/proximity", Sample.sighting(1, #""azimuth":45,"angleAccuracy":2"#))
            harness.send("d/v/b/1/two/gw-two/proximity", Sample.sighting(1, #""azimuth":-45,"angleAccuracy":2"#))
            harness.advance(milliseconds: 1000)
        }
        let seen = harness.retained.first { $0.key.hasSuffix("/tag/position") && !$0.value.isEmpty }?.value
        let properties = try #require(seen.flatMap { try? JSONValue.parse($0) }?["properties"])
        let place = LocalPlane(around: Position(latitude: 43.73, longitude: 7.42)).point(
            Position(
                latitude: try #require(properties["latitude"]?.number), longitude: try #require(properties["longitude"]?.number)))
        #expect(place.distance(to: LocalPlane.Point(x: 10.05, y: 10.05)) < 1)
    }

    @Test("a beacon that is carried no longer moves nobody")
    func dropped() {
        _ = harness.request("device/update", #"{"id":"tag","carries":null}"#)
        hear("one", 2)
        harness.advance(milliseconds: 2000)
        #expect(position("one") == nil)
    }

    @Test("a document written offline takes the beacon and the ranging away")
    func pushed() throws {
        _ = harness.request("device/update", #"{"id":"gw-one","ranging":{"n":2,"rssiOffset":-10}}"#)
        func document(_ id: String) throws -> (revision: String, doc: JSONValue) {
            let row = try #require(harness.feed().last { $0["id"]?.text == id })
            return (try #require(row["revision"]?.text), try #require(row["doc"]))
        }
        func hearLevel() -> Double? {
            harness.send("d/v/b/1/one/gw-one/proximity", Sample.sighting(1, #""rssi":-69"#))
            let seen = harness.retained["live/d/v/b/1/one/gw-one/proximity"].flatMap { try? JSONValue.parse($0) }
            return seen?["properties"]?["beacons"]?.elements.first?["distance"]?.number
        }
        #expect(try document("tag").doc["carries"] != nil && document("gw-one").doc["ranging"] != nil)
        // 20 dB of loss at an exponent of 2.
        #expect(hearLevel() == 10)
        let (tag, gateway) = (try document("tag").revision, try document("gw-one").revision)
        let place = #""location":{"latitude":43.73,"longitude":7.42}"#
        let states = harness.push(
            #"{"id":"tag","type":"device","deviceType":"MobileDevice","revision":"9-a","parent":"\#(tag)"}"#,
            #"{"id":"gw-one","type":"device","deviceType":"PinDevice",\#(place),"revision":"9-a","parent":"\#(gateway)"}"#)
        #expect(states == ["written", "written"])
        #expect(harness.result("device/get", #"{"id":"tag"}"#)?["carries"] == nil)
        #expect(harness.result("device/get", #"{"id":"gw-one"}"#)?["ranging"] == nil)
        harness.advance(milliseconds: 21_000, step: 1000)
        harness.published.removeAll()
        // 10 dB at 2.7.
        #expect(hearLevel().map { abs($0 - 2.346) < 0.001 } == true)
        harness.advance(milliseconds: 2000)
        #expect(!harness.published.contains { $0.topic.hasSuffix("/tag/position") && !$0.payload.isEmpty })
        // Another device may carry it now.
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"other"}"#)
        let carries = #"{"id":"other","carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}}"#
        #expect(harness.refusal("device/update", carries) == nil)
    }

    @Test("a tag is followed through a flat from room to room")
    func flat() throws {
        let flat = try FlatRecording()
        let harness = HubHarness()
        let plane = LocalPlane(around: Position(latitude: 52.23, longitude: 21.01))
        for (number, receiver) in flat.receivers.enumerated() {
            let place = plane.position(receiver)
            let settings = flat.settings()[number]
            _ = harness.request(
                "device/create",
                #"{"deviceType":"PinDevice","id":"gw\#(number)","location":{"latitude":\#(place.latitude),"longitude":\#(place.longitude)},"ranging":{"n":\#(settings.n),"rssiOffset":\#(settings.rssiOffset)}}"#
            )
        }
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"tag"}"#)
        _ = harness.request("device/update", #"{"id":"tag","carries":{"uuid":"\#(Sample.uuid)","major":7,"minor":1}}"#)
        let start = harness.now
        let first = flat.drive[0].at
        var rooms: [String] = []
        var errors: [Double] = []
        for row in flat.drive {
            harness.published.removeAll()
            harness.advance(milliseconds: start + row.at - first - harness.now)
            for (number, level) in row.levels.enumerated() {
                guard let level else { continue }
                harness.send(
                    "d/home/flat/0/\(flat.rooms[number])/gw\(number)/proximity", Sample.sighting(1, #""rssi":\#(level)"#))
            }
            let seen = harness.published.last { $0.topic.hasSuffix("/tag/position") && !$0.payload.isEmpty }?.json?["properties"]
            guard let seen, let latitude = seen["latitude"]?.number, let longitude = seen["longitude"]?.number else { continue }
            if let room = seen["room"]?.text, room != rooms.last { rooms.append(room) }
            errors.append(
                plane.point(Position(latitude: latitude, longitude: longitude)).distance(to: row.place))
        }
        errors.sort()
        #expect(Set(rooms) == ["bedroom", "hall", "bathroom", "livingRoom"])
        #expect(rooms.first == "bedroom" && rooms.last == "bedroom" && rooms.count < 16)
        #expect(errors.count > 250 && errors[errors.count / 2] < 1.4)
    }
}
