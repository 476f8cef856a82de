import Datasets
import NIOCore
import Testing
import Wire

@testable import HTTPDoor

@Suite("Sockets that are sent the same")
struct SharedFramesTests {
    private let frames = SharedFrames(payloads: Array("{}123".utf8), ends: [(2, 7), (5, 8)])

    private func texts(_ buffer: ByteBuffer) -> [String] {
        var (buffer, texts) = (buffer, [String]())
        while let head = buffer.readInteger(as: UInt16.self) { texts.append(buffer.readString(length: Int(head & 0x7F)) ?? "") }
        return texts
    }

    @Test("Frames are encoded once for names of one length, and not copied for the same name")
    func encoding() {
        for (id, count) in [("page-1", 1), ("page-2", 1), ("page-1", 1), ("other", 2)] {
            let buffer = frames.encoded(under: StreamMessage.frameHead(path: "live/\(id)"))
            #expect(texts(buffer) == [#"{"topic":"live/\#(id)","payload":{}}"#, #"{"topic":"live/\#(id)","payload":123}"#])
            #expect(frames.encodingCount == count)
        }
        let head = StreamMessage.frameHead(path: "live/page-1")
        let places = (0..<2).map { _ in frames.encoded(under: head).withUnsafeReadableBytes { $0.baseAddress } }
        #expect(places[0] == places[1])
    }

    @Test("A reader that is slow is sent the newest of each live topic")
    func slow() {
        let stream = EventStream(dataset: "d", caller: Caller(client: "c"))
        guard case .waits(nil) = stream.append(frames, under: []) else { return #expect(Bool(false)) }
        stream.append(.message(StreamMessage(path: "x", payload: [UInt8](repeating: 0x20, count: 300 << 10))))
        guard case .isSlow = stream.append(frames, under: []) else { return #expect(Bool(false)) }
        let woken = EventStream(dataset: "d", caller: Caller(client: "c"))
        woken.onWaiting {}
        guard case .waits(.some) = woken.append(frames, under: []) else { return #expect(Bool(false)) }
        guard case .waits(nil) = woken.append(frames, under: []) else { return #expect(Bool(false)) }
        #expect(woken.take(bytes: .max).items.count == 2)
        woken.end(.gone)
        guard case .waits(nil) = woken.append(frames, under: []) else { return #expect(Bool(false)) }
        #expect(woken.take(bytes: .max).items.isEmpty)
    }

    @Test("Viewers of the same are sent the same, each under its own subscription, in one message for all", arguments: [0, 250])
    func viewers(interval: Int) async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let update = { (value: Int) in
                let lines = (0..<3).map {
                    #"{"topic":"d/-/-/-/-/p\#($0)/position","payload":{"latitude":43.5,"longitude":7.5,"v":\#(value)}}"#
                }
                let answer = try connection.ask("POST", "/api/d/live", "[\(lines.joined(separator: ","))]")
                #expect(answer.status == 200, "\(answer)")
            }
            try update(0)
            let ids = ["page-1", "page-2", "longer-1", "page-1"]
            let sockets = try ids.enumerated().map { index, id in
                let socket = try Socket(to: house.port, "/api/d/socket?client=c\(index)")
                socket.send(
                    #"{"request":"live/subscribe","id":"\#(id)","criteria":"d/#","within":{"bbox":[7,43,8,44]},"minInterval":\#(interval)}"#
                )
                #expect(try socket.next().json["result"]?.asObject?["snapshot"]?.asDouble == 3)
                for _ in 0..<3 { #expect(try socket.next().json["topic"]?.asString == "live/\(id)") }
                return socket
            }
            try await Task.sleep(for: .milliseconds(interval * 3))
            try update(1)
            for (socket, id) in zip(sockets, ids) {
                for device in 0..<3 {
                    let json = try socket.next().json
                    #expect(json["topic"]?.asString == "live/\(id)")
                    #expect(json["payload"]?.asObject?["itemId"]?.asString == "p\(device)")
                    #expect(json["payload"]?.asObject?["properties"]?.asObject?["v"]?.asDouble == 1)
                }
            }
            let routes = await house.door.onCore { door in door.audienceRoutes.values.map(\.sockets.count) }
            #expect(routes == [4])
            // One that goes is sent nothing more, and the others go on; a reply is behind what came before it.
            sockets[0].send(#"{"request":"live/unsubscribe","id":"page-1"}"#)
            #expect(try sockets[0].next().json["result"]?.asObject?["state"]?.asString == "deleted")
            try await Task.sleep(for: .milliseconds(interval * 3))
            try update(2)
            sockets[3].send(#"{"request":"dataset/get","requestId":"behind"}"#)
            for (socket, id) in zip(sockets, ids).dropFirst() {
                for _ in 0..<3 { #expect(try socket.next().json["topic"]?.asString == "live/\(id)") }
            }
            #expect(try sockets[3].next().json["requestId"]?.asString == "behind")
        }
    }
}
