import Foundation
import MemoryStore
import SeededRandom
import Synchronization
import Testing
import Wire

@testable import HTTPDoor

@Suite("What another node of a cluster owns is forwarded")
struct ForwardingTests {
    /// Who owns what, as a test decides once the ports are known.
    private final class Owners: Sendable {
        private let owner = Mutex<Forwarding.Owner>(.unavailable("nobody"))

        func set(_ owner: Forwarding.Owner) { self.owner.withLock { $0 = owner } }

        func forwarding(_ secret: String = "s") -> Forwarding {
            Forwarding(
                secret: secret, certificate: nil, owner: { _ in self.owner.withLock { $0 } }, doors: { [] })
        }
    }

    /// Runs `body` with a node that owns every dataset, and one that forwards to it.
    private func withNodes<Result: Sendable>(
        far adjustFar: (inout HTTPDoorConfiguration) -> Void = { _ in },
        near adjustNear: (inout HTTPDoorConfiguration) -> Void = { _ in },
        _ body: (_ near: HTTPHouse, _ far: HTTPHouse) async throws -> Result
    ) async throws -> Result {
        let (nearOwners, farOwners) = (Owners(), Owners())
        return try await withHTTP(farOwners, adjustFar) { far in
            farOwners.set(.here(far.door))
            nearOwners.set(.elsewhere("http://127.0.0.1:\(far.port)"))
            return try await withHTTP(nearOwners, adjustNear) { near in try await body(near, far) }
        }
    }

    private func withHTTP<Result: Sendable>(
        _ owners: Owners, _ adjust: (inout HTTPDoorConfiguration) -> Void = { _ in },
        _ body: (HTTPHouse) async throws -> Result
    ) async throws -> Result {
        try await HTTPDoorTests.withHTTP(
            {
                $0.forwarding = owners.forwarding()
                adjust(&$0)
            }, body)
    }

    @Test("Requests and their errors go to the owner, over one connection")
    func requests() async throws {
        try await withNodes { near, far in
            let connection = try Connection(to: near.port)
            let made = try connection.ask(
                "POST", "/api/d/device/create?client=ann", #"{"id":"phone","deviceType":"MobileDevice"}"#)
            #expect(made.status == 200, "\(made)")
            let read = try connection.ask("GET", "/api/d/device/get?id=phone&client=ann")
            #expect(read.json["result"]?.asObject?["id"] == "phone", "\(read)")
            #expect(try connection.ask("GET", "/api/d/device/get?id=none&client=ann").status == 404)
            #expect(try connection.ask("HEAD", "/api/d/device/get?id=phone&client=ann").status == 200)
            #expect(try Connection(to: far.port).ask("GET", "/api/d/device/get?id=phone&client=ann").status == 200)
            let update = try connection.ask(
                "POST", "/api/d/live/caf%C3%A9/a%7Cb/-/-/phone/position?client=ann", #"{"lat":1,"lon":2}"#)
            #expect(update.status == 200, "\(update)")
        }
    }

    @Test("The owner trusts a caller as the first node does, and nobody can say so but a node")
    func trust() async throws {
        try await withNodes(near: { $0.trustsLoopback = false }) { near, far in
            let connection = try Connection(to: near.port)
            #expect(try connection.ask("GET", "/api/d/device/list?client=me").status == 401)
            let forged = Owners().forwarding("other")
            let mark = forged.mark(
                .init(isFromLoopback: true, isEncrypted: false), "GET", "/api/d/device/list?client=me", host: "localhost"
            )
            let answer = try connection.ask("GET", "/api/d/device/list?client=me", fields: [Forwarding.field: mark])
            #expect(answer.status == 401, "\(answer)")
        }
        try await withNodes { near, _ in
            // Under a name of somebody else's, a page of somebody else's.
            let connection = try Connection(to: near.port)
            #expect(try connection.ask("GET", "/api/d/device/list?client=me", host: "evil.example").status == 403)
            let page = try connection.ask("GET", "/api/d/device/list?client=me", fields: ["Origin": "http://evil.example"])
            #expect(page.status == 403, "\(page)")
        }
    }

    @Test("A mark is good for its request only, and under its secret")
    func marks() {
        let (forwarding, other) = (Owners().forwarding(), Owners().forwarding("t"))
        let origin = Forwarding.Origin(isFromLoopback: true, isEncrypted: true)
        let mark = forwarding.mark(origin, "GET", "/a", host: "h")
        #expect(forwarding.origin(mark, "GET", "/a", host: "h") == origin)
        #expect(forwarding.origin(mark, "POST", "/a", host: "h") == nil)
        #expect(forwarding.origin(mark, "GET", "/b", host: "h") == nil)
        #expect(forwarding.origin(mark, "GET", "/a", host: "localhost") == nil)
        #expect(other.origin(mark, "GET", "/a", host: "h") == nil)
        for text in [nil, "", "1", "loopback http", mark.replacing("https", with: "http"), "x " + mark] {
            #expect(forwarding.origin(text, "GET", "/a", host: "h") == nil, "\(text ?? "")")
        }
    }

    @Test("An owner that cannot be reached, and a dataset without one, are 503 with `Retry-After`, in the shape of the path")
    func faults() async throws {
        let owners = Owners()
        try await withHTTP(owners) { house in
            let connection = try Connection(to: house.port)
            for owner in [Forwarding.Owner.unavailable("why not"), .elsewhere("http://127.0.0.1:1"), .elsewhere("nonsense")] {
                owners.set(owner)
                let answer = try connection.ask("POST", "/api/d/device/list?client=me", "{}")
                #expect(answer.status == 503 && answer.fields["retry-after"] == "1" && answer.error == "internal", "\(answer)")
                let couch = try connection.ask("GET", "/couch/d")
                #expect(couch.status == 503 && couch.json["error"] == "service_unavailable", "\(couch)")
                let old = try connection.ask("GET", "/v5/devices/x?dataset=d")
                #expect(old.status == 503 && old.json["code"] == 503, "\(old)")
                let socket = try Connection(to: house.port)
                let refused = try Socket.upgrade(socket, "/api/d/socket?client=me")
                #expect(refused.status == 503 && refused.fields["retry-after"] == "1", "\(refused)")
            }
            #expect(try connection.ask("GET", "/healthz").status == 200)
        }
    }

    @Test("A node that forwards to one that is not the owner looks again, and a request goes no further")
    func moves() async throws {
        let owners = Owners()
        try await withHTTP(owners) { house in
            owners.set(.elsewhere("http://127.0.0.1:\(house.port)"))
            let answer = try Connection(to: house.port).ask("GET", "/api/d/device/list?client=me")
            #expect(answer.status == 503 && answer.fields["retry-after"] == "1", "\(answer)")
        }
    }

    @Test("A socket at one node is the owner's: requests, messages, and the end of the owner with 1001")
    func sockets() async throws {
        try await withNodes { near, far in
            let socket = try Socket(to: near.port, "/api/d/socket?client=ann")
            socket.send(#"{"request":"device/create","id":"phone","deviceType":"MobileDevice","requestId":"1"}"#)
            #expect(try socket.next { $0.json["requestId"] == "1" }.json["result"] != nil)
            socket.send(#"{"request":"device/get","id":"phone","requestId":"2"}"#)
            #expect(try socket.next { $0.json["requestId"] == "2" }.json["result"] != nil)
            far.door.handOver()
            #expect(try socket.next { $0.code != nil }.code == 1001)
            let refused = try Socket.upgrade(try Connection(to: near.port), "/api/d/socket?client=a%20b")
            #expect(refused.status == 401, "\(refused)")
        }
    }

    @Test("An event stream at one node is the owner's: messages come, and it ends on either side")
    func events() async throws {
        try await withNodes { near, far in
            let connection = try Connection(to: near.port)
            connection.write("GET /api/d/events?client=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try connection.read(until: ":\n\n")
            #expect(head.contains("200") && head.lowercased().contains("text/event-stream"), "\(head)")
            #expect(await far.door.onCore { $0.streams.count } == 1)
            far.door.handOver()
            #expect(connection.ends())
            do {
                let second = try Connection(to: near.port)
                second.write("GET /api/d/events?client=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = try second.read(until: ":\n\n")
            }
            // The client is gone.
            var open = 1
            for _ in 0..<400 where open > 0 {
                open = await far.door.onCore { $0.streams.count } ?? 0
                if open > 0 { try await Task.sleep(for: .milliseconds(10)) }
            }
            #expect(open == 0)
        }
    }

    @Test(
        "What can stand in no URL is encoded, and means the same",
        arguments: [
            ("/a/b?c=d&e=%20+", "/a/b?c=d&e=%20+"), ("/a|b", "/a%7Cb"), ("/%zz%4", "/%25zz%254"), ("/a#b", "/a%23b"),
            ("/café", "/caf%C3%A9"), ("/{a}[b]\"", "/%7Ba%7D%5Bb%5D%22"), ("//a/../b", "//a/../b"),
        ])
    func targets(_ target: String, _ encoded: String) {
        #expect(ForwardedTarget.encode(target) == encoded)
        #expect(ForwardedTarget.encode(encoded) == encoded)
        #expect(PercentCoding.levels(of: target.utf8) == PercentCoding.levels(of: encoded.utf8))
    }

    @Test("Whether a close may follow is known wherever the bytes are cut")
    func boundaries() {
        let head = Array("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n".utf8)
        func frame(_ opcode: UInt8, _ count: Int) -> [UInt8] {
            let length: [UInt8] = count < 126 ? [UInt8(count)] : [126, UInt8(count >> 8), UInt8(count & 255)]
            return [0x80 | opcode] + length + [UInt8](repeating: 0x88, count: count)
        }
        let parts = [head, frame(1, 0), frame(1, 5), frame(9, 25), frame(1, 130)]
        let ends = parts.indices.map { parts[...$0].joined().count }
        let bytes = Array(parts.joined())
        for cut in 0...bytes.count {
            var boundary = FrameBoundary()
            boundary.pass(bytes[..<cut])
            #expect(boundary.takesClose == ends.contains(cut), "\(cut)")
            boundary.pass(bytes[cut...])
            #expect(boundary.takesClose)
            boundary.pass(frame(8, 2))
            #expect(!boundary.takesClose)
        }
        var refused = FrameBoundary()
        refused.pass(Array("HTTP/1.1 401 Unauthorized\r\n\r\n".utf8))
        #expect(!refused.takesClose)
    }
}
