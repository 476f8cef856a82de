import ArgumentParser
import Glibc
import MQTTLink

/// The yardstick: takes a position in and passes its bytes on to `live/…`, nothing else.
struct NoOpRelay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "noop-relay", abstract: "Relay positions to live/… as they are, for comparison.", shouldDisplay: false)

    @Option(help: "The broker's unix socket.")
    var socket: String

    @Flag(help: "Retain what is published, as the daemon does.")
    var retain = false

    @Option(help: "The QoS at which positions come in.")
    var qos: Int32 = 0

    @Option(help: "Append so many spaces, so that messages have the size of the daemon's.")
    var grow = 0

    func run() throws {
        let relay = Relay(qos: qos, retain: retain, grow: grow)
        let link = try MQTTLink(
            configuration: MQTTLinkConfiguration(endpoint: MQTTEndpoint(unixPath: socket), clientID: "noop-relay"), handler: relay
        )
        relay.link = link
        link.run()
    }

    private final class Relay: MQTTLinkHandler {
        weak var link: MQTTLink?
        let qos: Int32
        let retain: Bool
        private let padding: [UInt8]
        private var topic: [CChar] = []
        private var payload: [UInt8] = []

        init(qos: Int32, retain: Bool, grow: Int) {
            self.qos = qos
            self.retain = retain
            padding = Array(repeating: UInt8(ascii: " "), count: grow)
        }

        func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
            _ = link?.subscribe([("bench/+/+/+/+/+/+", qos)])
        }

        func linkReceived(_ batch: InboundBatch) {
            guard let link else { return }
            for index in 0..<batch.count {
                let message = batch[index]
                topic.removeAll(keepingCapacity: true)
                for byte in "live/".utf8 { topic.append(CChar(bitPattern: byte)) }
                for byte in message.topic { topic.append(CChar(bitPattern: byte)) }
                topic.append(0)
                _ = topic.withUnsafeBufferPointer { topic in
                    guard !padding.isEmpty else {
                        return link.publish(topic: topic.baseAddress!, payload: message.payload, qos: 0, retain: retain)
                    }
                    payload.removeAll(keepingCapacity: true)
                    payload.append(contentsOf: message.payload)
                    payload.append(contentsOf: padding)
                    return payload.withUnsafeBytes {
                        link.publish(topic: topic.baseAddress!, payload: $0, qos: 0, retain: retain)
                    }
                }
            }
        }

        func linkSubscribed(id: Int32, granted: [UInt8]) {
            print("ready")
            fflush(nil)
        }

        func linkUnsubscribed(id: Int32) {}
        func linkAcknowledged(token: UInt64, reason: UInt8) {}
        func linkDisconnected(_ reason: MQTTDisconnect) {}
        func linkWoken() {}
        func linkTick(now: Int64) -> Int64 { .max }
    }
}
