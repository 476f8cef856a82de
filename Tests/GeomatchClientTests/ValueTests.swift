import Foundation
import SeededRandom
import Testing
import struct Wire.JSONObject
import enum Wire.JSONValue

@testable import GeomatchClient

@Suite("Values")
struct ValueTests {
    static func update(_ domain: String, _ properties: String) throws -> LiveUpdate {
        try LiveUpdate(
            JSONValue.parse(
                #"{"topic":"museum/v/-/2/-/x/\#(domain)","domainType":"\#(domain)","itemId":"x","timestamp":1500,"#
                    + #""receivedAt":2000,"properties":\#(properties)}"#))
    }

    @Test(
        "Each domain has its type and its unit",
        arguments: [
            ("occupancy", #"{"nrOfPeople":3}"#, "3 people, no share"),
            ("occupancy", #"{"nrOfPeople":3,"capacity":6}"#, "3 people, 0.5"),
            ("availability", #"{"available":true}"#, "available true"), ("count", #"{"count":-7}"#, "count -7"),
            ("temperature", #"{"temperature":21.5}"#, "294.65 K"), ("co2", #"{"co2":612}"#, "612.0 ppm"),
            ("humidity", #"{"humidity":40}"#, "40.0 %"), ("door", #"{"open":true}"#, #"custom {"open":true}"#),
            ("count", #"{"count":"7"}"#, #"custom {"count":"7"}"#), ("position", #"{"latitude":1}"#, #"custom {"latitude":1}"#),
        ])
    func domains(domain: String, properties: String, expected: String) throws {
        #expect(Self.text(try Self.update(domain, properties).value) == expected)
    }

    private static func text(_ value: LiveValue) -> String {
        switch value {
        case .occupancy(let occupancy):
            "\(occupancy.numberOfPeople) people, \(occupancy.share.map { "\($0)" } ?? "no share")"
        case .availability(let isFree): "available \(isFree)"
        case .count(let count): "count \(count)"
        case .temperature(let temperature): "\((temperature.converted(to: .kelvin).value * 100).rounded() / 100) K"
        case .co2(let level): "\(level.value) \(level.unit.symbol)"
        case .humidity(let percent): "\(percent) %"
        case .custom(let properties): "custom \(PropertyValue.object(properties))"
        default: "another"
        }
    }

    @Test("A position has lengths, speeds and angles, and keeps what it does not know")
    func position() throws {
        let update = try Self.update(
            "position",
            #"{"latitude":43.5,"longitude":-7.5,"altitude":12,"horizontalAccuracy":5,"speed":2,"course":90,"floorIndex":2,"battery":80}"#
        )
        let position = try #require(update.position)
        #expect(position.latitude == 43.5 && position.longitude == -7.5 && position.floorIndex == 2)
        #expect(position.speed.map { ($0.converted(to: .kilometersPerHour).value * 100).rounded() } == 720)
        #expect(position.altitude == Measurement(value: 12, unit: .meters))
        #expect(position.course == Measurement(value: 90, unit: .degrees))
        #expect(update["battery"] == 80)
        #expect(update.timestamp == Date(timeIntervalSince1970: 1.5) && update.receivedAt == Date(timeIntervalSince1970: 2))
        #expect(update.topic.floor == "2" && update.topic.room == nil && update.topic.domain == .position)
    }

    @Test("Proximity lists the beacons an observer sees")
    func proximity() throws {
        let update = try Self.update(
            "proximity",
            #"{"beacons":[{"proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"proximity":"near","distance":1.5,"age":0.5},{"major":1}]}"#
        )
        guard case .proximity(let beacons) = update.value else { throw GeomatchError(.malformed, "no beacons") }
        #expect(beacons.count == 1)
        #expect(beacons.first?.band == .near && beacons.first?.distance == Measurement(value: 1.5, unit: .meters))
    }

    @Test(
        "Criteria take the topics whose levels they name",
        arguments: [
            (LiveCriteria(), true), (LiveCriteria(dataset: "museum"), true), (LiveCriteria(dataset: "other"), false),
            (LiveCriteria().venue("v"), true), (LiveCriteria().venue("v").floor("2").domain("POSITION"), true),
            (LiveCriteria().floor("1"), false), (LiveCriteria().room("-"), true), (LiveCriteria().location("a/b"), true),
            (LiveCriteria().location("a"), false), (LiveCriteria().domain(.count), false),
        ])
    func criteria(criteria: LiveCriteria, matches: Bool) throws {
        let topic = try #require(LiveUpdateTopic(encoded: "museum/v/-/2/-/a%2Fb/position"))
        #expect(criteria.matches(topic) == matches)
    }

    @Test(
        "An area is written as the contract has it",
        arguments: [
            (LiveArea.box(west: 1, south: 2, east: 3, north: 4), #"{"bbox":[1,2,3,4]}"#),
            (.circle(latitude: 1.5, longitude: 2, radius: 3), #"{"circle":{"latitude":1.5,"longitude":2,"radius":3}}"#),
            (
                .polygon([[.init(latitude: 0, longitude: 1), .init(latitude: 2, longitude: 3), .init(latitude: 4, longitude: 5)]]
                ),
                #"{"type":"Polygon","coordinates":[[[1,0],[3,2],[5,4],[1,0]]]}"#
            ),
        ])
    func area(area: LiveArea, json: String) throws {
        #expect(PropertyValue(area.json).numbers == PropertyValue(try JSONValue.parse(json)).numbers)
    }

    @Test("Updates made of anything are read or refused, never more")
    func fuzz() throws {
        var random = SplitMix64.forTest()
        let whole = Array(
            #"{"topic":"museum/v/-/2/-/x/position","itemId":"x","timestamp":1500,"receivedAt":2e300,"properties":{"latitude":1,"beacons":[{"major":1e99}]}}"#
                .utf8)
        var read = 0
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if let update = try? LiveUpdate(try? JSONValue.parse(bytes)) {
                _ = update.value
                read += 1
            }
        }
        #expect(read > 100 && read < 2000)
    }

    @Test(
        "A property's literal is what JSON has",
        arguments: [
            (["a": 1, "b": [true, nil, "x"], "c": 1.5], #"{"a":1,"b":[true,null,"x"],"c":1.5}"#),
            (.number(.infinity), "null"), (["b": 1, "a": 2], #"{"a":2,"b":1}"#),
        ] as [(PropertyValue, String)])
    func literals(value: PropertyValue, json: String) {
        #expect(value.description == json)
    }
}
