import Foundation
import Testing
import Wire

extension Integration {
    @Suite("Home Assistant discovery at a broker")
    struct Discovery {
        private static let filters = ["homeassistant/#", "live/#", "geomatch/+/alice/#"]

        private func configure(_ folder: String, _ datasets: String) throws -> String {
            let file = folder + "/geomatchd.yaml"
            try "datasets: [home, work]\nhome-assistant:\n  datasets: \(datasets)\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            return file
        }

        @Test("Devices and rooms come and go, of listed datasets only, over restarts")
        func lifecycle() throws {
            try withFolder { folder in
                let file = try configure(folder, "[ho*]")
                let daemon = try Daemon(folder: folder, arguments: ["--config", file])
                defer { daemon.end() }
                try daemon.waitOnline()
                let phone = "homeassistant/device/geomatch/home__phone/config"
                let room = "homeassistant/device/geomatch/home__v__b__1__r/config"
                try withClient(daemon.endpoint, filters: Self.filters) { client in
                    client.publish("home/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                    client.publish("work/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                    client.publish("home/v/b/1/r/-/occupancy", #"{"nrOfPeople":1}"#)
                    let message = try client.first(on: phone, seconds: 5).json
                    #expect(message["o"]?["name"] == "geomatch" && message["cmps"]?["position"]?["p"] == "device_tracker")
                    let people = try client.first(on: room, seconds: 5).json["cmps"]?["people"]
                    #expect(people?["state_topic"] == "live/home/v/b/1/r/-/occupancy")
                    _ = try client.ask("device/create", ["deviceType": "MobileDevice", "id": "other"], dataset: "home")
                    _ = try client.ask(
                        "subscription/create",
                        ["deviceId": "phone", "id": "s", "topic": "t", "range": 5, "duration": 60, "homeAssistant": true],
                        dataset: "home")
                    let event = try client.first(on: phone, seconds: 5) { $0.text.contains("match-s") }.json["cmps"]?["match-s"]
                    #expect(event?["state_topic"] == "geomatch/home/alice/match/phone/s" && event?["p"] == "event")
                    client.publish("home/v/b/1/r/-/occupancy", "")
                    _ = try client.first(on: room, seconds: 5) { $0.payload.isEmpty }
                    #expect(!client.messages.contains { $0.topic.contains("work__") })
                }
                // What is retained is not said again, also where the daemon was killed.
                _ = daemon.program.end(SIGKILL)
                try daemon.restart()
                try withClient(daemon.endpoint, name: "late", filters: Self.filters) { late in
                    #expect(try late.first(on: phone).retain)
                    late.publish("home/-/-/-/-/new/position", #"{"lat":1,"lon":1}"#)
                    _ = try late.first(on: "homeassistant/device/geomatch/home__new/config", seconds: 10)
                    #expect(late.messages(on: phone).count == 1)
                }
                // Datasets come and go with a reload, and connected clients hear of it.
                try withClient(daemon.endpoint, name: "ha", filters: ["homeassistant/#"]) { connected in
                    let other = "homeassistant/device/geomatch/work__phone/config"
                    _ = try connected.first(on: phone)
                    _ = try configure(folder, "[work]")
                    kill(daemon.program.processID, SIGHUP)
                    #expect(try connected.first(on: other, seconds: 5).json["cmps"]?["position"]?["p"] == "device_tracker")
                    _ = try connected.first(on: phone, seconds: 5) { $0.payload.isEmpty }
                    #expect(daemon.program.waitForLine("configuration reloaded changed=home-assistant"), "\(daemon.log)")
                    #expect(!daemon.log.contains("need a restart"))
                    _ = try configure(folder, "[]")
                    kill(daemon.program.processID, SIGHUP)
                    _ = try connected.first(on: other, seconds: 5) { $0.payload.isEmpty }
                    _ = try configure(folder, "[ho*]")
                    kill(daemon.program.processID, SIGHUP)
                    #expect(connected.wait(seconds: 5) { $0.filter { $0.topic == phone && !$0.payload.isEmpty }.count >= 2 })
                }
                // A dataset that is not listed any more is gone from there.
                _ = try configure(folder, "[]")
                _ = daemon.program.end(SIGTERM)
                try daemon.restart()
                try withClient(daemon.endpoint, name: "last", filters: ["homeassistant/#"]) { last in
                    // Retained until the daemon has removed it, which may be before.
                    _ = last.wait(seconds: 5) { $0.contains { $0.topic == phone && $0.payload.isEmpty } }
                }
                try withClient(daemon.endpoint, name: "after", filters: Self.filters) { after in
                    _ = try after.first(on: "live/home/-/-/-/-/phone/position")
                    #expect(!after.messages.contains { $0.topic.hasPrefix("homeassistant/") && !$0.payload.isEmpty })
                }
            }
        }
    }
}
