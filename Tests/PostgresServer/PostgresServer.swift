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
    /// What holds the server; only one test at a time starts and ends it.
    private var leash: (process: Process, pipe: Pipe)?

    public var url: String { "postgres://postgres:secret@127.0.0.1:\(port)/postgres" }

    public init() throws {
        guard let programs = Self.newestPrograms() else { throw Failure(reason: "Debian's package postgresql is not installed") }
        self.programs = programs
        folder = NSTemporaryDirectory() + "/geomatch-postgres-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o777)
        let made = try Self.shell(
            "\(user) \(programs)/initdb -D \(folder)/data -U postgres -A trust -E UTF8 --locale=C --no-sync")
        made.process.waitUntilExit()
        guard made.process.terminationStatus == 0 else {
            throw Failure(reason: "initdb ended with \(made.process.terminationStatus)")
        }
        try start()
    }

    deinit {
        kill()
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
        let psql = "\(programs)/psql -q -h 127.0.0.1 -p \(port) -U postgres -d postgres"
        let setting = "ALTER SYSTEM SET default_transaction_read_only = \(readOnly ? "on" : "off")"
        let set = try Self.shell(#"\#(psql) -c "\#(setting)" -c "SELECT pg_reload_conf()""#)
        set.process.waitUntilExit()
        guard set.process.terminationStatus == 0 else {
            throw Failure(reason: "psql ended with \(set.process.terminationStatus)")
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
