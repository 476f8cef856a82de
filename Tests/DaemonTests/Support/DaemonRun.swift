import Foundation
import Testing

/// What a `geomatchd` said until its end.
struct Said: Equatable {
    var out: String
    var error: String
    /// A signal's number is reported as the shell does: 128 and it.
    var code: Int32
}

/// Runs `geomatchd` to its end, in a folder of its own that is removed afterwards.
///
/// - Parameters:
///   - environment: All there is in its environment.
///   - files: Written into the folder it starts in, by name.
///   - left: Is called with what is in the folder at the end.
func geomatchd(
    _ arguments: [String], environment: [String: String] = [:], files: [String: String] = [:], left: ([String]) -> Void = { _ in }
) throws -> Said {
    let folder = NSTemporaryDirectory() + "geomatchd-\(UUID().uuidString)"
    let places = ["work", "said"].map { folder + "/" + $0 }
    for place in places { try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true) }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: places[0] + "/" + name)) }
    let code = try run(
        daemonExecutable(), arguments, environment: environment, in: places[0], out: places[1] + "/out",
        errors: places[1] + "/error")
    left(try FileManager.default.contentsOfDirectory(atPath: places[0]).sorted())
    func said(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: places[1] + "/" + name)), as: UTF8.self)
    }
    return Said(out: try said("out"), error: try said("error"), code: code)
}

/// The executable beside the tests.
private func daemonExecutable() throws -> String {
    let places = [try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")] + CommandLine.arguments
    for place in places.compactMap({ $0 }) {
        let beside = URL(fileURLWithPath: place).deletingLastPathComponent().appendingPathComponent("geomatchd").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
    }
    return try #require(nil as String?, "geomatchd is not beside \(places)")
}

/// Its output goes to files: pipes would be inherited by children that are started at the same time.
private func run(
    _ executable: String, _ arguments: [String], environment: [String: String], in folder: String, out: String, errors: String
) throws -> Int32 {
    let program = Process()
    program.executableURL = URL(fileURLWithPath: executable)
    program.arguments = arguments
    program.environment = environment
    program.currentDirectoryURL = URL(fileURLWithPath: folder)
    program.standardInput = FileHandle.nullDevice
    for place in [out, errors] { try Data().write(to: URL(fileURLWithPath: place)) }
    program.standardOutput = FileHandle(forWritingAtPath: out)
    program.standardError = FileHandle(forWritingAtPath: errors)
    try program.run()
    // A daemon that starts where it should have refused must not keep the tests.
    let deadline = DispatchWorkItem { [id = program.processIdentifier] in kill(id, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: deadline)
    program.waitUntilExit()
    deadline.cancel()
    return program.terminationReason == .exit ? program.terminationStatus : 128 + program.terminationStatus
}
