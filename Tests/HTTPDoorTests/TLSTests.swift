import Foundation
import Testing

@testable import HTTPDoor

@Suite("HTTP over TLS")
struct TLSTests {
    private static let programs = ["/usr/bin/curl", "/usr/bin/openssl"]
    private static let hasPrograms = programs.allSatisfy(FileManager.default.isExecutableFile)

    /// - Returns: What the program printed.
    private static func run(_ program: String, _ arguments: [String], input: Pipe? = nil) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = input ?? FileHandle.nullDevice
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

    @Test("A body that pauses for too long ends its request over HTTP/2, too", .enabled(if: hasPrograms))
    func pause() async throws {
        try await withTLS({
            $0.limits.patienceSeconds = 1
            $0.limits.idleSeconds = 2
        }) { house in
            let input = Pipe()
            input.fileHandleForWriting.write(Data(Self.brokenOffRequest))
            let arguments = "8 \(Self.programs[1]) s_client -quiet -alpn h2 -connect 127.0.0.1:\(house.port)"
            let answer = try Self.run("/usr/bin/timeout", arguments.split(separator: " ").map(String.init), input: input)
            input.fileHandleForWriting.closeFile()
            // RST_STREAM of stream 1 with CANCEL.
            #expect(answer.utf8.firstRange(of: [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]) != nil, "\(Array(answer.utf8))")
        }
    }

    /// The preface, settings, and a POST on stream 1 of whose body the first bytes come. Source: RFC 9113, sections 3.4 and 4.1; RFC 7541,
    /// section 6.2.2.
    private static let brokenOffRequest: [UInt8] = {
        func frame(_ type: UInt8, _ flags: UInt8, on stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        }
        func field(_ name: String, _ value: String) -> [UInt8] {
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        let head =
            field(":method", "POST") + field(":scheme", "https") + field(":path", "/api/d/device/get")
            + field(":authority", "localhost")
        return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, 0, on: 0, []) + frame(1, 4, on: 1, head)
            + frame(0, 0, on: 1, Array(#"{"id":"#.utf8))
    }()
}
