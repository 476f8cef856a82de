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

    @Test(
        "What is no object was sent to double quotes, which are refused, too: the error names what the domain takes",
        arguments: [
            (
                "on", "availability",
                #"availability takes true, false, ON, OFF, 1, 0 or an object such as {"available":true}: line 1, column 1: "on" is no value of JSON"#
            ),
            (
                #""on""#, "availability",
                #"availability takes true, false, ON, OFF, 1, 0 or an object such as {"available":true}, not "on""#
            ),
            (
                "hello", "position",
                #"position takes an object such as {"latitude":43.73,"longitude":7.42}: line 1, column 1: "hello" is no value of JSON"#
            ),
            (
                "22.5 C", "temperature",
                #"temperature takes a number such as 22.5 or an object such as {"temperature":22.5}: line 1, column 6: the end is expected, not "C""#
            ),
            (
                " -22,5\n", "temperature",
                #"temperature takes a number such as 22.5 or an object such as {"temperature":22.5}: line 1, column 5: "-22,5" has a decimal comma"#
            ),
            (
                "01e", "count",
                #"count takes a whole number such as 7 or an object such as {"count":7}: line 1, column 1: "01e" is no value of JSON"#
            ),
            ("55", "noise", #"noise takes an object such as {"value":55}, not 55"#),
            (
                "[1]", "occupancy",
                #"occupancy takes a whole number such as 3 or an object such as {"nrOfPeople":3}, not an array"#
            ),
            (
                #"{"temperature":22,5}"#, "temperature",
                "the payload is not JSON: line 1, column 18: a number has a decimal point, not a comma"
            ),
            (#"{"NrOfPeople":3}"#, "occupancy", "`nrOfPeople` is required, not `NrOfPeople`"),
            (#"{"people":3,"timestamp":1}"#, "occupancy", "`nrOfPeople` is required; there is `people`"),
            (#"{"nrOfPeople":null}"#, "occupancy", "`nrOfPeople` is required"),
        ])
    func advice(payload: String, domain: String, message: String) {
        let error = #expect(throws: WireError.self) { try decoded(payload, domain) }
        #expect(error?.message == message)
    }

    @Test("The objects that are given as examples are taken", arguments: KnownDomain.allCases.map(\.rawValue) + ["noise"])
    func examples(domain: String) throws {
        #expect(try !decoded(PayloadRefusal.object(of: domain), domain).isEmpty)
    }
}
