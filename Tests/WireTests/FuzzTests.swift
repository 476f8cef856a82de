import SeededRandom
import Testing

@testable import Wire

@Suite("Outside bytes")
struct FuzzTests {
    private static let domains = KnownDomain.allCases.map(\.rawValue) + ["free"]

    /// Feeds the bytes to every entrance; what is accepted must be JSON with what was promised.
    private func feed(_ bytes: [UInt8], _ decoder: LiveUpdateDecoder, _ parser: JSONParser) {
        for domain in Self.domains {
            var properties: [UInt8] = [1]
            guard let update = try? decoder.decode(bytes, domain: domain, properties: &properties) else {
                #expect(properties == [1])
                continue
            }
            let value = try? JSONValue.parse(Array(properties.dropFirst()), using: parser)
            #expect(value?.asObject != nil, "\(domain): \(String(decoding: bytes, as: UTF8.self))")
            #expect((update.position != nil) == (domain == "position"))
            if let timestamp = update.timestamp { #expect(timestamp >= 0) }
            if let position = update.position {
                #expect(position.latitude.magnitude <= 90 && position.longitude.magnitude <= 180)
                if let accuracy = position.horizontalAccuracy { #expect(accuracy >= 0 && accuracy.isFinite) }
            }
        }
        switch Request.parse(bytes, using: parser) {
        case .success(let request): #expect(request.id?.unicodeScalars.count ?? 0 <= 64)
        case .failure(let refusal): #expect(!refusal.error.message.isEmpty)
        }
        _ = LiveMessage.position(inPayload: bytes, using: parser)
        if let value = try? JSONValue.parse(bytes, using: parser) { _ = try? PropertiesCoding.decode(value) }
    }

    @Test("All payloads of one and two bytes are answered")
    func small() {
        let decoder = LiveUpdateDecoder()
        var accepted = 0
        for first in UInt8.min ... .max {
            for second in UInt8.min ... .max {
                var properties: [UInt8] = []
                if (try? decoder.decode([first, second], domain: "free", properties: &properties)) != nil { accepted += 1 }
            }
            var properties: [UInt8] = []
            #expect(throws: WireError.self) { try decoder.decode([first], domain: "free", properties: &properties) }
        }
        #expect(accepted == 1)
    }

    @Test("Random bytes and mutated payloads never trap, and what is accepted is sound")
    func mutated() {
        var random = SplitMix64.forTest("Fuzz")
        let decoder = LiveUpdateDecoder()
        let parser = JSONParser()
        for round in 0..<6_000 {
            var bytes = round % 5 == 0 ? [] : Array(Self.seeds.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 0...4, using: &random) { Self.mutate(&bytes, &random) }
            if round % 5 == 0 {
                bytes = (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            }
            feed(bytes, decoder, parser)
        }
    }

    @Test("Deep nesting and huge numbers are answered")
    func extremes() {
        let decoder = LiveUpdateDecoder()
        let parser = JSONParser()
        let digits = String(repeating: "9", count: 20_000)
        let payloads = [
            String(repeating: "[", count: 60_000), String(repeating: "{\"a\":", count: 10_000), digits,
            "{\"latitude\":\(digits),\"longitude\":0}",
            "{\"latitude\":0.\(digits),\"longitude\":-\(digits)e-20000}", "{\"timestamp\":\(digits)}", "{\"count\":-\(digits)}",
            "{\"latitude\":\"\(digits)\",\"longitude\":1}", "{\"latitude\":1e308,\"longitude\":1e-400}",
            "{\"floorIndex\":9223372036854775808,\"lat\":0,\"lon\":0}",
            "{\"timestamp\":9223372036854775807,\"a\":1}", "{\"tst\":-9223372036854775808,\"lat\":0,\"lon\":0}",
            "{\"nrOfPeople\":\"9223372036854775808\"}",
            "[" + String(repeating: "12345678901234567890,", count: 3_000) + "1]",
        ]
        for payload in payloads { feed(Array(payload.utf8), decoder, parser) }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(Array("\"{}[],:0-9.eE\\ ntf".utf8).randomElement(using: &random)!, at: index)
        case 3: bytes.removeSubrange(index...)
        case 4: bytes.insert(contentsOf: bytes[index..<min(index + 20, bytes.count)], at: index)
        default:
            let token = ["null", "true", "\"x\"", "-1", "1e309", "[]", "{}", "9999999999999999999999", "\"-0\"", "1.5"]
                .randomElement(using: &random)!
            let number = bytes[index...].firstIndex { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if let number { bytes.replaceSubrange(number...number, with: Array(token.utf8)) }
        }
    }

    private static let seeds = [
        #"{"latitude":47.3768866,"longitude":8.541694,"altitude":408.5,"horizontalAccuracy":5.2,"timestamp":1700000000000,"floorIndex":1}"#,
        #"{"_type":"location","acc":10,"lat":47.5,"lon":8.5,"tst":1700000000,"vel":36,"cog":1,"vac":2,"inregions":["a"]}"#,
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[8.5,47.5,1]},"properties":{"acc":3,"time":"2024-06-01T12:00:00Z"}}"#,
        #"{"type":"Point","coordinates":[8.5,47.5]}"#,
        #"{"nrOfPeople":3,"capacity":"10","available":true,"count":7,"temperature":21.5,"co2":400,"humidity":40}"#,
        #"{"sightings":[{"proximityUUID":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"rssi":-60,"proximity":"near"}]}"#,
        #"{"requestId":"r","deviceId":"d","topic":"t","range":50,"duration":60,"properties":{"a":[1,"x",true],"b":1.5}}"#,
        #"{"topic":"d/-/-/-/-/a/position","domainType":"position","itemId":"a","timestamp":1,"receivedAt":2,"properties":{"latitude":1,"longitude":2}}"#,
    ]
}
