import Foundation
import PlainHTTP
import Testing
import Wire

extension Integration.Cluster {
    /// Runs `body` with two nodes that share the datasets, and the ports of their HTTP.
    private func withHTTPNodes(
        _ body: (_ nodes: [String: Daemon], _ ports: [String: Int], _ owners: [String: String], Client) throws -> Void
    ) throws {
        try withNodes(["a", "b"]) { _, nodes, client in
            try createAll(client)
            #expect(eventually { (try? loads(client)) == [3, 4] })
            var ports: [String: Int] = [:]
            for (name, node) in nodes {
                try #require(node.program.waitForLine("http listen="), "\(node.log)")
                let port = try #require(node.log.firstMatch(of: /http listen=127\.0\.0\.1:(\d+)/), "\(node.log)").1
                ports[name] = Int(port)
            }
            try body(nodes, ports, try owners(client), client)
        }
    }

    @Test("Over HTTP each node answers requests about every dataset")
    func requests() throws {
        try withHTTPNodes { _, ports, owners, _ in
            #expect(Set(owners.values) == ["a", "b"])
            for (name, port) in ports {
                let connection = try Connection(to: port)
                for (dataset, owner) in owners where dataset != "home" {
                    let path = "/api/\(dataset)/device"
                    let made = try connection.ask(
                        "POST", "\(path)/create?client=admin", #"{"deviceType":"MobileDevice","id":"over-\#(name)"}"#)
                    #expect(made.status == 200, "\(dataset) of \(owner) at \(name): \(made)")
                    let read = try connection.ask("GET", "\(path)/get?id=phone&client=admin")
                    #expect(read.json["result"]?.asObject?["id"]?.asString == "phone", "\(read)")
                    #expect(try connection.ask("GET", "\(path)/get?id=none&client=admin").status == 404)
                    let update = try connection.ask("POST", "/api/\(dataset)/live/-/-/-/-/phone/position", #"{"lat":1,"lon":2}"#)
                    #expect(update.json["result"]?.asObject?["topic"] != nil, "\(update)")
                    let batch = #"[{"topic":"\#(dataset)/-/-/-/-/phone/position","payload":{"lat":1,"lon":2}}]"#
                    let batched = try connection.ask("POST", "/api/\(dataset)/live", batch)
                    #expect(batched.json["result"]?.asObject?["items"]?.asArray?.count == 1, "\(batched)")
                }
                for path in ["/healthz", "/readyz", "/openapi.json", "/", "/metrics"] {
                    #expect(try connection.ask("GET", path).status == 200, "\(path)")
                }
            }
        }
    }

    /// A dataset that a node has, `home` apart.
    private func dataset(of node: String, _ owners: [String: String]) throws -> String {
        try #require(owners.filter { $0.value == node && $0.key != "home" }.keys.min())
    }

    @Test("Keys made at one node work at each, for one dataset and for all, until they are deleted anywhere")
    func keys() throws {
        try withHTTPNodes { _, ports, owners, _ in
            let (a, b) = (try #require(ports["a"]), try #require(ports["b"]))
            let (ofA, ofB) = (try dataset(of: "a", owners), try dataset(of: "b", owners))
            let connection = try Connection(to: a)
            func key(_ dataset: String, _ body: String) throws -> (id: String, key: String) {
                let made = try connection.ask("POST", "/api/\(dataset)/key/create?client=admin", body)
                let result = try #require(made.json["result"]?.asObject, "\(made)")
                return (try #require(result["id"]?.asString), try #require(result["key"]?.asString))
            }
            let own = try key(ofB, #"{"client":"ann"}"#)
            let foreign = try key(ofA, #"{"client":"ann","dataset":"\#(ofB)"}"#)
            let forAll = try key(ofA, #"{"client":"bob","dataset":"*"}"#)
            func ask(_ port: Int, _ dataset: String, _ key: String) throws -> Int {
                try Connection(to: port).ask(
                    "GET", "/api/\(dataset)/device/list", fields: ["Authorization": "Bearer \(key)"]
                ).status
            }
            for port in [a, b] {
                #expect(try ask(port, ofB, own.key) == 200 && ask(port, ofA, own.key) == 403)
                #expect(try ask(port, ofB, foreign.key) == 200 && ask(port, ofA, foreign.key) == 403)
                #expect(try ask(port, ofB, forAll.key) == 200 && ask(port, ofA, forAll.key) == 200)
                let couch = try Connection(to: port).ask("GET", "/couch/", fields: ["Authorization": "Bearer \(forAll.key)"])
                #expect(couch.status == 200, "\(couch)")
                // Not at the end, whose bits are not all the signature's.
                let forged = own.key.dropLast(10) + (own.key.suffix(10).first == "A" ? "B" : "A") + own.key.suffix(9)
                #expect(try ask(port, ofB, String(forged)) == 401)
                let old = try Connection(to: port).ask("GET", "/v5/devices/none", fields: ["api-key": own.key])
                #expect(old.status == 404, "\(old)")
            }
            let listed = try connection.ask("GET", "/api/\(ofB)/key/list?client=admin")
            let ids = listed.json["result"]?.asObject?["keys"]?.asArray?.compactMap { $0["id"]?.asString } ?? []
            #expect(Set(ids) == [own.id, foreign.id, forAll.id], "\(listed)")
            let socket = try Socket(to: b, "/api/\(ofB)/socket?key=\(forAll.key)")
            for id in [foreign.id, forAll.id] {
                let deleted = try connection.ask("POST", "/api/\(ofB)/key/delete?client=admin", #"{"id":"\#(id)"}"#)
                #expect(deleted.status == 200, "\(deleted)")
            }
            #expect(try socket.next { $0.code != nil }.code == 1008)
            for port in [a, b] {
                #expect(eventually { (try? ask(port, ofB, foreign.key)) == 401 && (try? ask(port, ofA, forAll.key)) == 401 })
                #expect(try ask(port, ofB, own.key) == 200)
            }
        }
    }

    /// A publication of `phone` and a subscription of `other`, of the same client, which meet at (1, 1).
    private func prepareMatch(_ connection: Connection, _ dataset: String) throws {
        for (request, body) in [
            ("device/create", #"{"id":"other","deviceType":"MobileDevice"}"#),
            ("publication/create", #"{"deviceId":"phone","topic":"t","range":5,"duration":6000}"#),
            ("subscription/create", #"{"deviceId":"other","id":"s","topic":"t","range":5,"duration":6000,"matchTTL":0}"#),
        ] {
            let made = try connection.ask("POST", "/api/\(dataset)/\(request)?client=admin", body)
            try #require(made.status == 200, "\(made)")
        }
    }

    private func meet(_ connection: Connection, _ dataset: String) throws {
        for device in ["phone", "other"] {
            let path = "/api/\(dataset)/live/-/-/-/-/\(device)/position?client=admin"
            try #require(try connection.ask("POST", path, #"{"lat":1,"lon":1}"#).status == 200)
        }
    }

    @Test("Streams and sockets at one node carry what another owns, and are notified when it goes")
    func streams() throws {
        try withHTTPNodes { nodes, ports, owners, client in
            let port = try #require(ports["a"])
            let dataset = try dataset(of: "b", owners)
            let connection = try Connection(to: port)
            try prepareMatch(connection, dataset)
            let socket = try Socket(to: port, "/api/\(dataset)/socket?client=admin")
            socket.send(#"{"request":"device/get","id":"phone","requestId":"1"}"#)
            _ = try socket.next { $0.json["requestId"] == "1" }
            let events = try Connection(to: port)
            events.write("GET /api/\(dataset)/events?client=admin HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try events.read(until: ":\n\n")
            try meet(connection, dataset)
            let match = try socket.next { $0.json["topic"]?.asString?.hasPrefix("match/") == true }
            let cursor = try #require(match.json["cursor"]?.asString)
            _ = try events.read(until: "id: \(cursor)\n")
            // The owner hands over and ends.
            nodes["b"]?.program.signal(SIGTERM)
            #expect(try socket.next { $0.code != nil }.code == 1001)
            #expect(events.ends())
            #expect(
                eventually {
                    (try? connection.ask("GET", "/api/\(dataset)/device/get?id=phone&client=admin"))?.status == 200
                        && nodes["b"]?.program.isRunning == false
                })
            let next = try Socket(to: port, "/api/\(dataset)/socket?client=admin&since=\(cursor)")
            next.send(#"{"request":"device/get","id":"phone","requestId":"2"}"#)
            var seen: [String] = []
            _ = try next.next { frame in
                seen += [frame.json["topic"]?.asString].compactMap { $0 }
                return frame.json["requestId"] == "2"
            }
            #expect(seen.isEmpty, "\(seen)")
            #expect(nodes["b"]?.program.waitForExit(seconds: 20) == 0)
        }
    }

    @Test("While the owner is dead requests are 503 to be repeated, and soon its successor answers them")
    func death() throws {
        try withHTTPNodes { nodes, ports, owners, _ in
            let port = try #require(ports["a"])
            let dataset = try dataset(of: "b", owners)
            let socket = try Socket(to: port, "/api/\(dataset)/socket?client=admin")
            nodes["b"]?.program.end(SIGKILL)
            let start = ContinuousClock.now
            #expect(try socket.next { $0.code != nil }.code == 1001)
            let connection = try Connection(to: port)
            var refusals = 0
            while true {
                let answer = try connection.ask("GET", "/api/\(dataset)/device/get?id=phone&client=admin")
                if answer.status == 200 { break }
                #expect(answer.status == 503 && answer.fields["retry-after"] != nil, "\(answer)")
                refusals += 1
                guard ContinuousClock.now - start < .seconds(10) else { break }
                usleep(50_000)
            }
            let took = ContinuousClock.now - start
            print("successor answered after \(took), \(refusals) refusals")
            #expect(took < .seconds(5))
        }
    }

    @Test("What a node counted stays counted when its datasets go to another node")
    func counters() throws {
        try withHTTPNodes { nodes, ports, owners, client in
            let dataset = try dataset(of: "a", owners)
            for number in 0..<5 {
                try client.request(
                    "device/create", ["deviceType": "MobileDevice", "id": .string("n\(number)")], dataset: dataset)
            }
            func counted(_ node: String) throws -> Int? {
                let text = try Connection(to: try #require(ports[node])).ask("GET", "/metrics").text
                let line = text.split(separator: "\n").first {
                    $0.hasPrefix("geomatch_requests_total{dataset=\"\(dataset)\"") && $0.contains("verb=\"create\"")
                        && $0.contains("resource=\"device\"") && $0.contains("outcome=\"ok\"")
                }
                return line.flatMap { $0.split(separator: " ").last.flatMap { Double($0).map { Int($0) } } }
            }
            let before = try #require(try counted("a"))
            #expect(before >= 5)
            nodes["b"]?.program.end(SIGKILL)
            #expect(eventually { Set((try? self.owners(client))?.values.map { $0 } ?? []) == ["a"] })
            try nodes["b"]?.restart()
            #expect(eventually { (try? loads(client)) == [3, 4] })
            let moved = try #require(try self.owners(client).first { $0.value == "b" && $0.key != "home" }?.key)
            let text = try Connection(to: try #require(ports["a"])).ask("GET", "/metrics").text
            // Served before, and by now at the other node: it is still counted here.
            #expect(text.contains("geomatch_updates_total{dataset=\"\(moved)\""), "\(text)")
            #expect(!text.contains("geomatch_devices{dataset=\"\(moved)\"}"), "\(text)")
            #expect(try counted("a") == before)
        }
    }

    @Test("Files, replication and old clients reach the owner through each node")
    func otherPaths() throws {
        try withHTTPNodes { _, ports, owners, _ in
            let port = try #require(ports["a"])
            let dataset = try dataset(of: "b", owners)
            let connection = try Connection(to: port, seconds: 30)
            let place =
                #"{"type":"Feature","id":"p%","geometry":{"type":"Point","coordinates":[7,43]},"properties":{"name":"x"}}"#
            let count = 5000
            connection.write(
                "POST /api/\(dataset)/place/import?client=admin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                    + "Content-Type: application/x-ndjson\r\n\r\n")
            for number in stride(from: 0, to: count, by: 1000) {
                let lines = (number..<number + 1000).map { place.replacing("%", with: "\($0)") + "\n" }.joined()
                connection.write(String(lines.utf8.count, radix: 16) + "\r\n" + lines + "\r\n")
            }
            connection.write("0\r\n\r\n")
            let imported = try connection.answer()
            #expect(imported.text.contains("\"imported\":\(count)"), "\(imported)")
            let database = try Connection(to: port).ask("GET", "/couch/\(dataset)?client=admin")
            #expect(database.json["db_name"]?.asString == dataset, "\(database)")
            let changes = try Connection(to: port).ask("GET", "/couch/\(dataset)/_changes?limit=1&client=admin")
            #expect(changes.status == 200, "\(changes)")
            let osmand = try Connection(to: port).ask("GET", "/in/osmand?dataset=\(dataset)&id=car&lat=1&lon=2&client=admin")
            #expect(osmand.status == 200, "\(osmand)")
            let device = try Connection(to: port).ask(
                "POST", "/v5/devices?dataset=\(dataset)&client=admin", #"{"deviceType":"MobileDevice","name":"old"}"#,
                fields: ["api-key": Self.token(dataset)])
            #expect(device.status == 201, "\(device)")
            let id = try #require(device.json["id"]?.asString)
            let upgraded = try Socket(
                to: port, "/pusher/v5/ws/\(id)", fields: ["Sec-WebSocket-Protocol": "api-key,\(dataset)"])
            withExtendedLifetime(upgraded) {}
            // A dataset that nobody has yet is made by the node that would have it.
            for index in 0..<4 {
                let path = "/api/new\(index)"
                #expect(try Connection(to: port).ask("GET", "\(path)/device/list?client=admin").error == "unknownDataset")
                #expect(try Connection(to: port).ask("POST", "\(path)/dataset/create?client=admin").status == 200)
                let list = try Connection(to: try #require(ports["b"])).ask("GET", "\(path)/device/list?client=admin")
                #expect(list.status == 200, "\(list)")
            }
        }
    }

    /// As an old SDK has it: the second part names the world.
    private static func token(_ world: String) -> String {
        let payload = Data(#"{"iss":"alps","sub":"\#(world)","jti":"1"}"#.utf8).base64EncodedString()
        return "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.\(payload).c2lnbmF0dXJl"
    }
}
