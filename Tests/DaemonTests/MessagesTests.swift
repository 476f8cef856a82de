import Logging
import Testing
import Wire

@testable import MQTTDoor
@testable import geomatchd

@Suite("What the daemon says of itself")
struct MessagesTests {
    @Test("The status names state, version, instance and start; an error only where there is one")
    func status() throws {
        let status = StatusMessage(version: "1.2", instance: "i\"d", startedAt: 1_700_000_000_000)
        let online = try JSONValue.parse(status.encode(isOnline: true)).asObject
        #expect(online?.keys == ["state", "version", "instance", "startedAt"])
        #expect(online?["state"] == "online" && online?["instance"] == "i\"d" && online?["startedAt"] == 1_700_000_000_000)
        let offline = try JSONValue.parse(status.encode(isOnline: false, error: "why")).asObject
        #expect(offline?["state"] == "offline" && offline?["error"] == "why")
    }

    private let hostile: Logger.Metadata = ["b": "two words", "a": "x=\"1\"\n{}\\", "c": "\u{1}é\u{7F}"]

    @Test("A text record is one line: time, level, message, then the metadata by name, quoted where needed")
    func text() {
        let handler = LineLogHandler(format: .text)
        let line = handler.line(at: "T", .warning, "lost\nit", hostile)
        #expect(line == "T warning lost\\nit a=\"x=\\\"1\\\"\\n{}\\\\\" b=\"two words\" c=\"\\u0001é\\u007f\"\n")
    }

    @Test("A JSON record is one line that parses, whatever was said")
    func json() throws {
        let handler = LineLogHandler(format: .json)
        let line = handler.line(at: "T", .error, "lost\r\n\"it\"", hostile)
        #expect(line.hasSuffix("}\n") && !line.dropLast().contains("\n"))
        let record = try JSONValue.parse(String(line.dropLast())).asObject
        #expect(record?["time"] == "T" && record?["level"] == "error" && record?["message"] == "lost\r\n\"it\"")
        #expect(record?["a"] == "x=\"1\"\n{}\\" && record?["c"] == "\u{1}é\u{7F}")
    }

    @Test("Numbers and truths are such in a JSON record, and a text that looks like one stays a text")
    func numbers() {
        let line = LineLogHandler(format: .json).line(
            at: "T", .info, "m",
            ["a": .stringConvertible(7), "b": .stringConvertible(true), "c": .stringConvertible(1.5), "d": "7", "e": "true"])
        #expect(line.hasSuffix(#""a":7,"b":true,"c":1.5,"d":"7","e":"true"}"# + "\n"))
    }

    @Test("Metadata never hides the members a JSON record begins with")
    func reservedNames() throws {
        let line = LineLogHandler(format: .json).line(
            at: "T", .info, "m", ["time": "1", "level": "2", "message": "3"])
        let record = try #require(try JSONValue.parse(String(line.dropLast())).asObject)
        #expect(record["time"] == "T" && record["level"] == "info" && record["message"] == "m")
    }

    @Test("What mosquitto calls an error, and its end, is a warning; the rest of its lines is for debugging")
    func brokerLines() {
        #expect(Daemon.level(ofBrokerLine: "Error: Unable to write") == .warning)
        // Each reload brings it.
        let unread = "Error: Unable to open config file /x/mosquitto.conf."
        #expect(Daemon.level(ofBrokerLine: unread) == .debug)
        #expect(!Daemon.text(ofBrokerLine: unread).contains("Error"))
        #expect(Daemon.level(ofBrokerLine: "mosquitto ended (signal 9); starting it again in 0.1 s") == .warning)
        for line in [
            "Unable to accept new connection, system socket count has been exceeded.", "Warning: Mosquitto should not be run",
            "Out of memory.",
        ] { #expect(Daemon.level(ofBrokerLine: line) == .warning) }
        #expect(Daemon.level(ofBrokerLine: "users: 1 added, 0 removed, 0 with another password") == .info)
        #expect(Daemon.level(ofBrokerLine: "mosquitto version 2.0.11 running") == .debug)
    }
}
