import LiveTopics
import MQTTLink

/// A subscription whose messages are printed as they come.
final class Watching: Conversation {
    private let subject: WatchSubject
    private let filter: String
    private var left: Int?
    private let asJSON: Bool
    private var output = StandardOutput()
    private var wasTold = false

    /// - Parameter count: nil for no end.
    init(_ destination: Destination, subject: WatchSubject, filter: String, count: Int?, asJSON: Bool) {
        self.subject = subject
        self.filter = filter
        left = count
        self.asJSON = asJSON
        super.init(destination)
    }

    override func connected() { subscribe([filter], qos: 1) }

    override func subscribed() {
        deadline = nil
        if wasTold { return StandardError.line("geomatch: connected again") }
        wasTold = true
        StandardError.line("geomatch: watching \(filter) at \(destination.endpoint.name), Ctrl-C ends")
    }

    override func received(_ message: InboundMessage) {
        let topic = String(decoding: message.topic.dropFirst(destination.topics.prefix.utf8.count), as: UTF8.self)
        output.line(
            asJSON
                ? WatchLine.json(topic: topic, payload: message.payload)
                : WatchLine.text(subject, topic: topic, payload: message.payload))
        guard let remaining = left else { return }
        left = remaining - 1
        if remaining <= 1 { end() }
    }

    override func receivedAll() {
        output.flush()
        if output.isClosed { end() }
    }

    override func connectionLost(_ reason: MQTTDisconnect) {
        StandardError.line("geomatch: \(destination.endpoint.name): \(reason); trying again")
    }
}
