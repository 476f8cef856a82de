import FlatRecording
import Foundation
import Geodesy
import Ranging
import Testing
import Wire

extension Integration {
    /// Recorded signal strengths of a flat, sent as six gateways would, through a real broker.
    @Suite("Beacons in a flat")
    struct BeaconFollowing {
        private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

        private func sighting(_ minor: Int, _ rssi: Double) -> String {
            #"{"uuid":"\#(Self.uuid)","major":1,"minor":\#(minor),"rssi":\#(rssi)}"#
        }

        private func setUp(_ flat: FlatRecording, _ client: Client) throws {
            let plane = LocalPlane(around: Position(latitude: 52.23, longitude: 21.01))
            for (number, (receiver, settings)) in zip(flat.receivers, flat.settings()).enumerated() {
                let place = plane.position(receiver)
                try client.request(
                    "device/create",
                    [
                        "id": .string("gw\(number)"), "deviceType": "PinDevice",
                        "location": ["latitude": .double(place.latitude), "longitude": .double(place.longitude)],
                        "ranging": ["n": .double(settings.n), "rssiOffset": .double(settings.rssiOffset)],
                    ])
            }
            try client.request("device/create", ["id": "tag", "deviceType": "MobileDevice"])
            try client.request(
                "device/update", ["id": "tag", "carries": ["uuid": .string(Self.uuid), "major": 1, "minor": 1]])
        }

        /// Rows of the drive where the tag is near a receiver of a room.
        private func rows(_ flat: FlatRecording, in room: FlatRecording.Room) -> [FlatRecording.Row] {
            flat.drive.filter { row in
                FlatRecording.room(at: row.place) == room
                    && zip(flat.receivers, flat.rooms).contains { $0.distance(to: row.place) < 2 && $1 == room }
            }
        }

        @Test("a tag is followed from room to room on its live position")
        func follows() throws {
            let flat = try FlatRecording()
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["live/d/home/flat/0/+/tag/position"]) { client in
                    try setUp(flat, client)
                    for room in [FlatRecording.Room.bedroom, .livingRoom, .bedroom] {
                        let rows = rows(flat, in: room)
                        try #require(rows.count > 20)
                        let topic = "live/d/home/flat/0/\(room)/tag/position"
                        client.forgetMessages()
                        var place = 0
                        func arrived(_ messages: [Message]) -> Bool {
                            messages.contains { $0.topic == topic && !$0.payload.isEmpty }
                        }
                        while !client.wait(seconds: 0.1, until: arrived), place < 300 {
                            for (number, level) in rows[place % rows.count].levels.enumerated() {
                                guard let level else { continue }
                                client.publish(
                                    "d/home/flat/0/\(flat.rooms[number])/gw\(number)/proximity", sighting(1, level), qos: 0)
                            }
                            place += 1
                        }
                        let reported = try client.first(on: topic) { !$0.payload.isEmpty }.json
                        #expect(reported["derived"] == true && reported["properties"]?["room"]?.asString == "\(room)")
                        #expect(reported["properties"]?["horizontalAccuracy"]?.asDouble ?? 0 >= 1)
                    }
                }
            }
        }

        @Test("a phone's subscription meets a beacon's publication, and a monitor tells that it came")
        func meets() throws {
            try withDaemon { daemon in
                let filters = ["geomatch/d/alice/match/#", "geomatch/d/alice/beacon/#", "live/d/-/-/-/-/phone/proximity"]
                try withClient(daemon.endpoint, filters: filters) { client in
                    try client.request(
                        "device/create",
                        ["id": "painting", "deviceType": "IBeaconDevice", "uuid": .string(Self.uuid), "major": 1, "minor": 2])
                    try client.request("device/create", ["id": "phone", "deviceType": "MobileDevice"])
                    try client.request(
                        "publication/create",
                        [
                            "id": "p", "deviceId": "painting", "topic": "art", "range": 2, "duration": 3600,
                            "properties": ["year": 1503],
                        ])
                    try client.request(
                        "subscription/create",
                        [
                            "id": "s", "deviceId": "phone", "topic": "art", "range": 1, "duration": 3600, "mode": "visit",
                            "selector": "year < 1600",
                        ])
                    try client.request("beacon/monitor", ["id": "m", "uuid": .string(Self.uuid)])
                    client.publish("d/-/-/-/-/phone/proximity", sighting(2, -60))
                    let match = try client.first(on: "geomatch/d/alice/match/phone/s").json
                    #expect(match["event"]?.asString == "matched" && (1...1.2).contains(match["distance"]?.asDouble ?? 0))
                    #expect(try client.first(on: "geomatch/d/alice/beacon/m").json["event"]?.asString == "entered")
                    let live = try client.first(on: "live/d/-/-/-/-/phone/proximity").json
                    #expect(live["properties"]?["beacons"]?.asArray?.first?["deviceId"]?.asString == "painting")
                    try client.request("device/delete", ["id": "painting"])
                    let end = try client.first(on: "geomatch/d/alice/match/phone/s") { $0.json["event"]?.asString == "ended" }
                    #expect(end.json["reason"]?.asString == "deleted")
                }
            }
        }
    }
}
