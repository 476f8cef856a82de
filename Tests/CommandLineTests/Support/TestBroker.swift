import Foundation
import MQTTLink
import Testing

/// A mosquitto on a free loopback port with a scratch folder of its own.
final class TestBroker {
    let port: Int
    let folder: String
    private let program: SpawnedProgram

    var url: String { "mqtt://127.0.0.1:\(port)" }

    init(lines: [String] = ["allow_anonymous true"]) throws {
        port = Self.freePort()
        folder = NSTemporaryDirectory() + "geomatch-cli-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let configuration = ["log_dest none", "persistence false", "listener \(port) 127.0.0.1"] + lines
        let file = folder + "/mosquitto.conf"
        try configuration.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/local/sbin"
        let executable = path.split(separator: ":").map { "\($0)/mosquitto" }.first(where: FileManager.default.isExecutableFile)
        program = try SpawnedProgram(#require(executable, "no mosquitto"), ["-c", file], environment: [:])
        let limit = Date(timeIntervalSinceNow: 20)
        while !Self.accepts(port) {
            try #require(Date() < limit, "mosquitto does not answer")
            usleep(5000)
        }
    }

    func end() {
        kill(program.processID, SIGKILL)
        _ = program.finish(input: "")
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return address
    }

    static func freePort() -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, size)
                getsockname(descriptor, $0, &size)
            }
            return Int(UInt16(bigEndian: $0.pointee.sin_port))
        }
    }

    private static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

/// Runs `body` with a broker, and ends it.
func withBroker<Result>(lines: [String] = ["allow_anonymous true"], _ body: (TestBroker) throws -> Result) throws -> Result {
    let broker = try TestBroker(lines: lines)
    defer { broker.end() }
    return try body(broker)
}
