import Datasets
import Foundation
import Testing
import Wire

@testable import HTTPDoor

@Suite("Match sockets of Matchmore's clients")
struct MatchSocketTests {
    @Test("A socket says that its subprotocol is `api-key` and carries ids of matches, which can be read then")
    func ids() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair(matchTTL: 0)
            let connection = try Connection(to: house.port)
            let answer = try Socket.upgrade(
                connection, "/pusher/v5/ws/\(pair.device)", fields: ["Sec-WebSocket-Protocol": "api-key,world"])
            #expect(answer.status == 101 && answer.fields["sec-websocket-protocol"] == "api-key", "\(answer)")
            let socket = try client.socket(of: pair.device)
            var ids: [String] = []
            for step in 0..<3 {
                try client.move(pair.device, 54.35 + Double(step) * 1e-4)
                let frame = try socket.next()
                #expect(frame.opcode == 1)
                let match = try client.ask("GET", "/devices/\(pair.device)/matches/\(frame.text)")
                #expect(match.status == 200 && match.json["id"]?.asString == frame.text, "\(frame.text): \(match)")
                ids.append(frame.text)
            }
            #expect(try client.matches(of: pair.device).compactMap { $0["id"]?.asString } == ids)
        }
    }

    @Test("What waited comes first, oldest first, and once")
    func waiting() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair(matchTTL: 0)
            for step in 0..<5 { try client.move(pair.device, 54.35 + Double(step) * 1e-4) }
            var known = try client.matches(of: pair.device).compactMap { $0["id"]?.asString }
            #expect(known.count == 5)
            let socket = try client.socket(of: pair.device)
            for step in 0..<5 { try client.move(pair.device, 54.351 + Double(step) * 1e-4) }
            known = try client.matches(of: pair.device).compactMap { $0["id"]?.asString }
            for id in known { #expect(try socket.next().text == id) }
            socket.send([], opcode: 8)
            #expect(try socket.next { $0.opcode == 8 }.code == 1000)
            #expect(socket.connection.ends())
            // Who comes again hears what came about meanwhile.
            try client.move(pair.device, 54.3522)
            let again = try client.socket(of: pair.device)
            let newest = try client.matches(of: pair.device).last?["id"]?.asString
            #expect(try again.next().text == newest)
            try client.move(pair.device, 54.3523)
            let last = try client.matches(of: pair.device).last?["id"]?.asString
            #expect(try again.next().text == last)
        }
    }

    @Test("A keyless socket of a device without an owner hears what waited, regardless of who subscribed for it")
    func ownerless() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair(matchTTL: 0)
            func ask(_ path: String, _ body: String) throws {
                let answer = try client.connection.ask("POST", path, body)
                #expect(answer.status == 200, "\(answer)")
            }
            try ask("/api/world/live/-/-/-/-/walker/position", #"{"lat":10,"lon":10}"#)
            for owner in ["ann", "ben"] {
                try ask(
                    "/api/world/subscription/create?client=\(owner)",
                    #"{"id":"\#(owner)","deviceId":"walker","topic":"sampletopic","range":300,"duration":500}"#)
            }
            try ask("/api/world/live/-/-/-/-/walker/position", #"{"lat":54.35,"lon":18.55}"#)
            let known = try ["ann", "ben"].map { owner in
                let list = try client.connection.ask("GET", "/api/world/match/list?client=\(owner)&deviceId=walker").json
                let matches = list["result"]?.asObject?["matches"]?.asArray ?? []
                #expect(matches.count == 1)
                return matches.first?.asObject?["id"]?.asString ?? ""
            }
            let socket = try client.socket(of: "walker")
            let heard = [try socket.next().text, try socket.next().text]
            #expect(Set(heard) == Set(known))
            #expect(pair.device != "walker")
        }
    }

    @Test("Texts that clients send mean nothing, protocol pings are answered, and the daemon's end is 1001")
    func frames() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            let socket = try client.socket(of: pair.device)
            for text in ["ping", "pong", "", "{\"request\":\"device/list\"}", "nonsense"] { socket.send(text) }
            socket.send([1, 2, 3], opcode: 2)
            socket.send([7, 8], opcode: 9)
            let pong = try socket.next()
            #expect(pong.opcode == 10 && pong.bytes == [7, 8])
            try client.move(pair.device)
            let id = try socket.next()
            #expect(id.opcode == 1 && id.text.count == 36, "\(id.text)")
            let unmasked = try client.socket(of: pair.device)
            unmasked.send([1], opcode: 1, isMasked: false)
            #expect(try unmasked.next { $0.opcode == 8 }.code == 1002)
            let wrongly = try client.socket(of: pair.device)
            wrongly.send([3, 0xED], opcode: 8)
            #expect(try wrongly.next { $0.opcode == 8 }.code == 1002)
            await withCheckedContinuation { ended in
                house.door.submit { door in
                    door.endStreams()
                    ended.resume()
                }
            }
            #expect(try socket.next { $0.opcode == 8 }.code == 1001)
        }
    }

    @Test("A socket opens for a device of its world only, and says why not in the old form")
    func otherWorlds() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let device = try client.phone()
            _ = try OldClient(to: house.port, world: "other").phone()
            func status(_ path: String, _ fields: [String: String]) throws -> Int {
                let answer = try Socket.upgrade(Connection(to: house.port), path, fields: fields)
                if answer.status != 101 {
                    #expect(answer.json["code"]?.asInt64 == Int64(answer.status) && answer.json["message"] != nil, "\(answer)")
                }
                return answer.status
            }
            let world = ["Sec-WebSocket-Protocol": "api-key, world"]
            #expect(try status("/pusher/v5/ws/\(device)", world) == 101)
            #expect(try status("//pusher/v5/ws/\(device)", world) == 101)
            #expect(try status("/pusher/v5/ws/\(device)?dataset=world", [:]) == 101)
            #expect(try status("/pusher/v5/ws/\(device)", ["Sec-WebSocket-Protocol": "api-key, other"]) == 404)
            #expect(try status("/pusher/v5/ws/\(device)", ["Sec-WebSocket-Protocol": "api-key, nowhere"]) == 404)
            #expect(try status("/pusher/v5/ws/\(device)", ["Sec-WebSocket-Protocol": "api-key, a/b"]) == 401)
            #expect(try status("/pusher/v5/ws/\(device)", ["Sec-WebSocket-Protocol": "api-key"]) == 401)
            #expect(try status("/pusher/v5/ws/\(device)", world.merging(["Sec-WebSocket-Key": "short"]) { $1 }) == 400)
            #expect(try status("/pusher/v5/ws/nobody", world) == 404)
            #expect(try status("/pusher/v4/ws/\(device)", world) == 404)
            #expect(try status("/pusher/v5/ws/\(device)", world.merging(["Origin": "https://evil.example"]) { $1 }) == 403)
            #expect(try status("/pusher/v5/ws/\(device)?key=\(OldClient.token("other"))", world) == 403)
            let plain = try client.connection.ask("GET", "/pusher/v5/ws/\(device)", fields: world)
            #expect(plain.status == 426 && plain.json["code"] == 426, "\(plain)")
        }
    }

    @Test("A page of another origin opens a socket of a device that was made with a key, which is all that its SDK sends")
    func otherOrigins() async throws {
        try await withHTTP({ $0.keys = [FileKey(key: "museum-key", dataset: "museum", client: "ann")] }) { house in
            var client = try OldClient(to: house.port, world: "museum")
            let keyless = try client.phone()
            client.key = "museum-key"
            let device = try client.phone()
            func status(_ device: String) throws -> Int {
                try Socket.upgrade(
                    Connection(to: house.port), "/pusher/v5/ws/\(device)",
                    fields: ["Sec-WebSocket-Protocol": "api-key, museum", "Origin": "https://shop.example"]
                ).status
            }
            #expect(try status(device) == 101)
            #expect(try status(keyless) == 403)
        }
    }

    @Test("Where sockets need keys, the world alone opens none")
    func requiredKeys() async throws {
        try await withHTTP({
            $0.trustsLoopback = false
            $0.matchSocketsNeedKeys = true
            $0.keys = [
                FileKey(key: "museum-key", dataset: "museum", client: "ann"),
                FileKey(key: "guide-key", dataset: "museum", client: "ben"),
            ]
        }) { house in
            var client = try OldClient(to: house.port)
            client.key = "museum-key"
            let device = try client.phone()
            func status(_ query: String) throws -> Int {
                try Socket.upgrade(
                    Connection(to: house.port), "/pusher/v5/ws/\(device)\(query)",
                    fields: ["Sec-WebSocket-Protocol": "api-key, museum", "Origin": "https://shop.example"]
                ).status
            }
            #expect(try status("") == 401)
            #expect(try status("?key=wrong") == 401)
            #expect(try status("?key=guide-key") == 403)
            #expect(try status("?key=museum-key") == 101)
        }
    }

    @Test("Ends of visits are no matches to the old clients")
    func visits() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            let changed = try client.connection.ask(
                "POST", "/api/world/subscription/update", #"{"id":"\#(pair.subscription)","mode":"visit"}"#)
            #expect(changed.status == 200, "\(changed)")
            let socket = try client.socket(of: pair.device)
            try client.move(pair.device)
            let first = try socket.next().text
            try client.move(pair.device, 10)
            try client.move(pair.device)
            let second = try socket.next().text
            #expect(first != second)
            #expect(try client.matches(of: pair.device).compactMap { $0["id"]?.asString } == [first, second])
        }
    }

    @Test("How far devices have heard outlives the daemon, and is bounded")
    func heard() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("heard-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func device(_ number: Int) -> MatchSockets.Device { MatchSockets.Device(world: "w", id: "device \"\(number)\"") }
        var sockets = MatchSockets(heardMax: 10)
        let none = sockets.takeHeard(at: 0)
        #expect(none == nil)
        for number in 0..<20 { sockets.note(MatchSockets.Heard(id: "m\(number)", number: Int64(number)), of: device(number)) }
        sockets.note(MatchSockets.Heard(id: "n", number: 30), of: device(19))
        let file = HeardFile(folder: folder.path)
        #expect(file.read().isEmpty)
        let news = sockets.takeHeard(at: 0)
        file.write(try #require(news))
        file.flush()
        var restored = MatchSockets(HeardFile(folder: folder.path).read())
        #expect(restored.heard(device(9)) == nil && restored.heard(device(10))?.id == "m10")
        #expect(restored.heard(device(19))?.id == "n" && restored.heard(device(19))?.number == 30)
        let old = restored.takeHeard(at: 0)
        #expect(old == nil)
        try "nonsense\n{\"world\":7}\n\u{0}".write(
            to: folder.appendingPathComponent("matchmore-heard"), atomically: true, encoding: .utf8)
        #expect(HeardFile(folder: folder.path).read().isEmpty)
    }
}
