internal import Dispatch
internal import LiveTopics
internal import MQTTValues
internal import Synchronization
internal import Wire

/// A session with a ``GeomatchFake``: what goes out is answered at once, on the link's own thread.
///
/// `inbox` is for any thread; everything else belongs to the one that runs the link. That is the guard behind
/// `@unchecked Sendable`.
final class FakeLink: ClientLink, @unchecked Sendable {
    private struct Inbox {
        var deeds: [@Sendable (any SocketLinkHandler) -> Void] = []
        var isWoken = false
        var isStopped = false
        var filters: [String: TopicFilter] = [:]
    }

    private let fake: GeomatchFake
    private let topics: ClientTopics
    let client: String
    private unowned let handler: any SocketLinkHandler
    private let inbox = Mutex(Inbox())
    private let bell = DispatchSemaphore(value: 0)
    private var lastID: Int32 = 0
    private(set) var isConnected = false
    let queuedMessages = 0
    let unacknowledged = 0

    init(_ handler: any SocketLinkHandler, _ fake: GeomatchFake, _ configuration: GeomatchConfiguration) {
        self.handler = handler
        self.fake = fake
        client = configuration.client
        topics = configuration.topics
    }

    // MARK: From any thread

    func wake() {
        inbox.withLock { $0.isWoken = true }
        bell.signal()
    }

    func stop(drainSeconds: Double) {
        inbox.withLock { $0.isStopped = true }
        bell.signal()
    }

    /// Brings a message below the client's own topics.
    func deliver(_ payload: [UInt8], on path: String) {
        let topic = topics.own + path
        then { handler in
            handler.linkReceived(topic: Array(topic.utf8), payload: payload, isKept: false)
            handler.linkReceivedAll()
        }
    }

    /// Whether somebody listens to what is on a path below the client's own topics.
    func hears(_ path: String) -> Bool {
        inbox.withLock { $0.filters.values.contains { $0.matches(topics.own + path) } }
    }

    private func then(_ deed: @escaping @Sendable (any SocketLinkHandler) -> Void) {
        inbox.withLock { $0.deeds.append(deed) }
        bell.signal()
    }

    // MARK: The loop

    func run() {
        isConnected = true
        fake.join(self)
        handler.linkConnected(sessionPresent: false, protocolVersion: 5)
        while true {
            let (deeds, isWoken, isStopped) = inbox.withLock { inbox in
                defer {
                    inbox.deeds = []
                    inbox.isWoken = false
                }
                return (inbox.deeds, inbox.isWoken, inbox.isStopped)
            }
            for deed in deeds { deed(handler) }
            if isStopped { break }
            if isWoken { handler.linkWoken() }
            let pause = min(1000, max(0, handler.linkTick(now: SteadyClock.now()) - SteadyClock.now()))
            _ = bell.wait(timeout: .now() + .milliseconds(Int(pause)))
        }
        isConnected = false
        fake.leave(self)
        handler.linkDisconnected(MQTTDisconnect(cause: .stopped))
    }

    // MARK: Out

    func send(_ message: Publication, token: UInt64, correlation: [UInt8]?) -> MQTTPublishResult {
        let requests = topics.own + "request/"
        if message.topic.hasPrefix(requests) {
            let parameters = (try? JSONValue.parse(message.payload))?.asObject ?? JSONObject()
            let name = String(message.topic.dropFirst(requests.count))
            let reply = JSONValue.object(fake.reply(to: name, parameters, of: client)).serialised()
            deliver(reply, on: "reply")
            for (path, payload) in fake.snapshot(for: name, parameters, of: client) { deliver(payload, on: path) }
        } else if let topic = LiveUpdateTopic(encoded: String(message.topic.dropFirst(topics.prefix.count))) {
            let properties = (try? JSONValue.parse(message.payload))?.asObject
            if let properties { fake.publish(PropertyValue.members(of: properties), on: topic) } else { fake.clear(topic) }
        }
        then { $0.linkAcknowledged(token: token, reason: 0) }
        return .accepted
    }

    func subscribe(_ wanted: [(filter: String, qos: Int32)]) -> Int32 {
        lastID += 1
        inbox.withLock { inbox in
            for (text, _) in wanted { inbox.filters[text] = try? TopicFilter(text) }
        }
        let (id, granted) = (lastID, wanted.map { UInt8(clamping: $0.qos) })
        then { $0.linkSubscribed(id: id, granted: granted) }
        if wanted.contains(where: { $0.filter == topics.status }) {
            let (topic, status) = (Array(topics.status.utf8), Array(#"{"state":"online","instance":"fake"}"#.utf8))
            then { $0.linkReceived(topic: topic, payload: status, isKept: true) }
        }
        for (path, payload) in fake.takeWaiting(for: self) { deliver(payload, on: path) }
        return id
    }

    func unsubscribe(_ texts: [String]) -> Int32 {
        inbox.withLock { inbox in
            for text in texts { inbox.filters[text] = nil }
        }
        lastID += 1
        return lastID
    }
}
