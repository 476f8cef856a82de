import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Runs the server of a door until a graceful shutdown: requests under way have some seconds to be answered, streams are ended.
public struct HTTPService: Service {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// So long requests under way may go on at the end.
    private static let endSeconds: Int64 = 3

    private let door: HTTPDoor
    private let log: Logger
    private let listening: @Sendable (Int) -> Void

    /// - Parameter listening: Is called with the port once it is open.
    public init(_ door: HTTPDoor, log: Logger, listening: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.door = door
        self.log = log
        self.listening = listening
    }

    public func run() async throws {
        defer { door.close() }
        let configuration = door.configuration
        let connections = ConnectionChannel(door)
        // The server's own lines say less than ours.
        let quiet = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
        let loops = MultiThreadedEventLoopGroup.singleton
        let server = connections.server(
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: nil),
            onServerRunning: { channel in started(channel.localAddress?.port ?? configuration.port) },
            eventLoopGroup: loops, logger: quiet)
        do {
            try await withGracefulShutdownHandler {
                try await server.run()
            } onGracefulShutdown: {
                door.submit { $0.endStreams() }
                // The parts that end behind this one need the rest of the ten seconds that an end may take.
                loops.any().scheduleTask(in: .seconds(Self.endSeconds)) {
                    door.connections.closeAll()
                    // A reply that the disk holds back would reach nobody.
                    door.close()
                }
            }
        } catch let error as IOError {
            throw Failure(
                description:
                    "HTTP cannot listen on \(configuration.host):\(configuration.port): \(String(cString: strerror(error.errnoCode))); give another address or port with --http HOST:PORT, or --http off"
            )
        }
    }

    private func started(_ port: Int) {
        log.info("http", metadata: ["listen": "\(door.configuration.host):\(port)"])
        listening(port)
    }
}
