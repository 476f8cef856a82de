import Testing

@testable import Wire

@Suite("OwnTracks")
struct OwnTracksTests {
    private static let filter = "owntracks/+/+/#"
    private static let base = "owntracks/jane/phone"
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let me = "d/-/-/-/-/jane%2Fphone"

    private static func row(_ below: String, _ payload: String, _ updates: String...) -> AdapterRow {
        var row = AdapterRow("owntracks", filter, base + below, payload)
        row.updates = updates
        return row
    }

    private static func refused(_ below: String, _ payload: String, field: String?) -> AdapterRow {
        .refused("owntracks", filter, base + below, payload, field: field)
    }

    @Test(
        "A location is a position: km/h become m/s, seconds milliseconds, text numbers; what is unknown is kept",
        arguments: [
            row(
                "",
                #"{"_type":"location","lat":47.5,"lon":8.5,"tst":1700000000,"acc":12,"alt":400,"vac":3,"vel":36,"cog":90,"batt":80,"tid":"jp","inregions":["home"]}"#,
                "\(me)/position {\"latitude\":47.5,\"longitude\":8.5,\"altitude\":400,\"horizontalAccuracy\":12,\"verticalAccuracy\":3,\"speed\":10,\"course\":90,\"timestamp\":1700000000000,\"batt\":80,\"tid\":\"jp\",\"inregions\":[\"home\"]}"
            ),
            row(
                "", #"{"_type":"location","lat":"47.5","lon":"8.5","tst":"1700000000123"}"#,
                "\(me)/position {\"latitude\":47.5,\"longitude\":8.5,\"timestamp\":1700000000123}"),
            // Absent is not 0; and some devices always send 0 for what they did not measure.
            row(
                "", #"{"_type":"location","lat":47.5,"lon":8.5,"acc":0,"alt":0,"vac":0,"vel":0,"cog":0}"#,
                "\(me)/position {\"latitude\":47.5,\"longitude\":8.5,\"speed\":0}"),
            // A ping's time is now, its fix an old one: it does not move, and says that it is a ping.
            row(
                "", #"{"_type":"location","t":"p","lat":47.5,"lon":8.5,"tst":1700000000,"vel":36,"cog":5}"#,
                "\(me)/position {\"latitude\":47.5,\"longitude\":8.5,\"timestamp\":1700000000000,\"t\":\"p\"}"),
            // It comes beside a beacon's transition.
            row(
                "", #"{"_type":"location","t":"b","lat":47.5,"lon":8.5,"image":"aGVsbG8="}"#,
                "\(me)/position {\"latitude\":47.5,\"longitude\":8.5,\"t\":\"b\"}"),
            row("", "", "\(me)/position "), row("/event", ""),
            refused("", #"{"_type":"location","lat":0,"lon":0}"#, field: "lat"),
            refused("", #"{"_type":"location","lat":91,"lon":0}"#, field: "lat"),
            refused("", #"{"_type":"location","lat":47.5}"#, field: "lon"),
            refused("", #"{"_type":"location"}"#, field: "lat"),
            refused("", #"{"_type":"location","lat":"north","lon":1}"#, field: "lat"),
            refused("", #"{"_type":"location","lat":1,"lon":1,"tst":"yesterday"}"#, field: "tst"),
            refused("", #"{"lat":1,"lon":1}"#, field: "_type"), refused("", #"{"_type":1}"#, field: "_type"),
            refused("", "hello", field: nil), refused("", "[]", field: nil),
            refused("", #"{"_type":"encrypted","data":"QUJD"}"#, field: "_type"),
        ])
    func location(_ row: AdapterRow) throws { try row.check() }

    @Test(
        "What says nothing of where is left alone, and so is a type that nobody knows",
        arguments: ["lwt", "cmd", "card", "status", "steps", "configuration", "dump", "request", "something"])
    func others(_ type: String) throws {
        try Self.row("/cmd", #"{"_type":"\#(type)","tst":1}"#).check()
    }

    @Test(
        "A beacon is a sighting by the device",
        arguments: [
            row(
                "/beacon",
                #"{"_type":"beacon","uuid":"f7826da64fa24e988024bc5b71e0893e","major":"1","minor":2,"rssi":-60,"acc":1.5,"prox":2,"tst":1700000000,"desc":"x"}"#,
                "\(me)/proximity {\"sightings\":[{\"proximityUUID\":\"\(uuid)\",\"major\":1,\"minor\":2,\"rssi\":-60,\"distance\":1.5,\"proximity\":2,\"timestamp\":1700000000000}]}"
            ),
            // Unknown is -1 and 0.
            row(
                "/beacon", #"{"_type":"beacon","uuid":"\#(uuid)","major":0,"minor":0,"rssi":0,"acc":-1,"prox":0}"#,
                "\(me)/proximity {\"sightings\":[{\"proximityUUID\":\"\(uuid)\",\"major\":0,\"minor\":0,\"rssi\":0,\"proximity\":0}]}"
            ),
            refused("/beacon", #"{"_type":"beacon","uuid":"F782","major":1,"minor":1}"#, field: "uuid"),
            refused("/beacon", #"{"_type":"beacon","uuid":"\#(uuid)","major":65536,"minor":1}"#, field: "major"),
            refused("/beacon", #"{"_type":"beacon","uuid":"\#(uuid)","major":1}"#, field: "minor"),
            refused("/beacon", #"{"_type":"beacon","major":1,"minor":1}"#, field: "uuid"),
            refused("/beacon", #"{"_type":"beacon","uuid":"\#(uuid)","major":1,"minor":1,"prox":4}"#, field: "prox"),
        ])
    func beacon(_ row: AdapterRow) throws { try row.check() }

    @Test(
        "A transition is the device's own word of what it entered or left",
        arguments: [
            row(
                "/event",
                #"{"_type":"transition","event":"enter","desc":"home","rid":"a1","tst":1700000000,"wtst":1,"lat":47.5,"lon":8.5,"acc":10,"tid":"jp","t":"c"}"#,
                "\(me)/transition {\"event\":\"enter\",\"desc\":\"home\",\"rid\":\"a1\",\"latitude\":47.5,\"longitude\":8.5,\"horizontalAccuracy\":10,\"trigger\":\"c\",\"tid\":\"jp\",\"source\":\"device\",\"timestamp\":1700000000000}"
            ),
            row(
                "/event", #"{"_type":"transition","event":"leave","lat":0,"lon":0}"#,
                "\(me)/transition {\"event\":\"leave\",\"source\":\"device\"}"),
            refused("/event", #"{"_type":"transition","event":"stay"}"#, field: "event"),
            refused("/event", #"{"_type":"transition"}"#, field: "event"),
        ])
    func transition(_ row: AdapterRow) throws { try row.check() }

    @Test(
        "A waypoint is known by its rid, else by who made it when",
        arguments: [
            row(
                "/waypoint",
                #"{"_type":"waypoint","desc":"home","rid":"a1","tst":"1700000000","lat":47.5,"lon":8.5,"rad":"100"}"#,
                "d/-/-/-/-/a1/waypoint {\"desc\":\"home\",\"rid\":\"a1\",\"owner\":\"jane/phone\",\"latitude\":47.5,\"longitude\":8.5,\"radius\":100,\"createdAt\":1700000000000}"
            ),
            row(
                "/waypoint", #"{"_type":"waypoint","desc":"home","tst":1700000000,"lat":47.5,"lon":8.5,"rad":100}"#,
                "\(me)%2F1700000000/waypoint {\"desc\":\"home\",\"owner\":\"jane/phone\",\"latitude\":47.5,\"longitude\":8.5,\"radius\":100,\"createdAt\":1700000000000}"
            ),
            // 0 is any; a radius from 0 down is a beacon's.
            row(
                "/waypoint",
                #"{"_type":"waypoint","desc":"desk","rid":"b","uuid":"\#(uuid)","major":7,"minor":0,"rad":0,"lat":47.5,"lon":8.5}"#,
                "d/-/-/-/-/b/waypoint {\"desc\":\"desk\",\"rid\":\"b\",\"owner\":\"jane/phone\",\"latitude\":47.5,\"longitude\":8.5,\"proximityUUID\":\"\(uuid)\",\"major\":7}"
            ),
            // As it was written before there was a `uuid`.
            row(
                "/waypoint", #"{"_type":"waypoint","desc":"desk:\#(uuid):7:9","rid":"b","rad":-1}"#,
                "d/-/-/-/-/b/waypoint {\"desc\":\"desk\",\"rid\":\"b\",\"owner\":\"jane/phone\",\"proximityUUID\":\"\(uuid)\",\"major\":7,\"minor\":9}"
            ),
            // A beacon without a place, among others.
            row(
                "/waypoints",
                #"{"_type":"waypoints","waypoints":[{"desc":"desk:\#(uuid):7:0","rid":"b","lat":0,"lon":0,"rad":0},{"rid":"a","lat":1,"lon":1}]}"#,
                "d/-/-/-/-/b/waypoint {\"desc\":\"desk\",\"rid\":\"b\",\"owner\":\"jane/phone\",\"proximityUUID\":\"\(uuid)\",\"major\":7}",
                "d/-/-/-/-/a/waypoint {\"rid\":\"a\",\"owner\":\"jane/phone\",\"latitude\":1,\"longitude\":1}"),
            refused("/waypoint", #"{"_type":"waypoint","rid":"a","lat":0,"lon":0,"rad":50}"#, field: "lat"),
            row(
                "/waypoints",
                #"{"_type":"waypoints","_creator":"x","waypoints":[{"rid":"a","lat":1,"lon":1},{"rid":"b","lat":2,"lon":2}]}"#,
                "d/-/-/-/-/a/waypoint {\"rid\":\"a\",\"owner\":\"jane/phone\",\"latitude\":1,\"longitude\":1}",
                "d/-/-/-/-/b/waypoint {\"rid\":\"b\",\"owner\":\"jane/phone\",\"latitude\":2,\"longitude\":2}"),
            refused("/waypoint", #"{"_type":"waypoint","rid":"a"}"#, field: "lat"),
            refused("/waypoint", #"{"_type":"waypoint","lat":1,"lon":1}"#, field: "rid"),
            refused("/waypoint", #"{"_type":"waypoint","rid":"a","lat":1,"lon":1,"rad":"wide"}"#, field: "rad"),
            refused("/waypoints", #"{"_type":"waypoints","waypoints":[1]}"#, field: "waypoints[0]"),
            refused("/waypoints", #"{"_type":"waypoints","waypoints":[{"rid":"a","lat":1}]}"#, field: "waypoints[0].lon"),
            refused("/waypoints", #"{"_type":"waypoints"}"#, field: "waypoints"),
        ])
    func waypoint(_ row: AdapterRow) throws { try row.check() }

    @Test("Root and depth of the topics are the user's: the last two levels before a known one name user and device")
    func roots() throws {
        let payload = #"{"_type":"location","lat":1,"lon":1}"#
        for (filter, topic, item) in [
            ("owntracks/#", "owntracks/a/b", "a%2Fb"), ("my/site/+/+", "my/site/a/b", "a%2Fb"),
            ("owntracks/jane/+", "owntracks/jane/b", "jane%2Fb"), ("o/#", "o/x", "o%2Fx"),
        ] {
            try AdapterRow(
                "owntracks", filter, topic, payload, "d/-/-/-/-/\(item)/position {\"latitude\":1,\"longitude\":1}"
            ).check()
        }
    }

    @Test("A sighting that the broker kept without a time is no sighting of now; one with its time is reported")
    func retained() throws {
        let bare = #"{"_type":"beacon","uuid":"\#(Self.uuid)","major":1,"minor":2}"#
        try AdapterRow("owntracks", Self.filter, Self.base + "/beacon", bare, retained: true).check()
        var timed = Self.row(
            "/beacon", bare.dropLast() + #","tst":1700000000}"#,
            "\(Self.me)/proximity {\"sightings\":[{\"proximityUUID\":\"\(Self.uuid)\",\"major\":1,\"minor\":2,\"timestamp\":1700000000000}]}"
        )
        timed.isRetained = true
        try timed.check()
    }
}
