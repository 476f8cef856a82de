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
    private let program: SpawnedProgram

    /// The environment holds nothing but `environment`.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        program = try SpawnedProgram(Self.executable(), arguments, environment: environment)
    }

    /// The executable beside the tests.
    private static func executable() throws -> String {
        let places = [try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")] + CommandLine.arguments
        for place in places.compactMap({ $0 }) {
            let beside = URL(fileURLWithPath: place).deletingLastPathComponent().appendingPathComponent("geomatch").path
            if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        }
        return try #require(nil as String?, "geomatch is not beside \(places)")
    }

    /// Waits for a part of standard error, as a sign that the program has come so far; what it said until then.
    func waitForError(_ part: String) -> String { program.errors(until: part) }

    /// The same for standard output.
    func waitForOutput(_ part: String) -> String { program.output(until: part) }

    func interrupt(_ signal: Int32 = SIGINT) { kill(program.processID, signal) }

    /// Gives it `text` to read and waits for its end.
    func finish(input text: String = "") -> Said { program.finish(input: text) }
}

/// Runs `geomatch` to its end.
func geomatch(_ arguments: String..., input: String = "", environment: [String: String] = [:]) throws -> Said {
    try CommandLineRun(arguments, environment: environment).finish(input: input)
}
