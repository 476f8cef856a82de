import Foundation
import Loopback
import Testing

@testable import GeomatchClient
@testable import MQTTLink

/// A mosquitto of a test: on a free loopback port, in a scratch folder of its own, to be killed and started again.
final class TestBroker {
    let folder: String
    let port: Int
    private let lines: String
    private var child: ChildProcess?

    var endpoint: MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port) }

    init(folder: String, lines: String) {
        self.folder = folder
        self.lines = lines
        port = Loopback.freePort()
    }

    func start() throws {
        let text = """
            \(geteuid() == 0 ? "user root" : "")
            log_dest none
            persistence false
            listener \(port) 127.0.0.1
            \(lines)

            """
        try BrokerFiles.write(text, to: folder + "/test.conf")
        child = try ChildProcess(executable: try BrokerExecutable.find(nil), arguments: ["-c", folder + "/test.conf"])
        let place = ListenAddress(host: "127.0.0.1", port: port)
        let limit = Date(timeIntervalSinceNow: 20)
        while !place.accepts {
            try #require(Date() < limit, "mosquitto does not answer")
            usleep(5000)
        }
    }

    /// Kills it and waits until it is gone.
    func kill() {
        guard let child else { return }
        Foundation.kill(child.processID, SIGKILL)
        var status: Int32 = 0
        waitpid(child.processID, &status, 0)
        child.closeFiles()
        self.child = nil
    }

    /// A configuration that reconnects quickly.
    func configuration(client: String = "app", user: String? = nil) -> GeomatchConfiguration {
        var configuration = GeomatchConfiguration(
            broker: "mqtt://\(user.map { $0 + "@" } ?? "")127.0.0.1:\(port)", dataset: "museum", client: client)
        configuration.backoff = (0.05, 0.2)
        return configuration
    }
}

/// Runs `body` with a scratch folder that is removed afterwards.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = NSTemporaryDirectory() + "geomatch-client-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// Runs `body` with a broker, and ends it.
func withBroker<Result>(
    lines: String = "allow_anonymous true", _ body: (TestBroker) async throws -> Result
) async throws -> Result {
    try await withFolder { folder in
        let broker = TestBroker(folder: folder, lines: lines)
        try broker.start()
        defer { broker.kill() }
        return try await body(broker)
    }
}

/// Runs `body` with a broker and a fake daemon, and ends both.
func withDaemon<Result>(_ body: (TestBroker, FakeDaemon) async throws -> Result) async throws -> Result {
    try await withBroker { broker in
        let daemon = try FakeDaemon(broker)
        defer { daemon.end() }
        await daemon.isReady()
        return try await body(broker, daemon)
    }
}
