import MQTTLink
import Wire

/// A live subscription managed by the daemon, of which every message is shown until the command ends.
///
/// It is taken up again, with a new snapshot, after a lost connection and when the daemon has been started anew; what left
/// meanwhile is told as left. An error reply to a subscription ends the command. The lease is short, so that little is left
/// behind where the end cannot be told.
final class LiveWatching: Conversation {
    private let selection: LiveSelection
    private let output: any LiveOutput
    private let id: String
    private let leaseSeconds: Int
    private let topics: (reply: [UInt8], status: [UInt8], live: [UInt8])
    private var left: Int?

    private var rows = LiveRows()
    private var requestCount = 0
    /// The ids of the requests whose replies are awaited.
    private var subscribing: String?
    private var renewing: String?
    /// It was subscribed once: from here on everything is waited for.
    private var hasStood = false
    /// The subscription stands.
    private var stands = false
    private var renewAt: Int64 = .max
    private var leaseEnd: Int64 = .max
    /// When a snapshot of which nothing more comes counts as told.
    private var snapshotEnd: Int64 = .max
    /// Of the daemon, as it says in its status.
    private var startedAt: JSONValue?

    /// How long one waits for the next message of a snapshot.
    private static let snapshotPatience: Int64 = 10_000
    private static let renewalPause: Int64 = 30_000

    /// - Parameter count: The command ends after so many messages; nil for no end.
    init(
        _ destination: Destination, _ selection: LiveSelection, count: Int?, leaseSeconds: Int = 300, output: any LiveOutput
    ) {
        self.selection = selection
        self.output = output
        self.leaseSeconds = leaseSeconds
        left = count
        id = "watch-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        topics = (
            Array(destination.topics.reply.utf8), Array(destination.topics.status.utf8),
            Array(destination.topics.liveSubscription(id).utf8)
        )
        super.init(destination)
    }

    // MARK: Requests

    override func connected() {
        subscribe([topics.reply, topics.status, topics.live].map { String(decoding: $0, as: UTF8.self) }, qos: 1)
    }

    override func subscribed() { ask() }

    /// Asks for the subscription; an earlier one under this id is replaced.
    private func ask() {
        stands = false
        renewing = nil
        renewAt = .max
        snapshotEnd = .max
        rows.beginTurn()
        var parameters = selection.parameters
        parameters["lease"] = .integer(Int64(leaseSeconds))
        parameters["qos"] = 1
        deadline = Self.now() + Int64(destination.timeoutSeconds * 1000)
        subscribing = request("subscribe", parameters)
    }

    private func renew(_ now: Int64) {
        guard now < leaseEnd else { return ask() }
        renewAt = now + min(Self.renewalPause, Int64(leaseSeconds) * 250)
        renewing = request("renew", [:])
    }

    /// - Returns: The request's id.
    private func request(_ verb: String, _ parameters: JSONObject) -> String {
        requestCount += 1
        let requestID = "\(id)-\(requestCount)"
        var parameters = parameters
        parameters["id"] = .string(id)
        parameters["requestId"] = .string(requestID)
        // What cannot be sent now is asked again when its time is over.
        _ = link?.publish(
            topic: destination.topics.request("live", verb), payload: JSONValue.object(parameters).serialised(), qos: 1,
            correlation: Array(requestID.utf8))
        return requestID
    }

    override func acknowledged(token: UInt64, reason: UInt8) {
        guard !hasStood else { return }
        if reason == 0x10 { return end(.unavailable("nobody takes requests of \(dataset) at this broker.\n\(hint)")) }
        guard reason >= 0x80 else { return }
        end(
            .unavailable(
                "the broker refuses the request (reason 0x\(String(reason, radix: 16, uppercase: true))): its access list must "
                    + "let \"\(destination.topics.client)\" write \(destination.topics.request("live", "subscribe"))"))
    }

    override func timedOut() {
        guard hasConnected else { return super.timedOut() }
        guard hasStood else { return end(.unavailable("no reply within \(destination.timeoutText).\n\(hint)")) }
        ask()
    }

    override func connectionLost(_ reason: MQTTDisconnect) {
        (stands, deadline, subscribing, renewing) = (false, nil, nil, nil)
        (renewAt, snapshotEnd) = (.max, .max)
        output.note("\(destination.endpoint.name): \(reason); trying again", isGood: false)
    }

    // MARK: What comes in

    override func received(_ message: InboundMessage) {
        if message.topic.elementsEqual(topics.live) {
            if !message.retain { take(message.payload) }
        } else if message.topic.elementsEqual(topics.status) {
            takeStatus((try? JSONValue.parse(message.payload))?.asObject)
        } else if !message.retain, let reply = (try? JSONValue.parse(message.payload))?.asObject,
            let requestID = reply["requestId"]?.asString
        {
            takeReply(reply, to: requestID)
        }
    }

    override func receivedAll() {
        output.flush(rows)
        if output.isClosed { finish() }
    }

    private func take(_ payload: UnsafeRawBufferPointer) {
        let now = Self.now()
        let wasFull = rows.isFull
        let change = rows.apply(payload, now: now)
        if rows.isFull, !wasFull {
            output.note("more than \(LiveRows.countMax) topics: what leaves of the others is not noticed", isGood: false)
        }
        if snapshotEnd != .max { snapshotEnd = now + Self.snapshotPatience }
        show(payload, change)
        sweepWhereComplete()
    }

    private func show(_ payload: UnsafeRawBufferPointer, _ change: LiveRows.Change) {
        guard !hasEnded else { return }
        output.message(payload, change)
        guard let remaining = left else { return }
        left = remaining - 1
        if remaining <= 1 { finish() }
    }

    private func takeReply(_ reply: JSONObject, to requestID: String) {
        if requestID == subscribing {
            subscribing = nil
            guard let result = reply["result"] else { return refused(reply) }
            subscribed(result)
        } else if requestID == renewing {
            renewing = nil
            let now = Self.now()
            if reply["result"] != nil {
                renewed(now)
            } else if reply["error"]?.member("error") == "notFound" {
                // Its lease had ended: the computer slept, or the daemon was away for long.
                ask()
            }
        }
    }

    private func subscribed(_ result: JSONValue) {
        let now = Self.now()
        (stands, deadline) = (true, nil)
        renewed(now)
        let made = (result.member("leaseUntil")?.asInt64 ?? now).subtractingReportingOverflow(Int64(leaseSeconds) * 1000)
        rows.expectSnapshot(of: Int(clamping: result.member("snapshot")?.asInt64 ?? 0), at: made.partialValue)
        if rows.hasStale { snapshotEnd = now + Self.snapshotPatience }
        sweepWhereComplete()
        output.note(
            hasStood
                ? "connected again" : "watching \(selection.text) at \(destination.endpoint.name), Ctrl-C ends", isGood: true)
        hasStood = true
    }

    private func renewed(_ now: Int64) {
        renewAt = now + Int64(leaseSeconds) * 500
        leaseEnd = now + Int64(leaseSeconds) * 1000
    }

    private func refused(_ reply: JSONObject) {
        let error = reply["error"] ?? .null
        guard error.member("error") == "notFound", error.member("field") == "request" else {
            return end(.errorReply(ErrorText.of(error)))
        }
        end(
            .failed(
                "this geomatchd is older than live subscriptions; `geomatch watch live --direct` reads live/… at the broker itself"
            ))
    }

    private func takeStatus(_ status: JSONObject?) {
        guard let status else { return }
        guard status["state"] == "online" else {
            if hasStood { output.note("geomatchd is offline; waiting for it", isGood: false) }
            return
        }
        let started = status["startedAt"]
        let isAnother = startedAt != nil && startedAt != started
        startedAt = started
        if isAnother, hasStood, !hasEnded { ask() }
    }

    // MARK: What left unseen

    private func sweepWhereComplete() {
        guard snapshotEnd != .max, rows.isComplete else { return }
        sweep()
    }

    private func sweep() {
        snapshotEnd = .max
        for row in rows.takeStale() { row.leftMessage.withUnsafeBytes { show($0, .left) } }
    }

    override func turn(now: Int64) -> Int64 {
        guard !hasEnded else { return .max }
        if now >= snapshotEnd {
            sweep()
            output.flush(rows)
        }
        if stands, now >= renewAt { renew(now) }
        return min(stands ? renewAt : .max, snapshotEnd, output.turn(rows, now: now))
    }

    // MARK: The end

    override func interrupted() {
        unsubscribe()
        super.interrupted()
    }

    private func finish() {
        unsubscribe()
        end(drainSeconds: 1)
    }

    private func unsubscribe() {
        if hasStood || subscribing != nil { _ = request("unsubscribe", [:]) }
        (subscribing, renewing, stands) = (nil, nil, false)
    }

    private var dataset: String { destination.topics.dataset }
    private var hint: String { "Is geomatchd running? `geomatch status` tells; --direct reads live/… at the broker itself." }
}
