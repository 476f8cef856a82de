import GeomatchClient
import MQTTLink
import Wire

/// The retained status message of the daemon, and that of one dataset.
///
/// Guarded by the connection's lock until it is done.
final class StatusReading: ConnectionWorker, @unchecked Sendable {
    let filters: [String]
    private(set) var status: JSONValue?
    private(set) var dataset: JSONValue?
    private var endsAt = Int64.max
    /// Milliseconds. Retained messages follow SUBACK at once; a broker with none says nothing, so the silence must have an end.
    private let patience: Int64

    init(_ topics: ClientTopics) {
        filters = [topics.status, topics.datasetStatus]
        patience = 2000
    }

    /// For a command that has done what it is for.
    init(brief topics: ClientTopics) {
        filters = [topics.status, topics.datasetStatus]
        patience = 500
    }

    var isOnline: Bool { status?.member("state")?.asString == "online" }

    func connected() { endsAt = WallClock.now() + patience }

    func received(_ message: InboundMessage) {
        let value = try? JSONValue.parse(message.payload)
        if message.topic.elementsEqual(filters[0].utf8) { status = value } else { dataset = value }
    }

    func turn(_ link: WorkerLink, now: Int64) -> Int64? {
        status != nil && dataset != nil || now >= endsAt ? nil : endsAt
    }
}
