import Foundation
import Testing

/// What a `geomatchd` said until its end.
struct Said: Equatable {
    var out: String
    var error: String
    /// A signal's number is told as the shell tells it: 128 and it.
    var code: Int32
}

/// Runs `geomatchd` to its end, in a folder of its own that is removed afterwards.
///
/// - Parameters:
///   - environment: All there is in its environment.
///   - files: Written into the folder it starts in, by name.
///   - left: Is told what stands in the folder at the end.
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
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addchdir_np(&actions, folder)
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT, 0o600)
    let words = ([executable] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { (words + variables).forEach { free($0) } }
    var child: pid_t = 0
    try #require(posix_spawn(&child, executable, &actions, nil, words, variables) == 0, "\(executable)")
    // A daemon that starts where it should have refused must not keep the tests.
    let processID = child
    let deadline = DispatchWorkItem { kill(processID, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: deadline)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    deadline.cancel()
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
}
