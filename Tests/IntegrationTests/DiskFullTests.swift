import Foundation
import Testing
import Wire

extension Integration {
    @Suite("A full disk")
    struct DiskFull {
        /// Runs `body` with a file system of four megabytes.
        private func withSmallDisk(_ folder: String, _ body: (String) throws -> Void) throws {
            let disk = folder + "/disk"
            try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
            let mount = try Program("/usr/bin/env", ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk])
            try #require(mount.waitForExit() == 0, "\(mount.lines)")
            defer { _ = try? Program("/usr/bin/env", ["umount", "-l", disk]).waitForExit() }
            try body(disk)
        }

        @Test(
            "Requests get `internal`, live state and matching go on, and with space again everything heals without a restart",
            .enabled(if: Tool.canMount, "a small disk takes a mount"))
        func healed() throws {
            try withFolder { folder in
                // mosquitto is somebody else's, so that only the store meets the full disk.
                let broker = Broker(folder: folder)
                defer { broker.end() }
                try broker.start()
                try withSmallDisk(folder) { disk in
                    let daemon = try Daemon(folder: disk, broker: broker.url, arguments: ["--datasets", "d"])
                    defer { daemon.end() }
                    try daemon.waitOnline()
                    try withClient(broker.endpoint, filters: ["live/#", "geomatch/d/alice/match/#"]) { client in
                        try run(daemon, disk, client)
                    }
                }
            }
        }

        private func run(_ daemon: Daemon, _ disk: String, _ client: Client) throws {
            try client.request(
                "device/create", ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 1, "longitude": 1]])
            try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"])
            try client.request(
                "subscription/create", ["deviceId": "pin", "id": "s", "topic": "t", "range": 5, "duration": 6000, "matchTTL": 0])
            try client.request("publication/create", ["deviceId": "phone", "topic": "t", "range": 5, "duration": 6000])
            // Everything that is left.
            let filler = disk + "/filler"
            let descriptor = open(filler, O_WRONLY | O_CREAT, 0o600)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(descriptor, block, block.count) > 0 {}
            close(descriptor)
            var acknowledged: [String] = []
            var number = 0
            var isFull = false
            while !isFull, number < 3000 {
                number += 1
                let reply = try client.ask(
                    "device/create",
                    [
                        "deviceType": "MobileDevice", "id": .string("n\(number)"),
                        "name": .string(String(repeating: "x", count: 200)),
                    ])
                if reply["result"] != nil {
                    acknowledged.append("n\(number)")
                } else {
                    isFull = true
                    #expect(reply["error"]?["error"]?.asString == "internal" && reply["error"]?["code"]?.asInt64 == 500)
                }
            }
            try #require(isFull, "the disk never became full")
            #expect(try client.refusal("device/get", ["id": .string("n\(number)")]) == "notFound")
            #expect(try client.request("device/get", ["id": "pin"])["id"]?.asString == "pin")
            #expect(daemon.program.waitForLine("store cannot be written"))
            // Live state and matching go on; the match waits for the disk.
            client.publish("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
            _ = try client.first(on: "live/d/-/-/-/-/phone/position")
            #expect(try client.refusal("device/delete", ["id": "pin"]) == "internal")
            unlink(filler)
            #expect(daemon.program.waitForLine("store recovered"))
            #expect(client.wait { $0.contains { $0.topic == "geomatch/d/alice/match/pin/s" } })
            try client.request("device/create", ["deviceType": "MobileDevice", "id": "after"])
            daemon.program.end(SIGKILL)
            try daemon.restart()
            for id in acknowledged.suffix(50) + ["pin", "phone", "after"] {
                #expect(try client.request("device/get", ["id": .string(id)])["id"]?.asString == id)
            }
            #expect(try client.refusal("device/get", ["id": .string("n\(number)")]) == "notFound")
            let matches = try #require(try client.request("match/list", ["deviceId": "pin"])["matches"]?.asArray)
            #expect(matches.count == 1)
        }
    }
}
