import DaemonCore
import Datasets
import Foundation
import NIOCore
import Testing
import Wire

@testable import HTTPDoor

/// A door of another transport, whose client has its replies at a place of its own.
private final class DoorElsewhere: Door, Sendable {
    /// A core does not keep its doors, and may turn once more when its test is over.
    static let shared = DoorElsewhere()
    let number = 7
    var backlog: Int { 0 }

    func send(_ batch: OutputBatch) {}
    func datasetsChanged() {}
    func wake() {}

    func recipient(of answer: ReturnAddress) -> Recipient? {
        answer.door == number ? Recipient("d", "me", path: "reply/far") : nil
    }
}

@Suite("Event streams and sockets")
struct StreamTests {
    private func prepare(_ connection: Connection) throws {
        for (request, body) in [
            ("device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#),
            ("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#),
            ("publication/create", #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":3600}"#),
            (
                "subscription/create",
                #"{"id":"s","deviceId":"phone","topic":"coffee","range":50,"duration":3600,"matchTTL":0}"#
            ),
        ] {
            let answer = try connection.ask("POST", "/api/d/\(request)?client=me", body)
            #expect(answer.status == 200, "\(answer)")
        }
    }

    private func move(_ connection: Connection, _ latitude: Double) throws {
        let answer = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":\#(latitude),"lon":7.42}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    private func stream(_ house: HTTPHouse, _ query: String, fields: [String: String] = [:]) throws -> Connection {
        let connection = try Connection(to: house.port)
        var text = "GET /api/d/events?\(query) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        connection.write(text + "\r\n")
        let head = try connection.read(until: ":\n\n")
        #expect(head.contains("200 OK") && head.contains("text/event-stream"), "\(head)")
        return connection
    }

    /// The next event, past signs of life.
    private func event(_ stream: Connection) throws -> String {
        while true {
            let text = try stream.read(until: "\n\n")
            if text.contains("data: ") { return text }
        }
    }

    @Test("A match comes as an event with a cursor, and again to who resumes before it")
    func matches() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let events = try stream(house, "client=me&topics=match/%23")
            try move(connection, 43.7301)
            let first = try event(events)
            #expect(first.contains("event: match/phone/s\n") && first.contains("data: {"), "\(first)")
            let cursor = try #require(first.firstMatch(of: /id: (\d+)/)).1
            try move(connection, 43.7302)
            _ = try events.read(until: "event: match")
            let resumed = try stream(house, "client=me", fields: ["Last-Event-ID": String(cursor)])
            let second = try resumed.read(until: "event: match/phone/s\n")
            #expect(!second.contains("gap"))
            let all = try stream(house, "client=me&since=0")
            #expect(try all.read(until: "data: {").contains("id: \(cursor)\n"))
            let other = try stream(house, "client=you&since=0")
            try move(connection, 43.7301)
            _ = try events.read(until: "event: match")
            _ = other
            let wrong = try connection.ask("GET", "/api/d/events?client=me&since=x1")
            #expect(wrong.status == 400 && wrong.json["error"]?.asObject?["field"] == "since", "\(wrong)")
            #expect(try connection.ask("GET", "/api/d/events?topics=a%23").status == 400)
        }
    }

    @Test("Replies come on the event streams of the caller, over any door, that name them in a filter")
    func replies() async throws {
        let elsewhere = DoorElsewhere.shared
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let named = try stream(house, "client=me&topics=reply")
            let all = try stream(house, "client=me&topics=%23")
            let unnamed = try stream(house, "client=me")
            let other = try stream(house, "client=you&topics=reply,match/%23")
            await house.door.onCore { door in
                door.core.add(elsewhere)
                Array(#"{"requestId":"elsewhere","id":"pin"}"#.utf8).withUnsafeBytes { body in
                    door.core.receive(
                        Envelope(
                            dataset: "d", client: "me", name: "device/get", body: body,
                            answer: ReturnAddress(door: elsewhere.number)))
                }
            }
            _ = try all.read(until: #"event: reply/far\#ndata: {"requestId":"elsewhere","request":"device/get","result":"#)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            for (id, ask) in [
                ("post", { _ = try connection.ask("POST", "/api/d/device/get?client=me", #"{"requestId":"post","id":"pin"}"#) }),
                ("frame", { socket.send(#"{"request":"device/get","requestId":"frame","id":"pin"}"#) }),
            ] as [(String, () throws -> Void)] {
                try ask()
                for events in [named, all] {
                    let text = try events.read(
                        until: #"event: reply\#ndata: {"requestId":"\#(id)","request":"device/get","result":"#)
                    #expect(!text.contains("far"))
                }
            }
            _ = try connection.ask("POST", "/api/d/device/get?client=you", #"{"requestId":"yours","id":"pin"}"#)
            #expect(try event(other).contains(#""requestId":"yours""#))
            try move(connection, 43.7301)
            #expect(try unnamed.read(until: "event: match").contains("event: reply") == false)
            // A key is shown to the caller that asked for it, this once.
            let admin = try stream(house, "client=admin&topics=reply")
            #expect(try connection.ask("POST", "/api/d/key/create?client=admin", #"{"client":"guide"}"#).status == 200)
            _ = try connection.ask("POST", "/api/d/device/list?client=admin")
            #expect(try !admin.read(until: #""request":"device/list""#).contains("key/create"))
        }
    }

    @Test("A stream with a key for one dataset is shown no reply about others")
    func repliesAboutOthers() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let made = try connection.ask("POST", "/api/d/key/create?client=admin", #"{"client":"admin"}"#)
            let key = try #require(made.json["result"]?.asObject?["key"]?.asString)
            let confined = try stream(house, "key=\(key)&topics=reply")
            let trusted = try stream(house, "client=admin&topics=reply")
            for request in ["dataset/list", "key/list", "device/list"] {
                #expect(try connection.ask("POST", "/api/d/\(request)?client=admin").status == 200)
            }
            #expect(try event(trusted).contains(#""request":"dataset/list""#))
            #expect(try event(confined).contains(#""request":"device/list""#))
        }
    }

    @Test("A socket carries requests and their replies in order, and what its client hears of")
    func socket() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            for number in 0..<200 { socket.send(#"{"request":"device/get","requestId":"\#(number)","id":"pin"}"#) }
            for number in 0..<200 {
                let frame = try socket.next()
                #expect(frame.json["requestId"]?.asString == "\(number)", "\(frame.text)")
            }
            try move(connection, 43.7301)
            let match = try socket.next { $0.json["topic"]?.asString == "match/phone/s" }
            #expect(match.json["cursor"]?.asString?.isEmpty == false && match.json["payload"]?.asObject?["event"] == "matched")
            socket.send("nonsense")
            #expect(try socket.next().json["error"]?.asObject?["error"] == "invalid")
            socket.send(#"{"request":"nothing/here"}"#)
            #expect(try socket.next().json["error"]?.asObject?["error"] == "notFound")
            socket.send(#"{"topic":"d/-/-/-/-/phone/position","requestId":"u"}"#)
            #expect(try socket.next().json["error"]?.asObject?["field"] == "payload")
            socket.send(#"{"topic":"other/-/-/-/-/phone/position","requestId":"u","payload":{}}"#)
            let other = try socket.next().json
            #expect(other["requestId"] == "u" && other["error"]?.asObject?["field"] == "topic")
            socket.send([1, 2, 3], opcode: 9)
            #expect(try socket.next { $0.opcode == 10 }.bytes == [1, 2, 3])
            // A request in two frames.
            socket.send(Array(#"{"request":"#.utf8), opcode: 1, isLast: false)
            socket.send(Array(#""device/list"}"#.utf8), opcode: 0)
            #expect(try socket.next().json["request"] == "device/list")
            socket.send([], opcode: 8)
            #expect(try socket.next { $0.opcode == 8 }.code == 1000)
            #expect(socket.connection.ends())
        }
    }

    @Test("A live subscription made on a socket is sent there alone, and ends with it")
    func live() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            let other = try Socket(to: house.port, "/api/d/socket?client=me")
            try move(connection, 43.73)
            socket.send(#"{"request":"live/subscribe","criteria":"d/#"}"#)
            let reply = try socket.next()
            let id = try #require(reply.json["result"]?.asObject?["id"]?.asString, "\(reply.text)")
            #expect(try socket.next { $0.json["topic"] != nil }.json["topic"]?.asString == "live/\(id)")
            try move(connection, 43.7301)
            let update = try socket.next { $0.text.contains("43.7301") }
            #expect(update.json["payload"]?.asObject?["itemId"] == "phone")
            #expect(try connection.ask("GET", "/api/d/live/list?client=me").text.contains(id))
            socket.send([], opcode: 8)
            _ = try socket.next { $0.opcode == 8 }
            #expect(socket.connection.ends())
            var isGone = false
            for _ in 0..<5000 where !isGone {
                isGone = try !connection.ask("GET", "/api/d/live/list?client=me").text.contains(id)
            }
            #expect(isGone)
            other.send(#"{"request":"device/list","requestId":"first"}"#)
            // Nothing of the subscription came here.
            #expect(try other.next().json["requestId"] == "first")
        }
    }

    @Test("A socket that may not be is refused with the status and the error of a request")
    func refused() async throws {
        try await withHTTP(
            { $0.keys = [FileKey(key: "museum-key", dataset: "museum", client: "ann")] },
            hub: { $0.mayName = { _, client in client != "nobody" } }
        ) { house in
            func refusal(_ path: String, _ fields: [String: String] = [:]) throws -> String {
                let answer = try Socket.upgrade(try Connection(to: house.port), path, fields: fields)
                return "\(answer.status) \(answer.error ?? "")"
            }
            #expect(try refusal("/api/museum/socket?key=museum-key") == "101 ")
            #expect(try refusal("/api/d/socket?key=wrong-key") == "401 unauthorized")
            #expect(try refusal("/api/d/socket?key=museum-key") == "403 forbidden")
            #expect(try refusal("/api/d/socket?since=x") == "400 invalid")
            #expect(try refusal("/nothing") == "404 notFound")
            #expect(try refusal("/healthz") == "200 ")
            #expect(try refusal("/mqtt") == "404 notFound")
            #expect(try refusal("/api/d/socket", ["Origin": "https://evil.example"]) == "403 forbidden")
            #expect(try refusal("/api/d/socket", ["Sec-WebSocket-Version": "8"]) == "426 invalid")
            for key in ["", "short", "dGhlIHNhbXBsZSBub25jZSE=", "dGhlIHNhbXBsZSBub25j****"] {
                #expect(try refusal("/api/d/socket", ["Sec-WebSocket-Key": key]) == "400 invalid", "\(key)")
            }
            let old = try Connection(to: house.port)
            old.write(
                "GET /api/d/socket HTTP/1.0\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            let refused = try old.answer()
            #expect(refused.status == 400 && refused.error == "invalid", "\(refused)")
            #expect(old.ends())
            #expect(try refusal("/api/d/socket?client=status") == "401 unauthorized")
            #expect(try refusal("/api/d/socket?client=nobody") == "401 unauthorized")
            #expect(try refusal("/api/live/socket") == "400 invalid")
            let plain = try Connection(to: house.port).ask("GET", "/api/d/socket")
            #expect(plain.status == 426 && plain.fields["upgrade"] == "websocket", "\(plain)")
            #expect(plain.fields["sec-websocket-version"] == "13", "\(plain)")
            // Some clients ask for HTTP/2 with each request.
            let other = try Connection(to: house.port)
            let answer = try other.ask("GET", "/healthz", fields: ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c"])
            #expect(answer.status == 200 && answer.fields["connection"] == "close", "\(answer)")
            #expect(other.ends())
        }
    }

    @Test("A socket opens on a connection that was kept, with frames behind the request at once")
    func keptConnection() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            for _ in 0..<3 { #expect(try connection.ask("GET", "/healthz").status == 200) }
            let socket = try Socket(over: connection, "/api/d/socket", behind: [#"{"request":"device/list","requestId":"0"}"#])
            for number in 0..<100 {
                if number > 0 { socket.send(#"{"request":"device/list","requestId":"\#(number)"}"#) }
                #expect(try socket.next().json["requestId"]?.asString == "\(number)")
            }
            socket.send([], opcode: 8)
            #expect(try socket.next().code == 1000)
            #expect(connection.ends())
            // Behind a request that is not answered it is a plain one, and both are answered.
            let pipelined = try Connection(to: house.port)
            let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            pipelined.write(request + "\r\n" + request + "Connection: close\r\n\r\n")
            #expect(try [pipelined.answer().status, pipelined.answer().status] == [200, 200])
            #expect(pipelined.ends())
            let plain = try Connection(to: house.port)
            plain.write(request + "\r\n")
            let answers = [try Socket.upgrade(plain, "/api/d/socket"), try plain.answer()].map(\.status)
            #expect(answers == [200, 426] || answers == [200, 101], "\(answers)")
        }
    }

    @Test("Broken frames close the socket with the code for it")
    func broken() async throws {
        try await withHTTP { house in
            func code(_ break: (Socket) -> Void) throws -> Int? {
                let socket = try Socket(to: house.port, "/api/d/socket")
                `break`(socket)
                defer { #expect(socket.connection.ends()) }
                return try socket.next { $0.opcode == 8 }.code
            }
            #expect(try code { $0.send(Array("{}".utf8), opcode: 1, isMasked: false) } == 1002)
            #expect(try code { $0.send([1], opcode: 2) } == 1003)
            #expect(try code { $0.send([1], opcode: 0) } == 1002)
            #expect(try code { $0.send([0xFF, 0xFE], opcode: 1) } == 1007)
            // Of a frame that closes: no code, half of one, codes that may not be sent, and others.
            #expect(try code { $0.send([], opcode: 8) } == 1000)
            #expect(try code { $0.send([3], opcode: 8) } == 1002)
            for (sent, answered) in [
                (999, 1002), (1004, 1002), (1005, 1002), (1006, 1002), (1015, 1002), (2999, 1002), (5000, 1002), (1001, 1000),
                (1014, 1000), (4000, 1000),
            ] {
                #expect(
                    try code { $0.send([UInt8(sent >> 8), UInt8(sent & 255)] + Array("bye".utf8), opcode: 8) } == answered,
                    "\(sent)")
            }
            #expect(try code { $0.send([3, 0xE8, 0xFF], opcode: 8) } == 1007)
            let large = try Socket(to: house.port, "/api/d/socket")
            large.send([UInt8](repeating: 0x20, count: 1 << 20), opcode: 1)
            #expect(try large.next().json["error"] != nil)
            // The code may be lost with what is still being sent.
            large.send([UInt8](repeating: 0x20, count: (1 << 20) + 1), opcode: 1)
            #expect(large.connection.ends())
            let endless = try Socket(to: house.port, "/api/d/socket")
            for part in 0..<6 {
                endless.send([UInt8](repeating: 0x20, count: 200 << 10), opcode: part == 0 ? 1 : 0, isLast: false)
            }
            #expect(endless.connection.ends())
            #expect(try Connection(to: house.port).ask("GET", "/healthz").status == 200)
        }
    }

    @Test("A request that is too large, or is none, is answered under its requestId")
    func refusedUnderID() async throws {
        try await withHTTP { house in
            let socket = try Socket(to: house.port, "/api/d/socket")
            let long = String(repeating: "a", count: 300_000)
            let spaces = String(repeating: " ", count: 300_000)
            for (number, (text, error)) in [
                (#"{"request":"device/get","requestId":"0","id":"\#(long)"}"#, "tooLarge"), (#"{"requestId":"1"}"#, "invalid"),
                (#"{"request":5,"requestId":"2"}"#, "invalid"), (#"{"requestId":"3","request":"device/list""#, "invalid"),
                (#"{"request":"dataset/get","requestId":"4"}"#, "unknownDataset"),
                // By the length of the frame, whatever it holds.
                (#"{"request":"device/list","requestId":"5"\#(spaces)}"#, "tooLarge"),
                (#"{"topic":"d/-/-/-/-/a/note","requestId":"6","payload":{"x":1}\#(spaces)}"#, "tooLarge"),
            ].enumerated() {
                socket.send(text)
                let reply = try socket.next().json
                #expect(reply["requestId"]?.asString == "\(number)", "\(reply)")
                #expect(reply["error"]?.asObject?["error"]?.asString == error, "\(reply)")
                if number == 0 { #expect(reply["request"] == "device/get", "\(reply)") }
            }
        }
    }

    @Test("A cursor beyond the last one given is invalid, for a stream and for a socket")
    func cursorBeyond() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let events = try stream(house, "client=me&since=0&topics=match/%23")
            try move(connection, 43.7301)
            let cursor = try #require(try events.read(until: "\ndata").firstMatch(of: /id: (\d+)/)).1
            _ = try stream(house, "client=me&since=\(cursor)")
            let beyond = try connection.ask("GET", "/api/d/events?client=me&since=999999999")
            let socket = try Socket.upgrade(try Connection(to: house.port), "/api/d/socket?client=me&since=999999999")
            for refused in [beyond, socket] {
                #expect(refused.status == 400 && refused.json["error"]?.asObject?["field"] == "since", "\(refused)")
            }
        }
    }

    @Test("A reader that stood still for long hears with 1013 why its socket closes, behind what it had not read")
    func slowReader() async throws {
        try await withHTTP { house in
            let socket = try Socket(to: house.port, "/api/d/socket?client=slow")
            socket.send(#"{"request":"dataset/get"}"#)
            _ = try socket.next()
            let key = StreamKey(dataset: "d", client: "slow")
            let payload = Array("\"".utf8) + [UInt8](repeating: 0x20, count: 256 << 10) + Array("\"".utf8)
            var isOpen = true
            for _ in 0..<400 where isOpen {
                isOpen =
                    await house.door.onCore { door in
                        door.streams[key]?.first?.append(.message(StreamMessage(path: "x", payload: payload))) == .waits
                    } ?? false
                // The connection's turn: what it can write leaves, so that the rest fills the queue.
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(!isOpen)
            // Longer than a connection lingers whose last bytes have left.
            try await Task.sleep(for: .milliseconds(2500))
            #expect(try socket.next { $0.opcode == 8 }.code == 1013)
            #expect(socket.connection.ends())
        }
    }

    @Test("Sockets show a sign of life each 20 s, event streams each 15 s")
    func signsOfLife() async throws {
        try await withHTTP { house in
            let events = try stream(house, "client=me")
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            // Beyond what this test lasts.
            let started = await house.door.onCore { door in
                let started = door.core.clock.monotonic() + 1_000_000
                (door.eventSignOfLifeAt, door.socketSignOfLifeAt) = (started + 15_000, started + 20_000)
                return started
            }
            let start = try #require(started)
            socket.send(#"{"request":"device/list"}"#)
            _ = try socket.next()
            _ = await house.door.onCore { $0.advanceStreams(at: start + 15_000) }
            _ = try events.read(until: ":\n\n")
            socket.send(#"{"request":"device/list"}"#)
            #expect(try socket.nextOfAll().text != "{}")
            _ = await house.door.onCore { $0.advanceStreams(at: start + 20_001) }
            #expect(try socket.nextOfAll().text == "{}")
        }
    }

    @Test(
        "A frame says how long it is, in as many bytes as that takes",
        arguments: [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (65_535, [0x81, 126, 0xFF, 0xFF]),
            (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func frameLengths(_ length: Int, _ head: [UInt8]) {
        var buffer = ByteBuffer()
        buffer.writeFrame(.text, [UInt8](repeating: 0x61, count: length))
        #expect(buffer.readBytes(length: head.count) == head)
        #expect(buffer.readableBytes == length && buffer.readableBytesView.allSatisfy { $0 == 0x61 })
    }

    @Test("A message is one frame, with its path as text, its payload as it is, and its cursor")
    func frameOfMessage() {
        for (message, text) in [
            (StreamMessage(path: "live/a\"b", payload: Array("{}".utf8)), #"{"topic":"live/a\"b","payload":{}}"#),
            (StreamMessage(path: "match/x", payload: [], cursor: 7), #"{"topic":"match/x","payload":null,"cursor":"7"}"#),
            (
                StreamMessage(path: "x", payload: Array("1".utf8), frameHead: StreamMessage.frameHead(path: "live/é")),
                #"{"topic":"live/é","payload":1}"#
            ),
        ] {
            var buffer = ByteBuffer()
            buffer.writeFrame(message)
            #expect(buffer.readBytes(length: 2) == [0x81, UInt8(text.utf8.count)])
            #expect(buffer.readString(length: buffer.readableBytes) == text)
        }
    }

    // MARK: The queue of one reader

    private func message(_ text: String, bytes: Int = 0) -> EventStream.Item {
        .message(StreamMessage(path: "live/x", payload: Array(text.utf8) + [UInt8](repeating: 0x20, count: bytes)))
    }

    private func texts(_ items: [EventStream.Item]) -> [String] {
        items.compactMap { item in
            guard case .message(let message) = item else { return nil }
            return String(decoding: message.payload.prefix { $0 != 0x20 }, as: UTF8.self)
        }
    }

    @Test("A reader that keeps up gets everything, a slow one the newest of each live topic")
    func conflation() {
        let stream = EventStream(dataset: "d", caller: Caller(client: "c"))
        #expect(stream.append(message("1"), replacing: 7) == .waits)
        #expect(stream.append(message("2"), replacing: 7) == .waits)
        #expect(texts(stream.take(bytes: .max).items) == ["1", "2"])
        stream.append(message("big", bytes: 300 << 10))
        #expect(stream.append(message("3"), replacing: 7) == .waits)
        #expect(stream.append(message("4"), replacing: 8) == .waits)
        #expect(stream.append(message("5"), replacing: 7) == .conflated)
        #expect(texts(stream.take(bytes: .max).items) == ["big", "5", "4"])
        #expect(stream.append(message("6"), replacing: 7) == .waits)
    }

    @Test("A reader with 8 MiB waiting is ended, and notified though it reads nothing")
    func bound() {
        let stream = EventStream(dataset: "d", caller: Caller(client: "c"))
        for _ in 0..<9 { stream.append(message("x", bytes: 1 << 20)) }
        #expect(stream.isTooSlow && stream.append(message("y")) == .ended)
        let (items, end) = stream.take(bytes: .max)
        #expect(items.isEmpty && end == .tooSlow)
    }

    @Test("What was sent before a dataset's positions became private is not sent again, in this life and the next")
    func privatePositions() async throws {
        let folder = NSTemporaryDirectory() + "http-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withHTTP({ $0.folder = folder }) { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let events = try stream(house, "client=me&topics=match/%23")
            try move(connection, 43.7301)
            _ = try events.read(until: "event: match/phone/s\n")
            let update = try connection.ask("POST", "/api/d/dataset/update?client=admin", #"{"livePositions":"none"}"#)
            #expect(update.status == 200, "\(update)")
            let resumed = try stream(house, "client=me&since=0")
            #expect(try event(resumed).contains("event: gap\n"))
            try move(connection, 43.7302)
            let first = try event(resumed)
            #expect(first.contains("event: match/phone/s\n") && first.contains("43.7302"), "\(first)")
            let last = await house.door.onCore { door in
                door.messageFile?.flush()
                return door.durable.lastNumber
            }
            let contents = MessageFile(folder: folder).read()
            #expect(contents.messages.map(\.number) == [last], "\(contents)")
            let lost = try #require(contents.lost[StreamKey(dataset: "d", client: "me")])
            #expect(lost > contents.after ?? 0 && lost < last ?? 0, "\(contents)")
        }
    }

    private func ask(_ connection: Connection, _ request: String, _ body: String, client: String = "me") throws {
        let answer = try connection.ask("POST", "/api/d/\(request)?client=\(client)", body)
        #expect(answer.status == 200, "\(request): \(answer)")
    }

    /// What the client `me` can be sent again, in this life and the next.
    private func kept(_ house: HTTPHouse, _ folder: String) async throws -> (messages: [StreamMessage], text: String) {
        let kept = await house.door.onCore { door in
            door.messageFile?.flush()
            return door.durable.messages(after: 0, for: StreamKey(dataset: "d", client: "me"))
        }
        let messages = try #require(kept).messages
        #expect(MessageFile(folder: folder).read().messages.map(\.number) == messages.compactMap(\.cursor))
        return (messages, try String(contentsOfFile: folder + "/http-messages", encoding: .utf8))
    }

    @Test("What was sent about a device that is forgotten is not sent again and is in no file, what others met is")
    func forgottenDevice() async throws {
        let folder = NSTemporaryDirectory() + "http-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withHTTP({ $0.folder = folder }) { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            for (request, body) in [
                ("device/create", #"{"deviceType":"PinDevice","id":"other","location":{"latitude":43.73,"longitude":7.42}}"#),
                ("subscription/create", #"{"id":"o","deviceId":"other","topic":"coffee","range":50,"duration":3600}"#),
                (
                    "geofence/create",
                    #"{"id":"home","area":{"circle":{"latitude":43.73,"longitude":7.42,"radius":100}},"devices":["phone","other"]}"#
                ),
            ] { try ask(connection, request, body) }
            let events = try stream(house, "client=me&topics=match/phone/%23")
            try move(connection, 43.7301111)
            _ = try event(events)
            #expect(try await kept(house, folder).text.contains("43.7301111"))
            try ask(connection, "device/forget", #"{"id":"phone"}"#)
            let resumed = try stream(house, "client=me&since=0")
            #expect(try event(resumed).contains("event: gap\n"))
            let (messages, text) = try await kept(house, folder)
            #expect(Set(messages.map(\.path)) == ["match/other/o", "geofence/home"], "\(messages)")
            #expect(!text.contains("43.7301111") && !text.contains("phone"), "\(text)")
        }
    }

    @Test("What was sent of a dataset that was deleted is not sent again in one of the same name")
    func deletedDataset() async throws {
        let folder = NSTemporaryDirectory() + "http-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withHTTP({ $0.folder = folder }) { house in
            let connection = try Connection(to: house.port)
            try prepare(connection)
            let events = try stream(house, "client=me&topics=match/%23")
            try move(connection, 43.7301111)
            _ = try event(events)
            try ask(connection, "dataset/delete", "{}", client: "admin")
            try ask(connection, "dataset/create", "{}", client: "admin")
            let resumed = try stream(house, "client=me&since=0")
            #expect(try event(resumed).contains("event: gap\n"))
            let (messages, text) = try await kept(house, folder)
            #expect(messages.isEmpty && !text.contains("43.7301111"), "\(messages) \(text)")
        }
    }

    @Test("A socket's live subscription that ends, or is made anew over another door, is no longer the socket's")
    func subscribedElsewhere() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            let other = try Socket(to: house.port, "/api/d/socket?client=me")
            func subscriptions() async -> Int? {
                await house.door.onCore { $0.socketSubscriptions.count + $0.subscriptionsOfSockets.count }
            }
            try move(connection, 43.73)
            for id in ["a", "b"] {
                socket.send(#"{"request":"live/subscribe","criteria":"d/#","id":"\#(id)"}"#)
                #expect(try socket.next { $0.json["result"] != nil }.json["request"] == "live/subscribe")
            }
            #expect(await subscriptions() == 3)
            let ended = try connection.ask("POST", "/api/d/live/unsubscribe?client=me", #"{"id":"b"}"#)
            #expect(ended.status == 200, "\(ended)")
            #expect(await subscriptions() == 2)
            let anew = try connection.ask("POST", "/api/d/live/subscribe?client=me", #"{"id":"a","criteria":"d/#"}"#)
            #expect(anew.status == 200, "\(anew)")
            #expect(await subscriptions() == 0)
            // It is for all who listen to the client now, and outlives the socket.
            try move(connection, 43.7301)
            #expect(try other.next { $0.json["topic"] != nil }.json["topic"]?.asString == "live/a")
            socket.send([], opcode: 8)
            _ = try socket.next { $0.opcode == 8 }
            #expect(socket.connection.ends())
            #expect(try connection.ask("GET", "/api/d/live/list?client=me").text.contains("\"a\""))
        }
    }
}
