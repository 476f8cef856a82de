import MQTTLink

/// One message to the broker.
final class Publishing: Conversation {
    private let topic: String
    private let payload: [UInt8]
    private let qos: Int32
    private let retain: Bool

    init(_ destination: Destination, topic: String, payload: [UInt8], qos: Int32, retain: Bool) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        super.init(destination)
    }

    override func connected() {
        switch link?.publish(topic: topic, payload: payload, qos: qos, retain: retain) {
        case .accepted?: if qos == 0 { end(drainSeconds: destination.timeoutSeconds) }
        case .tooLarge?: end(.usage("the message is larger than the broker allows"))
        case .invalidTopic?: end(.usage("MQTT does not allow the topic \"\(PlainText.printable(topic))\""))
        default: end(.unavailable("the message could not be sent"))
        }
    }

    override func acknowledged(token: UInt64, reason: UInt8) {
        guard reason >= 0x80 else { return end() }
        end(
            .unavailable(
                "the broker refuses the message (reason 0x\(String(reason, radix: 16, uppercase: true))): its access list must "
                    + "let you write \(PlainText.printable(topic))"))
    }
}
