import Foundation
import Testing

@testable import HTTPDoor

@Suite("HTTP over TLS")
struct TLSTests {
    private static let programs = ["/usr/bin/curl", "/usr/bin/openssl"]
    private static let hasPrograms = programs.allSatisfy(FileManager.default.isExecutableFile)

    /// - Returns: What the program printed.
    private static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    private func withTLS(
        _ adjust: (inout HTTPDoorConfiguration) -> Void, _ body: (HTTPHouse) throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let arguments =
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
            + " -keyout \(folder)/key.pem -out \(folder)/certificate.pem"
        _ = try Self.run(Self.programs[1], arguments.split(separator: " ").map(String.init))
        let certificate = try HTTPCertificate(
            certificateFile: "\(folder)/certificate.pem", keyFile: "\(folder)/key.pem")
        try await withHTTP({
            $0.tls = certificate
            adjust(&$0)
        }) { try body($0) }
    }

    @Test("A connection too many is told so with 503 within its encryption", .enabled(if: hasPrograms), arguments: ["1.1", "2"])
    func refused(_ version: String) async throws {
        try await withTLS({ $0.limits.connections = 0 }) { house in
            let answer = try Self.run(
                Self.programs[0],
                ["-sk", "-m", "8", "--http\(version)", "-w", " %{http_code}", "https://localhost:\(house.port)/healthz"])
            #expect(answer.hasSuffix(" 503") && answer.contains("\"code\":503"), "\(answer)")
        }
    }
}
