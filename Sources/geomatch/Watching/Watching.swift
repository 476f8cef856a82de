import GeomatchClient
import MQTTLink

/// A subscription whose messages are printed as they come.
///
/// Guarded by the connection's lock.
final class Watching: ConnectionWorker, @unchecked Sendable {
    let filters: [String]
    private let subject: WatchSubject
    private let configuration: GeomatchConfiguration
    private var left: Int?
    private let asJSON: Bool
    private var output = StandardOutput()
    private var wasConnected = false

    /// - Parameter count: nil for no end.
    init(_ configuration: GeomatchConfiguration, subject: WatchSubject, filters: [String], count: Int?, asJSON: Bool) {
        self.configuration = configuration
        self.subject = subject
        self.filters = filters
        left = count
        self.asJSON = asJSON
    }

    func connected() {
        StandardError.line(
            wasConnected
                ? "geomatch: connected again"
                : "geomatch: watching \(filters[0]) at \(configuration.brokerName), Ctrl-C ends")
        wasConnected = true
    }

    func received(_ message: InboundMessage) {
        guard left != 0 else { return }
        left = left.map { $0 - 1 }
        let topic = String(decoding: message.topic.dropFirst(configuration.topics.prefix.utf8.count), as: UTF8.self)
        output.line(
            asJSON
                ? WatchLine.json(topic: topic, payload: message.payload)
                : WatchLine.text(subject, topic: topic, payload: message.payload))
    }

    func receivedAll() { output.flush() }

    func turn(_ link: WorkerLink, now: Int64) -> Int64? { left == 0 || output.isClosed ? nil : .max }
}
