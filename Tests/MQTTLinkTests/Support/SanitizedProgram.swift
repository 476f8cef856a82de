import Foundation
import Testing

/// A C program of `Fuzz`, which takes in a source of the plugin, built with the sanitizers.
enum SanitizedProgram {
    /// Where PATH looks, which is beside Swift's own programs, too.
    private static let clang: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { $0 + "/clang" }.first { access($0, X_OK) == 0 }
    }()

    static var canBuild: Bool { clang != nil }

    /// Its exit code.
    static func run(_ source: String, _ arguments: [String]) throws -> Int32 {
        let clang = try #require(clang)
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let sources = tests.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources").path
        return try withFolder { scratch in
            let program = scratch + "/fuzz"
            let built = try runProgram(
                clang,
                [
                    "-std=c11", "-g", "-O1", "-Wno-everything", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                    "-fuse-ld=lld", "-I\(sources)/CLiveRing/include", "-I\(sources)/CBrokerPlugin",
                    tests.appendingPathComponent("Fuzz/" + source).path, "-o", program,
                ])
            try #require(built == 0)
            return try runProgram(program, arguments)
        }
    }
}
