import Foundation
import GRDB

/// The daemon's database as a file that is copied: nothing of its rows is read here.
enum StoreFile {
    static let name = "geomatch.sqlite"
    /// `application_id` of geomatch's databases.
    private static let mark = 0x6765_6F6D

    /// Copies the database at `source` as it is at one moment, while a daemon may go on writing.
    ///
    /// - Returns: The bytes of the copy.
    /// - Throws: `failed` with what is wrong; nothing is left at `target` then.
    static func copy(_ source: String, to target: String) throws(CommandFailure) -> Int {
        let partial = target + ".partial"
        do {
            let origin = try opened(source)
            try check(origin, source)
            try? FileManager.default.removeItem(atPath: partial)
            // Before SQLite makes it: the file says where people are.
            guard FileManager.default.createFile(atPath: partial, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw CommandFailure.failed("\(target) cannot be written: \(String(cString: strerror(errno)))")
            }
            let copy = try DatabaseQueue(path: partial)
            // All pages in one step: one snapshot of the log, which waits for no writer and which none restarts.
            try origin.backup(to: copy)
            // One file, without a log beside it.
            try copy.inDatabase { _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
            try copy.close()
            try synchronise(partial)
        } catch let failure as CommandFailure {
            try? FileManager.default.removeItem(atPath: partial)
            throw failure
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw .failed("\(source) cannot be copied: \(error)")
        }
        guard rename(partial, target) == 0 else {
            throw .failed("\(target) cannot be written: \(String(cString: strerror(errno)))")
        }
        return (try? FileManager.default.attributesOfItem(atPath: target)[.size] as? Int) ?? 0
    }

    private static func opened(_ path: String) throws -> DatabaseQueue {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CommandFailure.failed("there is no \(path)")
        }
        guard !isDirectory.boolValue else { throw CommandFailure.failed("\(path) is a directory") }
        guard try isDatabase(path) else { throw CommandFailure.failed("\(path) is no backup or store of geomatch") }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// By the first bytes, which SQLite writes into each database; an empty file is none.
    private static func isDatabase(_ path: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        return try file.read(upToCount: 15) == Data("SQLite format 3".utf8)
    }

    private static func check(_ queue: DatabaseQueue, _ path: String) throws {
        let found: (mark: Int?, check: String?) = try queue.inDatabase { db in
            let mark = try Int.fetchOne(db, sql: "PRAGMA application_id")
            return (mark, mark == Self.mark ? try String.fetchOne(db, sql: "PRAGMA quick_check(1)") : nil)
        }
        guard found.mark == mark else { throw CommandFailure.failed("\(path) is no database of geomatch") }
        guard found.check == "ok" else {
            throw CommandFailure.failed("\(path) is damaged: \(found.check ?? "it cannot be checked")")
        }
    }

    private static func synchronise(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.synchronize()
        try file.close()
    }

    /// Whether a process holds the lock of a data directory.
    static func isInUse(_ directory: String) -> Bool {
        let descriptor = open(directory + "/lock", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }
}
