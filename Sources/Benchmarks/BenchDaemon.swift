import Foundation

/// A daemon for one measurement, on its own broker and a data directory that is removed afterwards.
enum BenchDaemon {
    /// - Parameter configuration: Lines of a file for it.
    static func run(configuration: String = "", _ body: (_ port: Int, Program) throws -> Void) throws {
        try withFolder { folder, port in
            let programs = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            let file = folder + "/geomatchd.yaml"
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
            let daemon = try Program(
                programs.appendingPathComponent("geomatchd").path,
                [
                    "--config", file, "--listen", "127.0.0.1:\(port)", "--data-dir", folder, "--datasets", "bench", "--http",
                    "off",
                ], until: " online")
            defer { daemon.stop() }
            try body(port, daemon)
        }
    }

    /// A folder that is removed afterwards, and a port that is probably free.
    static func withFolder(_ body: (_ folder: String, _ port: Int) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("geomatch-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder, Int.random(in: 20_000...29_999))
    }
}
