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

    func run() throws {
        let relay = Relay(retain: retain)
        let link = try MQTTLink(
            configuration: MQTTLinkConfiguration(endpoint: MQTTEndpoint(unixPath: socket), clientID: "noop-relay"), handler: relay)
        relay.link = link
        link.run()
    }

    private final class Relay: MQTTLinkHandler {
        weak var link: MQTTLink?
        let retain: Bool
        private var topic: [CChar] = []

        init(retain: Bool) { self.retain = retain }

        func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
            _ = link?.subscribe([("bench/+/+/+/+/+/+", 0)])
        }

        func linkReceived(_ batch: InboundBatch) {
            guard let link else { return }
            for index in 0..<batch.count {
                let message = batch[index]
                topic.removeAll(keepingCapacity: true)
                for byte in "live/".utf8 { topic.append(CChar(bitPattern: byte)) }
                for byte in message.topic { topic.append(CChar(bitPattern: byte)) }
                topic.append(0)
                _ = topic.withUnsafeBufferPointer {
                    link.publish(topic: $0.baseAddress!, payload: message.payload, qos: 0, retain: retain)
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
