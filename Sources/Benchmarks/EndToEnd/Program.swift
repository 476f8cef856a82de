import Foundation

/// A program under test, with what it cost.
final class Program {
    private let process = Process()
    private let output = Pipe()

    /// Starts it and waits for a line that contains this text, on either of its outputs.
    init(_ path: String, _ arguments: [String], until marker: String) throws {
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        var text = ""
        while !text.contains(marker) {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Failure.ended(text) }
            text += String(decoding: data, as: UTF8.self)
        }
        // Whatever it says from now on must not fill the pipe.
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    enum Failure: Error { case ended(String) }

    /// User and system time so far, in seconds; resident memory in bytes.
    func usage() -> (seconds: Double, resident: Int) {
        let stat = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 21 else { return (0, 0) }
        let ticks = (Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)
        return (ticks / 100, (Int(fields[21]) ?? 0) * 4096)
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        output.fileHandleForReading.readabilityHandler = nil
    }
}
