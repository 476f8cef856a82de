import Foundation
import PostgresServer
import Testing
import Wire

extension Integration.Cluster {
    /// Runs `body` with two nodes that share the datasets.
    private func withShares(_ body: (Broker, [String: Daemon], Client) throws -> Void) throws {
        try withNodes(["a", "b"]) { broker, nodes, client in
            try createAll(client)
            #expect(eventually { (try? loads(client)) == [3, 4] })
            try body(broker, nodes, client)
        }
    }

    /// The reply to a request that is repeated under its id until there is one.
    func persist(_ client: Client, _ request: String, _ parameters: JSONValue = [:], in dataset: String) -> JSONValue? {
        let id = UUID().uuidString
        for _ in 0..<20 {
            client.send(request, parameters, id: id, dataset: dataset)
            if let reply = client.reply(to: id, seconds: 1) { return reply }
        }
        return nil
    }

    @Test("A dataset that is deleted while its owner is dead is gone for everybody, and callers are answered")
    func deletionWhileNobodyServes() throws {
        try withShares { _, nodes, client in
            nodes["a"]?.program.end(SIGKILL)
            for dataset in Self.datasets { client.send("dataset/delete", [:], id: "of-\(dataset)", dataset: dataset) }
            for dataset in Self.datasets {
                #expect(client.reply(to: "of-\(dataset)") != nil)
                #expect(try client.refusal("device/get", ["id": "phone"], dataset: dataset) == "unknownDataset")
            }
            try nodes["a"]?.restart()
            #expect(eventually { (try? owners(client))?.keys.sorted() == ["home"] })
        }
    }

    @Test("A broker that lost its sessions is reported; what was retained is there again, and what is repeated is answered")
    func lostSessions() throws {
        try withShares { broker, nodes, client in
            for dataset in Self.datasets {
                try client.request(
                    "publication/create", ["deviceId": "phone", "topic": "t", "range": 5, "duration": 6000], dataset: dataset)
                try client.request("device/create", ["deviceType": "MobileDevice", "id": "other"], dataset: dataset)
                try client.request(
                    "subscription/create",
                    ["deviceId": "other", "id": "s", "topic": "t", "range": 5, "duration": 6000, "matchTTL": 0],
                    dataset: dataset)
                client.publish("\(dataset)/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                _ = try client.ask("device/get", ["id": "phone"], dataset: dataset)
            }
            broker.end()
            try broker.start()
            for node in nodes.values { #expect(node.program.waitForLine("the broker has lost the session")) }
            #expect(client.waitSubscribed(times: 2))
            for dataset in Self.datasets {
                #expect(persist(client, "device/get", ["id": "phone"], in: dataset)?["result"] != nil)
            }
            try withClient(broker.endpoint, name: "watcher", filters: ["live/#", "geomatch/+/admin/match/#"]) { watcher in
                for dataset in Self.datasets {
                    _ = try watcher.first(on: "live/\(dataset)/-/-/-/-/phone/position")
                    client.publish("\(dataset)/-/-/-/-/other/position", #"{"lat":1,"lon":1}"#)
                    _ = try watcher.first(on: "geomatch/\(dataset)/admin/match/other/s")
                }
            }
            #expect(try owners(client).count == Self.datasets.count + 1)
        }
    }

    private func createAll(
        _ server: PostgresServer, _ body: ([String: Daemon], Client) throws -> Void
    ) throws {
        try withNodes(["a", "b"], at: server) { broker, nodes, _ in
            try withClient(broker.endpoint, name: "admin", filters: ["live/#"]) { client in
                try createAll(client)
                #expect(eventually { (try? loads(client)) == [3, 4] })
                try body(nodes, client)
                for node in nodes.values { #expect(!node.log.contains("shard dropped"), "\(node.log)") }
            }
        }
    }

    @Test(
        "A store that is slow, or hangs for longer than a lease lasts, delays replies; nobody loses a dataset, and nothing is lost"
    )
    func slowStore() throws {
        let server = try PostgresServer()
        try createAll(server) { nodes, client in
            try server.run(
                "CREATE FUNCTION geomatch.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN new; END'",
                "CREATE TRIGGER slow BEFORE INSERT ON geomatch.device FOR EACH ROW EXECUTE FUNCTION geomatch.slow()")
            for dataset in Self.datasets {
                client.send(
                    "device/create", ["deviceType": "MobileDevice", "id": "late"], id: "late-\(dataset)", dataset: dataset)
            }
            for dataset in Self.datasets {
                client.publish("\(dataset)/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                _ = try client.first(on: "live/\(dataset)/-/-/-/-/phone/position")
            }
            for dataset in Self.datasets {
                #expect(client.reply(to: "late-\(dataset)")?["result"]?["id"]?.asString == "late", "\(dataset)")
            }
            try server.run("DROP TRIGGER slow ON geomatch.device")
            // Neither leases nor anything else can be written meanwhile.
            try server.run("BEGIN; LOCK TABLE geomatch.lease IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(6); COMMIT")
            for dataset in Self.datasets {
                #expect(
                    persist(client, "device/create", ["deviceType": "MobileDevice", "id": "after"], in: dataset)?["result"] != nil
                )
                #expect(try client.request("device/list", dataset: dataset)["devices"]?.asArray?.count == 3)
            }
        }
    }

    @Test("A dataset that took the store a while to create was unknown to its next request")
    func slowCreation() throws {
        let server = try PostgresServer()
        try withNodes(["a", "b"], at: server) { _, _, client in
            // Longer than the reception waits for what it heard of to be in the store.
            try server.run(
                "CREATE FUNCTION geomatch.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(4); RETURN new; END'",
                "CREATE TRIGGER slow BEFORE INSERT ON geomatch.dataset FOR EACH ROW EXECUTE FUNCTION geomatch.slow()")
            for (index, dataset) in Self.datasets.prefix(4).enumerated() {
                client.send("dataset/create", [:], id: "create\(index)", dataset: dataset)
            }
            for index in 0..<4 { #expect(client.reply(to: "create\(index)", seconds: 30)?["result"] != nil) }
            for dataset in Self.datasets.prefix(4) {
                try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"], dataset: dataset)
            }
            // A second answer would be another node's, and come before this one.
            try client.request("dataset/list", dataset: "home")
            #expect(client.messages.count { $0.topic.hasSuffix("/admin/reply") } == 9)
        }
    }

    @Test(
        "A store without room refuses changes as a full disk does; live data goes on, and with room again all is well",
        .enabled(if: Tool.canMount, "a small disk takes a mount"))
    func fullStore() throws {
        let server = try PostgresServer(megabytes: 90)
        try createAll(server) { nodes, client in
            try server.set(full: true)
            var made: [String: Set<String>] = [:]
            for dataset in Self.datasets {
                var isFull = false
                for number in 0..<3000 where !isFull {
                    let (id, name) = ("n\(number)", String(repeating: "x", count: 250))
                    let reply = try client.ask(
                        "device/create", ["deviceType": "MobileDevice", "id": .string(id), "name": .string(name)],
                        dataset: dataset)
                    if reply["result"] != nil {
                        made[dataset, default: []].insert(id)
                    } else {
                        #expect(reply["error"]?["error"]?.asString == "internal")
                        isFull = true
                    }
                }
                #expect(isFull)
                client.publish("\(dataset)/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                _ = try client.first(on: "live/\(dataset)/-/-/-/-/phone/position")
            }
            // Longer than a lease.
            usleep(3_500_000)
            try server.set(full: false)
            for dataset in Self.datasets {
                let last: JSONValue = ["deviceType": "MobileDevice", "id": "last"]
                #expect(eventually { (try? client.ask("device/create", last, dataset: dataset))?["result"] != nil })
                for id in made[dataset] ?? [] {
                    #expect(try client.request("device/get", ["id": .string(id)], dataset: dataset)["id"]?.asString == id)
                }
            }
        }
    }

    @Test("Beside what a newer version adds a node goes on and begins; tables that it could not read it refuses")
    func versions() throws {
        let server = try PostgresServer()
        try createAll(server) { nodes, client in
            try server.run(
                "ALTER TABLE geomatch.device ADD COLUMN later bytea", "UPDATE geomatch.device SET later = 'x'",
                "CREATE TABLE geomatch.later (x bigint)", "ALTER TABLE geomatch.lease ADD COLUMN later bigint",
                "ALTER TABLE geomatch.node ADD COLUMN later bigint")
            func works(_ id: String) throws {
                for dataset in Self.datasets {
                    try client.request("device/create", ["deviceType": "MobileDevice", "id": .string(id)], dataset: dataset)
                    #expect(try client.request("device/get", ["id": "phone"], dataset: dataset)["id"]?.asString == "phone")
                }
            }
            try works("running")
            let node = try #require(nodes["a"])
            node.program.signal(SIGTERM)
            #expect(node.program.waitForExit() == 0)
            try node.restart()
            #expect(eventually { (try? loads(client)) == [3, 4] })
            try works("begun")
            node.program.signal(SIGTERM)
            #expect(node.program.waitForExit() == 0)
            try server.run("UPDATE geomatch.metadata SET value = value || '9' WHERE encode(key, 'escape') LIKE '%version'")
            try node.start()
            #expect(node.program.waitForExit() == 69 && node.log.contains("newer geomatch"), "\(node.log)")
            // Who runs goes on.
            try works("beside")
        }
    }
}
