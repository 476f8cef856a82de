internal import Foundation
internal import LiveTopics
internal import MQTTValues
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Wire

/// What a socket reports to the loop of its link, which belongs to another thread.
protocol SocketLinkHandler: MQTTLinkHandler {
    /// - Parameter isKept: It was known before.
    func linkReceived(topic: [UInt8], payload: [UInt8], isKept: Bool)
    func linkReceivedAll()
    /// The daemon refused a live update.
    func linkRefused(token: UInt64, _ error: GeomatchError)
}

/// A session over the daemon's WebSocket instead of MQTT: requests go out as frames, and what comes in has the topic that it would have
/// at the broker.
///
/// Filters are granted where the socket brings what they are about: all that is below the client's own tree. `inbox` is filled by the
/// connection's event loop; everything else belongs to the thread that runs the link, but for waking and stopping. That is the guard
/// behind `@unchecked Sendable`.
final class SocketLink: ClientLink, @unchecked Sendable {
    enum Event: Sendable {
        case opened(any Channel)
        case frame([UInt8])
        case closed(MQTTDisconnect.Cause)
    }

    private struct Inbox {
        /// Each with the connection it is of.
        var events: [(connection: Int, event: Event)] = []
        var isWoken = false
        var stopSeconds: Double?
    }

    private enum Phase: Equatable {
        case waiting(until: Int64)
        case connecting
        case connected
        case finished
    }

    private let address: SocketAddressOfDaemon
    private let topics: ClientTopics
    private let configuration: GeomatchConfiguration
    private unowned let handler: any SocketLinkHandler
    private let inbox = Mutex(Inbox())
    private let bell = DispatchSemaphore(value: 0)
    private var phase = Phase.waiting(until: 0)
    /// Counts connections.
    private var connection = 0
    private var channel: (any Channel)?
    private var failures = 0
    private var lastHeardAt: Int64 = 0
    private var lastID: Int32 = 0
    private var filters: [String: TopicFilter] = [:]
    /// Live updates that the daemon has not answered.
    private var updates: Set<UInt64> = []
    /// Where durable messages are resumed.
    private var cursor: String?
    /// Answers of our own, each delivered in the turn after it was asked for.
    private var answers: [(any SocketLinkHandler) -> Void] = []

    /// The daemon gives a sign of life each 20 s.
    private static let silenceMilliseconds: Int64 = 45_000
    /// When the diagnostics of a dataset that does not exist are asked for again.
    private var watchAt = Int64.max
    private static let watchMilliseconds: Int64 = 2000

    init(
        _ handler: any SocketLinkHandler, _ configuration: GeomatchConfiguration, _ endpoint: MQTTEndpoint
    ) throws(GeomatchError) {
        self.handler = handler
        self.configuration = configuration
        topics = configuration.topics
        address = try SocketAddressOfDaemon(endpoint, configuration)
    }

    // MARK: From any thread

    func wake() {
        let isFirst = inbox.withLock { inbox in
            defer { inbox.isWoken = true }
            return !inbox.isWoken
        }
        if isFirst { bell.signal() }
    }

    func stop(drainSeconds: Double) {
        inbox.withLock { $0.stopSeconds = drainSeconds }
        bell.signal()
    }

    private func put(_ event: Event, of connection: Int) {
        inbox.withLock { $0.events.append((connection, event)) }
        bell.signal()
    }

    // MARK: The loop

    func run() {
        var next = SteadyClock.now()
        while phase != .finished {
            let pause = max(0, min(nextTry, next) - SteadyClock.now())
            if pause > 0, answers.isEmpty { _ = bell.wait(timeout: .now() + .milliseconds(Int(min(pause, 1000)))) }
            next = turn()
        }
    }

    private var nextTry: Int64 { if case .waiting(let until) = phase { until } else { .max } }

    private func turn() -> Int64 {
        let (events, isWoken, stopSeconds) = inbox.withLock { inbox in
            defer {
                inbox.events = []
                inbox.isWoken = false
            }
            return (inbox.events, inbox.isWoken, inbox.stopSeconds)
        }
        let answers = answers
        self.answers = []
        for answer in answers { answer(handler) }
        var hasReceived = false
        for (connection, event) in events where connection == self.connection {
            if case .frame(let bytes) = event {
                hasReceived = true
                receive(bytes)
            } else {
                if hasReceived { handler.linkReceivedAll() }
                hasReceived = false
                take(event)
            }
        }
        if hasReceived { handler.linkReceivedAll() }
        if let stopSeconds {
            end(drainSeconds: stopSeconds)
            return .max
        }
        let now = SteadyClock.now()
        if phase == .connected, now - lastHeardAt > Self.silenceMilliseconds { take(.closed(.lost("the daemon is silent"))) }
        if nextTry <= now { connect() }
        if watchAt <= now { watchDataset() }
        if isWoken { handler.linkWoken() }
        return min(handler.linkTick(now: now), watchAt)
    }

    private func take(_ event: Event) {
        switch event {
        case .opened(let channel):
            self.channel = channel
            phase = .connected
            failures = 0
            lastHeardAt = SteadyClock.now()
            handler.linkConnected(sessionPresent: false, protocolVersion: 5)
        case .closed(let cause):
            guard phase == .connecting || phase == .connected else { return }
            channel?.close(promise: nil)
            channel = nil
            updates = []
            connection += 1
            let ceiling = min(configuration.backoff.maximum, configuration.backoff.minimum * Double(1 << min(failures, 30)))
            failures += 1
            let reason = MQTTDisconnect(cause: cause, retryAfterSeconds: ceiling * Double.random(in: 0...1))
            phase = .waiting(until: SteadyClock.now() + Int64((reason.retryAfterSeconds ?? 0) * 1000))
            handler.linkDisconnected(reason)
        case .frame: break
        }
    }

    private func connect() {
        connection += 1
        phase = .connecting
        let connection = connection
        SocketConnection.open(address, since: cursor, timeout: configuration.connectTimeout) { [weak self] event in
            self?.put(event, of: connection)
        }
    }

    /// What was written is on its way before the goodbye.
    private func end(drainSeconds: Double) {
        phase = .finished
        if let channel { SocketConnection.close(channel, withinSeconds: max(drainSeconds, 0.1)) }
        channel = nil
        connection += 1
        handler.linkDisconnected(MQTTDisconnect(cause: .stopped))
    }

    // MARK: In

    /// `{"topic","payload","cursor"?}`, a reply, or `{}`.
    private func receive(_ bytes: [UInt8]) {
        lastHeardAt = SteadyClock.now()
        guard bytes.count > 2, let object = (try? JSONValue.parse(bytes))?.asObject else { return }
        guard let path = object["topic"]?.asString, let payload = object["payload"] else {
            if object["requestId"]?.asString == Self.watchID {
                let isUnknown = object["error"]?.asObject?["error"]?.asString == "unknownDataset"
                if isUnknown { watchAt = SteadyClock.now() + Self.watchMilliseconds }
                return
            }
            if let token = Self.update(of: object), updates.remove(token) != nil { return answered(token, object["error"]) }
            return handler.linkReceived(topic: Array(topics.reply.utf8), payload: bytes, isKept: false)
        }
        if let cursor = object["cursor"]?.asString { self.cursor = cursor }
        let topic = topics.own + path
        guard filters.values.contains(where: { $0.matches(topic) }) else { return }
        handler.linkReceived(topic: Array(topic.utf8), payload: payload.serialised(), isKept: false)
    }

    // MARK: Out

    var isConnected: Bool { phase == .connected }
    var queuedMessages: Int { 0 }
    var unacknowledged: Int { updates.count }

    func send(_ message: Publication, token: UInt64, correlation: [UInt8]?) -> MQTTPublishResult {
        guard let channel else { return .notConnected }
        if message.topic.hasPrefix(topics.prefix + topics.dataset + "/") { return update(message, token: token, channel) }
        let requests = topics.own + "request/"
        guard message.topic.hasPrefix(requests) else {
            let error = GeomatchError(
                .topicRefused, "over HTTP live updates of \(topics.dataset) are published, and nothing else")
            answers.append { $0.linkRefused(token: token, error) }
            return .accepted
        }
        guard let frame = Self.frame(message, of: message.topic.dropFirst(requests.count)) else { return .invalidTopic }
        SocketConnection.write(frame, to: channel)
        answers.append { $0.linkAcknowledged(token: token, reason: 0) }
        return .accepted
    }

    // MARK: Live updates

    private static let updatePrefix = "update-"
    /// Of a request of our own, whose result nobody waits for.
    private static let watchID = "geomatch-watch"

    /// A live update, whose answer is its acknowledgement.
    private func update(_ message: Publication, token: UInt64, _ channel: any Channel) -> MQTTPublishResult {
        // A client that publishes much waits for the daemon to read.
        if token >= WorkerCore.tokenMin, !channel.isWritable { return .windowFull }
        var object: JSONObject = [
            "topic": .string(String(message.topic.dropFirst(topics.prefix.count))),
            "requestId": .string(Self.updatePrefix + String(token)),
        ]
        // What is no JSON is refused by the daemon, which says why.
        object["payload"] =
            message.payload.isEmpty
            ? .null : (try? JSONValue.parse(message.payload)) ?? .string(String(decoding: message.payload, as: UTF8.self))
        SocketConnection.write(JSONValue.object(object).serialised(), to: channel)
        if message.qos > 0 { updates.insert(token) }
        return .accepted
    }

    /// The token of the update that a reply is for.
    private static func update(of reply: JSONObject) -> UInt64? {
        guard let id = reply["requestId"]?.asString, id.hasPrefix(updatePrefix) else { return nil }
        return UInt64(id.dropFirst(updatePrefix.count))
    }

    private func answered(_ token: UInt64, _ error: JSONValue?) {
        guard let error else { return handler.linkAcknowledged(token: token, reason: 0) }
        handler.linkRefused(token: token, GeomatchError(reply: error))
    }

    /// The parameters with the request's name before them.
    private static func frame(_ message: Publication, of name: Substring) -> [UInt8]? {
        guard let start = message.payload.firstIndex(of: UInt8(ascii: "{")) else { return nil }
        let rest = message.payload[(start + 1)...]
        let isEmpty = rest.first { $0 > 0x20 } == UInt8(ascii: "}")
        let beginning = JSONValue.object(["request": .string(String(name))]).serialised().dropLast()
        return beginning + (isEmpty ? [] : [UInt8(ascii: ",")]) + rest
    }

    func subscribe(_ wanted: [(filter: String, qos: Int32)]) -> Int32 {
        guard phase == .connected, !wanted.isEmpty else { return -1 }
        lastID += 1
        var granted: [UInt8] = []
        for (text, _) in wanted {
            let isOurs = text == topics.status || text.hasPrefix(topics.own)
            if isOurs { filters[text] = try? TopicFilter(text) }
            granted.append(isOurs ? 0 : 0x87)
        }
        // Diagnostics of the dataset come to a socket that asks for them, beside the client's own.
        if wanted.contains(where: { $0.filter == topics.ownDiagnostics }) { watchDataset() }
        let id = lastID
        answers.append { $0.linkSubscribed(id: id, granted: granted) }
        // A client that has a socket has the daemon.
        if wanted.contains(where: { $0.filter == topics.status }) {
            let (topic, status) = (Array(topics.status.utf8), Array(#"{"state":"online","instance":"http"}"#.utf8))
            answers.append { $0.linkReceived(topic: topic, payload: status, isKept: true) }
        }
        return id
    }

    private func watchDataset() {
        watchAt = .max
        guard let channel, filters[topics.ownDiagnostics] != nil else { return }
        let request: JSONValue = ["request": "dataset/watch", "requestId": .string(Self.watchID)]
        SocketConnection.write(request.serialised(), to: channel)
    }

    func unsubscribe(_ texts: [String]) -> Int32 {
        for text in texts { filters[text] = nil }
        lastID += 1
        return lastID
    }
}
