import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Writes SQLite's write-ahead log back into the database beside the commits, on a thread and a connection of its own.
///
/// SQLite's own way does all of it within one commit in so many, and whoever waits for that one waits ten times as long. Done beside them,
/// only what came meanwhile is left for a commit to write back, so that the log starts over.
///
/// `@unchecked Sendable`: `pages`, `triedAt` and `startsOverAt` belong to whoever has the writing connection; the rest is constant or atomic.
final class LogWriteBack: @unchecked Sendable {
    /// Pages of the log from which on it is written back again.
    private static let portion: Int32 = 1000
    /// Where the log is to start over (16 MB), and where commits wait until it can.
    private static let longMin: Int32 = 4000
    private static let longMax: Int32 = 16_000

    private let queue: DatabaseQueue
    private let work = DispatchSemaphore(value: 0)
    private let isBusy = Atomic(false)
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
            // In place of SQLite's own, which is told of the pages in the same way.
            _ = sqlite3_wal_hook(
                db.sqliteConnection,
                { this, _, _, pages in
                    if let this { Unmanaged<LogWriteBack>.fromOpaque(this).takeUnretainedValue().pages = pages }
                    return SQLITE_OK
                }, this)
        }
        let thread = Thread { [weak self, work] in
            #if os(Linux)
                // This thread's own: what a client waits for goes first.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
            #endif
            while true {
                work.wait()
                guard let self else { return }
                writeBack()
            }
        }
        thread.name = "journal-log"
        thread.start()
    }

    deinit { work.signal() }

    private func writeBack() {
        // Where it cannot be, a commit finds out.
        queue.inDatabase { db in _ = try? db.checkpoint(.passive) }
        isBusy.store(false, ordering: .releasing)
    }

    /// Something was committed: writes back what is due.
    func committed(_ db: Database) {
        if pages < triedAt { (triedAt, startsOverAt) = (0, Self.longMin) }
        if pages >= Self.longMax, pages >= startsOverAt {
            // It is written faster than it is written back.
            wait()
        } else if isBusy.load(ordering: .acquiring) {
            return
        }
        if pages - triedAt >= Self.portion, pages < Self.longMax {
            triedAt = pages
            isBusy.store(true, ordering: .relaxed)
            work.signal()
        } else if pages >= startsOverAt {
            // Somebody who reads for long may keep it from all being written back.
            (triedAt, startsOverAt) = (pages, pages + Self.portion)
            _ = try? db.checkpoint(.passive)
        }
    }

    /// Until nothing is being written back.
    func wait() { queue.inDatabase { _ in } }

    func close() throws { try queue.close() }
}
