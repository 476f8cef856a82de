import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An HTTP server on a free port that answers each post as configured, for tests and measurements.
public final class WebhookReceiver: Sendable {
    public struct Post: Sendable {
        public var method: String
        /// Path and query as they were sent.
        public var target: String
        public var headers: [(name: String, value: String)]
        public var body: [UInt8]

        /// The first header of a name, in any case.
        public subscript(name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    public enum Reply: Sendable {
        case status(Int, headers: [(String, String)] = [], body: String = "")
        /// Nothing is ever answered.
        case silence
        /// The head, and then a body without an end, a byte now and then.
        case dribble(Int)
        /// The head, and then a body without an end, as fast as it is read.
        case flood(Int)
        /// The connection is closed.
        case hangUp
    }

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    /// Where it listens.
    public let port: Int

    /// - Parameters:
    ///   - tls: For `https`.
    ///   - reply: Called on the server's thread.
    public init(
        host: String = "127.0.0.1", port: Int = 0, tls: TLSConfiguration? = nil,
        reply: @escaping @Sendable (Post) -> Reply
    ) throws {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        channel = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Conversation(reply: reply))
                }
            }
            .bind(host: host, port: port).wait()
        self.port = channel.localAddress?.port ?? 0
    }

    /// Closes the port and every connection.
    public func stop() {
        try? channel.close().wait()
        try? group.syncShutdownGracefully()
    }
}
