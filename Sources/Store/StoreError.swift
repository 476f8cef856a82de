import GRDB
import Records

/// Why the store could not do what was asked. What failed changed nothing: every write is one transaction.
///
/// The descriptions are for operators and hold no stored values.
public enum StoreError: Error, Equatable, Sendable {
    /// No space is left, or the disk refused a write.
    case full
    /// Permissions, a read-only file system, or a folder that is gone; the text is SQLite's.
    case unwritable(String)
    /// The way to the store is broken: what was under way may have been kept, and written again it comes to the same. The text is the database's.
    case unreachable(String)
    /// The file is not a database, or is damaged. It was not touched.
    case corrupt
    /// The file is not what it was when it was closed. It was not touched.
    case changed
    /// The file was written by a newer version of geomatch. It was not touched.
    case newerVersion
    /// Another process holds the database.
    case busy
    /// Another daemon of the cluster has this part of the store by now: nothing is written any more.
    case fenced
    /// Anything else, in SQLite's words.
    case other(String)
}

extension StoreError {
    package var isUnreachable: Bool { if case .unreachable = self { true } else { false } }
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .full: "the disk is full or refuses to be written; what waits is written as soon as there is space"
        case .unwritable(let reason): "the store cannot be written: \(reason)"
        case .unreachable(let reason): "the store cannot be reached: \(reason); what waits is written as soon as it can"
        case .corrupt:
            "the store is damaged or is not a geomatch store; it was left as it is: restore a copy, or choose another --data-dir"
        case .changed:
            "the store is not as it was closed: the disk or another program changed it; it was left as it is: restore a backup, or, "
                + "if it was changed on purpose, remove geomatch.sqlite.digest"
        case .newerVersion: "the store was written by a newer geomatch; run that version, or choose another --data-dir"
        case .busy: "the store is locked by another process"
        case .fenced: "another daemon of the cluster serves these datasets by now; nothing was written"
        case .other(let reason): "the store failed: \(reason)"
        }
    }
}

extension StoreError {
    /// The one place where SQLite's codes become ours.
    init(_ error: any Error) {
        if let known = error as? StoreError {
            self = known
        } else if let failure = error as? DatabaseError {
            self.init(code: failure.extendedResultCode, message: failure.message ?? "no message")
        } else if error is MalformedRow {
            self = .corrupt
        } else {
            self = .other(String(describing: type(of: error)))
        }
    }

    private init(code: ResultCode, message: String) {
        // A pattern of a primary code covers its extended codes, so the extended ones come first.
        switch code {
        case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC, .SQLITE_IOERR_TRUNCATE, .SQLITE_IOERR_SHMSIZE,
            .SQLITE_FULL:
            self = .full
        case .SQLITE_IOERR_DATA, .SQLITE_IOERR_CORRUPTFS, .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self = .corrupt
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN, .SQLITE_AUTH, .SQLITE_IOERR_ACCESS, .SQLITE_IOERR_SHMOPEN:
            self = .unwritable(message)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            self = .busy
        default:
            self = .other("\(message) (SQLite \(code.rawValue))")
        }
    }
}
