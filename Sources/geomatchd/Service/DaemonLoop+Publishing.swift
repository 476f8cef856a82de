import Datasets
import DequeModule
import Logging
import MQTTLink

// What goes to the broker, and what becomes of it where the broker is not there.

extension DaemonLoop {
    private static let unsentMaximum = 10_000

    func publish(_ batch: OutboundBatch) {
        guard !batch.isEmpty else { return }
        batch.bytes.withUnsafeBytes { bytes in
            for message in batch.messages { publish(message, bytes) }
        }
    }

    private func publish(_ message: OutboundMessage, _ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, let link else { return }
        let result = link.publish(
            OutgoingMessage(
                topic: (base + message.topic.lowerBound).assumingMemoryBound(to: CChar.self),
                payload: UnsafeRawBufferPointer(rebasing: bytes[message.payload]), qos: Int32(message.qos),
                retain: message.retain, token: message.token,
                correlation: message.correlation.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }))
        if result != .accepted { handle(result, message, bytes) }
    }

    private func handle(_ result: MQTTPublishResult, _ message: OutboundMessage, _ bytes: UnsafeRawBufferPointer) {
        switch result {
        case .notConnected, .windowFull, .failed:
            if message.token != 0 {
                hub.returned(message.token)
            } else if message.qos > 0, !message.retain {
                // What is retained is told anew at the next connection; a reply is told once.
                unsent.append(
                    UnsentMessage(
                        topic: String(decoding: bytes[message.topic], as: UTF8.self), payload: Array(bytes[message.payload]),
                        qos: Int32(message.qos), retain: message.retain, correlation: message.correlation.map { Array(bytes[$0]) }
                    ))
                if unsent.count > Self.unsentMaximum {
                    unsent.removeFirst()
                    log.warning("a reply was dropped: too many wait for the broker", metadata: ["count": "\(Self.unsentMaximum)"])
                }
            }
        case .tooLarge, .invalidTopic:
            // MQTT 5 reasons: packet too large, topic name invalid.
            if message.token != 0 {
                hub.acknowledged(message.token, reason: result == .tooLarge ? 0x95 : 0x90, into: &effects)
            }
            log.error("message cannot be published", metadata: ["reason": "\(result)"])
        case .accepted: break
        }
    }

    /// Sends what the broker was not there for; what it refuses again waits on.
    func publishUnsent() {
        for _ in 0..<unsent.count {
            guard let message = unsent.popFirst() else { return }
            let result = message.topic.withCString { topic in
                message.payload.withUnsafeBytes { payload in
                    (message.correlation ?? []).withUnsafeBytes { correlation in
                        link?.publish(
                            OutgoingMessage(
                                topic: topic, payload: payload, qos: message.qos, retain: message.retain,
                                correlation: message.correlation == nil ? nil : correlation))
                    }
                }
            }
            switch result {
            case .accepted, .tooLarge, .invalidTopic: continue
            case .notConnected, .windowFull, .failed, nil:
                unsent.prepend(message)
                return
            }
        }
    }

    func publish(_ payload: [UInt8], on topic: String, qos: Int32, retain: Bool) {
        let topic = configuration.prefix + topic
        _ = topic.withCString { name in
            payload.withUnsafeBytes {
                link?.publish(OutgoingMessage(topic: name, payload: $0, qos: qos, retain: retain))
            }
        }
    }
}
