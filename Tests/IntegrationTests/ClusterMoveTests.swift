import Foundation
import PostgresServer
import Testing
import Wire

extension Integration.Cluster {
    @Test("A dataset that moves is restored at its next node while it is served, with what is written meanwhile")
    func followed() throws {
        let server = try PostgresServer()
        try withBroker { broker in
            try withFolder { folder in
                let arguments = ["--store", server.url, "--log-level", "debug"]
                let first = try Self.node("a", folder, broker, arguments)
                defer { first.end() }
                try first.waitOnline()
                try withClient(broker.endpoint, name: "admin", filters: ["geomatch/big/admin/match/#"]) { client in
                    try client.request("dataset/create", dataset: "big")
                    try client.request("device/create", ["deviceType": "MobileDevice", "id": "phone"], dataset: "big")
                    // Some at a time: a broker drops what is too much for its queue.
                    for start in stride(from: 0, to: 1500, by: 100) {
                        let ids = (start..<start + 100).map { "d\($0)" }
                        for id in ids { create(id, client) }
                        try confirm(ids, client)
                    }
                    let second = try Self.node("b", folder, broker, arguments)
                    defer { second.end() }
                    // All the while something is made, deleted, moved and matched.
                    var number = 0
                    var longest = Duration.zero
                    func churn() throws {
                        let asked = ContinuousClock.now
                        let id = "during\(number)"
                        number += 1
                        try client.request("device/create", ["deviceType": "MobileDevice", "id": .string(id)], dataset: "big")
                        longest = max(longest, ContinuousClock.now - asked)
                        try client.request(
                            "publication/create",
                            ["deviceId": .string(id), "id": .string("p\(id)"), "topic": "t", "range": 5, "duration": 6000],
                            dataset: "big")
                        client.publish("big/-/-/-/-/\(id)/position", #"{"lat":\#(Double(number % 50)),"lon":1}"#)
                        if number % 3 == 0 {
                            try client.request("device/delete", ["id": .string(id)], dataset: "big")
                        }
                    }
                    let deadline = Date.now + 60
                    while try owners(client)["big"] != "b", Date.now < deadline {
                        for _ in 0..<10 { try churn() }
                        if !second.program.isRunning { break }
                        // Nodes with one dataset each are even: the other one leaves.
                        if try owners(client)["home"] == "b" || second.log.contains(" online ") { first.program.signal(SIGTERM) }
                    }
                    for _ in 0..<10 { try churn() }
                    #expect(try owners(client)["big"] == "b")
                    #expect(second.program.waitForLine("stood by") && second.log.contains("current=true"), "\(second.log)")
                    print("longest reply while it moved: \(longest), \(number) made")
                    try confirm((0..<1500).map { "d\($0)" }, client)
                    for made in 0..<number {
                        let id = "during\(made)"
                        if made % 3 == 2 {
                            #expect(try client.refusal("device/get", ["id": .string(id)], dataset: "big") == "notFound")
                            #expect(
                                try client.refusal("publication/get", ["id": .string("p\(id)")], dataset: "big") == "notFound")
                        } else {
                            #expect(
                                try client.request("publication/get", ["id": .string("p\(id)")], dataset: "big")["deviceId"]?
                                    .asString == id)
                        }
                    }
                    // Where each was said to be before and while it moved is known.
                    try client.request(
                        "subscription/create",
                        ["deviceId": "phone", "id": "s", "topic": "t", "range": 5, "duration": 6000, "matchTTL": 0],
                        dataset: "big")
                    client.publish("big/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                    let expected = (0..<number).count { $0 % 3 != 2 && ($0 + 1) % 50 == 1 }
                    #expect(client.wait { $0.count { $0.topic.contains("/match/phone/s") } == expected })
                }
            }
        }
    }

    /// Runs `body` as the owner of a dataset of 4000 devices ends, and the other node has just begun to restore it.
    private func whileMoving(_ body: (_ owner: Daemon, _ other: Daemon, Client) throws -> Void) throws {
        try withNodes(["a", "b"], ["--log-level", "debug"]) { _, nodes, client in
            try client.request("dataset/create", dataset: "big")
            for start in stride(from: 0, to: 4000, by: 500) {
                let items = (start..<start + 500).map { number -> JSONValue in
                    ["id": .string("d\(number)"), "deviceType": "MobileDevice"]
                }
                try client.request("device/create", ["items": .array(items)], dataset: "big")
            }
            let name = try #require(try owners(client)["big"])
            let (owner, other) = (try #require(nodes[name]), try #require(nodes[name == "a" ? "b" : "a"]))
            let former = other.program.lines.count { $0.contains("standing by") }
            owner.program.signal(SIGTERM)
            #expect(other.program.waitForLine("standing by", count: former + 1))
            try body(owner, other, client)
        }
    }

    @Test("A dataset that is deleted while it moves is gone, and can be made again")
    func deletedWhileItMoves() throws {
        try whileMoving { owner, _, client in
            #expect(persist(client, "dataset/delete", in: "big")?["result"] != nil)
            #expect(persist(client, "device/get", ["id": "d1"], in: "big")?["error"]?["error"]?.asString == "unknownDataset")
            #expect(owner.program.waitForExit() == 0)
            #expect(persist(client, "device/get", ["id": "d1"], in: "big")?["error"]?["error"]?.asString == "unknownDataset")
            #expect(persist(client, "dataset/create", in: "big")?["result"] != nil)
            let devices = try client.request("device/list", dataset: "big")["devices"]
            #expect(devices?.asArray?.isEmpty == true)
        }
    }

    @Test("What an owner acknowledged is all there when it is killed while its successor follows it")
    func killedWhileFollowed() throws {
        try whileMoving { owner, _, client in
            let made = (0..<5).map { "late\($0)" }
            for id in made {
                try client.request("device/create", ["deviceType": "MobileDevice", "id": .string(id)], dataset: "big")
            }
            owner.program.end(SIGKILL)
            for id in made + ["d0", "d3999"] {
                #expect(persist(client, "device/get", ["id": .string(id)], in: "big")?["result"]?["id"]?.asString == id)
            }
        }
    }

    private func create(_ id: String, _ client: Client) {
        client.send("device/create", ["deviceType": "MobileDevice", "id": .string(id)], id: "make \(id)", dataset: "big")
    }

    private func confirm(_ ids: [String], _ client: Client) throws {
        for id in ids { #expect(client.reply(to: "make \(id)")?["result"]?["id"]?.asString == id) }
        for id in [ids.first, ids.last].compactMap({ $0 }) {
            #expect(try client.request("device/get", ["id": .string(id)], dataset: "big")["id"]?.asString == id)
        }
    }
}
