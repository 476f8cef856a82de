import LiveTopics
import SeededRandom
import Testing

@testable import Wire

@Suite("What anybody may publish to adapters")
struct AdapterFuzzTests {
    /// One message of each kind that the formats know: what is changed at random.
    private static let seeds: [(format: String, topic: String, payload: String)] = [
        ("owntracks", "z/a/b", #"{"_type":"location","lat":47.5,"lon":8.5,"tst":1700000000,"acc":1,"vel":3,"inregions":["a"]}"#),
        ("owntracks", "z/a/b/event", #"{"_type":"transition","event":"enter","lat":1,"lon":2,"tst":1700000000,"rid":"x"}"#),
        (
            "owntracks", "z/a/b/waypoints",
            #"{"_type":"waypoints","waypoints":[{"desc":"a:F7826DA6-4FA2-4E98-8024-BC5B71E0893E:1:2","rid":"x","rad":"1"}]}"#
        ),
        (
            "owntracks", "z/a/b/beacon",
            #"{"_type":"beacon","uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"acc":1,"prox":1}"#
        ),
        (
            "espresense", "z/devices/x/r",
            #"{"id":"iBeacon:F7826DA6-4FA2-4E98-8024-BC5B71E0893E-1-2","rssi":-60,"rssi@1m":-59,"distance":1.5}"#
        ),
        (
            "theengs", "z/gw/BTtoMQTT/x",
            #"{"uuid":"f7826da64fa24e988024bc5b71e0893e","major":1,"minor":"2","rssi":-60,"txpower":-59}"#
        ),
        (
            "room-assistant", "z/entity/i/t/x",
            #"{"entity":{"id":"f7826da64fa24e988024bc5b71e0893e-1-2","distances":{"k":{"distance":1,"lastUpdatedAt":"2024-01-01T00:00:00Z","outOfRange":false}},"measuredValues":{"k":{"rssi":-1}}}}"#
        ),
        ("home-assistant", "z/car/attributes", #"{"latitude":1,"longitude":2,"gps_accuracy":3}"#),
        ("home-assistant", "z/kitchen", #"{"id":"f7826da64fa24e988024bc5b71e0893e-1-2","distance":3}"#),
        (
            "tasmota", "z/x/SENSOR",
            #"{"IBEACON":{"UID":"f7826da64fa24e988024bc5b71e0893e","MAJOR":"0010","MINOR":"000F","RSSI":-60}}"#
        ),
        (
            "april-brother", "z/gw",
            #"{"id":"g","raw_beacons_data":"112233445566f7826da64fa24e988024bc5b71e0893e00010002C5FFBA;"}"#
        ),
        (
            "traccar", "z/p",
            #"{"position":{"latitude":1,"longitude":2,"speed":3,"fixTime":"2023-11-14T22:13:20.000+0000","attributes":{"a":1}},"device":{"uniqueId":"x"}}"#
        ),
        (
            "ttn", "z/a/devices/b/up",
            #"{"end_device_ids":{"device_id":"x"},"received_at":"2023-11-14T22:13:20Z","uplink_message":{"decoded_payload":{"gps":{"lat":1,"lon":2}},"locations":{"user":{"latitude":1},"frm-payload":{"longitude":1}}}}"#
        ),
        (
            "meshtastic", "z/2/json/c/!1",
            #"{"id":1,"from":-2,"type":"position","payload":{"latitude_i":1,"longitude_i":2,"precision_bits":13,"time":1700000000}}"#
        ),
        ("json", "z/a", #"{"lat":1,"lon":2,"time":"2023-11-14T22:13:20Z","timestamp":1700000000}"#),
    ]

    private static let tokens = [
        "null", "true", "\"x\"", "-1", "0", "1e309", "[]", "{}", "9999999999999999999999", "\"-0\"", "1.5", "\"\"",
        "1e-320", "-9223372036854775808", "9223372036854775807", "\"1e5\"", "[[[]]]", "{\"a\":{\"b\":[]}}",
    ]

    /// What is accepted are live updates the daemon takes, of the entry's dataset, on topics that are canonical.
    private func check(_ message: AdaptedMessage?, _ text: @autoclosure () -> String) {
        guard let message else {
            Issue.record("not read: \(text())")
            return
        }
        switch message.updates {
        case .failure(let error): #expect(!error.message.isEmpty && !error.message.contains("\n"), "\(text())")
        case .success(let updates):
            for update in updates {
                #expect(update.topic.dataset == "d")
                #expect((try? LiveTopic(encoded: update.topic.encoded)) == update.topic, "\(text())")
                if update.payload.isEmpty { continue }
                #expect(update.payload.count <= 2 * LiveUpdateDecoder.payloadBytesMax)
                #expect((try? JSONValue.parse(update.payload))?.asObject != nil, "\(text())")
                // What plain JSON holds is looked at by the daemon.
                if update.topic.domain == "proximity" || update.topic.domain == "position" {
                    #expect(throws: Never.self, "\(text())") { try update.checkNative() }
                }
            }
        }
    }

    @Test("Random bytes and mutated payloads of every format never trap, and what is accepted is a live update")
    func mutated() throws {
        var random = SplitMix64.forTest()
        for seed in Self.seeds {
            let adapters = Adapters([try AdapterRow(seed.format, "z/#", "", "").rule])
            for round in 0..<700 {
                var bytes = Array(seed.payload.utf8)
                for _ in 0..<Int.random(in: 0...3, using: &random) { mutate(&bytes, &random) }
                if round % 20 == 0 {
                    bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
                }
                var levels = seed.topic.split(separator: "/").map(String.init)
                if round % 7 == 0 { levels = Array(levels.prefix(Int.random(in: 1...levels.count, using: &random))) }
                if round % 11 == 0 {
                    levels.append(["event", "", "-", "config", "json", "SENSOR", "%41", "é"].randomElement(using: &random)!)
                }
                let message = adapters.read(topic: levels.joined(separator: "/"), payload: bytes, retained: round % 13 == 0)
                check(message, "\(seed.format) \(levels) \(String(decoding: bytes, as: UTF8.self))")
            }
        }
    }

    @Test("Deep nesting, huge numbers and huge lists are answered by every format")
    func extremes() throws {
        let digits = String(repeating: "9", count: 20_000)
        for seed in Self.seeds {
            let adapters = Adapters([try AdapterRow(seed.format, "z/#", "", "").rule])
            for payload in [
                String(repeating: "[", count: 60_000), String(repeating: "{\"position\":", count: 5_000), digits,
                "{\"_type\":\"location\",\"lat\":\(digits),\"lon\":1}", "{\"id\":\"\(digits)\",\"lat\":1,\"lon\":1}",
                "{\"_type\":\"waypoints\",\"waypoints\":[\(Array(repeating: "{\"rid\":1,\"lat\":1,\"lon\":1}", count: 2000).joined(separator: ","))]}",
                "{\(Array(repeating: "\"lat\":1", count: 8000).joined(separator: ",")),\"lon\":1}",
            ] {
                check(adapters.read(topic: seed.topic, payload: Array(payload.utf8)), "\(seed.format) \(payload.prefix(60))")
            }
        }
    }

    @Test("Random entries are read or refused with a text, and read messages without a trap")
    func rules() throws {
        var random = SplitMix64.forTest()
        let words = ["$1", "$2", "$(a)", "$(a.b)", "$item", "$$", "$", "-", "", "x", "é", "+", "#", "(", ")", "z/", "position"]
        for _ in 0..<3000 {
            func text() -> String {
                (0..<Int.random(in: 0...3, using: &random)).map { _ in words.randomElement(using: &random)! }.joined()
            }
            var members = [
                ("filter", ["z/+/#", "z/#", text()].randomElement(using: &random)!), ("format", "json"),
                ("dataset", ["d", text()].randomElement(using: &random)!),
            ]
            for key in AdapterRule.levelKeys where Bool.random(using: &random) { members.append((key, text())) }
            let rule: AdapterRule
            do throws(AdapterRule.Problem) { rule = try AdapterRule(members.map { ($0.0, $0.1) }) } catch {
                #expect(!error.text.isEmpty)
                continue
            }
            #expect(try AdapterRule(rule.members) == rule)
            for payload in ["", #"{"a":{"b":1},"lat":1,"lon":1}"#, #"{"a":"x"}"#] {
                if case .success(let updates) = Adapters([rule]).read(topic: "z/q", payload: Array(payload.utf8))?.updates {
                    for update in updates { #expect((try? LiveTopic(encoded: update.topic.encoded)) == update.topic) }
                }
            }
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.removeSubrange(index...)
        case 3: bytes.insert(contentsOf: bytes[index..<min(index + 20, bytes.count)], at: index)
        default:
            // A value becomes another.
            guard let colon = bytes[index...].firstIndex(of: UInt8(ascii: ":")) else { return }
            let end = bytes[(colon + 1)...].firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}") } ?? bytes.count
            bytes.replaceSubrange(colon + 1..<end, with: Array(Self.tokens.randomElement(using: &random)!.utf8))
        }
    }
}
