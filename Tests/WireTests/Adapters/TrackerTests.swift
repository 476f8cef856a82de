import Testing

@testable import Wire

@Suite("Trackers and networks")
struct TrackerTests {
    private static func traccar(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("traccar", "traccar/#", "traccar/positions", payload)
        row.updates = updates
        return row
    }

    private static func refusedTraccar(_ payload: String, field: String) -> AdapterRow {
        .refused("traccar", "traccar/#", "traccar/positions", payload, field: field)
    }

    @Test(
        "Traccar: knots become m/s, the fix's time counts, and what is invalid or outdated says nothing",
        arguments: [
            traccar(
                #"{"position":{"id":1,"latitude":47.5,"longitude":8.5,"altitude":400,"speed":10,"course":90,"accuracy":5,"valid":true,"outdated":false,"fixTime":"2023-11-14T22:13:20.000+00:00","serverTime":"2024-01-01T00:00:00Z","attributes":{"batteryLevel":80,"motion":true,"speed":3,"io":{"a":1}},"network":{}},"device":{"id":7,"uniqueId":"861230","name":"van"}}"#,
                "d/-/-/-/-/861230/position {\"latitude\":47.5,\"longitude\":8.5,\"altitude\":400,\"horizontalAccuracy\":5,\"speed\":5.14444,\"course\":90,\"timestamp\":1700000000000,\"batteryLevel\":80,\"motion\":true}"
            ),
            // A zone without its colon, an id as a number, the next time where one is missing.
            traccar(
                #"{"position":{"latitude":"47.5","longitude":"8.5","accuracy":0,"deviceTime":"2023-11-14T22:13:20.000+0000"},"device":{"uniqueId":861230}}"#,
                "d/-/-/-/-/861230/position {\"latitude\":47.5,\"longitude\":8.5,\"timestamp\":1700000000000}"),
            traccar(
                #"{"event":{"type":"deviceMoving"},"position":{"latitude":1,"longitude":2,"fixTime":1700000000000},"device":{"uniqueId":"x"}}"#,
                "d/-/-/-/-/x/position {\"latitude\":1,\"longitude\":2,\"timestamp\":1700000000000}"),
            traccar(#"{"event":{"type":"deviceOnline"},"device":{"uniqueId":"x"}}"#),
            traccar(#"{"position":{"latitude":1,"longitude":2,"valid":false},"device":{"uniqueId":"x"}}"#),
            traccar(#"{"position":{"latitude":1,"longitude":2,"outdated":true},"device":{"uniqueId":"x"}}"#),
            traccar(""),
            refusedTraccar(#"{"position":{"latitude":1,"longitude":2},"device":{}}"#, field: "device.uniqueId"),
            refusedTraccar(#"{"position":{"latitude":1,"longitude":2},"device":"x"}"#, field: "device"),
            refusedTraccar(
                #"{"position":{"latitude":1,"longitude":200},"device":{"uniqueId":"x"}}"#, field: "position.longitude"),
            refusedTraccar(#"{"position":{"latitude":0,"longitude":0},"device":{"uniqueId":"x"}}"#, field: "position.latitude"),
            refusedTraccar(#"{"position":{},"device":{"uniqueId":"x"}}"#, field: "position.latitude"),
            refusedTraccar(
                #"{"position":{"latitude":1,"longitude":2,"fixTime":"now"},"device":{"uniqueId":"x"}}"#, field: "position.fixTime"
            ),
            refusedTraccar(#"{"position":[]}"#, field: "position"),
        ])
    func readsTraccar(_ row: AdapterRow) throws { try row.check() }

    private static let uplinkTopic = "v3/app@tenant/devices/dev1/up"
    private static let at = #""end_device_ids":{"device_id":"dev1"},"received_at":"2023-11-14T22:13:20.123456789Z""#

    private static func things(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("the-things-stack", "v3/+/devices/+/#", uplinkTopic, "{\(at),\(payload)}")
        row.updates = updates
        return row
    }

    private static func place(_ rest: String) -> String {
        "d/-/-/-/-/dev1/position {\(rest),\"timestamp\":1700000000123}"
    }

    private static func refusedThings(_ payload: String, field: String) -> AdapterRow {
        .refused("ttn", "v3/+/devices/+/#", uplinkTopic, "{\(at),\(payload)}", field: "uplink_message." + field)
    }

    @Test(
        "The Things Stack: the device's own fix, then the network's, then the registry's; what is left out there is 0",
        arguments: [
            things(
                #""uplink_message":{"decoded_payload":{"lat":47.5,"lng":8.5,"alt":400,"acc":5},"locations":{"frm-payload":{"latitude":1,"longitude":1}}}"#,
                place(#""latitude":47.5,"longitude":8.5,"altitude":400,"horizontalAccuracy":5"#)),
            things(
                #""uplink_message":{"decoded_payload":{"temperature_1":21,"gps_2":{"latitude":"47.5","longitude":"8.5","altitude":1}}}"#,
                place(#""latitude":47.5,"longitude":8.5,"altitude":1"#)),
            things(
                #""location_solved":{"service":"lora","location":{"latitude":47.5,"longitude":8.5,"accuracy":250,"source":"SOURCE_LORA_TDOA"}}"#,
                place(#""latitude":47.5,"longitude":8.5,"horizontalAccuracy":250"#)),
            things(
                #""uplink_message":{"locations":{"user":{"latitude":1,"longitude":1},"frm-payload":{"longitude":8.5,"source":"SOURCE_GPS"}}}"#,
                place(#""latitude":0,"longitude":8.5"#)),
            things(
                #""uplink_message":{"locations":{"user":{"latitude":47.5,"altitude":3,"source":"SOURCE_REGISTRY"}}}"#,
                place(#""latitude":47.5,"longitude":0,"altitude":3"#)),
            // Where the gateways are is not where the device is.
            things(#""uplink_message":{"rx_metadata":[{"location":{"latitude":1,"longitude":1}}],"locations":{"user":{}}}"#),
            things(#""uplink_message":{"decoded_payload":{"temperature":21}}"#), things(#""join_accept":{}"#), things(#""x":1"#),
            refusedThings(#""uplink_message":{"decoded_payload":{"gps":{"lat":0,"lng":0}}}"#, field: "decoded_payload.gps.lat"),
            refusedThings(#""uplink_message":{"decoded_payload":{"lat":1}}"#, field: "decoded_payload.longitude"),
            refusedThings(
                #""uplink_message":{"locations":{"frm-payload":{"latitude":-91}}}"#, field: "locations.frm-payload.latitude"),
            refusedThings(#""uplink_message":{"locations":7}"#, field: "locations"),
            .refused(
                "tts", "v3/+/devices/+/up", uplinkTopic, #"{"uplink_message":{}}"#, field: "end_device_ids.device_id"),
        ])
    func readsTheThingsStack(_ row: AdapterRow) throws { try row.check() }

    @Test("The registry's position comes with every uplink, and counts only when it is another")
    func staleRegistry() throws {
        func uplink(_ latitude: Double) -> AdapterRow {
            Self.things(
                #""uplink_message":{"locations":{"frm-payload":{"latitude":\#(latitude),"longitude":8.5},"user":{"latitude":1,"longitude":1}}}"#,
                Self.place(#""latitude":\#(latitude),"longitude":8.5"#))
        }
        let adapters = Adapters([try uplink(1).rule])
        for (latitude, isNew) in [(47.5, true), (47.5, false), (48.5, true), (48.5, false), (47.5, true)] {
            var row = uplink(latitude)
            if !isNew { row.updates = [] }
            try row.check(adapters)
        }
    }

    private static func mesh(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("meshtastic", "msh/#", "msh/EU_868/2/json/LongFast/!a1b2c3d4", payload)
        row.updates = updates
        return row
    }

    @Test(
        "Meshtastic: degrees times 10^7, zeros left out, node numbers also signed, an accuracy from the bits sent",
        arguments: [
            mesh(
                #"{"id":1,"from":2712847316,"type":"position","timestamp":1700000009,"payload":{"latitude_i":475000000,"longitude_i":85000000,"altitude":400,"time":1700000000,"ground_speed":5,"ground_track":9000,"sats_in_view":7,"PDOP":120,"precision_bits":32}}"#,
                "d/-/-/-/-/!a1b2c3d4/position {\"latitude\":47.5,\"longitude\":8.5,\"altitude\":400,\"course\":90,\"timestamp\":1700000000000,\"ground_speed\":5,\"sats_in_view\":7,\"PDOP\":120,\"precision_bits\":32}"
            ),
            mesh(
                #"{"id":2,"from":-1582119980,"type":"position","timestamp":1700000009,"payload":{"longitude_i":"85000000","precision_bits":12}}"#,
                "d/-/-/-/-/!a1b2c3d4/position {\"latitude\":0,\"longitude\":8.5,\"horizontalAccuracy\":5825,\"timestamp\":1700000009000,\"precision_bits\":12}"
            ),
            mesh(
                #"{"from":1,"type":"position","payload":{"latitude_i":10000000,"precision_bits":9}}"#,
                "d/-/-/-/-/!00000001/position {\"latitude\":1,\"longitude\":0,\"horizontalAccuracy\":46600,\"precision_bits\":9}"),
            mesh(#"{"id":3,"from":1,"type":"position","payload":{"altitude":5}}"#),
            mesh(#"{"id":3,"from":1,"type":"position","payload":{"latitude_i":1,"precision_bits":0}}"#),
            mesh(#"{"id":3,"from":1,"type":"nodeinfo","payload":{"longname":"x"}}"#),
            mesh(#"{"id":3,"from":1,"type":"text","payload":"hello"}"#), mesh(#"{"id":3,"from":1,"type":"","payload":{}}"#),
            AdapterRow("meshtastic", "msh/#", "msh/2/stat/!a1b2c3d4", "online"),
            AdapterRow("meshtastic", "msh/#", "msh/EU_868/2/e/LongFast/!a1b2c3d4", "\u{1}binary"),
            .refused(
                "meshtastic", "msh/#", "msh/2/json/c/!1", #"{"from":1,"type":"position","payload":{"latitude_i":910000000}}"#,
                field: "payload.latitude_i"),
            .refused(
                "meshtastic", "msh/#", "msh/2/json/c/!1", #"{"from":4294967296,"type":"position","payload":{}}"#, field: "from"),
            .refused("meshtastic", "msh/#", "msh/2/json/c/!1", #"{"type":"position","payload":{}}"#, field: "from"),
            .refused("meshtastic", "msh/#", "msh/2/json/c/!1", #"{"from":1,"type":"position"}"#, field: "payload"),
        ])
    func readsMeshtastic(_ row: AdapterRow) throws { try row.check() }

    @Test("A packet that several gateways publish counts once; another of the same node counts")
    func duplicatePackets() throws {
        func packet(_ id: Int, _ updates: String...) -> AdapterRow {
            var row = Self.mesh(
                #"{"id":\#(id),"from":1,"type":"position","payload":{"latitude_i":10000000,"longitude_i":10000000}}"#)
            row.updates = updates
            return row
        }
        let position = "d/-/-/-/-/!00000001/position {\"latitude\":1,\"longitude\":1}"
        let adapters = Adapters([try packet(1).rule])
        for row in [packet(1, position), packet(1), packet(2, position), packet(2), packet(1)] { try row.check(adapters) }
    }

    private static func plain(_ payload: String, _ update: String..., domain: String? = nil) -> AdapterRow {
        var row = AdapterRow("json", "cars/+/here", "cars/a b/here", payload, with: domain.map { ["domain": $0] } ?? [:])
        row.updates = update
        return row
    }

    @Test(
        "Plain JSON: common names and times, of the configured domain",
        arguments: [
            plain(
                #"{"lat":"47.5","lng":8.5,"ts":1700000000,"battery":80}"#,
                "d/-/-/-/-/a b/position {\"timestamp\":1700000000000,\"lat\":\"47.5\",\"lng\":8.5,\"battery\":80}"),
            plain(
                #"{"latitude":47.5,"longitude":8.5,"timestamp":"1700000000"}"#,
                "d/-/-/-/-/a b/position {\"timestamp\":1700000000000,\"latitude\":47.5,\"longitude\":8.5}"),
            plain(
                #"{"lat":1,"lat":2,"lon":3,"time":"2023-11-14T23:13:20+0100"}"#,
                "d/-/-/-/-/a b/position {\"timestamp\":1700000000000,\"lat\":2,\"lon\":3}"),
            plain(
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":[8.5,47.5]},"properties":{"name":"x"}}"#,
                "d/-/-/-/-/a b/position {\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[8.5,47.5]},\"properties\":{\"name\":\"x\"}}"
            ),
            plain(
                #"{"temperature":"21.5","time":1700000000}"#,
                "d/-/-/-/-/a b/temperature {\"timestamp\":1700000000000,\"temperature\":\"21.5\"}", domain: "Temperature"),
            // A property of this name, not when it was.
            plain(#"{"level":3,"time":12}"#, "d/-/-/-/-/a b/noise {\"level\":3,\"time\":12}", domain: "noise"),
            plain("", "d/-/-/-/-/a b/position "), plain("", "d/-/-/-/-/a b/co2 ", domain: "co2"),
            .refused("json", "cars/+", "cars/a", #"{"lat":1}"#, field: "longitude"),
            .refused("json", "cars/+", "cars/a", #"{"lat":0,"lon":0}"#, field: "latitude"),
            .refused("json", "cars/+", "cars/a", #"{"lat":1,"lon":1,"tst":-5}"#, field: "tst"),
            .refused("json", "cars/+", "cars/a", #"{"a":1,"timestamp":"soon"}"#, field: "timestamp", with: ["domain": "noise"]),
            .refused("json", "cars/+", "cars/a", #"[{"lat":1,"lon":1}]"#, field: nil),
        ])
    func readsPlainJSON(_ row: AdapterRow) throws { try row.check() }

    @Test("What is compressed or too large is reported as that")
    func bytes() throws {
        let adapters = Adapters([try AdapterRow("json", "cars/+", "", "").rule])
        let compressed = try #require(adapters.read(topic: "cars/a", payload: [0x1F, 0x8B, 8, 0, 1, 2, 3]))
        guard case .failure(let error) = compressed.updates else { throw WireError(.internal, "accepted") }
        #expect(error.code == .invalid && error.message.contains("compressed"))
        let large = try #require(adapters.read(topic: "cars/a", payload: Array(repeating: 0x20, count: 65_537)))
        guard case .failure(let tooLarge) = large.updates else { throw WireError(.internal, "accepted") }
        #expect(tooLarge.code == .tooLarge)
    }
}
