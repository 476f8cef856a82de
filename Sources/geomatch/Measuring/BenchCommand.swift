import ArgumentParser
import Foundation

/// `geomatch bench …`: the program that measures, which is installed where it is wanted.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure geomatch on this machine: runs geomatch-bench.",
        usage: "geomatch bench [MEASUREMENT …]",
        discussion: """
            What follows is handed on to geomatch-bench, which stands beside this program or in the path; without \
            a word it lists what it measures. Its exit code is that of the measurement.

            It is a program of its own, made by

              swift build -c release --product geomatch-bench

            Examples:
              geomatch bench
              geomatch bench engine --help
            """)

    static let program = "geomatch-bench"

    @Argument(parsing: .captureForPassthrough, help: "What to measure, and its options.")
    var arguments: [String] = []

    func run() throws {
        guard !["-h", "--help"].contains(arguments.first) else { throw CleanExit.helpRequest(self) }
        guard let path = Self.find(path: ProcessInfo.processInfo.environment["PATH"] ?? "") else {
            throw CommandFailure.unavailable(
                "\(Self.program) is neither beside this program nor in the path: swift build -c release --product \(Self.program)"
            )
        }
        let words = ([path] + (arguments.isEmpty ? ["--help"] : arguments)).map { strdup($0) } + [nil]
        // It takes our place: signals and the exit code are its own.
        execv(path, words)
        throw CommandFailure.unavailable("\(path) cannot be run: \(String(cString: strerror(errno)))")
    }

    /// Beside this program, or in one of the folders of the path.
    private static func find(path: String) -> String? {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folders =
            [own.map { ($0 as NSString).deletingLastPathComponent }].compactMap { $0 }
            + path.split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + program }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
