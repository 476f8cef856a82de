import Foundation
import Testing

@testable import geomatch

@Suite("bench")
struct BenchTests {
    @Test("What follows is handed on to the program that measures, whose words and exit code are the command's")
    func handsOn() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("geomatch-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Beside a copy of the program, so that one that was built does not stand before it.
        let copy = folder.appendingPathComponent("geomatch").path
        try FileManager.default.copyItem(atPath: try CommandLineRun.executable(), toPath: copy)
        let stub = folder.appendingPathComponent(BenchCommand.program).path
        try "#!/bin/sh\necho \"$@\"\nexit 3\n".write(toFile: stub, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: stub)
        func run(_ words: String...) throws -> Said {
            try SpawnedProgram(copy, words, environment: [:]).finish(input: "")
        }
        #expect(
            try run("bench", "engine", "--devices", "5", "--help") == Said(out: "engine --devices 5 --help\n", error: "", code: 3)
        )
        #expect(try run("--dataset", "d", "bench").out == "--help\n")
        try FileManager.default.removeItem(atPath: stub)
        let missing = try run("bench", "engine")
        #expect(missing.code == 69)
        #expect(missing.error.hasPrefix("geomatch: geomatch-bench is neither beside this program nor in the path"))
    }
}
