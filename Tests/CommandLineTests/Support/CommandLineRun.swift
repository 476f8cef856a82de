import Foundation
import Testing

/// What a program said.
struct Said: Equatable {
    var out: String
    var error: String
    var code: Int32
}

/// A running `geomatch`, as people start it.
final class CommandLineRun {
    private let process = Process()
    private let out = Pipe()
    private let errors = Pipe()
    private let input = Pipe()

    /// The environment holds nothing but `environment`.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = try Self.executable()
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = out
        process.standardError = errors
        process.standardInput = input
        try process.run()
    }

    /// The executable beside the tests.
    private static func executable() throws -> URL {
        let places = [try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")] + CommandLine.arguments
        for place in places.compactMap({ $0 }) {
            let beside = URL(fileURLWithPath: place).deletingLastPathComponent().appendingPathComponent("geomatch")
            if FileManager.default.isExecutableFile(atPath: beside.path) { return beside }
        }
        return try #require(nil as URL?, "geomatch is not beside \(places)")
    }

    /// Waits for a part of standard error, as a sign that the program has come so far.
    func waitForError(_ part: String) -> String {
        var text = ""
        while !text.contains(part) {
            let chunk = errors.fileHandleForReading.availableData
            if chunk.isEmpty { break }
            text += String(decoding: chunk, as: UTF8.self)
        }
        return text
    }

    func interrupt() { kill(process.processIdentifier, SIGINT) }

    /// Gives it `text` to read and waits for its end.
    func finish(input text: String = "") throws -> Said {
        // Reading both ends at once: a full pipe would stop the program.
        nonisolated(unsafe) var said = Said(out: "", error: "", code: 0)
        let group = DispatchGroup()
        let (out, errors, input) = (out.fileHandleForReading, errors.fileHandleForReading, input.fileHandleForWriting)
        DispatchQueue.global().async(group: group) { said.out = String(decoding: out.readDataToEndOfFile(), as: UTF8.self) }
        DispatchQueue.global().async(group: group) { said.error = String(decoding: errors.readDataToEndOfFile(), as: UTF8.self) }
        try input.write(contentsOf: Data(text.utf8))
        try input.close()
        process.waitUntilExit()
        group.wait()
        said.code = process.terminationStatus
        return said
    }
}

/// Runs `geomatch` to its end.
func geomatch(_ arguments: String..., input: String = "", environment: [String: String] = [:]) throws -> Said {
    try CommandLineRun(arguments, environment: environment).finish(input: input)
}
