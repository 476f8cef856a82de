import Foundation
import GRDB
import Glibc

/// What is looked at on this machine.
enum LocalChecks {
    /// Bytes that must be free.
    private static let freeMinimum: UInt64 = 256 << 20

    /// - Parameter latest: The latest instant that the daemon has published; milliseconds since 1970 UTC.
    static func clock(latest: Int64, now: Int64) -> Finding {
        if latest > now + 5000 {
            return Finding(
                "clock", "the daemon's clock is at least \((latest - now) / 1000) s ahead of this machine's",
                advice: "turn on NTP on both (timedatectl set-ntp true)")
        }
        return Finding("clock", "this machine's clock is not behind the daemon's")
    }

    /// The store and the disk below a data directory.
    static func store(in directory: String) -> [Finding] {
        let path = directory + "/" + StoreFile.name
        var status = stat()
        guard stat(path, &status) == 0 else {
            return [
                Finding(
                    "store", "\(path): \(String(cString: strerror(errno)))",
                    advice: "name the daemon's data directory, as a user who may read it")
            ]
        }
        var log = stat()
        let bytes = status.st_size + (stat(path + "-wal", &log) == 0 ? log.st_size : 0)
        var findings = [Finding("store", "\(path) has \(bytes) bytes with its log"), integrity(of: path)]
        if !StoreFile.isInUse(directory) {
            findings.append(
                Finding("store", "no daemon uses \(directory)", advice: "start geomatchd with --data-dir \(directory)"))
        }
        var volume = statvfs()
        if statvfs(directory, &volume) == 0 {
            let free = UInt64(volume.f_bavail) * UInt64(volume.f_frsize)
            let needed = max(freeMinimum, UInt64(status.st_size) / 10)
            findings.append(
                free >= needed
                    ? Finding("disk", "\(free >> 20) MiB are free")
                    : Finding(
                        "disk", "\(free >> 20) MiB are free",
                        advice: "make room: with a full disk requests are answered `internal`"))
        }
        return findings
    }

    /// Whether pages, indexes and fields are what SQLite wrote.
    private static func integrity(of path: String) -> Finding {
        var configuration = Configuration()
        configuration.readonly = true
        let advice = "stop geomatchd and restore a backup: geomatch restore"
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let faults = try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check(3)") }
            if faults == ["ok"] { return Finding("store", "its pages and indexes are whole") }
            return Finding("store", "damaged: \(faults.joined(separator: "; "))", advice: advice)
        } catch {
            return Finding("store", "it cannot be checked: \(error)", advice: advice)
        }
    }
}
