import Testing

@testable import Wire

@Suite("Domains")
struct DomainTests {
    @Test(
        "Properties of known domains become native types, of free ones stay",
        arguments: [
            LiveUpdateRow(
                "occupancy", #"{"capacity":"10","nrOfPeople":3,"timestamp":"7"}"#, #"{"nrOfPeople":3,"capacity":10}"#,
                timestamp: 7),
            LiveUpdateRow("occupancy", #"{"numberOfPeople":"3"}"#, #"{"nrOfPeople":3}"#),
            LiveUpdateRow("occupancy", #"{"numberOfPeople":9,"nrOfPeople":3.0}"#, #"{"nrOfPeople":3}"#),
            LiveUpdateRow(
                "occupancy", #"{"nrOfPeople":0,"capacity":null,"o":{"a":1},"l":[{}],"k":[1]}"#, #"{"nrOfPeople":0,"k":[1]}"#),
            LiveUpdateRow("availability", #"{"available":true}"#, #"{"available":true}"#),
            LiveUpdateRow("availability", #"{"available":"false"}"#, #"{"available":false}"#),
            LiveUpdateRow("count", #"{"count":-3}"#, #"{"count":-3}"#),
            LiveUpdateRow("count", #"{"count":"7.0"}"#, #"{"count":7}"#),
            LiveUpdateRow("count", #"{"count":9007199254740993}"#, #"{"count":9007199254740993}"#),
            LiveUpdateRow("temperature", #"{"temperature":"21.50"}"#, #"{"temperature":21.5}"#),
            LiveUpdateRow("temperature", #"{"temperature":-40,"lat":1,"tst":3}"#, #"{"temperature":-40,"lat":1,"tst":3}"#),
            LiveUpdateRow(
                "co2", #"{"co2":412.5,"timestamp":"2024-02-29T12:00:00+01:00"}"#, #"{"co2":412.5}"#, timestamp: 1_709_204_400_000),
            LiveUpdateRow("humidity", #"{"humidity":45,"originSourceId":"h1"}"#, #"{"humidity":45}"#, source: "h1"),
            LiveUpdateRow("free", "{}", "{}"), LiveUpdateRow("free", #"{"timestamp":5}"#, "{}", timestamp: 5),
            LiveUpdateRow(
                "free", #"{"a":"1","b":2.0,"c":true,"d":[1,"x",false,null],"e":null,"f":[]}"#,
                #"{"a":"1","b":2,"c":true,"d":[1,"x",false,null],"f":[]}"#),
            LiveUpdateRow("free", #"{"_type":"x","lat":1,"":2,"a\"b":"\n"}"#, #"{"_type":"x","lat":1,"":2,"a\"b":"\n"}"#),
            LiveUpdateRow("free", #"{"a":1,"a":null,"b":2,"b":3}"#, #"{"b":3}"#),
        ])
    func reads(_ row: LiveUpdateRow) throws {
        let (update, properties) = try row.decode()
        #expect(properties == row.properties)
        #expect(update == LiveUpdate(timestamp: row.timestamp, originSourceId: row.source))
    }

    @Test(
        "A wrong property refuses the update, naming it",
        arguments: [
            LiveUpdateRow.refused("occupancy", "{}", field: "nrOfPeople"),
            LiveUpdateRow.refused("occupancy", #"{"nrOfPeople":-1}"#, field: "nrOfPeople"),
            LiveUpdateRow.refused("occupancy", #"{"nrOfPeople":1.5}"#, field: "nrOfPeople"),
            LiveUpdateRow.refused("occupancy", #"{"numberOfPeople":"many"}"#, field: "numberOfPeople"),
            LiveUpdateRow.refused("occupancy", #"{"nrOfPeople":1,"capacity":"x"}"#, field: "capacity"),
            LiveUpdateRow.refused("occupancy", #"{"nrOfPeople":1,"timestamp":"x"}"#, field: "timestamp"),
            LiveUpdateRow.refused("availability", #"{"available":1}"#, field: "available"),
            LiveUpdateRow.refused("availability", #"{"available":0}"#, field: "available"),
            LiveUpdateRow.refused("availability", #"{"available":"1"}"#, field: "available"),
            LiveUpdateRow.refused("availability", #"{"available":"yes"}"#, field: "available"),
            LiveUpdateRow.refused("availability", #"{"available":null}"#, field: "available"),
            LiveUpdateRow.refused("count", #"{"count":1.5}"#, field: "count"),
            LiveUpdateRow.refused("count", #"{"count":true}"#, field: "count"),
            LiveUpdateRow.refused("count", #"{"count":12345678901234567890123}"#, field: "count"),
            LiveUpdateRow.refused("temperature", #"{"temperature":"warm"}"#, field: "temperature"),
            LiveUpdateRow.refused("temperature", #"{"temp":1}"#, field: "temperature"),
            LiveUpdateRow.refused("co2", #"{"co2":[1]}"#, field: "co2"),
            LiveUpdateRow.refused("humidity", #"{"humidity":{}}"#, field: "humidity"),
            LiveUpdateRow.refused("free", "7", field: nil),
            LiveUpdateRow.refused("free", "[]", field: nil), LiveUpdateRow.refused("free", #"{"a":{"b":1}}"#, field: "a"),
            LiveUpdateRow.refused("free", #"{"x":1,"a":[1,[2]]}"#, field: "a"),
            LiveUpdateRow.refused("free", #"{"a":[{}]}"#, field: "a"),
            LiveUpdateRow.refused("free", #"{"originSourceId":true}"#, field: "originSourceId"),
            LiveUpdateRow.refused("free", #"{"a":1"#, field: nil),
        ])
    func refuses(_ row: LiveUpdateRow) {
        #expect {
            try row.decode()
        } throws: { error in
            (error as? WireError)?.code == .invalid && (error as? WireError)?.field == row.field
        }
    }

    @Test("64 KiB are read, one byte more is too large")
    func size() throws {
        let filler = String(repeating: "x", count: 65_536 - 8)
        let (_, properties) = try LiveUpdateRow("free", "{\"a\":\"\(filler)\"}", "").decode()
        #expect(properties.utf8.count == 65_536)
        #expect {
            try LiveUpdateRow("free", "{\"a\":\"\(filler)x\"}", "").decode()
        } throws: {
            ($0 as? WireError)?.code == .tooLarge
        }
    }

    @Test("Thousands of repeated keys are sorted out quickly")
    func manyKeys() throws {
        let members = (0..<6_000).map { "\"k\($0 % 3_000)\":\($0 % 10)" }.joined(separator: ",")
        let (_, properties) = try LiveUpdateRow("free", "{\(members)}", "").decode()
        #expect(try JSONValue.parse(properties).asObject?.count == 3_000)
        #expect(properties.hasPrefix("{\"k0\":0,"))
    }

    static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    @Test(
        "Sightings are checked and normalised",
        arguments: [
            LiveUpdateRow(
                "proximity",
                #"{"uuid":"f7826da64fa24e988024bc5b71e0893e","major":"1","minor":65535.0,"timestamp":5,"rssi":-60,"txPower":-59,"distance":0,"proximity":2,"x":1,"o":{}}"#,
                #"{"proximityUUID":"\#(uuid)","major":1,"minor":65535,"rssi":-60,"txPower":-59,"distance":0,"proximity":"near","x":1}"#,
                timestamp: 5),
            LiveUpdateRow(
                "proximity", #"{"sightings":[],"originSourceId":"g","timestamp":3,"gateway":"x"}"#,
                #"{"sightings":[],"gateway":"x"}"#, timestamp: 3, source: "g"),
            LiveUpdateRow(
                "proximity",
                #"{"sightings":[{"proximityID":"\#(uuid.lowercased())","major":0,"minor":0,"proximity":"far","timestamp":9},{"proximityUUID":"\#(uuid)","major":1,"minor":2,"proximity":"0"}]}"#,
                #"{"sightings":[{"proximityUUID":"\#(uuid)","major":0,"minor":0,"proximity":"far","timestamp":9},{"proximityUUID":"\#(uuid)","major":1,"minor":2,"proximity":"unknown"}]}"#
            ),
        ])
    func sightings(_ row: LiveUpdateRow) throws {
        let (update, properties) = try row.decode()
        #expect(properties == row.properties)
        #expect(update == LiveUpdate(timestamp: row.timestamp, originSourceId: row.source))
    }

    struct WrongSighting: Sendable {
        var member: String
        var field: String
    }

    @Test(
        "A wrong sighting refuses its whole message",
        arguments: [
            WrongSighting(member: #""proximityUUID":"f7826da6""#, field: "proximityUUID"),
            WrongSighting(member: #""proximityUUID":null"#, field: "proximityUUID"),
            WrongSighting(member: #""proximityUUID":null,"uuid":7"#, field: "uuid"),
            WrongSighting(member: #""major":65536"#, field: "major"),
            WrongSighting(member: #""major":null"#, field: "major"), WrongSighting(member: #""minor":-1"#, field: "minor"),
            WrongSighting(member: #""minor":1.5"#, field: "minor"), WrongSighting(member: #""rssi":"loud""#, field: "rssi"),
            WrongSighting(member: #""distanceAccuracy":0"#, field: "distanceAccuracy"),
            WrongSighting(member: #""azimuth":361"#, field: "azimuth"),
            WrongSighting(member: #""elevation":91"#, field: "elevation"),
            WrongSighting(member: #""angleAccuracy":-1"#, field: "angleAccuracy"),
            WrongSighting(member: #""txPower":0"#, field: "txPower"), WrongSighting(member: #""distance":-1"#, field: "distance"),
            WrongSighting(member: #""proximity":"close""#, field: "proximity"),
            WrongSighting(member: #""proximity":4"#, field: "proximity"),
            WrongSighting(member: #""timestamp":-4"#, field: "timestamp"),
        ])
    func refusesSightings(_ row: WrongSighting) {
        let good = #"{"proximityUUID":"\#(Self.uuid)","major":1,"minor":2}"#
        let wrong = good.dropLast() + "," + row.member + "}"
        for (payload, field) in [(String(wrong), row.field), ("{\"sightings\":[\(good),\(wrong)]}", "sightings[1].\(row.field)")]
        {
            #expect {
                try LiveUpdateRow("proximity", payload, "").decode()
            } throws: {
                ($0 as? WireError)?.code == .invalid && ($0 as? WireError)?.field == field
            }
        }
    }

    @Test(
        "Sightings that are no list of objects are refused",
        arguments: [#"{"sightings":{}}"#, #"{"sightings":"x"}"#, #"{"sightings":[1]}"#, "{}"])
    func refusesShapes(_ payload: String) {
        #expect(throws: WireError.self) { try LiveUpdateRow("proximity", payload, "").decode() }
    }

    @Test("UUIDs are read in any case and hyphenation")
    func uuids() {
        for text in [Self.uuid, Self.uuid.lowercased(), "f7826da64fa24e988024bc5b71e0893e", "f7-826da64fa24e988024bc5b71e0893E-"]
        {
            #expect(UUIDText.canonical(text) == Self.uuid)
        }
        for text in [
            "", "f7826da64fa24e988024bc5b71e0893", "f7826da64fa24e988024bc5b71e0893ef", "g7826da64fa24e988024bc5b71e0893e",
            "{\(Self.uuid)}",
        ] {
            #expect(UUIDText.canonical(text) == nil)
        }
    }
}
