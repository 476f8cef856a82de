import Foundation
import Loopback
import MQTTLink
import Testing

/// A mosquitto on a free loopback port with a scratch folder of its own.
final class TestBroker {
    let port: Int
    let folder: String
    private let program: SpawnedProgram

    var url: String { "mqtt://127.0.0.1:\(port)" }

    init(lines: [String] = ["allow_anonymous true"]) throws {
        port = Loopback.freePort()
        folder = NSTemporaryDirectory() + "geomatch-cli-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let configuration = ["log_dest none", "persistence false", "listener \(port) 127.0.0.1"] + lines
        let file = folder + "/mosquitto.conf"
        try configuration.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/local/sbin"
        let executable = path.split(separator: ":").map { "\($0)/mosquitto" }.first(where: FileManager.default.isExecutableFile)
        program = try SpawnedProgram(#require(executable, "no mosquitto"), ["-c", file], environment: [:])
        let limit = Date(timeIntervalSinceNow: 20)
        while !Loopback.accepts(port: port) {
            try #require(Date() < limit, "mosquitto does not answer")
            usleep(5000)
        }
    }

    func end() {
        kill(program.processID, SIGKILL)
        _ = program.finish(input: "")
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// Runs `body` with a broker, and ends it.
func withBroker<Result>(lines: [String] = ["allow_anonymous true"], _ body: (TestBroker) throws -> Result) throws -> Result {
    let broker = try TestBroker(lines: lines)
    defer { broker.end() }
    return try body(broker)
}
