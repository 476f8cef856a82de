import SeededRandom
import Testing
import Wire

@testable import HTTPDoor

@Suite("Hostile HTTP")
struct HostileTests {
    @Test("What cannot be parsed is answered with an error object, and the connection closed")
    func malformed() async throws {
        try await withHTTP { house in
            let requests = [
                "nonsense\r\n\r\n", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            ]
            // All at once: a connection whose body was not read lingers for its client.
            let connections = try requests.map { request in
                let connection = try Connection(to: house.port)
                connection.write(request)
                return connection
            }
            for (request, connection) in zip(requests, connections) {
                let answer = try? connection.answer()
                #expect(
                    answer.map { $0.status == 400 && $0.error == "invalid" } ?? true, "\(request): \(String(describing: answer))")
                #expect(connection.ends(), "\(request)")
            }
            #expect(try Connection(to: house.port).ask("GET", "/healthz").status == 200)
        }
    }

    @Test("A body that breaks off is not carried out", arguments: ["Content-Length: 60", "Transfer-Encoding: chunked"])
    func brokenOff(_ field: String) async throws {
        try await withHTTP { house in
            let body = #"{"deviceType":"MobileDevice"}"#
            let connection = try Connection(to: house.port)
            let chunk = field.hasPrefix("T") ? "1d\r\n\(body)\r\n" : body
            connection.write("POST /api/d/device/create HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n\(chunk)")
            connection.endWriting()
            #expect(connection.ends())
            #expect(try Connection(to: house.port).ask("GET", "/api/d/device/list").error == "unknownDataset")
        }
    }

    @Test("Headers beyond 16 KiB are 431")
    func headers() async throws {
        try await withHTTP { house in
            for text in [
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 17 << 10))\r\n\r\n",
                "GET /\(String(repeating: "x", count: 17 << 10)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET / HTTP/1.1\r\n" + (0..<200).map { "X\($0): 1\r\n" }.joined() + "\r\n",
            ] {
                let connection = try Connection(to: house.port)
                connection.write(text)
                let answer = try connection.answer()
                #expect(answer.status == 431 && answer.error == "tooLarge", "\(answer)")
                #expect(connection.ends())
            }
        }
    }

    @Test("A body beyond its bound is 413, whether its length is stated or not, and the connection is closed")
    func bodies() async throws {
        try await withHTTP { house in
            let stated = try Connection(to: house.port)
            stated.write("POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000000\r\n\r\n{")
            #expect(try stated.answer().status == 413)
            #expect(stated.ends())
            let chunked = try Connection(to: house.port)
            chunked.write("POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
            for _ in 0..<17 { chunked.write(chunk) }
            let answer = try chunked.answer()
            #expect(answer.status == 413 && answer.error == "tooLarge", "\(answer)")
            #expect(chunked.ends())
            let expecting = try Connection(to: house.port)
            expecting.write(
                "POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n")
            #expect(try expecting.answer().status == 413)
        }
    }

    @Test("Slow heads, slow bodies and idle connections are closed")
    func slow() async throws {
        try await withHTTP({
            $0.limits.patienceSeconds = 1
            $0.limits.idleSeconds = 2
        }) { house in
            let head = try Connection(to: house.port)
            head.write("GET / HT")
            let body = try Connection(to: house.port)
            body.write("POST /api/d/device/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{")
            let idle = try Connection(to: house.port)
            #expect(try idle.ask("GET", "/healthz").status == 200)
            // Answered before its body came.
            let early = try Connection(to: house.port)
            early.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
            #expect(try early.answer().status == 200)
            early.write("{}")
            for connection in [head, body, idle, early] { #expect(connection.ends()) }
        }
    }

    @Test("More connections than allowed are refused with 503, and room is made by those that go")
    func connections() async throws {
        try await withHTTP({ $0.limits.connections = 3 }) { house in
            var held = try (0..<3).map { _ in try Connection(to: house.port) }
            for connection in held { #expect(try connection.ask("GET", "/healthz").status == 200) }
            let refused = try Connection(to: house.port)
            let answer = try refused.answer()
            #expect(answer.status == 503 && answer.error == "internal" && answer.fields["retry-after"] != nil)
            #expect(refused.ends())
            held.removeLast()
            var isTaken = false
            for _ in 0..<100 where !isTaken {
                let again = try Connection(to: house.port)
                isTaken = (try? again.ask("GET", "/healthz"))?.status == 200
            }
            #expect(isTaken)
        }
    }

    @Test("Requests that are sent before the answers of those before are answered in order")
    func pipelined() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let create = #"{"deviceType":"MobileDevice","id":"a"}"#
            var text =
                "POST /api/d/device/create HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(create.utf8.count)\r\n\r\n\(create)"
            for _ in 0..<20 { text += "GET /api/d/device/get?id=a HTTP/1.1\r\nHost: localhost\r\n\r\n" }
            connection.write(text)
            for _ in 0..<21 { #expect(try connection.answer().status == 200) }
        }
    }

    @Test("Answers to a client that had ended its side, and took them late, broke off")
    func takenLate() async throws {
        try await withHTTP { house in
            let other = try Connection(to: house.port)
            let whole = try other.ask("GET", "/openapi.json")
            #expect(whole.status == 200 && whole.body.count > 50_000)
            // For some counts the last answer is written in part when nothing fits into the buffers between the two sockets any more.
            for count in 16..<40 {
                let connection = try Connection(to: house.port, buffered: 8192)
                for _ in 0..<count { connection.write("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n") }
                connection.endWriting()
                for _ in 0..<3 { #expect(try other.ask("GET", "/healthz").status == 200) }
                for _ in 0..<count { #expect(try connection.answer().body == whole.body) }
                #expect(connection.ends())
            }
        }
    }

    @Test("A body that waits for 100 Continue and comes in many small pieces is read, and one that nobody reads is no request")
    func pieces() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let body = #"{"deviceType":"MobileDevice","id":"a"}"#
            connection.write(
                "POST /api/d/device/create HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            #expect(try connection.answer(hasBody: false).status == 100)
            let chunks = body.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
            for byte in chunks.utf8 { connection.write([byte]) }
            #expect(try connection.answer().status == 200)
            // What nobody reads of a body is no request.
            let unread = String(repeating: "1\r\nx\r\n", count: 1000) + "0\r\n\r\n"
            connection.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + unread)
            #expect(try connection.answer().status == 200)
            #expect(try connection.ask("GET", "/api/d/device/get?id=a").status == 200)
        }
    }

    @Test("Any bytes are answered or closed, and the door goes on")
    func fuzz() async throws {
        try await withHTTP { house in
            var random = SplitMix64.forTest()
            let seed = Array(
                "POST /api/d/device/get?id=%20&x=1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{ }\r\n0\r\n\r\n"
                    .utf8)
            for _ in 0..<200 {
                var bytes = seed
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes.removeSubrange(place..<min(bytes.count, place + 3))
                    default: bytes.insert(contentsOf: bytes.prefix(place), at: place)
                    }
                    if bytes.isEmpty { bytes = seed }
                }
                try Connection(to: house.port).write(bytes)
            }
            #expect(try Connection(to: house.port).ask("GET", "/healthz").status == 200)
        }
    }

    @Test("An answer of unknown length to HTTP/1.0 has no chunks, and ends with its connection")
    func oldVersion() async throws {
        try await withHTTP { house in
            let body = #"{"id":"phone","deviceType":"MobileDevice"}"#
            #expect(try Connection(to: house.port).ask("POST", "/api/d/device/create?client=admin", body).status == 200)
            func ask(_ path: String, version: String, fields: String = "") throws -> (connection: Connection, head: String) {
                let connection = try Connection(to: house.port)
                connection.write("GET \(path) HTTP/\(version)\r\nHost: localhost\r\n\(fields)\r\n")
                return (connection, try connection.read(until: "\r\n\r\n").lowercased())
            }
            for fields in ["", "Connection: keep-alive\r\n"] {
                let (events, head) = try ask("/api/d/events?client=admin", version: "1.0", fields: fields)
                #expect(head.hasPrefix("http/1.0 200") && head.contains("connection: close"), "\(head)")
                #expect(!head.contains("transfer-encoding") && !head.contains("content-length"), "\(head)")
                #expect(try events.read(count: 3) == Array(":\n\n".utf8))
                let (feed, feedHead) = try ask(
                    "/couch/d/_changes?feed=continuous&limit=1&client=admin", version: "1.0", fields: fields)
                #expect(!feedHead.contains("transfer-encoding"), "\(feedHead)")
                #expect(try feed.read(count: 1) == [UInt8(ascii: "{")])
                #expect(feed.ends())
            }
            let (newer, head) = try ask("/api/d/events?client=admin", version: "1.1")
            #expect(head.contains("transfer-encoding: chunked"), "\(head)")
            #expect(try newer.read(until: ":\n\n") == "3\r\n:\n\n")
            // What has a length needs no end.
            let (kept, keptHead) = try ask("/healthz", version: "1.0", fields: "Connection: keep-alive\r\n")
            #expect(keptHead.contains("connection: keep-alive") && keptHead.contains("content-length"), "\(keptHead)")
            _ = try kept.read(until: "}")
            #expect(try kept.ask("GET", "/healthz").status == 200)
        }
    }

    @Test("An event stream or a feed that waits, whose request's body breaks off or was read, ends with its connection")
    func streamsWithBodies() async throws {
        try await withHTTP { house in
            let body = #"{"id":"phone","deviceType":"MobileDevice"}"#
            #expect(try Connection(to: house.port).ask("POST", "/api/d/device/create?client=admin", body).status == 200)
            for request in [
                "GET /api/d/events?client=ann HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
                "POST /couch/d/_changes?feed=continuous&since=now&client=admin HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            ] {
                do {
                    let connection = try Connection(to: house.port)
                    connection.write(request)
                    _ = try connection.read(until: "\r\n\r\n")
                }
                #expect(try Connection(to: house.port).ask("GET", "/healthz").status == 200)
            }
            var open = 1
            for _ in 0..<400 where open > 0 {
                open = await house.door.onCore { $0.streams.count } ?? 0
                if open > 0 { try await Task.sleep(for: .milliseconds(10)) }
            }
            #expect(open == 0)
        }
    }
}
