import Foundation
import Loopback
import MQTTLink
import Testing

/// A `geomatchd` of a test, on a data directory of its own; it can be killed and started again.
final class Daemon {
    let folder: String
    let port: Int
    let arguments: [String]
    let environment: [String: String]
    private(set) var program: Program

    /// The binary beside the tests; `GEOMATCHD` names another.
    static let executable: String =
        ProcessInfo.processInfo.environment["GEOMATCHD"]
        ?? Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatchd").path

    /// Starts one with its own mosquitto on a free port, or at `broker`.
    init(folder: String, broker: String? = nil, port: Int? = nil, arguments: [String] = [], environment: [String: String] = [:])
        throws
    {
        self.folder = folder
        self.port = port ?? Loopback.freePort()
        let place = broker.map { ["--broker", $0] } ?? ["--listen", "127.0.0.1:\(self.port)"]
        self.arguments = place + ["--data-dir", folder + "/data"] + arguments
        self.environment = environment
        program = try Program(Self.executable, self.arguments, environment: environment, folder: folder)
    }

    var endpoint: MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port) }
    func endpoint(user: String) -> MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port, username: user, password: user) }
    var log: String { program.lines.joined(separator: "\n") }

    /// Waits for the n-th time it says that it is online.
    func waitOnline(times: Int = 1) throws {
        try #require(program.waitForLine(" online ", count: times), "not online:\n\(log)")
    }

    /// Starts it again; it must have ended.
    func restart() throws {
        try start()
        try waitOnline()
    }

    /// The same for one that may refuse to begin.
    func start() throws { program = try Program(Self.executable, arguments, environment: environment, folder: folder) }

    /// The process of its own mosquitto.
    var brokerProcessID: Int32? {
        let text = try? String(contentsOfFile: folder + "/data/embedded-broker/mosquitto.pid", encoding: .utf8)
        return text.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }.flatMap { process in
            let line = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
            return line.contains(folder) ? process : nil
        }
    }

    /// Whether a text is in the files of its store.
    func hasStored(_ text: String) -> Bool {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/data")) ?? []
        return files.contains { file in
            let bytes = FileManager.default.contents(atPath: folder + "/data/" + file)
            return bytes?.firstRange(of: Data(text.utf8)) != nil
        }
    }

    /// Kills it with all it may have left behind.
    func end() {
        program.end(SIGKILL)
        if let process = brokerProcessID {
            kill(process, SIGKILL)
            _ = eventually { brokerProcessID == nil }
        }
    }
}

/// Runs `body` with a daemon that is online, on its own mosquitto; in the end it must still run.
func withDaemon<Result>(
    arguments: [String] = [], environment: [String: String] = [:], _ body: (Daemon) throws -> Result
) throws -> Result {
    try withFolder { folder in
        let daemon = try Daemon.online(folder, arguments, environment)
        defer { daemon.end() }
        return try daemon.tellingLog { try body(daemon) }
    }
}

/// The same for a body that awaits.
func withDaemon<Result>(
    arguments: [String] = [], isolation: isolated (any Actor)? = #isolation, _ body: (Daemon) async throws -> Result
) async throws -> Result {
    let folder = try makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let daemon = try Daemon.online(folder, arguments, [:])
    defer { daemon.end() }
    do {
        let result = try await body(daemon)
        return try daemon.tellingLog { result }
    } catch {
        return try daemon.tellingLog { throw error }
    }
}

extension Daemon {
    fileprivate static func online(_ folder: String, _ arguments: [String], _ environment: [String: String]) throws -> Daemon {
        let daemon = try Daemon(folder: folder, arguments: ["--http", "off"] + arguments, environment: environment)
        do { try daemon.waitOnline() } catch {
            daemon.end()
            throw error
        }
        return daemon
    }

    fileprivate func tellingLog<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            #expect(program.isRunning, "the daemon ended:\n\(log)")
            return result
        } catch {
            print("the daemon's log:\n" + program.lines.suffix(40).joined(separator: "\n"))
            throw error
        }
    }
}
