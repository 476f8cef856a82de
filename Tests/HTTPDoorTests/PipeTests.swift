import Foundation
import NIOCore
import NIOPosix
import PlainHTTP
import Testing

@testable import HTTPDoor

@Suite("MQTT over a WebSocket")
struct PipeTests {
    /// Sends back what it gets.
    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
    }

    private func withBroker(asksWho: Bool = true, _ body: @Sendable (HTTPHouse) throws -> Void) async throws {
        let broker = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = broker.localAddress?.port ?? 0
        try await withHTTP({ $0.broker = BrokerAddress(host: "127.0.0.1", port: port, asksWho: asksWho) }) { try body($0) }
        try await broker.close()
    }

    @Test("A message as long as the broker takes passes in one frame")
    func long() async throws {
        try await withBroker { house in
            let socket = try Socket(to: house.port, "/mqtt", fields: ["Sec-WebSocket-Protocol": "mqtt"])
            socket.send([1], opcode: 2)
            #expect(try socket.next().bytes == [1])
            socket.send([UInt8](repeating: 7, count: 2 << 20), opcode: 2)
            var count = 0
            while count < 2 << 20 { count += try socket.next { $0.opcode == 2 }.bytes.count }
            #expect(count == 2 << 20)
        }
    }

    @Test("An origin with https over a plain connection is the same where host and port are: paho always says https")
    func origin() async throws {
        try await withBroker(asksWho: false) { house in
            let here = "localhost:\(house.port)"
            for (origin, path, status) in [
                ("https://\(here)", "/mqtt", 101), ("http://\(here)", "/mqtt", 101), ("https://localhost", "/mqtt", 403),
                ("https://localhost:\(house.port + 1)", "/mqtt", 403), ("https://evil.example:\(house.port)", "/mqtt", 403),
                ("https://\(here)", "/api/d/socket", 403),
            ] {
                let answer = try Socket.upgrade(
                    try Connection(to: house.port), path, host: here,
                    fields: ["Sec-WebSocket-Protocol": "mqtt", "Origin": origin])
                #expect(answer.status == status, "\(origin): \(answer)")
            }
        }
    }
}
