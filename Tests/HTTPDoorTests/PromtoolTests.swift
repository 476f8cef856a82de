import Foundation
import Testing

@testable import HTTPDoor

/// Prometheus's own judge, where Debian's package has brought it.
private let promtoolPath = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}

@Suite("What promtool says", .enabled(if: promtoolPath != nil, "promtool is in Debian's package prometheus"))
struct PromtoolTests {
    /// What it printed, and its exit code; nil: it did not end in time.
    private func promtool(_ arguments: [String], input: String = "") throws -> (code: Int32, text: String)? {
        let folder = NSTemporaryDirectory() + "promtool-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (read, written) = (folder + "/in", folder + "/out")
        try input.write(toFile: read, atomically: true, encoding: .utf8)
        _ = FileManager.default.createFile(atPath: written, contents: nil)
        let process = Process()
        process.executableURL = URL(filePath: try #require(promtoolPath))
        process.arguments = arguments
        process.standardInput = FileHandle(forReadingAtPath: read)
        let output = FileHandle(forWritingAtPath: written)
        process.standardOutput = output
        process.standardError = output
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        guard ended.wait(timeout: .now() + .seconds(9)) == .success else {
            process.terminate()
            return nil
        }
        return (process.terminationStatus, try String(contentsOfFile: written, encoding: .utf8))
    }

    @Test("The alert rules are good")
    func rules() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/prometheus/geomatch-alerts.yml").standardized.path
        let said = try #require(try promtool(["check", "rules", file]))
        #expect(said.code == 0 && said.text.contains("SUCCESS"), "\(said.text)")
    }

    @Test("The metrics page is good, with and without names of datasets", arguments: [true, false])
    func metrics(_ tellsDatasets: Bool) async throws {
        try await withHTTP({ $0.tellsDatasets = tellsDatasets }) { house in
            let connection = try Connection(to: house.port)
            let made = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#)
            #expect(made.status == 200, "\(made)")
            let page = try connection.ask("GET", "/metrics")
            let said = try #require(try promtool(["check", "metrics"], input: page.text))
            #expect(said.code == 0 && said.text.isEmpty, "\(said.text)")
        }
    }
}
