import MQTTLink
import Wire

/// The retained status messages of the daemon and of one dataset.
final class StatusReading: Conversation {
    private(set) var status: JSONValue?
    private(set) var dataset: JSONValue?
    private var isListening = false

    /// Retained messages follow SUBACK at once; a broker with none says nothing, so the silence must have an end.
    private static let patience: Int64 = 1000

    override func connected() {
        subscribe([destination.topics.status, destination.topics.datasetStatus], qos: 1)
    }

    override func subscribed() {
        isListening = true
        deadline = Self.now() + Self.patience
    }

    override func received(_ message: InboundMessage) {
        let value = try? JSONValue.parse(message.payload)
        if message.topic.elementsEqual(destination.topics.status.utf8) {
            status = value
        } else {
            dataset = value
        }
        if status != nil && dataset != nil { end() }
    }

    override func timedOut() {
        if isListening { end() } else { super.timedOut() }
    }
}
