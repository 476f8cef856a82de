import Foundation
import Loopback
import SeededRandom
import Testing

@testable import MQTTLink

/// What the plugin does for mosquitto's sockets: `Sockets.c`.
@Suite("The sockets of the embedded broker", .serialized, .timeLimit(.minutes(5)))
struct SocketsTests {
    /// A connection with a subscription to `s/#` at QoS 0.
    private func subscriber(port: Int) throws -> RawConnection {
        let connection = RawConnection(port: port)
        // CONNECT of 3.1.1 with a clean session, its CONNACK; SUBSCRIBE, its SUBACK.
        connection.send([0x10, 13, 0, 4] + "MQTT".utf8 + [4, 2, 0, 60, 0, 1] + "s".utf8)
        try #require(connection.receive(4) == [0x20, 2, 0, 0])
        connection.send([0x82, 8, 0, 1, 0, 3] + "s/#".utf8 + [0])
        try #require(connection.receive(5) == [0x90, 3, 0, 1, 0])
        return connection
    }

    /// PUBLISH at QoS 0 on `s/1`.
    private func message(_ payload: String) -> [UInt8] {
        var length = 5 + payload.utf8.count
        var packet: [UInt8] = [0x30]
        repeat {
            packet.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
            length >>= 7
        } while length > 0
        return packet + [0, 3] + "s/1".utf8 + payload.utf8
    }

    /// Calls that read and that write, since the process began. Format: proc(5), /proc/pid/io.
    private func calls(of process: Int32?) throws -> Int {
        let process = try #require(process)
        let lines = try #require(BrokerFiles.read("/proc/\(process)/io")).split(separator: "\n")
        return lines.filter { $0.hasPrefix("syscr:") || $0.hasPrefix("syscw:") }.compactMap {
            Int($0.drop { $0 != " " }.dropFirst())
        }
        .reduce(0, +)
    }

    @Test("Messages that come together cost the broker fewer calls than messages")
    func fewCalls() throws {
        try withFolder { folder in
            try withEmbedded(in: folder) { broker, configuration in
                let connection = try subscriber(port: configuration.port)
                defer { connection.close() }
                let messages = Array((0..<1000).map { message("number \($0)") }.joined())
                let before = try calls(of: broker.processID)
                connection.send(messages)
                #expect(connection.receive(messages.count) == messages)
                // mosquitto itself: 4,000 to read them and 1,000 to write them.
                #expect(try calls(of: broker.processID) - before < 500)
            }
        }
    }

    @Test("Who reads nothing for a while gets everything in order, and others do not wait for it")
    func lateReader() throws {
        var random = SeededRandom.SplitMix64.forTest()
        let payloads = (0..<4000).map { number in
            "\(number) " + String(repeating: "p", count: Int.random(in: 0..<(number % 50 == 0 ? 60_000 : 2000), using: &random))
        }
        try withFolder { folder in
            try withEmbedded(in: folder) { broker, configuration in
                let late = try subscriber(port: configuration.port)
                defer { late.close() }
                let tcp = MQTTEndpoint(host: "127.0.0.1", port: configuration.port)
                try withLink(tcp, filters: [("s/#", 0)]) { prompt in
                    #expect(prompt.waitSubscribed())
                    try withLink(tcp) { sender in
                        #expect(sender.waitConnected())
                        for payload in payloads.dropLast() { sender.publish("s/1", payload, qos: 0) }
                        #expect(sender.publishAndWait("s/1", payloads[payloads.count - 1]) == 0)
                    }
                    #expect(prompt.wait { _, messages in messages.count == payloads.count })
                    #expect(prompt.received.map(\.payload) == payloads)
                }
                let expected = Array(payloads.map(message).joined())
                #expect(late.receive(expected.count) == expected)
            }
        }
    }

    @Test("Messages of all sizes come over TLS as they were sent")
    func encrypted() throws {
        var random = SeededRandom.SplitMix64.forTest()
        let payloads = (0..<1500).map { number in
            "\(number) " + String(repeating: "p", count: Int.random(in: 0..<(number % 30 == 0 ? 100_000 : 500), using: &random))
        }
        try withFolder { folder in
            try makeCertificates(folder)
            let port = Loopback.freePort()
            try withEmbedded(
                in: folder,
                change: {
                    $0.encryptedListener = .init(
                        host: "127.0.0.1", port: port, certificateFile: folder + "/server.crt", keyFile: folder + "/server.key")
                }
            ) { broker, _ in
                let endpoint = MQTTEndpoint(host: "127.0.0.1", port: port, tls: .init(caFile: folder + "/ca.crt"))
                try withLink(endpoint, filters: [("s/#", 0)]) { reader in
                    #expect(reader.waitSubscribed())
                    try withLink(endpoint) { sender in
                        #expect(sender.waitConnected())
                        for payload in payloads { sender.publish("s/1", payload, qos: 0) }
                        #expect(reader.wait { _, messages in messages.count == payloads.count })
                    }
                    #expect(reader.received.map(\.payload) == payloads)
                }
            }
        }
    }

    @Test("A small broker over random clients, with sanitizers", .enabled(if: SanitizedProgram.canBuild, "it needs clang"))
    func fuzzed() throws {
        var random = SeededRandom.SplitMix64.forTest()
        #expect(try SanitizedProgram.run("SocketsFuzz.c", ["\(random.next())", "20"]) == 0)
    }
}
