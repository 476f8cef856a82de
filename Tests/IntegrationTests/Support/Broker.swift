import Foundation
import Loopback
import MQTTLink
import Testing

/// A mosquitto that belongs to somebody else than the daemon.
final class Broker {
    let folder: String
    let port = Loopback.freePort()
    private let lines: String
    private var program: Program?

    /// - Parameter lines: Of the configuration, for its listener; by default everybody may do all and nothing is kept.
    init(folder: String, lines: String = "allow_anonymous true") {
        self.folder = folder
        self.lines = lines
    }

    var url: String { "mqtt://127.0.0.1:\(port)" }
    var endpoint: MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port) }
    func endpoint(user: String) -> MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port, username: user, password: user) }

    func start() throws {
        let text = """
            \(geteuid() == 0 ? "user root\n" : "")\
            log_dest none
            listener \(port) 127.0.0.1
            \(lines)

            """
        try text.write(toFile: folder + "/mosquitto.conf", atomically: true, encoding: .utf8)
        let program = try Program(Tool.path("mosquitto"), ["-c", folder + "/mosquitto.conf"])
        self.program = program
        try #require(eventually { Loopback.accepts(port: port) || !program.isRunning } && program.isRunning, "\(program.lines)")
    }

    func end(_ signal: Int32 = SIGKILL) {
        program?.end(signal)
        program = nil
    }
}

/// Runs `body` with a broker of its own.
func withBroker<Result>(lines: (String) throws -> String = { _ in "allow_anonymous true" }, _ body: (Broker) throws -> Result)
    throws -> Result
{
    try withFolder { folder in
        let broker = Broker(folder: folder, lines: try lines(folder))
        defer { broker.end() }
        try broker.start()
        return try body(broker)
    }
}

/// The programs of the mosquitto packages.
enum Tool {
    static func path(_ name: String) throws -> String {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init) + [
                "/usr/sbin", "/usr/local/sbin",
            ]
        return try #require(folders.map { $0 + "/" + name }.first { access($0, X_OK) == 0 }, "\(name) is not installed")
    }

    /// Whether file systems can be mounted here; tried in a namespace that is gone with it.
    static let canMount: Bool = {
        let program = try? Program("/usr/bin/env", ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        return program?.waitForExit() == 0
    }()

    /// A mosquitto password file in which each user's password is the user's name.
    static func passwordFile(_ users: [String], in folder: String) throws -> String {
        let file = folder + "/users"
        for (index, user) in users.enumerated() {
            let program = try Program(path("mosquitto_passwd"), (index == 0 ? ["-c"] : []) + ["-b", file, user, user])
            try #require(program.waitForExit() == 0, "\(program.lines)")
        }
        return file
    }
}
