import MQTTLink
import Wire

/// Imports places in as many requests as it takes, several on their way at a time, and adds up what becomes of them.
///
/// A broker that goes away is waited for; what was on its way is asked again under the same `requestId`, which the daemon carries
/// out once.
final class PlaceImporter: Conversation {
    private struct Sent {
        var id: String
        var request: PlaceRequests.Request
    }

    private var requests: PlaceRequests
    private var progress: ImportProgress
    private let run = "import-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    /// In order, the oldest first.
    private var sent: [Sent] = []
    private var requestCount = 0
    private var isExhausted = false
    private var isConnected = false
    private var startedAt: Int64 = 0
    private var silences = 0
    private var retryAt: Int64?
    private var placeCount = 0
    private var bytesRead = 0

    private(set) var imported: Int64 = 0
    private(set) var replaced: Int64 = 0
    private(set) var categoryCount: Int64 = 0
    private(set) var refused: [JSONValue] = []
    private(set) var warnings: [JSONValue] = []
    /// All of them, also those that are not kept.
    private(set) var refusedCount = 0
    private(set) var warningCount = 0

    /// Features that never were sent, as refusals; and those that are no place.
    var unreadable: [JSONValue] { requests.unreadable }
    var unreadableCount: Int { requests.unreadableCount }
    var leftOutCount: Int { requests.leftOutCount }

    /// Requests on their way: the daemon makes those that come together durable together.
    static let windowMax = 6
    /// Refusals and warnings that are kept to be shown.
    static let shownMax = 10_000
    private static let silencesMax = 3

    init(_ destination: Destination, _ requests: PlaceRequests, progress: ImportProgress) {
        self.requests = requests
        self.progress = progress
        super.init(destination)
    }

    override func connected() {
        if startedAt == 0 { startedAt = Self.now() }
        subscribe([destination.topics.reply], qos: 1)
    }

    override func subscribed() {
        isConnected = true
        for request in sent { publish(request) }
        advance()
    }

    override func connectionLost(_ reason: MQTTDisconnect) {
        isConnected = false
        progress.finish()
        StandardError.line("geomatch: \(destination.endpoint.name): \(reason); trying again")
        deadline = Self.now() + Self.patienceMilliseconds
    }

    private static let patienceMilliseconds: Int64 = 60_000

    /// Sends until the window is full.
    private func advance() {
        guard isConnected, !hasEnded else { return }
        deadline = Self.now() + Int64(destination.timeoutSeconds * 1000)
        do throws(FeatureReader.Failure) {
            while !isExhausted, sent.count < Self.windowMax {
                guard let request = try requests.next() else {
                    isExhausted = true
                    break
                }
                requestCount += 1
                let next = Sent(id: "\(run)-\(requestCount)", request: request)
                sent.append(next)
                publish(next)
            }
        } catch {
            progress.finish()
            return end(.failed("\(error.reason); \(imported + replaced) places before it were imported"))
        }
        if isExhausted, sent.isEmpty {
            progress.finish()
            end(drainSeconds: 1)
        }
    }

    private func publish(_ sent: Sent) {
        let payload = Array(#"{"requestId":"\#(sent.id)""#.utf8) + sent.request.parameters + [UInt8(ascii: "}")]
        let result = link?.publish(
            topic: destination.topics.request(sent.request.resource, "import"), payload: payload, qos: 1,
            correlation: Array(sent.id.utf8))
        switch result {
        // A connection that goes away at this moment is told apart.
        case .accepted?, .notConnected?, .windowFull?: break
        case .tooLarge?: end(.unavailable("a request of \(payload.count) bytes is larger than the broker allows"))
        default: end(.unavailable("the request could not be sent"))
        }
    }

    override func acknowledged(token: UInt64, reason: UInt8) {
        guard reason == 0x10 || reason >= 0x80 else { return }
        progress.finish()
        end(
            .unavailable(
                reason == 0x10
                    ? "nobody takes requests of \(destination.topics.dataset) at this broker; is geomatchd running?"
                    : "the broker refuses the request: its access list must let \"\(destination.topics.client)\" write "
                        + destination.topics.request("place", "import")))
    }

    override func received(_ message: InboundMessage) {
        guard !message.retain, case .object(let reply)? = try? JSONValue.parse(message.payload),
            let id = reply["requestId"]?.asString, let index = sent.firstIndex(where: { $0.id.utf8.elementsEqual(id.utf8) })
        else { return }
        silences = 0
        guard let result = reply["result"] else {
            let error = reply["error"]
            if error?.member("error")?.asString == "internal" { return waitForStore() }
            progress.finish()
            return end(.errorReply(error.map(ErrorText.of) ?? "the reply holds neither a result nor an error"))
        }
        let request = sent.remove(at: index).request
        count(result, of: request)
        bytesRead = max(bytesRead, request.bytesRead)
        placeCount += request.placeCount
        progress.show(bytes: bytesRead, places: placeCount, startedAt: startedAt, now: Self.now())
        if retryAt == nil { advance() }
    }

    private func count(_ result: JSONValue, of request: PlaceRequests.Request) {
        let newCount = result.member("imported")?.asInt64 ?? 0
        let oldCount = result.member("replaced")?.asInt64 ?? 0
        if request.resource == "place" {
            imported += newCount
            replaced += oldCount
        } else {
            categoryCount += newCount + oldCount
        }
        let refusals = result.member("refused")?.asArray ?? []
        let notes = result.member("warnings")?.asArray ?? []
        refusedCount += refusals.count
        warningCount += notes.count
        refused += refusals.prefix(max(0, Self.shownMax - refused.count)).map { PlaceRequests.located($0, in: request) }
        warnings += notes.prefix(max(0, Self.shownMax - warnings.count))
    }

    /// The daemon's store cannot be written at present: everything on its way is asked again after a while.
    private func waitForStore() {
        guard retryAt == nil else { return }
        progress.finish()
        StandardError.line("geomatch: the daemon cannot write its store; trying again")
        retryAt = Self.now() + 2000
        deadline = Self.now() + Self.patienceMilliseconds
    }

    override func turn(now: Int64) -> Int64 {
        guard let retryAt else { return .max }
        guard now >= retryAt else { return retryAt }
        self.retryAt = nil
        if isConnected { for request in sent { publish(request) } }
        return .max
    }

    override func timedOut() {
        guard startedAt > 0 else { return super.timedOut() }
        silences += 1
        guard isConnected, silences <= Self.silencesMax else {
            progress.finish()
            return end(
                .unavailable(
                    "no reply within \(destination.timeoutText); importing again does no harm, and goes on where it ended"))
        }
        // A daemon that was killed may have lost what it was working on.
        deadline = Self.now() + Int64(destination.timeoutSeconds * 1000)
        for request in sent { publish(request) }
    }
}
