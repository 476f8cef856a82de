import Foundation
import Testing

@testable import MQTTLink

@Suite("Brokers that know MQTT 3.1.1 only", .serialized, .timeLimit(.minutes(5)))
struct ProtocolFallbackTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var refusal: FakeBroker.Answer
    }

    @Test(
        "An unknown version is answered by falling back, however the broker says so",
        arguments: [
            Row(testDescription: "3.1.1 CONNACK 1", refusal: .bytes([0x20, 2, 0, 1])),
            Row(testDescription: "MQTT 5 CONNACK 0x84", refusal: .bytes([0x20, 3, 0, 0x84, 0])),
            Row(testDescription: "closed", refusal: .close),
        ])
    func fallsBack(_ row: Row) throws {
        let broker = FakeBroker { $0 == 5 ? row.refusal : .bytes([0x20, 2, 0, 0]) }
        defer { broker.end() }
        try withLink(MQTTEndpoint(host: "127.0.0.1", port: broker.port)) { link in
            #expect(link.wait(for: .connected(sessionPresent: false, version: 4)))
            #expect(broker.asked == [5, 4])
            #expect(!link.wasDisconnected)
        }
    }

    @Test("A broker that closes on both versions is reported as unreachable, and both are tried again")
    func closesOnBoth() throws {
        let broker = FakeBroker { _ in .close }
        defer { broker.end() }
        try withLink(MQTTEndpoint(host: "127.0.0.1", port: broker.port)) { link in
            #expect(link.wait { events, _ in events.count(where: \.isDisconnected) >= 2 })
            #expect(Array(broker.asked.prefix(4)) == [5, 4, 5, 4])
        }
    }

    @Test(
        "A refusal keeps its meaning in both numberings",
        arguments: [(UInt8(2), MQTTDisconnect.Refusal.identifierRejected), (3, .serverUnavailable), (4, .badCredentials)])
    func refusals(_ code: UInt8, _ refusal: MQTTDisconnect.Refusal) throws {
        let broker = FakeBroker { _ in .bytes([0x20, 2, 0, code]) }
        defer { broker.end() }
        try withLink(MQTTEndpoint(host: "127.0.0.1", port: broker.port), version: 4) { link in
            #expect(link.wait { events, _ in !events.isEmpty })
            #expect(link.noted.first == .disconnected(.refused(refusal, code: code, text: refusal.text(code: code))))
        }
    }

    @Test("While the socket takes nothing, nothing more is read than the bound allows")
    func backPressure() throws {
        // PUBLISH, QoS 0, topic "f", one byte.
        let broker = FakeBroker { _ in .flood([0x30, 4, 0, 1, 0x66, 0x78]) }
        defer { broker.end() }
        var configuration = MQTTLinkConfiguration(
            endpoint: MQTTEndpoint(host: "127.0.0.1", port: broker.port), clientID: "slow")
        configuration.protocolVersion = 4
        configuration.outgoingHighWater = 1000
        let answer = [UInt8](repeating: 1, count: 20_000)
        let link = try LinkRecorder(configuration) { link, _ in
            _ = link.publish(topic: "out", payload: answer)
        }
        #expect(link.wait { _, messages in messages.count > 1000 })
        // Twenty turns with nothing read and nothing lost: the queue stands above its bound by at most a batch.
        var queued = 0
        for _ in 0..<20 { queued = max(queued, link.ask { $0.queuedMessages } ?? 0) }
        #expect(queued <= 1000 + configuration.batchMaximum)
        #expect(eventually { link.ask { $0.queuedMessages } ?? 0 > 1000 })
        #expect(link.stop(drainSeconds: 0))
    }
}
