import Foundation

/// A program that runs beside the test: its lines can be waited for, and it is stopped by its own process number.
final class Program: @unchecked Sendable {
    let executable: String
    private let process = Process()
    /// Guards everything below.
    private let condition = NSCondition()
    private var written: [String] = []
    private var partial: [UInt8] = []
    private var status: Int32?
    /// Its output has ended: a child of its own may keep that open.
    private var isDrained = false

    /// - Parameter environment: Put over the test's own; an empty value removes.
    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil) throws {
        self.executable = executable
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        var all = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GEOMATCH_") }
        all["SWIFT_BACKTRACE"] = "enable=no"
        // Daemons of tests that run side by side would all want one port.
        all["GEOMATCH_HTTP"] = "off"
        for (name, value) in environment { all[name] = value.isEmpty ? nil : value }
        process.environment = all
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        process.terminationHandler = { [weak self] process in
            guard let self else { return }
            condition.withLock {
                self.status = process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
                self.condition.broadcast()
            }
        }
        try withNoSignalBlocked { try process.run() }
        let reading = pipe.fileHandleForReading
        Thread.detachNewThread { [weak self] in
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(reading.fileDescriptor, &chunk, chunk.count)
                guard count > 0, let self else { break }
                take(chunk[..<count])
            }
            withExtendedLifetime(reading) {}
            self?.drained()
        }
    }

    /// A child inherits what its parent's thread blocks, and the threads of the test run block SIGTERM.
    private func withNoSignalBlocked(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        try body()
    }

    var processID: Int32 { process.processIdentifier }
    var isRunning: Bool { condition.withLock { status == nil } }
    var lines: [String] { condition.withLock { written } }
    /// What stands behind the last whole line.
    var rest: String { condition.withLock { String(decoding: partial, as: UTF8.self) } }

    private func take(_ bytes: ArraySlice<UInt8>) {
        condition.withLock {
            partial += bytes
            while let end = partial.firstIndex(of: UInt8(ascii: "\n")) {
                written.append(String(decoding: partial[..<end], as: UTF8.self))
                partial.removeFirst(end + 1)
            }
            condition.broadcast()
        }
    }

    private func drained() {
        condition.withLock {
            isDrained = true
            condition.broadcast()
        }
    }

    /// Waits until so many lines hold this text; false after `seconds`, or when the program has ended without.
    func waitForLine(_ text: String, count: Int = 1, seconds: Double = 30) -> Bool {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while written.count(where: { $0.contains(text) }) < count {
                if isDrained || !condition.wait(until: limit) {
                    return written.count(where: { $0.contains(text) }) >= count
                }
            }
            return true
        }
    }

    func signal(_ number: Int32) { kill(processID, number) }

    /// The exit code, or 128 and the signal that ended it; nil where it still runs after `seconds`.
    func waitForExit(seconds: Double = 30) -> Int32? {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while status == nil { if !condition.wait(until: limit) { return status } }
            // What it wrote last is read by another thread.
            let patience = Date(timeIntervalSinceNow: 2)
            while !isDrained { if !condition.wait(until: patience) { break } }
            return status
        }
    }

    /// Ends it with this signal and waits until it is gone.
    @discardableResult
    func end(_ number: Int32 = SIGKILL, seconds: Double = 30) -> Int32? {
        if isRunning { signal(number) }
        return waitForExit(seconds: seconds)
    }

    /// Resident memory in bytes.
    var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(processID)/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}
