import Foundation
import Testing
import Wire

extension Integration {
    @Suite("Beside a broker of one's own")
    struct OwnBroker {
        private func withDaemon<Result>(
            at broker: Broker, arguments: [String] = ["--datasets", "d"], url: String? = nil, _ body: (Daemon) throws -> Result
        ) throws -> Result {
            let daemon = try Daemon(folder: broker.folder, broker: url ?? broker.url, arguments: arguments)
            defer { daemon.end() }
            try daemon.waitOnline()
            return try body(daemon)
        }

        /// Why the daemon did not start; it must end by itself.
        private func failedStart(at broker: Broker, url: String? = nil, arguments: [String] = ["--datasets", "d"]) throws -> (
            Int32?, String
        ) {
            let daemon = try Daemon(folder: broker.folder, broker: url ?? broker.url, arguments: arguments)
            defer { daemon.end() }
            let code = daemon.program.waitForExit(seconds: 40)
            return (code, daemon.log)
        }

        @Test("A broker that forgot everything is sent everything again: live states, statuses, subscriptions")
        func brokerForgets() throws {
            try withBroker { broker in
                try withDaemon(at: broker) { daemon in
                    try withClient(broker.endpoint, filters: ["geomatch/d/alice/match/#"]) { client in
                        try client.request(
                            "device/create",
                            ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 1, "longitude": 1]])
                        for number in 0..<300 { client.publish("d/-/-/-/r\(number)/-/count", #"{"count":\#(number)}"#) }
                        try client.request("subscription/create", ["deviceId": "pin", "topic": "t", "range": 5, "duration": 600])
                        broker.end(SIGTERM)
                        try broker.start()
                        try daemon.waitOnline(times: 2)
                        client.waitSubscribed(times: 2)
                        try withClient(
                            broker.endpoint, name: "late", filters: ["live/#", "geomatch/status", "geomatch/d/status"]
                        ) { late in
                            #expect(late.wait { $0.count { $0.topic.hasPrefix("live/") } >= 301 })
                            _ = try late.first(on: "geomatch/status") { $0.json["state"]?.asString == "online" }
                            _ = try late.first(on: "geomatch/d/status", seconds: 15)
                        }
                        try client.request(
                            "publication/create", ["deviceId": "pin", "topic": "t", "range": 5, "duration": 600])
                        #expect(client.wait { $0.contains { $0.topic.contains("/match/") } })
                    }
                    #expect(daemon.log.contains("connection lost"))
                }
            }
        }

        @Test("Requests sent while the daemon is away are answered when it returns, once each and in order")
        func heldRequests() throws {
            try withBroker { broker in
                try withClient(broker.endpoint) { client in
                    let arguments = ["--datasets", "d"]
                    try withDaemon(at: broker, arguments: arguments) { daemon in
                        #expect(daemon.program.end(SIGTERM) == 0)
                    }
                    for number in 0..<50 {
                        client.send(
                            "device/create", ["deviceType": "MobileDevice", "id": .string("m\(number)")], id: "\(number)")
                    }
                    client.publishAndWait("fence", "")
                    try withDaemon(at: broker, arguments: arguments) { _ in
                        #expect(client.wait { $0.count >= 50 })
                        #expect(client.messages.compactMap { $0.json["requestId"]?.asString } == (0..<50).map(String.init))
                        #expect(client.messages.allSatisfy { $0.json["result"] != nil })
                    }
                }
            }
        }

        @Test("A dataset that is not ours is not read; nothing is created beside a shared broker")
        func strangers() throws {
            try withBroker { broker in
                try withDaemon(at: broker) { _ in
                    try withClient(broker.endpoint, filters: ["live/#", "geomatch/+/diagnostics/#"]) { client in
                        client.publish("other/-/-/-/-/x/position", #"{"lat":1,"lon":1}"#)
                        client.publish("d/-/-/-/-/x/position", #"{"lat":1,"lon":1}"#)
                        client.publish("d/too/short", #"{"lat":1,"lon":1}"#)
                        client.publish("d/1/2/3/4/5/6/7/8", #"{"lat":1,"lon":1}"#)
                        #expect(client.wait { $0.count { $0.topic == "geomatch/d/diagnostics/update" } >= 2 })
                        let refusal = try client.refusal("device/create", ["deviceType": "MobileDevice"], dataset: "other")
                        #expect(refusal == "unknownDataset")
                        #expect(
                            !client.messages.contains {
                                $0.topic.hasPrefix("live/other") || $0.topic.hasPrefix("geomatch/other/diag")
                            })
                        #expect(client.messages.count { $0.topic.hasPrefix("live/d/") } == 1)
                    }
                }
            }
        }

        @Test("MQTT 3.1.1 clients are served as MQTT 5 ones, and every request with any number of levels gets one reply")
        func oldClients() throws {
            try withDaemonOfItsOwn { daemon in
                for version in [4, 5] {
                    try withClient(daemon.endpoint, name: "v\(version)", version: version) { client in
                        for request in ["device/list", "", "device", "a/b/c", "a/b/c/d/e"] {
                            let id = "\(version)-\(request)"
                            let path = request.isEmpty ? "" : "/" + request
                            client.publish("geomatch/d/v\(version)/request\(path)", #"{"requestId":"\#(id)"}"#)
                            let reply = try #require(client.reply(to: id), "no reply to request\(path)")
                            if request != "device/list" { #expect(reply["error"]?["field"]?.asString == "request") }
                        }
                        try client.request("device/list", dataset: "d")
                        #expect(client.messages.count == 6)
                    }
                }
            }
        }

        private func withDaemonOfItsOwn(_ body: (Daemon) throws -> Void) throws {
            try IntegrationTests.withDaemon(arguments: ["--datasets", "d"], body)
        }

        @Test("Refused credentials are an error at each try and end the start with 69, without being logged")
        func wrongPassword() throws {
            try withBroker(lines: { "allow_anonymous false\npassword_file \(try Tool.passwordFile(["geomatchd"], in: $0))" }) {
                broker in
                let url = "mqtt://geomatchd:secret-word@127.0.0.1:\(broker.port)"
                let (code, log) = try failedStart(at: broker, url: url, arguments: ["--start-timeout", "2"])
                #expect(code == 69)
                #expect(log.contains("error   connection refused"))
                #expect(!log.contains("secret-word"))
                try withDaemon(at: broker, url: "mqtt://geomatchd:geomatchd@127.0.0.1:\(broker.port)") { daemon in
                    #expect(!daemon.log.contains("geomatchd:geomatchd"))
                }
            }
        }

        /// Ends the start with 69, and tells in the log and in the status, in these words, what is wrong.
        private func expectRefusal(saying words: String, lines: @escaping (String) throws -> String) throws {
            try withBroker(lines: lines) { broker in
                let (code, log) = try failedStart(at: broker)
                #expect(code == 69, "\(log)")
                #expect(log.contains("error   subscription refused") && log.contains(words), "\(log)")
                let began = log.components(separatedBy: "subscription refused").count
                #expect(began == 2, "a refused subscription is not tried in a loop")
                try withClient(broker.endpoint, name: "watcher", filters: ["geomatch/status"], readsReplies: false) { client in
                    let status = try client.first(on: "geomatch/status").json
                    #expect(status["state"]?.asString == "offline")
                    #expect(status["error"]?.asString?.contains(words) == true, "\(status.line)")
                }
            }
        }

        @Test("Filters a broker grants and passes nothing of end the start with 69: the probe does not come")
        func absentProbe() throws {
            try expectRefusal(saying: "passes nothing") { folder in
                try "topic readwrite geomatch/status\ntopic write geomatch/#\n".write(
                    toFile: folder + "/acl", atomically: true, encoding: .utf8)
                return "allow_anonymous true\nacl_file \(folder)/acl"
            }
        }

        private static let securityPlugin = "/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so"

        @Test(
            "A subscription the broker refuses ends the start with 69 and is named",
            .enabled(if: access(securityPlugin, R_OK) == 0, "mosquitto's dynamic security plugin is not installed"))
        func refusedSubscription() throws {
            try expectRefusal(saying: "refused geomatch/+/+/request/#") { folder in
                let security = """
                    {"defaultACLAccess":{"publishClientSend":true,"publishClientReceive":true,"subscribe":false,"unsubscribe":true},
                    "clients":[],"groups":[{"groupname":"all","roles":[{"rolename":"watch"}]}],"anonymousGroup":"all",
                    "roles":[{"rolename":"watch","acls":[{"acltype":"subscribeLiteral","topic":"geomatch/status","allow":true}]}]}
                    """
                try security.write(toFile: folder + "/security.json", atomically: true, encoding: .utf8)
                return "allow_anonymous true\nplugin \(Self.securityPlugin)\nplugin_opt_config_file \(folder)/security.json"
            }
        }

        @Test("Two daemons at one broker answered each request twice, unnoticed: each names the other, and the later one ends")
        func twoDaemons() throws {
            try withBroker { broker in
                try withFolder { folder in
                    try withDaemon(at: broker) { daemon in
                        let other = try Daemon(folder: folder, broker: broker.url, arguments: ["--datasets", "e"])
                        defer { other.end() }
                        for daemon in [daemon, other] {
                            #expect(daemon.program.waitForLine("another geomatchd is online at this broker"), "\(daemon.log)")
                        }
                        #expect(other.program.waitForExit() == 69, "\(other.log)")
                        func instances(_ log: String) throws -> Set<String> {
                            let text = /instance ([0-9a-f-]+), and this one, instance ([0-9a-f-]+)/
                            let named = try #require(log.firstMatch(of: text), "\(log)")
                            return [String(named.1), String(named.2)]
                        }
                        let named = try instances(daemon.log)
                        #expect(try named.count == 2 && named == instances(other.log))
                        #expect(daemon.program.waitForLine("the other geomatchd is offline"))
                        try withClient(broker.endpoint, name: "watcher", filters: ["geomatch/status"], readsReplies: false) {
                            _ = try $0.first(on: "geomatch/status") {
                                $0.json["state"]?.asString == "online" && $0.json["error"] == nil
                            }
                        }
                    }
                }
            }
        }

        @Test("A daemon that gave way to another carried out later what had been asked of that one")
        func nothingHeld() throws {
            try withBroker { broker in
                try withFolder { folder in
                    try withDaemon(at: broker) { daemon in
                        let other = try Daemon(folder: folder, broker: broker.url, arguments: ["--datasets", "d"])
                        defer { other.end() }
                        #expect(other.program.waitForExit() == 69, "\(other.log)")
                        try withClient(broker.endpoint) {
                            _ = try $0.ask("device/create", ["deviceType": "MobileDevice", "id": "ghost"])
                        }
                        #expect(daemon.program.end(SIGTERM) == 0)
                        try other.restart()
                        #expect(other.log.contains("session=new"), "\(other.log)")
                        try withClient(broker.endpoint) {
                            let devices = try $0.request("device/list")
                            #expect(devices["devices"]?.asArray?.isEmpty == true)
                        }
                    }
                }
            }
        }

        @Test("A copy of a data directory beside the original was silent and flapped: it names both, and ends")
        func copiedDataDirectory() throws {
            try withBroker { broker in
                try withFolder { folder in
                    try withDaemon(at: broker) { daemon in
                        #expect(daemon.program.end(SIGTERM) == 0)
                        try FileManager.default.copyItem(atPath: broker.folder + "/data", toPath: folder + "/data")
                        try daemon.restart()
                        let copy = try Daemon(folder: folder, broker: broker.url, arguments: ["--datasets", "d"])
                        defer { copy.end() }
                        for daemon in [daemon, copy] {
                            #expect(
                                daemon.program.waitForLine("another geomatchd runs on a copy of this data directory"),
                                "\(daemon.log)")
                        }
                        #expect(copy.program.waitForExit() == 69, "\(copy.log)")
                        #expect(daemon.program.waitForLine("the other geomatchd is offline"), "\(daemon.log)")
                        try withClient(broker.endpoint, name: "watcher", filters: ["geomatch/status"], readsReplies: false) {
                            _ = try $0.first(on: "geomatch/status") {
                                $0.json["state"]?.asString == "online" && $0.json["error"] == nil
                            }
                        }
                    }
                }
            }
        }

        @Test("A second daemon at the embedded broker of a first was refused for a wrong password: both report what it is")
        func secondDaemonAtEmbeddedBroker() throws {
            try withDaemonOfItsOwn { daemon in
                try withFolder { folder in
                    let url = "mqtt://127.0.0.1:\(daemon.port)"
                    let other = try Daemon(folder: folder, broker: url, arguments: ["--start-timeout", "2"])
                    defer { other.end() }
                    #expect(other.program.waitForExit() == 69)
                    #expect(
                        other.log.contains("; should this be the embedded broker of another geomatchd: it takes no second one"),
                        "\(other.log)")
                    #expect(daemon.program.waitForLine("a client with an id as geomatchd has it is refused"), "\(daemon.log)")
                }
            }
        }

        @Test("A broker that is not there ends the start with 69 in time; SIGTERM meanwhile ends it with 0")
        func nobodyThere() throws {
            try withFolder { folder in
                let broker = Broker(folder: folder)
                let began = Date()
                let (code, log) = try failedStart(at: broker, arguments: ["--start-timeout", "1"])
                #expect(code == 69 && log.contains("broker"))
                #expect(Date().timeIntervalSince(began) < 10)
                let daemon = try Daemon(folder: folder, broker: broker.url)
                defer { daemon.end() }
                #expect(daemon.program.waitForLine("cannot be reached"))
                #expect(daemon.program.end(SIGTERM) == 0)
            }
        }
    }
}
