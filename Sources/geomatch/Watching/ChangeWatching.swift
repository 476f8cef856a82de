import MQTTLink
import Wire

/// The change feed of the client, followed until the command ends.
///
/// It goes on where it was after a lost connection and when the daemon has been started anew, so that each change is told once.
final class ChangeWatching: Conversation {
    private let asJSON: Bool
    /// Where it goes on; nil before the daemon has said where its feed ends.
    private var since: Int64?
    private var storeID: String?
    private var left: Int?
    private var output = StandardOutput()
    private var requestCount = 0
    /// The id of the request whose reply is awaited.
    private var following: String?
    private var renewAt: Int64 = .max
    private var hasStood = false
    /// Of the daemon, as it says in its status.
    private var startedAt: JSONValue?

    private static let leaseSeconds: Int64 = 300

    /// - Parameters:
    ///   - since: Changes behind this place; nil for what comes from now on.
    ///   - count: The command ends after so many changes; nil for no end.
    init(_ destination: Destination, since: Int64?, count: Int?, asJSON: Bool) {
        self.since = since
        self.asJSON = asJSON
        left = count
        super.init(destination)
    }

    override func connected() {
        let topics = destination.topics
        subscribe([topics.reply, topics.status, topics.changes], qos: 1)
    }

    override func subscribed() { follow() }

    private func follow() {
        var parameters: JSONObject = ["lease": .integer(Self.leaseSeconds)]
        if let since { parameters["since"] = .integer(since) }
        if let storeID { parameters["storeId"] = .string(storeID) }
        following = request("follow", parameters)
        renewAt = Self.now() + Self.leaseSeconds * 500
        if !hasStood { deadline = Self.now() + Int64(destination.timeoutSeconds * 1000) }
    }

    private func request(_ verb: String, _ parameters: JSONObject) -> String {
        requestCount += 1
        let id = "watch-\(requestCount)-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        var parameters = parameters
        parameters["requestId"] = .string(id)
        _ = link?.publish(
            topic: destination.topics.request("changes", verb), payload: JSONValue.object(parameters).serialised(), qos: 1)
        return id
    }

    override func received(_ message: InboundMessage) {
        guard let object = (try? JSONValue.parse(message.payload))?.asObject else { return }
        if message.topic.elementsEqual(destination.topics.status.utf8) {
            daemonSaid(object)
        } else if message.topic.elementsEqual(destination.topics.changes.utf8) {
            if !message.retain { take(object, message.payload) }
        } else if object["requestId"]?.asString == following, following != nil {
            answered(object)
        }
    }

    private func answered(_ reply: JSONObject) {
        following = nil
        deadline = nil
        if let error = reply["error"] {
            return end(.errorReply(asJSON ? String(decoding: error.serialised(), as: UTF8.self) : ErrorText.of(error)))
        }
        storeID = reply["result"]?.asObject?["storeId"]?.asString ?? storeID
        since = since ?? reply["result"]?.asObject?["last"]?.asInt64
        StandardError.line(
            hasStood
                ? "geomatch: connected again"
                : "geomatch: watching changes behind \(since ?? 0) of \(destination.topics.dataset), Ctrl-C ends")
        hasStood = true
    }

    private func take(_ page: JSONObject, _ payload: UnsafeRawBufferPointer) {
        guard let known = since, let last = page["last"]?.asInt64, last > known else { return }
        // Another program of this client may follow from elsewhere: what lies between is asked for again.
        guard let begin = page["since"]?.asInt64, begin <= known else { return }
        let news = (page["rows"]?.asArray ?? []).compactMap(\.asObject).filter { ($0["seq"]?.asInt64 ?? 0) > known }
        since = last
        storeID = page["storeId"]?.asString ?? storeID
        if asJSON, !news.isEmpty { output.line(WatchLine.json(topic: destination.topics.changes, payload: payload)) }
        for row in news where left != 0 {
            if !asJSON { output.line(WatchLine.change(row)) }
            left = left.map { $0 - 1 }
        }
        if left == 0 { finish() }
    }

    private func daemonSaid(_ status: JSONObject) {
        guard status["state"]?.asString == "online", let started = status["startedAt"] else { return }
        defer { startedAt = started }
        // It knows followers across its restarts; asking again costs little and is sure.
        if startedAt != nil, startedAt != started { follow() }
    }

    override func turn(now: Int64) -> Int64 {
        if now >= renewAt { follow() }
        return renewAt
    }

    override func receivedAll() {
        output.flush()
        if output.isClosed { finish() }
    }

    override func interrupted() { finish() }

    private func finish() {
        output.flush()
        if hasStood { _ = request("unfollow", [:]) }
        end(drainSeconds: 0.5)
    }

    override func connectionLost(_ reason: MQTTDisconnect) {
        following = nil
        StandardError.line("geomatch: \(destination.endpoint.name): \(reason); trying again")
    }
}
