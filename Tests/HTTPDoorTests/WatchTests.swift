import Datasets
import Testing
import Wire

@testable import HTTPDoor

@Suite("Sockets that watch a dataset")
struct WatchTests {
    private func prepare(_ connection: Connection) throws {
        for (request, body) in [
            ("device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#),
            ("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#),
            ("publication/create", #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#),
            (
                "subscription/create",
                #"{"id":"s","deviceId":"phone","topic":"coffee","range":50,"duration":3600,"matchTTL":0}"#
            ),
            ("circumstance/register", #"{"id":"c","when":"arriving","expression":"(moving)","devices":["phone"]}"#),
        ] {
            let answer = try connection.ask("POST", "/api/d/\(request)?client=me", body)
            #expect(answer.status == 200, "\(answer)")
        }
    }

    private func move(_ connection: Connection, _ latitude: Double) throws {
        let answer = try connection.ask(
            "POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":\#(latitude),"lon":7.42,"speed":3}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test("An administrator's socket hears the matches and circumstances of all clients once each, until it closes")
    func all() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let admin = try Socket(to: house.port, "/api/d/socket?client=admin")
            let own = try Socket(to: house.port, "/api/d/socket?client=me")
            own.send(#"{"request":"device/list"}"#)
            _ = try own.next { $0.json["request"]?.asString == "device/list" }
            for request in ["match/watch", "circumstance/watch", "match/watch"] {
                admin.send(#"{"request":"\#(request)"}"#)
                let reply = try admin.next { $0.json["request"]?.asString == request }
                #expect(reply.json["result"]?.asObject?["watching"] == .bool(true), "\(reply.text)")
            }
            try move(connection, 43.7301)
            var topics: Set<String> = []
            for _ in 0..<2 {
                let frame = try admin.next { $0.json["topic"] != nil }
                topics.insert(frame.json["topic"]?.asString ?? "")
                // Another client's cursor would be none of its own.
                #expect(frame.json["cursor"] == nil)
            }
            #expect(topics == ["match/phone/s", "circumstance/c"])
            _ = try own.next { $0.json["topic"]?.asString == "match/phone/s" }
            try move(connection, 43.73012)
            let next = try admin.next { $0.json["topic"] != nil }
            #expect(next.json["topic"]?.asString == "match/phone/s")
            admin.send([3, 0xE8], opcode: 8)
            _ = try? admin.next { $0.opcode == 8 }
            #expect(await house.door.onCore { $0.watchers.isEmpty } == true)
        }
    }

    @Test("Only administrators watch all clients, and only on a socket")
    func refusals() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            for request in ["match/watch", "circumstance/watch"] {
                socket.send(#"{"request":"\#(request)"}"#)
                let reply = try socket.next { $0.json["request"]?.asString == request }
                #expect(reply.json["error"]?.asObject?["error"] == "unauthorized", "\(reply.text)")
                let plain = try connection.ask("POST", "/api/d/\(request)?client=admin", "{}")
                #expect(plain.status == 501 && plain.text.contains("/api/d/socket"), "\(plain)")
            }
        }
    }

    @Test("A requestId that was answered before opens no watch: not for who may not, nor with the reply to a watch elsewhere")
    func remembered() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let socket = try Socket(to: house.port, "/api/d/socket?client=mallory")
            for (request, parameters) in [
                ("device/list", ""), ("match/watch", ""), ("circumstance/watch", ""), ("live/subscribe", #","criteria":"d/#""#),
            ] {
                socket.send(#"{"request":"\#(request)","requestId":"e1"\#(parameters)}"#)
                #expect(try socket.next().json["request"] == "device/list")
            }
            let watching = await house.door.onCore { $0.watchers.count + $0.socketSubscriptions.count }
            #expect(watching == 0)
            let admins = try (0..<2).map { _ in try Socket(to: house.port, "/api/d/socket?client=admin") }
            for admin in admins {
                admin.send(#"{"request":"match/watch","requestId":"w"}"#)
                #expect(try admin.next().json["request"] == "match/watch")
            }
            admins[0].send(#"{"request":"device/list","requestId":"w"}"#)
            #expect(try admins[0].next().json["request"] == "device/list")
            try move(connection, 43.7301)
            for admin in admins { #expect(try admin.next { $0.json["topic"] != nil }.json["topic"] == "match/phone/s") }
            socket.send(#"{"request":"device/list","requestId":"e2"}"#)
            // Nothing of another client came before.
            #expect(try socket.next().json["requestId"] == "e2")
        }
    }

    @Test("A caller that may see live data hears the diagnostics of a dataset")
    func diagnostics() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            socket.send(#"{"request":"dataset/watch"}"#)
            _ = try socket.next { $0.json["request"]?.asString == "dataset/watch" }
            let wrong = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":430,"lon":7.42}"#)
            #expect(wrong.status == 400)
            let frame = try socket.next { $0.json["topic"]?.asString == "diagnostics/update" }
            #expect(frame.json["payload"]?.asObject?["topic"] == "d/-/-/-/-/phone/position", "\(frame.text)")
        }
    }
}
