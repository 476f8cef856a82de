import Testing

@testable import Wire

@Suite("Bare payloads")
struct BareScalarTests {
    private func decoded(_ payload: String, _ domain: String) throws -> String {
        var properties: [UInt8] = []
        _ = try LiveUpdateDecoder().decode(Array(payload.utf8), domain: domain, properties: &properties)
        return String(decoding: properties, as: UTF8.self)
    }

    @Test(
        "One value stands for the property that the domain requires",
        arguments: [
            ("21.5", "temperature", #"{"temperature":21.5}"#), (" -3\n", "temperature", #"{"temperature":-3}"#),
            ("40", "humidity", #"{"humidity":40}"#), ("412", "co2", #"{"co2":412}"#), ("7", "count", #"{"count":7}"#),
            ("3", "occupancy", #"{"nrOfPeople":3}"#), ("true", "availability", #"{"available":true}"#),
            ("ON", "availability", #"{"available":true}"#), ("OFF", "availability", #"{"available":false}"#),
            (#""ON""#, "availability", #"{"available":true}"#), (#""21.5""#, "temperature", #"{"temperature":21.5}"#),
            ("1", "availability", #"{"available":true}"#), ("0", "availability", #"{"available":false}"#),
        ])
    func values(payload: String, domain: String, properties: String) throws {
        #expect(try decoded(payload, domain) == properties)
    }

    @Test(
        "Anything else is refused as before",
        arguments: [
            ("21,5", "temperature"), ("warm", "temperature"), ("1.5", "count"), ("-1", "occupancy"), ("2", "availability"),
            ("on", "availability"), ("1", "position"), ("5", "noise"), ("1e", "temperature"), ("", "temperature"),
            (#"1,"x":2"#, "temperature"), ("[1]", "temperature"),
        ])
    func refused(payload: String, domain: String) {
        #expect(throws: WireError.self) { try decoded(payload, domain) }
    }
}
