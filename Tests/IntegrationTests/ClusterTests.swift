import Foundation
import Loopback
import PostgresServer
import Testing
import Wire

extension Integration {
    @Suite("Several daemons")
    struct Cluster {
        static let datasets = (0..<6).map { "set\($0)" }

        /// A node at this broker and store.
        static func node(_ name: String, _ folder: String, _ broker: Broker, _ arguments: [String]) throws -> Daemon {
            let place = folder + "/" + name
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            return try Daemon(
                folder: place, broker: broker.url,
                arguments: ["--cluster", "c", "--node", name, "--datasets", "home"] + http() + arguments)
        }

        /// HTTP on a free port, which the other nodes learn.
        static func http() -> [String] {
            let place = "127.0.0.1:\(Loopback.freePort())"
            return ["--http", place, "--http-advertise", "http://\(place)"]
        }

        /// Runs `body` with nodes that are online and share the datasets.
        func withNodes(
            _ names: [String], _ arguments: [String] = [], _ body: (Broker, [String: Daemon], Client) throws -> Void
        ) throws {
            try withNodes(names, at: try PostgresServer(), arguments, body)
        }

        func withNodes(
            _ names: [String], at server: PostgresServer, _ arguments: [String] = [],
            _ body: (Broker, [String: Daemon], Client) throws -> Void
        ) throws {
            try withBroker { broker in
                try withFolder { folder in
                    var nodes: [String: Daemon] = [:]
                    defer { for node in nodes.values { node.end() } }
                    do {
                        for name in names {
                            let node = try Self.node(name, folder, broker, ["--store", server.url] + arguments)
                            nodes[name] = node
                            try node.waitOnline()
                        }
                        try withClient(broker.endpoint, name: "admin", filters: ["geomatch/status", "geomatch/status/+"]) {
                            client in
                            try body(broker, nodes, client)
                        }
                    } catch {
                        for node in nodes.values { print(node.program.lines.suffix(60).joined(separator: "\n")) }
                        throw error
                    }
                }
            }
        }

        func owners(_ client: Client) throws -> [String: String] {
            let status = try client.request("cluster/status", dataset: "home")
            var owners: [String: String] = [:]
            for entry in status["datasets"]?.asArray ?? [] {
                if let dataset = entry["dataset"]?.asString, entry["waiting"] == nil {
                    owners[dataset] = entry["owner"]?.asString
                }
            }
            return owners
        }

        func loads(_ client: Client) throws -> [Int] {
            Dictionary(grouping: try owners(client), by: \.value).values.map(\.count).sorted()
        }

        func createAll(_ client: Client) throws {
            for dataset in Self.datasets {
                try client.request("dataset/create", dataset: dataset)
                try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"], dataset: dataset)
            }
        }

        @Test("A first node said that it is online before it served anything: the first request was lost")
        func firstNode() throws {
            try withNodes(["a"]) { _, _, client in
                _ = try client.request("dataset/create", dataset: "new")
            }
        }

        @Test("A node whose HTTP port is taken ends with 69, and nobody hears of it")
        func httpPortTaken() throws {
            let server = try PostgresServer()
            try withBroker { broker in
                try withFolder { folder in
                    try withClient(broker.endpoint, name: "admin", filters: ["geomatch/#"]) { client in
                        let node = try Daemon(
                            folder: folder, broker: broker.url,
                            arguments: [
                                "--cluster", "c", "--node", "a", "--datasets", "home", "--store", server.url,
                                "--http", "127.0.0.1:\(broker.port)",
                            ])
                        defer { node.end() }
                        #expect(node.program.waitForExit() == 69, "\(node.log)")
                        #expect(node.log.contains("HTTP cannot listen on 127.0.0.1:\(broker.port)"), "\(node.log)")
                        client.publish("geomatch/last", [])
                        _ = try client.first(on: "geomatch/last")
                        #expect(client.messages.map(\.topic) == ["geomatch/last"])
                    }
                }
            }
        }

        @Test("Adapters that a node was given at SIGHUP were left out without a word")
        func adapters() throws {
            let server = try PostgresServer()
            try withBroker { broker in
                try withFolder { folder in
                    let file = folder + "/geomatch.yaml"
                    func write(_ adapters: String) throws {
                        try "datasets: [home]\nadapters: [\(adapters)]\n".write(toFile: file, atomically: true, encoding: .utf8)
                    }
                    try write("")
                    let node = try Self.node("a", folder, broker, ["--store", server.url, "--config", file])
                    defer { node.end() }
                    try node.waitOnline()
                    try withClient(broker.endpoint, name: "admin", filters: ["live/#"]) { client in
                        // A shard that runs, and one that begins later.
                        for dataset in ["home", "later"] {
                            try write("{format: owntracks, filter: \(dataset)-tracks/+/+/#, dataset: \(dataset)}")
                            kill(node.program.processID, SIGHUP)
                            let count = dataset == "home" ? 1 : 2
                            #expect(
                                node.program.waitForLine("configuration reloaded changed=adapters", count: count), "\(node.log)")
                            _ = try client.ask("dataset/create", dataset: dataset)
                            let topic = "live/\(dataset)/-/-/-/-/ann%2Fphone/position"
                            let position = #"{"_type":"location","lat":1,"lon":2,"tst":1700000000}"#
                            #expect(
                                eventually {
                                    client.publish("\(dataset)-tracks/ann/phone", position)
                                    return client.wait(seconds: 0.5) { $0.contains { $0.topic == topic } }
                                }, "\(node.log)")
                        }
                        try write("{format: owntracks, filter: later/+/+/#, dataset: home}")
                        kill(node.program.processID, SIGHUP)
                        #expect(node.program.waitForLine("adapters stay as they were"), "\(node.log)")
                    }
                }
            }
        }

        @Test("When a node is killed, others answer for its datasets within five seconds, with everything acknowledged")
        func killing() throws {
            try withNodes(["a", "b"]) { _, nodes, client in
                try createAll(client)
                #expect(eventually { (try? loads(client)) == [3, 4] })
                let lost = try owners(client).filter { $0.value == "a" }.keys
                #expect(!lost.isEmpty)
                nodes["a"]?.program.end(SIGKILL)
                let start = ContinuousClock.now
                for dataset in Self.datasets {
                    // What is asked while nobody has the dataset waits at the broker.
                    #expect(try client.request("device/get", ["id": "phone"], dataset: dataset)["id"]?.asString == "phone")
                }
                #expect(ContinuousClock.now - start < .seconds(5))
                #expect(Set(try owners(client).values) == ["b"])
            }
        }

        @Test("What a stopped node still held when it goes on becomes no commit and no match")
        func stopping() throws {
            try withNodes(["a", "b"]) { broker, nodes, client in
                try createAll(client)
                #expect(eventually { (try? loads(client)) == [3, 4] })
                let dataset = try #require(try owners(client).first { $0.value == "a" && $0.key != "home" }?.key)
                try client.request(
                    "publication/create", ["deviceId": "phone", "topic": "t", "range": 5, "duration": 6000], dataset: dataset)
                try client.request("device/create", ["deviceType": "MobileDevice", "id": "other"], dataset: dataset)
                try client.request(
                    "subscription/create",
                    ["deviceId": "other", "id": "s", "topic": "t", "range": 5, "duration": 6000, "matchTTL": 0],
                    dataset: dataset)
                client.publish("\(dataset)/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                _ = try client.ask("device/get", ["id": "phone"], dataset: dataset)
                try withClient(broker.endpoint, name: "watcher", filters: ["geomatch/\(dataset)/admin/match/#"]) { watcher in
                    nodes["a"]?.program.signal(SIGSTOP)
                    // The broker hands this to the stopped node.
                    client.publish("\(dataset)/-/-/-/-/other/position", #"{"lat":1,"lon":1}"#, qos: 0)
                    client.send("device/create", ["deviceType": "MobileDevice", "id": "late"], id: "late", dataset: dataset)
                    #expect(eventually { (try? owners(client).values.contains("a")) == false })
                    #expect(try client.request("device/get", ["id": "phone"], dataset: dataset)["id"]?.asString == "phone")
                    nodes["a"]?.program.signal(SIGCONT)
                    #expect(nodes["a"]?.program.waitForLine("shard dropped") == true)
                    #expect(watcher.messages.isEmpty)
                    client.publish("\(dataset)/-/-/-/-/other/position", #"{"lat":1,"lon":1}"#)
                    _ = try watcher.first(on: "geomatch/\(dataset)/admin/match/other/s")
                    // What was not answered is repeated, and carried out once.
                    client.send("device/create", ["deviceType": "MobileDevice", "id": "late"], id: "late", dataset: dataset)
                    #expect(client.reply(to: "late")?["result"]?["id"]?.asString == "late")
                    #expect(watcher.messages.count == 1)
                }
            }
        }

        @Test("A request in an unknown dataset is answered once, wherever the dataset would be, also right behind its deletion")
        func unknownDatasets() throws {
            try withNodes(["a", "b"]) { _, _, client in
                for index in 0..<12 {
                    let dataset = "nowhere\(index)"
                    #expect(try client.refusal("device/get", ["id": "x"], dataset: dataset) == "unknownDataset")
                    try client.request("dataset/create", dataset: dataset)
                    #expect(try client.refusal("dataset/create", dataset: dataset) == "conflict")
                    #expect(try client.refusal("device/get", ["id": "x"], dataset: dataset) == "notFound")
                    try client.request("dataset/delete", dataset: dataset)
                    #expect(try client.refusal("device/get", ["id": "x"], dataset: dataset) == "unknownDataset")
                }
                let ids = try client.request("dataset/list", dataset: "home")["datasets"]?.asArray?.compactMap {
                    $0["id"]?.asString
                }
                #expect(ids == ["home"])
                // A second answer would come soon.
                usleep(500_000)
                let replies = client.messages.filter { $0.topic.hasSuffix("/admin/reply") }
                #expect(replies.count == 12 * 6 + 1)
            }
        }

        @Test("A node that joins gets its share, one that leaves hands over; the topics of status say so")
        func joining() throws {
            try withNodes(["a", "b"]) { _, nodes, client in
                try createAll(client)
                #expect(eventually { (try? loads(client)) == [3, 4] })
                // The node that lists them says what the others' hold, too.
                #expect(
                    eventually {
                        let listed = try? client.request("dataset/list", dataset: "home")["datasets"]?.asArray
                        let counts = listed?.map { $0.asObject?["counts"]?.asObject?["devices"]?.asInt64 ?? 0 } ?? []
                        return counts.count == Self.datasets.count + 1 && counts.count { $0 > 0 } >= Self.datasets.count
                    })
                #expect(try client.first(on: "geomatch/status").json["state"]?.asString == "online")
                let start = ContinuousClock.now
                nodes["a"]?.program.signal(SIGTERM)
                var longest = Duration.zero
                while nodes["a"]?.program.isRunning == true, ContinuousClock.now - start < .seconds(15) {
                    for dataset in Self.datasets {
                        let asked = ContinuousClock.now
                        #expect(try client.request("device/get", ["id": "phone"], dataset: dataset)["id"]?.asString == "phone")
                        longest = max(longest, ContinuousClock.now - asked)
                    }
                }
                print("longest pause: \(longest)")
                #expect(nodes["a"]?.program.waitForExit() == 0 && longest < .seconds(3))
                let owners = try owners(client)
                #expect(Set(owners.values) == ["b"] && owners.count == Self.datasets.count + 1)
                let last = try client.first(on: "geomatch/status/a") { $0.json["state"]?.asString == "offline" }
                #expect(last.json["datasets"]?.asInt64 == 0)
                #expect(
                    try client.first(on: "geomatch/status/b") { $0.json["datasets"]?.asInt64 == 7 }.json["epochs"]?.asInt64 ?? 0
                        > 0)
                #expect(client.messages(on: "geomatch/status").allSatisfy { $0.json["state"]?.asString == "online" })
                try nodes["a"]?.restart()
                #expect(eventually { (try? loads(client)) == [3, 4] })
            }
        }

        @Test("What one client asked for in a row was carried out in another order while a node handed over")
        func handingOverInOrder() throws {
            try withNodes(["a", "b"]) { _, nodes, client in
                try createAll(client)
                #expect(eventually { (try? loads(client)) == [3, 4] })
                let moved = try owners(client).filter { $0.value == "a" && $0.key != "home" }.keys.sorted()
                #expect(!moved.isEmpty)
                nodes["a"]?.program.signal(SIGTERM)
                var count = 0
                while nodes["a"]?.program.isRunning == true, count < 10_000 {
                    for dataset in moved {
                        client.send(
                            "device/update", ["id": "phone", "name": .string("\(count)")], id: "\(dataset) \(count)",
                            dataset: dataset)
                    }
                    count += 1
                    usleep(2000)
                }
                #expect(nodes["a"]?.program.waitForExit() == 0)
                for dataset in moved {
                    _ = try client.request("device/get", ["id": "phone"], dataset: dataset)
                    // Each change of the device has the next generation.
                    let generations = (0..<count).compactMap { index in
                        let reply = client.reply(to: "\(dataset) \(index)", seconds: 0.05)
                        return reply?["result"]?["revision"]?.asString.flatMap { Int($0.prefix { $0 != "-" }) }
                    }
                    #expect(generations.count > count / 2)
                    #expect(generations == generations.sorted(), "\(dataset)")
                }
            }
        }

        @Test("What must not begin beside a cluster does not")
        func refusals() throws {
            let server = try PostgresServer()
            try withBroker { broker in
                try withFolder { folder in
                    let store = ["--store", server.url]
                    let first = try Self.node("a", folder, broker, store)
                    defer { first.end() }
                    try first.waitOnline()
                    func begin(_ name: String, _ arguments: [String]) throws -> Daemon {
                        let place = folder + "/" + name
                        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                        return try Daemon(folder: place, broker: broker.url, arguments: ["--http", "off"] + arguments)
                    }
                    let second = try PostgresServer()
                    let begun: [(Daemon, Int32)] = [
                        (try begin("same", store + ["--cluster", "c", "--node", "a"]), 69),
                        (try begin("other", store + ["--cluster", "d"]), 69), (try begin("alone", store), 69),
                        (try begin("file", ["--cluster", "c"]), 78), (try begin("nameless", ["--node", "a"]), 78),
                        (try begin("twin", ["--store", second.url, "--cluster", "c"]), 69),
                    ]
                    defer { for (daemon, _) in begun { daemon.end() } }
                    for (daemon, code) in begun { #expect(daemon.program.waitForExit(seconds: 20) == code, "\(daemon.log)") }
                    #expect(first.program.isRunning)
                }
            }
        }

        @Test(
            "While the store is gone, or may only be read, owners keep their datasets: live data goes on, changes are `internal`",
            arguments: [false, true])
        func outage(isReadOnly: Bool) throws {
            let server = try PostgresServer()
            try withNodes(["a", "b"], at: server) { broker, nodes, _ in
                try withClient(broker.endpoint, name: "admin", filters: ["live/#"]) { client in
                    try createAll(client)
                    #expect(eventually { (try? loads(client)) == [3, 4] })
                    if isReadOnly { try server.set(readOnly: true) } else { server.kill() }
                    for node in nodes.values { #expect(node.program.waitForLine("leases cannot be renewed")) }
                    // Longer than a lease.
                    usleep(3_500_000)
                    for dataset in Self.datasets {
                        client.publish("\(dataset)/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                        _ = try client.first(on: "live/\(dataset)/-/-/-/-/phone/position")
                        #expect(
                            try client.refusal("device/create", ["deviceType": "MobileDevice", "id": "x"], dataset: dataset)
                                == "internal")
                    }
                    if isReadOnly { try server.set(readOnly: false) } else { try server.start() }
                    for dataset in Self.datasets {
                        #expect(
                            eventually {
                                (try? client.ask("device/create", ["deviceType": "MobileDevice", "id": "y"], dataset: dataset))?[
                                    "result"] != nil
                            })
                    }
                }
            }
        }
    }
}
