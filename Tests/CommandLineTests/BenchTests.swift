import Foundation
import Testing

@testable import geomatch

@Suite("bench")
struct BenchTests {
    @Test("What follows is handed on to the program that measures, whose words and exit code are the command's")
    func handsOn() throws {
        let executable = try CommandLineRun.executable()
        // Links, not copies: what was just written may not be run while another test's child still holds it.
        let folder = URL(fileURLWithPath: executable).deletingLastPathComponent().appendingPathComponent(
            "bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appendingPathComponent("geomatch").path
        try FileManager.default.linkItem(atPath: executable, toPath: program)
        func run(_ words: String...) throws -> Said {
            try SpawnedProgram(program, words, environment: [:]).finish(input: "")
        }
        let missing = try run("bench", "engine")
        #expect(missing.code == 69)
        #expect(missing.error.hasPrefix("geomatch: geomatch-bench is neither beside this program nor in the path"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.appendingPathComponent(BenchCommand.program).path, withDestinationPath: "/bin/sh")
        let said = try run("bench", "-c", "echo $0 $*; exit 3", "engine", "--devices", "5", "--help")
        #expect(said == Said(out: "engine --devices 5 --help\n", error: "", code: 3))
    }
}
