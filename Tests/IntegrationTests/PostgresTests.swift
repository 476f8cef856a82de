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

        @Test("A daemon goes on with what `geomatch store copy` brought to PostgreSQL; a store in use or not empty is refused")
        func copied() throws {
            let server = try PostgresServer()
            try withFolder { folder in
                for name in ["second", "third"] {
                    try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
                }
                let daemon = try Daemon(folder: folder, arguments: ["--http", "off"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"], walkIn)
                let source = folder + "/data"
                #expect(try copy(source, server.url).code == 69)
                daemon.program.end(SIGTERM)
                #expect(try copy(folder + "/nothing", server.url).text.contains("there is no store"))
                #expect(try copy(source, "mysql://db").code == 64)
                let copied = try copy(source, server.url)
                #expect(copied.code == 0 && copied.text.contains("  device 2\n"), "\(copied.text)")
                #expect(!copied.text.contains("secret"))
                #expect(try copy(source, server.url).text.contains("is not empty"))
                let second = try Daemon(folder: folder + "/second", arguments: ["--http", "off", "--store", server.url])
                defer { second.end() }
                try second.waitOnline()
                try withClient(second.endpoint) { client in
                    #expect(try client.request("device/get", ["id": "phone"])["name"]?.asString == "a\u{0}b")
                    let matches = try client.request("match/list", ["deviceId": "phone"])["matches"]?.asArray
                    #expect(matches?.count == 1)
                }
                #expect(try copy(server.url, folder + "/third").code == 69)
                second.program.end(SIGTERM)
                let back = try copy(server.url, folder + "/third/data", json: true)
                #expect(try JSONValue.parse(back.text)["rows"]?["subscription"]?.asInt64 == 1, "\(back.text)")
                let third = try Daemon(folder: folder + "/third", arguments: ["--http", "off"])
                defer { third.end() }
                try third.waitOnline()
                try withClient(third.endpoint) { client in
                    let devices = try client.request("device/list")["devices"]?.asArray
                    #expect(devices?.count == 2)
                }
            }
        }

        private func copy(_ source: String, _ target: String, json: Bool = false) throws -> (code: Int32?, text: String) {
            let geomatch = (Daemon.executable as NSString).deletingLastPathComponent + "/geomatch"
            let program = try Program(geomatch, ["store", "copy", source, target] + (json ? ["--json"] : []))
            defer { program.end() }
            let code = program.waitForExit()
            return (code, program.lines.joined(separator: "\n") + "\n")
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
