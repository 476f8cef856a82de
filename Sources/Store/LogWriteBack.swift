import Foundation
import GRDB
import GRDBSQLite

/// Writes SQLite's write-ahead log back into the database beside the commits, on a thread and a connection of its own.
///
/// SQLite's own way does all of it within one commit in so many, and the caller of that commit waits ten times as long. Done beside them,
/// only what came meanwhile is left for a commit to write back, so that the log starts over.
///
/// Never two at once: before 3.51.3 SQLite may lose commits where one connection begins to write back what another has just finished. All
/// but the thread belongs to the owner of the writing connection.
final class LogWriteBack {
    /// Pages of the log from which on it is written back again.
    private static let portion: Int32 = 1000
    /// Where the log is to start over (16 MB), and where commits wait until it can.
    private static let longMin: Int32 = 4000
    private static let longMax: Int32 = 16_000

    private let queue: DatabaseQueue
    private let turns = Turns()
    /// Pages of the log, and how many there were when it was last written back.
    private var pages: Int32 = 0
    private var triedAt: Int32 = 0
    /// How many there may be before a commit writes them back again.
    private var startsOverAt = longMin

    /// - Parameter writer: The connection that commits.
    init(path: String, _ configuration: Configuration, besides writer: DatabaseQueue) throws {
        var configuration = configuration
        configuration.label = "geomatch.store.log"
        queue = try DatabaseQueue(path: path, configuration: configuration)
        let this = Unmanaged.passUnretained(self).toOpaque()
        writer.inDatabase { db in
            // In place of SQLite's own hook, which is given the pages in the same way.
            _ = sqlite3_wal_hook(
                db.sqliteConnection,
                { this, _, _, pages in
                    if let this { Unmanaged<LogWriteBack>.fromOpaque(this).takeUnretainedValue().pages = pages }
                    return SQLITE_OK
                }, this)
        }
        let thread = Thread { [queue, turns] in
            #if os(Linux)
                // This thread's own: what a client waits for goes first.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            #endif
            while turns.await() {
                // Where it cannot be, a commit finds out.
                queue.inDatabase { db in _ = try? db.checkpoint(.passive) }
                turns.isOver()
            }
        }
        thread.name = "journal-log"
        thread.start()
    }

    /// The thread, which has the connection, too, may be slower than who opens the file anew.
    deinit { try? close() }

    /// Something was committed: writes back what is due.
    func committed(_ db: Database) {
        if pages < triedAt { (triedAt, startsOverAt) = (0, Self.longMin) }
        if pages >= Self.longMax, pages >= startsOverAt {
            // It is written faster than it is written back.
            wait()
        } else if turns.isTaken {
            return
        }
        if pages - triedAt >= Self.portion, pages < Self.longMax {
            triedAt = pages
            turns.begin()
        } else if pages >= startsOverAt {
            // Somebody who reads for long may keep it from all being written back.
            (triedAt, startsOverAt) = (pages, pages + Self.portion)
            _ = try? db.checkpoint(.passive)
        }
    }

    /// Until nothing is being written back, or about to be.
    func wait() { turns.wait() }

    /// How often the thread wrote it back.
    var count: Int { turns.count }

    func close() throws {
        turns.close()
        try queue.close()
    }

    /// What the thread and the commits say to each other.
    ///
    /// `@unchecked Sendable`: all is only touched while `condition` is locked.
    private final class Turns: @unchecked Sendable {
        private let condition = NSCondition()
        private var isDue = false
        private var isClosed = false
        private var overs = 0

        func begin() { changing { isDue = true } }
        func wait() { changing { while isDue { condition.wait() } } }
        var isTaken: Bool { changing { isDue } }
        var count: Int { changing { overs } }

        /// What is due is still done.
        func close() {
            changing {
                while isDue { condition.wait() }
                isClosed = true
            }
        }

        /// - Returns: false when the thread is to end.
        func await() -> Bool {
            changing {
                while !isDue, !isClosed { condition.wait() }
                return isDue
            }
        }

        func isOver() {
            changing {
                isDue = false
                overs += 1
            }
        }

        private func changing<Value>(_ body: () -> Value) -> Value {
            condition.lock()
            defer {
                condition.broadcast()
                condition.unlock()
            }
            return body()
        }
    }
}
