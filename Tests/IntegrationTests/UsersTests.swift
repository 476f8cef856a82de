import Foundation
import MQTTLink
import Testing
import Wire

extension Integration {
    @Suite("With --users")
    struct Users {
        private func withUsers(_ body: (Daemon) throws -> Void) throws {
            try withFolder { folder in
                let users = try Tool.passwordFile(["alice", "bob"], in: folder)
                let daemon = try Daemon(folder: folder, arguments: ["--users", users, "--auto-create-datasets", "true"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try body(daemon)
                #expect(daemon.program.isRunning)
            }
        }

        @Test("Each user reaches only the own client level, and nobody but the daemon speaks in the daemon's name")
        func levels() throws {
            try withUsers { daemon in
                try withClient(daemon.endpoint(user: "alice"), filters: ["geomatch/#", "live/#"]) { alice in
                    try withClient(daemon.endpoint(user: "bob"), name: "bob", filters: ["geomatch/#", "live/#"]) { bob in
                        try alice.request(
                            "device/create",
                            ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 1, "longitude": 1]])
                        try alice.request(
                            "subscription/create", ["deviceId": "pin", "id": "s", "topic": "t", "range": 5, "duration": 60])
                        try alice.request("publication/create", ["deviceId": "pin", "topic": "t", "range": 5, "duration": 60])
                        _ = try alice.first(on: "geomatch/d/alice/match/pin/s")
                        // In another's name, or in the daemon's.
                        bob.send("device/create", ["deviceType": "MobileDevice", "id": "forged"], id: "forged", as: "alice")
                        for topic in [
                            "geomatch/status", "geomatch/d/status", "geomatch/d/diagnostics/update", "geomatch/d/bob/reply",
                            "geomatch/d/alice/reply", "geomatch/d/alice/match/pin/s", "geomatch/d/bob/match/pin/s",
                            "live/d/-/-/-/-/x/position",
                            "geomatch/d/alice/live/1", "geomatch/d/bob/circumstance/1", "geomatch/d/bob/changes",
                            "geomatch/d/bob/beacon/1",
                        ] { bob.publish(topic, "forged", retain: true) }
                        #expect(try bob.refusal("device/get", ["id": "forged"]) == "notFound")
                        bob.publish("d/-/-/-/-/walker/position", #"{"lat":5,"lon":5}"#)
                        _ = try alice.first(on: "live/d/-/-/-/-/walker/position")
                        #expect(try bob.refusal("device/get", ["id": "pin"]) == "forbidden")
                        #expect(try alice.refusal("device/get", ["id": "forged"]) == "notFound")
                        let forged = (alice.messages + bob.messages).filter { $0.text == "forged" }
                        #expect(forged.isEmpty)
                        #expect(!bob.messages.contains { $0.topic.hasPrefix("geomatch/d/alice/") })
                        #expect(!alice.messages.contains { $0.topic.hasPrefix("geomatch/d/bob/") })
                    }
                }
            }
        }

        @Test("Who gives no name, or a wrong password, is not let in")
        func strangers() throws {
            try withUsers { daemon in
                var wrong = daemon.endpoint(user: "alice")
                wrong.password = "bob"
                for endpoint in [daemon.endpoint, wrong, daemon.endpoint(user: "carol")] {
                    let client = try Client(endpoint)
                    defer { client.stop() }
                    #expect(client.waitDisconnected())
                    #expect(client.grantedCodes.isEmpty)
                }
            }
        }
    }
}
