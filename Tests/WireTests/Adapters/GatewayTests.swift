import Testing

@testable import Wire

@Suite("Gateways that hear beacons")
struct GatewayTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let bare = "f7826da64fa24e988024bc5b71e0893e"

    private static func sighting(_ observer: String, _ rest: String = "", major: Int = 1, minor: Int = 2) -> String {
        "d/-/-/-/-/\(observer)/proximity {\"sightings\":[\(one(rest, major: major, minor: minor))]}"
    }

    private static func one(_ rest: String, major: Int = 1, minor: Int = 2) -> String {
        "{\"proximityUUID\":\"\(uuid)\",\"major\":\(major),\"minor\":\(minor)\(rest.isEmpty ? "" : ",")\(rest)}"
    }

    private static func espresense(_ topic: String, _ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("espresense", "espresense/#", topic, payload)
        row.updates = updates
        return row
    }

    @Test(
        "ESPresense: the room sees the beacon that the id names; other ids and topics say nothing",
        arguments: [
            espresense(
                "espresense/devices/iBeacon:x/kitchen",
                #"{"mac":"aa","id":"iBeacon:\#(uuid.lowercased())-1-2","rssi@1m":-65,"rssi":-70.25,"distance":2.5,"var":0.1,"int":900}"#,
                sighting("kitchen", #""rssi":-70.25,"txPower":-65,"distance":2.5"#)),
            espresense(
                "espresense/devices/altBeacon:\(bare)-1-2/attic", #"{"rssi":"-70","distance":"2.5","rssi@1m":3}"#,
                sighting("attic", #""rssi":-70,"distance":2.5"#)),
            espresense("espresense/devices/irk:0011/kitchen", #"{"id":"irk:0011","distance":1}"#),
            espresense("espresense/devices/known:aabb/kitchen", #"{"id":"phone:jane","distance":1}"#),
            espresense("espresense/devices/x/kitchen", #"{"id":"iBeacon:\#(uuid)-70000-2","distance":1}"#),
            espresense("espresense/rooms/kitchen/status", "online"), espresense("espresense/rooms/kitchen/telemetry", "{}"),
            espresense("espresense/settings/x/config", "not json"), espresense("espresense/devices/x/kitchen", ""),
            .refused(
                "espresense", "espresense/devices/+/+", "espresense/devices/x/kitchen",
                #"{"id":"iBeacon:\#(uuid)-1-2","distance":"far"}"#, field: "distance"),
            .refused(
                "espresense", "espresense/devices/+/+", "espresense/devices/x/kitchen",
                #"{"id":"iBeacon:\#(uuid)-1-2","distance":10001}"#, field: "distance"),
            .refused(
                "espresense", "espresense/devices/+/+", "espresense/devices/x/kitchen",
                #"{"id":"iBeacon:\#(uuid)-1-2","rssi":-201}"#, field: "rssi"),
            .refused("espresense", "espresense/devices/+/+", "espresense/devices/x/kitchen", "{", field: nil),
        ])
    func readsESPresense(_ row: AdapterRow) throws { try row.check() }

    private static func omg(_ topic: String, _ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("openmqttgateway", "home/#", topic, payload)
        row.updates = updates
        return row
    }

    @Test(
        "OpenMQTTGateway and Theengs: the triple counts, not the address that changes; a battery is no power",
        arguments: [
            omg(
                "home/hall/BTtoMQTT/AABBCCDDEEFF",
                #"{"id":"AA:BB:CC:DD:EE:FF","rssi":-70,"distance":2.5,"model_id":"IBEACON","mfid":"4c00","uuid":"\#(bare)","major":1,"minor":"2","txpower":-59}"#,
                sighting("hall", #""rssi":-70,"txPower":-59,"distance":2.5"#)),
            omg(
                "home/hall/BTtoMQTT/112233445566",
                #"{"id":"11:22","uuid":"\#(bare)","major":1,"minor":2,"rssi":"-71","power":"31"}"#,
                sighting("hall", #""rssi":-71"#)),
            omg(
                "home/hall/BTtoMQTT/\(bare)", #"{"id":"\#(bare)","mac":"11:22","model_id":"IBEACON","major":1,"minor":2}"#,
                sighting("hall")),
            omg(
                "home/presence/hall", #"{"id":"x","uuid":"\#(bare)","major":1,"minor":2,"distance":1}"#,
                sighting("hall", #""distance":1"#)),
            omg("home/home_presence/hall", #"{"uuid":"\#(bare)","major":1,"minor":2}"#, sighting("hall")),
            omg("home/TheengsGateway/presence", #"{"id":"AA:BB","presence":"absent"}"#),
            omg("home/hall/BTtoMQTT/A4C138", #"{"id":"A4:C1:38","tempc":21.5,"hum":40,"rssi":-70}"#),
            .refused(
                "theengs", "home/+/BTtoMQTT/+", "home/hall/BTtoMQTT/x", #"{"uuid":"\#(bare)","major":-1,"minor":2}"#,
                field: "major"),
            .refused("omg", "home/+/BTtoMQTT/+", "home/hall/BTtoMQTT/x", #"{"uuid":7,"major":1,"minor":2}"#, field: "uuid"),
            .refused(
                "omg", "home/+/BTtoMQTT/+", "home/hall/BTtoMQTT/x", #"{"uuid":"\#(bare)","major":1,"minor":2,"rssi":true}"#,
                field: "rssi"),
        ])
    func readsOpenMQTTGateway(_ row: AdapterRow) throws { try row.check() }

    private static func assistant(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow(
            "room-assistant", "room-assistant/entity/+/+/+", "room-assistant/entity/kitchen/room-presence/ble-\(bare)-1-2",
            payload)
        row.updates = updates
        return row
    }

    @Test(
        "room-assistant: every room in range sees the beacon, each at its own time; who has no authority is not heard",
        arguments: [
            assistant(
                #"{"entity":{"id":"ble-\#(bare)-1-2","state":"kitchen","distances":{"kitchen":{"distance":1.5,"lastUpdatedAt":"2023-11-14T22:13:20.000Z","outOfRange":false},"attic":{"distance":9,"outOfRange":true},"hall":{"distance":"4"}},"measuredValues":{"kitchen":{"rssi":-60,"measuredPower":-59}}},"hasAuthority":true}"#,
                sighting("kitchen", #""rssi":-60,"txPower":-59,"distance":1.5,"timestamp":1700000000000"#),
                sighting("hall", #""distance":4"#)),
            assistant(#"{"entity":{"distances":{"hall":{}}}}"#, sighting("hall")),
            assistant(#"{"entity":{"distances":{"hall":{"distance":1}}},"hasAuthority":false}"#),
            assistant(#"{"entity":{"id":"switch","distances":{"hall":{"distance":1}}}}"#), assistant(#"{"diff":[]}"#),
            .refused(
                "room-assistant", "room-assistant/#", "room-assistant/entity/k/p/ble-\(bare)-1-2",
                #"{"entity":{"distances":{"hall":{"distance":"near"}}}}"#, field: "entity.distances.hall.distance"),
            .refused(
                "room-assistant", "room-assistant/#", "room-assistant/entity/k/p/ble-\(bare)-1-2",
                #"{"entity":{"distances":{"hall":7}}}"#, field: "entity.distances.hall"),
            .refused("room-assistant", "room-assistant/#", "room-assistant/entity/k/p/x", #"{"entity":7}"#, field: "entity"),
        ])
    func readsRoomAssistant(_ row: AdapterRow) throws { try row.check() }

    private static func home(_ topic: String, _ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("home-assistant", "ha/#", topic, payload)
        row.updates = updates
        return row
    }

    @Test(
        "Home Assistant: attributes with both degrees are a position, mqtt_room a sighting by the room, states nothing",
        arguments: [
            home(
                "ha/device_tracker/car/attributes",
                #"{"latitude":47.5,"longitude":8.5,"gps_accuracy":10,"battery_level":80,"in_zones":["zone.home"]}"#,
                "d/-/-/-/-/car/position {\"latitude\":47.5,\"longitude\":8.5,\"horizontalAccuracy\":10,\"battery_level\":80,\"in_zones\":[\"zone.home\"]}"
            ),
            home(
                "ha/location/jane", #"{"longitude":"8.5","latitude":"47.5","gps_accuracy":0}"#,
                "d/-/-/-/-/jane/position {\"latitude\":47.5,\"longitude\":8.5}"),
            home("ha/device_tracker/car/attributes", #"{"latitude":null,"longitude":null,"in_zones":["x"]}"#),
            home("ha/device_tracker/car/state", "not_home"), home("ha/car", "None"), home("ha/car", "home"),
            home("ha/device_tracker/car/config", #"{"latitude":1,"longitude":1,"name":"x"}"#),
            home("ha/device_tracker/car/attributes", "", "d/-/-/-/-/car/position "),
            home(
                "ha/room_presence/kitchen", #"{"id":"\#(bare)-1-2","name":"tag","distance":1.25}"#,
                sighting("kitchen", #""distance":1.25"#)),
            home("ha/room_presence/kitchen", #"{"id":"jane_phone","name":"x","distance":1.25}"#),
            .refused("ha", "ha/#", "ha/car", #"{"latitude":1}"#, field: "longitude"),
            .refused("ha", "ha/#", "ha/car", #"{"longitude":1}"#, field: "latitude"),
            .refused("ha", "ha/#", "ha/car", #"{"latitude":0,"longitude":0.0}"#, field: "latitude"),
            .refused("ha", "ha/#", "ha/car", "away", field: nil),
        ])
    func readsHomeAssistant(_ row: AdapterRow) throws { try row.check() }

    private static func tasmota(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("tasmota", "tele/+/SENSOR", "tele/lobby/SENSOR", payload)
        row.updates = updates
        return row
    }

    @Test(
        "Tasmota: four characters are hexadecimal, a local time is none, and OFF is no sighting",
        arguments: [
            tasmota(
                #"{"Time":"2021-01-02T12:08:40","IBEACON":{"UID":"\#(bare.uppercased())","MAJOR":"0010","MINOR":"00fF","MAC":"AABB","RSSI":-70,"STATE":"ON","PERSEC":1}}"#,
                sighting("lobby", #""rssi":-70"#, major: 16, minor: 255)),
            tasmota(
                #"{"IBEACON":{"UID":"\#(bare)","MAJOR":1,"MINOR":"2","RSSI":"0","STATE":"ON"}}"#, sighting("lobby", #""rssi":0"#)),
            tasmota(#"{"IBEACON":{"UID":"\#(bare)","MAJOR":"0001","MINOR":"0002","RSSI":0,"STATE":"OFF"}}"#),
            tasmota(#"{"IBEACON":{"UID":"00000000000000000000000000000000","MAC":"AABB","RSSI":-70}}"#),
            tasmota(#"{"Time":"2021-01-02T12:08:40","AM2301":{"Temperature":21}}"#),
            .refused(
                "tasmota", "tele/+/SENSOR", "tele/l/SENSOR", #"{"IBEACON":{"UID":"\#(bare)","MAJOR":"00G0","MINOR":"0001"}}"#,
                field: "IBEACON.MAJOR"),
            .refused("tasmota", "tele/+/SENSOR", "tele/l/SENSOR", #"{"IBEACON":{"UID":"12"}}"#, field: "IBEACON.UID"),
            .refused(
                "tasmota", "tele/+/SENSOR", "tele/l/SENSOR", #"{"IBEACON":{"UID":"\#(bare)","MAJOR":1}}"#, field: "IBEACON.MINOR"),
            .refused("tasmota", "tele/+/SENSOR", "tele/l/SENSOR", #"{"IBEACON":[]}"#, field: "IBEACON"),
        ])
    func readsTasmota(_ row: AdapterRow) throws { try row.check() }

    private static func april(_ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("april-brother", "ab/gateway", "ab/gateway", payload)
        row.updates = updates
        return row
    }

    @Test(
        "April Brother: rows of hexadecimal digits, the power and the strength signed; a wrong row refuses all",
        arguments: [
            april(
                #"{"id":"B0B448","raw_beacons_data":"112233445566\#(bare)00010002C5FFBA;112233445566\#(bare.uppercased())FFFF00001e64c4;"}"#,
                "d/-/-/-/-/B0B448/proximity {\"sightings\":[\(one(#""rssi":-70,"txPower":-59"#)),\(one(#""rssi":-60"#, major: 65_535, minor: 0))]}"
            ),
            april(#"{"id":"B0B448","raw_beacons_data":""}"#), april(#"{"id":"B0B448"}"#),
            april(#"{"raw_beacons_data":"112233445566\#(bare)00010002C5FF7F"}"#, sighting("gateway", #""rssi":0,"txPower":-59"#)),
            .refused(
                "april-brother", "ab/gateway", "ab/gateway",
                #"{"id":"B","raw_beacons_data":"112233445566\#(bare)00010002C5FFBA;1122"}"#, field: "raw_beacons_data[1]"),
            .refused(
                "april-brother", "ab/gateway", "ab/gateway",
                #"{"id":"B","raw_beacons_data":"X12233445566\#(bare)00010002C5FFBA"}"#,
                field: "raw_beacons_data[0]"),
            .refused("april-brother", "ab/gateway", "ab/gateway", #"{"raw_beacons_data":7}"#, field: "raw_beacons_data"),
        ])
    func readsAprilBrother(_ row: AdapterRow) throws { try row.check() }

    @Test("A message of a thousand rows becomes updates that are each within what a live update may hold")
    func manyRows() throws {
        let row = "112233445566\(Self.bare)00010002C5FFBA;"
        let adapters = Adapters([try AdapterRow("april-brother", "ab/+", "", "").rule])
        let payload = Array(#"{"id":"B","raw_beacons_data":"\#(String(repeating: row, count: 1000))"}"#.utf8)
        let updates = try #require(adapters.read(topic: "ab/g", payload: payload)).updates.get()
        #expect(updates.count == 10)
        for update in updates {
            #expect(update.payload.count < LiveUpdateDecoder.payloadBytesMax / 4)
            try update.checkNative()
        }
    }
}
