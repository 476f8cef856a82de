import Foundation
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
    private func persist(_ client: Client, _ request: String, _ parameters: JSONValue = [:], in dataset: String) -> JSONValue? {
        let id = UUID().uuidString
        for _ in 0..<20 {
            client.send(request, parameters, id: id, dataset: dataset)
            if let reply = client.reply(to: id, seconds: 1) { return reply }
        }
        return nil
    }

    @Test("A dataset that is deleted while its owner is dead is gone for everybody, and whoever asks is answered")
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
}
