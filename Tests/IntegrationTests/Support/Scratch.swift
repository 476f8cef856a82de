import Foundation
import Testing

/// Runs `body` with a scratch folder that is removed afterwards.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = try makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}

/// A scratch folder, for the caller to remove.
func makeFolder() throws -> String {
    let template = try #require(strdup("/tmp/geomatch-test-XXXXXX"))
    defer { free(template) }
    try #require(mkdtemp(template) != nil)
    return String(cString: template)
}

/// True as soon as `isReached` holds; false after `seconds`. For what nobody tells: files, ports, other processes.
func eventually(seconds: Double = 20, _ isReached: () throws -> Bool) rethrows -> Bool {
    let limit = Date(timeIntervalSinceNow: seconds)
    while Date() < limit {
        if try isReached() { return true }
        usleep(10_000)
    }
    return try isReached()
}
