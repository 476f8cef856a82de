import Foundation
import Loopback
import SeededRandom
import Testing

@testable import MQTTLink

@Suite("The plugin in the embedded broker", .serialized, .timeLimit(.minutes(5)))
struct BrokerPluginTests {
    private func withPlugin(_ body: (EmbeddedBroker, EmbeddedBrokerConfiguration) throws -> Void) throws {
        try withFolder { folder in try withEmbedded(in: folder, body) }
    }

    @Test(
        "Messages in batches arrive as they were published: each once, in order, whatever their size, and before what came later")
    func batches() throws {
        var random = SeededRandom.SplitMix64.forTest()
        // Longer than a batch now and then.
        let payloads = (0..<600).map { number in
            "\(number) "
                + String(
                    repeating: "ä",
                    count: Int.random(in: 0..<20, using: &random) == 0 ? 40_000 : Int.random(in: 0..<900, using: &random))
        }
        try withPlugin { broker, configuration in
            let tcp = MQTTEndpoint(host: "127.0.0.1", port: configuration.port)
            try withLink(tcp, filters: [("b/#", 1)]) { reader in
                #expect(reader.waitSubscribed())
                try withLink(broker.endpoint, change: { $0.brokerTakesBatches = true }) { link in
                    #expect(link.waitConnected())
                    link.order { link in
                        for (number, payload) in payloads.enumerated() {
                            _ = link.publish(topic: "b/\(number % 7)/é", payload: payload.utf8)
                        }
                        _ = link.publish(topic: "b/end", payload: "end".utf8, qos: 1)
                    }
                    #expect(reader.wait { _, messages in messages.last?.payload == "end" })
                    #expect(reader.received.map(\.payload) == payloads + ["end"])
                    let topics = payloads.indices.map { "b/\($0 % 7)/é" } + ["b/end"]
                    #expect(reader.received.map(\.topic) == topics)
                    #expect(!reader.received.contains { $0.retain })
                    #expect(link.ask { $0.queuedMessages } == 0)
                }
            }
        }
    }

    @Test("A retained message in a batch is kept, and an empty one clears it")
    func retained() throws {
        try withPlugin { broker, _ in
            try withLink(broker.endpoint, change: { $0.brokerTakesBatches = true }) { link in
                #expect(link.waitConnected())
                link.order { link in
                    for number in 0..<3 { _ = link.publish(topic: "r/\(number)", payload: "\(number)".utf8, retain: true) }
                    _ = link.publish(topic: "r/1", payload: [], retain: true)
                }
                #expect(link.publishAndWait("r/later", "later", retain: true) == 0)
                try withLink(broker.endpoint, filters: [("r/#", 0)]) { reader in
                    #expect(reader.wait { _, messages in messages.count == 3 })
                    #expect(Set(reader.received.map(\.payload)) == ["0", "2", "later"])
                    #expect(reader.received.allSatisfy { $0.retain })
                }
            }
        }
    }

    @Test("A topic that cannot be published is left out alone")
    func invalidTopics() throws {
        try withPlugin { broker, _ in
            try withLink(broker.endpoint, filters: [("i/#", 0)], change: { $0.brokerTakesBatches = true }) { link in
                #expect(link.waitSubscribed())
                let results = link.ask { link in
                    ["i/1", "i/+", "i/\u{FFFF}", "", "i/2"].map { link.publish(topic: $0, payload: "x".utf8) }
                }
                let accepted = results?.map { $0 == .accepted }
                #expect(accepted == [true, false, false, false, true])
                #expect(link.wait { _, messages in messages.map(\.topic) == ["i/1", "i/2"] })
            }
        }
    }

    @Test("Bytes that are no batch are dropped from where they stop making sense, and the broker goes on")
    func hostileBatches() throws {
        var random = SeededRandom.SplitMix64.forTest()
        try withPlugin { broker, _ in
            try withLink(broker.endpoint, filters: [("g/#", 1)]) { link in
                #expect(link.waitSubscribed())
                var sound = OutboundBatch()
                _ = append(&sound, topic: "g/1", payload: "first")
                _ = append(&sound, topic: "g/2", payload: "second")
                for cut in 0..<sound.bytes.count {
                    link.order { [bytes = sound.bytes] in _ = $0.publish(topic: OutboundBatch.topic, payload: bytes.prefix(cut)) }
                }
                for _ in 0..<300 {
                    var bytes = sound.bytes
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        bytes[Int.random(in: 0..<8, using: &random)] = UInt8.random(in: 0...255, using: &random)
                    }
                    link.order { [bytes] in _ = $0.publish(topic: OutboundBatch.topic, payload: bytes) }
                }
                #expect(link.publishAndWait("g/end", "end") == 0)
                #expect(link.wait { _, messages in messages.last?.payload == "end" })
                // Only the cuts behind the first message let that one through.
                let first = link.received.filter { $0.payload == "first" && $0.topic == "g/1" }
                #expect(first.count >= sound.bytes.count / 2)
                #expect(!link.wasDisconnected)
            }
        }
    }

    @Test("On the listener for everybody a batch is a message like any other")
    func outside() throws {
        try withPlugin { broker, configuration in
            try withLink(broker.endpoint, filters: [("o/#", 1)]) { reader in
                #expect(reader.waitSubscribed())
                try withLink(MQTTEndpoint(host: "127.0.0.1", port: configuration.port)) { link in
                    #expect(link.waitConnected())
                    var batch = OutboundBatch()
                    _ = append(&batch, topic: "o/forged", payload: "forged")
                    link.order { [bytes = batch.bytes] in _ = $0.publish(topic: OutboundBatch.topic, payload: bytes) }
                    #expect(link.publishAndWait("o/end", "end") == 0)
                }
                #expect(reader.wait { _, messages in messages.map(\.payload) == ["end"] })
            }
        }
    }

    @Test("A batch is full at its maximum and empty when sent")
    func batch() {
        var batch = OutboundBatch()
        let payload = String(repeating: "x", count: 1000)
        var count = 0
        while append(&batch, topic: "topic", payload: payload) { count += 1 }
        #expect(count == OutboundBatch.bytesMaximum / 1012)
        #expect(batch.count == count)
        batch.removeAll()
        #expect(batch.count == 0 && batch.bytes.isEmpty)
        #expect(!append(&batch, topic: String(repeating: "t", count: 65_536), payload: ""))
    }

    private func append(_ batch: inout OutboundBatch, topic: String, payload: String) -> Bool {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { batch.append(topic: topic, payload: $0, retain: false) }
        }
    }
}
