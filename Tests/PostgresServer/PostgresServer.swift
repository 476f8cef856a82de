import Foundation
import Loopback

/// A PostgreSQL server of the tests' own on a free port of this machine; it ends when the tests do, however that is.
///
/// `@unchecked Sendable`: `leash` is only touched by the test that started the server; a shared one is neither killed nor started again.
public final class PostgresServer: @unchecked Sendable {
    public struct Failure: Error {
        let reason: String
    }

    private let port = Loopback.freePort()
    private let folder: String
    private let programs: String
    /// The server refuses to be root's.
    private let user = getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""
    private let isMounted: Bool
    /// What holds the server; only one test at a time starts and ends it.
    private var leash: (process: Process, pipe: Pipe)?

    public var url: String { "postgres://postgres:secret@127.0.0.1:\(port)/postgres" }

    /// - Parameter megabytes: What its tables have room in; nil: as much as there is. Needs the right to mount.
    public init(megabytes: Int? = nil) throws {
        guard let programs = Self.newestPrograms() else { throw Failure(reason: "Debian's package postgresql is not installed") }
        self.programs = programs
        folder = NSTemporaryDirectory() + "/geomatch-postgres-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o777)
        isMounted = megabytes != nil
        if let megabytes {
            try Self.run(
                "mkdir \(folder)/data && mount -t tmpfs -o size=\(megabytes)m,mode=700 tmpfs \(folder)/data "
                    + "&& chown postgres:postgres \(folder)/data")
        }
        // Without room for its log it would end.
        try Self.run(
            "\(user) \(programs)/initdb -D \(folder)/data -X \(folder)/log-of-writes -U postgres -A trust -E UTF8 --locale=C --no-sync"
        )
        try start()
    }

    deinit {
        kill()
        if isMounted { try? Self.run("umount -l \(folder)/data") }
        try? FileManager.default.removeItem(atPath: folder)
    }

    public func start() throws {
        let options = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200 -p \(port)"
        // A server that nobody holds any more ends at once.
        leash = try Self.shell(
            """
            \(user) \(programs)/postgres -D \(folder)/data \(options) >\(folder)/log 2>&1 &
            cat >/dev/null
            kill -QUIT $!
            wait
            """)
        let deadline = Date.now + 60
        while !isReady() {
            guard Date.now < deadline else {
                throw Failure(reason: (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "no log")
            }
            usleep(20_000)
        }
    }

    private func isReady() -> Bool {
        guard let asked = try? Self.shell("\(programs)/pg_isready -q -h 127.0.0.1 -p \(port)") else { return false }
        asked.process.waitUntilExit()
        return asked.process.terminationStatus == 0
    }

    /// Ends it as a crash does: what was not committed is gone.
    public func kill() {
        guard let leash else { return }
        self.leash = nil
        try? leash.pipe.fileHandleForWriting.close()
        leash.process.waitUntilExit()
    }

    /// Whether it refuses whatever changes something, in sessions that stand, too.
    public func set(readOnly: Bool) throws {
        try run("ALTER SYSTEM SET default_transaction_read_only = \(readOnly ? "on" : "off")", "SELECT pg_reload_conf()")
    }

    /// Carries out statements as an administrator would, each by itself.
    public func run(_ statements: String...) throws {
        let commands = statements.map { "-c \"\($0)\"" }.joined(separator: " ")
        try Self.run("\(programs)/psql -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p \(port) -U postgres -d postgres \(commands)")
    }

    /// Takes all the room that its tables have left, and gives it back.
    public func set(full: Bool) throws {
        try Self.run(full ? "cat /dev/zero > \(folder)/data/filler; true" : "rm \(folder)/data/filler")
    }

    private static func run(_ script: String) throws {
        let process = try shell(script).process
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(reason: "`\(script.prefix(100))` ended with \(process.terminationStatus)")
        }
    }

    private static func shell(_ script: String) throws -> (process: Process, pipe: Pipe) {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "cd /; " + script]
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, pipe)
    }

    /// Debian keeps the programs of each version apart.
    private static func newestPrograms() -> String? {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.filter { $0 >= 15 }.max().map { "\(root)/\($0)/bin" }
    }
}
