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

    @Test("A connection too many is refused with 503 within its encryption", .enabled(if: hasPrograms), arguments: ["1.1", "2"])
    func refused(_ version: String) async throws {
        try await withTLS({ $0.limits.connections = 0 }) { house in
            let answer = try Self.run(
                Self.programs[0],
                ["-sk", "-m", "8", "--http\(version)", "-w", " %{http_code}", "https://localhost:\(house.port)/healthz"])
            #expect(answer.hasSuffix(" 503") && answer.contains("\"code\":503"), "\(answer)")
        }
    }

    @Test("Headers above 16 KiB are 431 over HTTP/2, and the connection goes on", .enabled(if: hasPrograms))
    func largeHeads() async throws {
        try await withTLS({ _ in }) { house in
            func asking(_ head: [String]) -> [String] {
                ["-sk", "-m", "8", "--http2", "-w", " %{http_code}/%{num_connects}\n", "https://localhost:\(house.port)/healthz"]
                    + head.flatMap { ["-H", $0] }
            }
            let heads = [15 << 10, 17 << 10, 60_000].map { ["X-Long: " + String(repeating: "~", count: $0)] }
            let all = heads + [(0..<120).map { "X-\($0): a" }, []]
            let lines = try Self.run(Self.programs[0], Array(all.map(asking).joined(separator: ["--next"])))
                .split(separator: "\n").map(String.init)
            #expect(
                lines.map { $0.split(separator: " ").last ?? "" } == ["200/1", "431/0", "431/0", "431/0", "200/0"], "\(lines)")
            #expect(lines.dropFirst().first?.contains(#""error":"tooLarge""#) == true, "\(lines)")
            // The first request of a connection comes before its client has acknowledged anything.
            let first = try Self.run(Self.programs[0], asking(heads[1]))
            #expect(first.hasSuffix(" 431/1\n"), "\(first)")
        }
    }

    @Test(
        "Over HTTP/2 a plain request of a socket's path closed the connection with all its streams", .enabled(if: hasPrograms),
        arguments: ["/api/d/socket", "/pusher/v5/ws/phone?dataset=d"])
    func socketPaths(_ path: String) async throws {
        try await withTLS({ _ in }) { house in
            func asking(_ method: String, _ path: String, _ more: [String] = []) -> [String] {
                [
                    "-sk", "-m", "8", "--http2", "-X", method, "-w", " %{http_code}/%{num_connects}\n",
                    "https://localhost:\(house.port)\(path)",
                ]
                    + more
            }
            let create = asking("POST", "/api/d/device/create?client=me", ["-d", #"{"deviceType":"MobileDevice","id":"phone"}"#])
            let all = [create, asking("GET", path), asking("GET", "/healthz")]
            let lines = try Self.run(Self.programs[0], Array(all.joined(separator: ["--next"])))
                .split(separator: "\n").map(String.init)
            #expect(lines.map { $0.split(separator: " ").last ?? "" } == ["200/1", "426/0", "200/0"], "\(lines)")
        }
    }

    @Test(
        "Over HTTP/2 the head of a request could take for ever", .enabled(if: hasPrograms),
        arguments: [
            // A part of the preface, of a frame's head, and a head without its end.
            "PRI * HT", preface + "\0\0", preface + "\0\0\u{1}\u{1}\0\0\0\0\u{1}\u{2}",
        ])
    func slowHeads(_ sent: String) async throws {
        try await withTLS({
            $0.limits.patienceSeconds = 1
            $0.limits.idleSeconds = 600
        }) { house in
            try expectEnd(behind: sent, at: house.port)
        }
    }

    @Test("Over HTTP/2 a connection without requests was never closed", .enabled(if: hasPrograms), arguments: ["", preface])
    func idle(_ sent: String) async throws {
        try await withTLS({
            $0.limits.patienceSeconds = 600
            $0.limits.idleSeconds = 1
        }) { house in
            try expectEnd(behind: sent, at: house.port)
        }
    }

    /// The other side closes a connection on which this came, and nothing else.
    private func expectEnd(behind sent: String, at port: Int) throws {
        let client = Process()
        client.executableURL = URL(fileURLWithPath: Self.programs[1])
        client.arguments = ["s_client", "-quiet", "-alpn", "h2", "-connect", "localhost:\(port)"]
        let input = Pipe()
        client.standardInput = input
        client.standardOutput = FileHandle.nullDevice
        client.standardError = FileHandle.nullDevice
        let hasEnded = DispatchSemaphore(value: 0)
        client.terminationHandler = { _ in hasEnded.signal() }
        try client.run()
        try input.fileHandleForWriting.write(contentsOf: Data(sent.utf8))
        #expect(hasEnded.wait(timeout: .now() + 60) == .success)
        if client.isRunning { client.terminate() }
    }

    /// With empty settings.
    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"
}
