import Foundation
import PostgresServer
import Testing
import Wire

extension Integration {
    @Suite("PostgreSQL as the store")
    struct Postgres {
        private func walkIn(_ client: Client) throws {
            try client.request(
                "device/create", ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 1, "longitude": 1]])
            try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone", "name": "a\u{0}b"])
            try client.request(
                "subscription/create",
                ["deviceId": "phone", "id": "s", "topic": "t", "range": 5, "duration": 6000, "matchTTL": 0])
            try client.request("publication/create", ["deviceId": "pin", "topic": "t", "range": 5, "duration": 6000])
            client.publish("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
            _ = try client.first(on: "geomatch/d/alice/match/phone/s")
        }

        @Test("Everything is there again for another daemon with a data directory of its own; two at a time are one too many")
        func moves() throws {
            let server = try PostgresServer()
            try withFolder { folder in
                for name in ["first", "second", "third"] {
                    try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
                }
                let first = try Daemon(folder: folder + "/first", arguments: ["--http", "off", "--store", server.url])
                defer { first.end() }
                try first.waitOnline()
                #expect(first.log.contains("password in --store") && !first.log.contains("secret"))
                try withClient(first.endpoint, filters: ["geomatch/d/alice/match/#"], walkIn)
                let second = try Daemon(folder: folder + "/second", arguments: ["--http", "off", "--store", server.url])
                #expect(second.program.waitForExit(seconds: 30) == 69)
                #expect(second.log.contains("another daemon uses it") && !second.log.contains("secret"))
                // What was live in the last second would go with a kill.
                first.program.end(SIGTERM)
                let third = try Daemon(
                    folder: folder + "/third", arguments: ["--http", "off"], environment: ["GEOMATCH_STORE": server.url])
                defer { third.end() }
                try third.waitOnline()
                try withClient(third.endpoint) { client in
                    let phone = try client.request("device/get", ["id": "phone"])
                    #expect(phone["name"]?.asString == "a\u{0}b" && phone["location"]?["latitude"]?.asDouble == 1)
                    let matches = try client.request("match/list", ["deviceId": "phone"])["matches"]?.asArray
                    #expect(matches?.count == 1)
                }
            }
        }

        @Test("While the database is gone requests get `internal` and live data goes on; nothing acknowledged is lost")
        func outage() throws {
            let server = try PostgresServer()
            try withDaemon(arguments: ["--store", server.url]) { daemon in
                try withClient(daemon.endpoint, filters: ["live/#", "geomatch/d/alice/match/#"]) { client in
                    try walkIn(client)
                    server.kill()
                    #expect(daemon.program.waitForLine("store cannot be written"))
                    #expect(try client.refusal("device/create", ["deviceType": "MobileDevice", "id": "refused"]) == "internal")
                    client.publish("d/-/-/-/-/phone/position", #"{"lat":1,"lon":1.00001}"#)
                    _ = try client.first(on: "live/d/-/-/-/-/phone/position") { $0.text.contains("1.00001") }
                    try server.start()
                    #expect(daemon.program.waitForLine("store recovered"))
                    try client.request("device/create", ["deviceType": "MobileDevice", "id": "after"])
                    daemon.program.end(SIGKILL)
                    try daemon.restart()
                    for id in ["pin", "phone", "after"] {
                        #expect(try client.request("device/get", ["id": .string(id)])["id"]?.asString == id)
                    }
                    #expect(try client.refusal("device/get", ["id": "refused"]) == "notFound")
                }
            }
        }
    }
}
