import Foundation
import MQTTLink
import Testing
import Wire

/// A message as it came to a client.
struct Message: Sendable {
    var topic: String
    var payload: [UInt8]
    var retain: Bool
    var correlation: [UInt8]?

    var text: String { String(decoding: payload, as: UTF8.self) }
    var json: JSONValue { (try? JSONValue.parse(payload)) ?? .null }
}

/// An MQTT client of a test: notes what comes and lets the test wait for it.
final class Client: MQTTLinkHandler, @unchecked Sendable {
    let name: String
    private let filters: [(filter: String, qos: Int32)]
    private var link: MQTTLink?
    /// Guards everything below.
    private let condition = NSCondition()
    private var received: [Message] = []
    private var repliesByRequest: [String: Message] = [:]
    /// What is to be published; it waits for the connection and for its filters, so that no reply is missed.
    private var orders: [(MQTTLink) -> Void] = []
    private var isSubscribed = false
    private var acknowledged: [UInt64: UInt8] = [:]
    private var granted: [[UInt8]] = []
    private var connections = 0
    private var disconnections: [MQTTDisconnect] = []
    private var lastToken: UInt64 = 0
    private var hasEnded = false

    /// - Parameters:
    ///   - name: The client level of its requests; all replies to it are read.
    ///   - filters: What it reads besides, at QoS 1.
    init(
        _ endpoint: MQTTEndpoint, name: String = "alice", filters: [String] = [], qos: Int32 = 1, session: String? = nil,
        version: Int = 5,
        readsReplies: Bool = true
    ) throws {
        self.name = name
        self.filters = (filters + (readsReplies ? ["geomatch/+/\(name)/reply"] : [])).map { ($0, qos) }
        var configuration = MQTTLinkConfiguration(
            endpoint: endpoint, clientID: session ?? "test-\(UInt64.random(in: 0 ... .max))", persistentSession: session != nil)
        configuration.backoffMinimumSeconds = 0.05
        configuration.backoffMaximumSeconds = 0.2
        configuration.protocolVersion = version
        configuration.inflightMaximum = 20
        let link = try MQTTLink(configuration: configuration, handler: self)
        self.link = link
        let thread = Thread { [self] in
            link.run()
            condition.withLock {
                hasEnded = true
                condition.broadcast()
            }
        }
        thread.start()
    }

    // MARK: Waiting

    /// Waits until `isReached` holds of all messages so far.
    @discardableResult
    func wait(seconds: Double = 30, until isReached: ([Message]) -> Bool) -> Bool {
        waitLocked(seconds) { isReached(received) }
    }

    private func waitLocked(_ seconds: Double, _ isReached: () -> Bool) -> Bool {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !isReached() { if !condition.wait(until: limit) { return isReached() } }
            return true
        }
    }

    /// Subscribed to all its filters, for the n-th time.
    @discardableResult
    func waitSubscribed(times: Int = 1) -> Bool { waitLocked(30) { granted.count >= times } }
    func waitDisconnected(times: Int = 1) -> Bool { waitLocked(30) { disconnections.count >= times } }
    var wasDisconnected: Bool { condition.withLock { !disconnections.isEmpty } }
    var grantedCodes: [[UInt8]] { condition.withLock { granted } }
    var messages: [Message] { condition.withLock { received } }
    func messages(on topic: String) -> [Message] { messages.filter { $0.topic == topic } }
    func forgetMessages() { condition.withLock { received.removeAll() } }

    /// The first message that came, or comes, on this topic.
    func first(on topic: String, seconds: Double = 30, where isWanted: (Message) -> Bool = { _ in true }) throws -> Message {
        wait(seconds: seconds) { $0.contains { $0.topic == topic && isWanted($0) } }
        return try #require(messages.first { $0.topic == topic && isWanted($0) }, "nothing came on \(topic)")
    }

    // MARK: Sending

    func publish(_ topic: String, _ payload: some Sequence<UInt8>, qos: Int32 = 1, retain: Bool = false) {
        let bytes = Array(payload)
        order { _ = $0.publish(topic: topic, payload: bytes, qos: qos, retain: retain) }
    }

    func publish(_ topic: String, _ text: String, qos: Int32 = 1, retain: Bool = false) {
        publish(topic, text.utf8, qos: qos, retain: retain)
    }

    /// Publishes at QoS 1 and waits for the broker; its reason, where 0x10 (nobody subscribed) counts as 0.
    @discardableResult
    func publishAndWait(_ topic: String, _ text: String, retain: Bool = false, seconds: Double = 30) -> UInt8? {
        let token = condition.withLock {
            lastToken += 1
            return lastToken
        }
        order { _ = $0.publish(topic: topic, payload: Array(text.utf8), qos: 1, retain: retain, token: token) }
        _ = waitLocked(seconds) { acknowledged[token] != nil }
        return condition.withLock { acknowledged[token].map { $0 == 0x10 ? 0 : $0 } }
    }

    private func order(_ order: @escaping (MQTTLink) -> Void) {
        condition.withLock { orders.append(order) }
        link?.wake()
    }

    // MARK: Asking

    static func requestTopic(_ request: String, dataset: String, client: String) -> String {
        "geomatch/\(dataset)/\(client)/request/\(request)"
    }

    /// Sends a request with this id, which may have been sent before.
    func send(_ request: String, _ parameters: JSONValue, id: String, dataset: String = "d", as client: String? = nil) {
        var object = parameters.asObject ?? JSONObject()
        object["requestId"] = .string(id)
        publish(Self.requestTopic(request, dataset: dataset, client: client ?? name), JSONValue.object(object).serialised())
    }

    /// The reply to the request with this id; nil where none comes.
    func reply(to id: String, seconds: Double = 30) -> JSONValue? {
        _ = waitLocked(seconds) { repliesByRequest[id] != nil }
        return condition.withLock { repliesByRequest[id] }?.json
    }

    /// Sends a request and waits for its whole reply.
    func ask(_ request: String, _ parameters: JSONValue = [:], dataset: String = "d", as client: String? = nil) throws
        -> JSONValue
    {
        let id = UUID().uuidString
        send(request, parameters, id: id, dataset: dataset, as: client)
        return try #require(reply(to: id), "no reply to \(request)")
    }

    /// Sends a request and waits for its `result`.
    @discardableResult
    func request(
        _ request: String, _ parameters: JSONValue = [:], dataset: String = "d", as client: String? = nil
    ) throws -> JSONValue {
        let reply = try ask(request, parameters, dataset: dataset, as: client)
        return try #require(reply["result"], "\(request): \(String(decoding: reply.serialised(), as: UTF8.self))")
    }

    /// Sends a request that is to fail; the name of its error.
    func refusal(_ request: String, _ parameters: JSONValue = [:], dataset: String = "d", as client: String? = nil) throws
        -> String?
    {
        try ask(request, parameters, dataset: dataset, as: client)["error"]?["error"]?.asString
    }

    // MARK: The end

    func stop() {
        link?.stop(drainSeconds: 0)
        _ = waitLocked(20) { hasEnded }
    }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        condition.withLock {
            connections += 1
            condition.broadcast()
        }
        if filters.isEmpty {
            linkSubscribed(id: 0, granted: [])
        } else {
            link?.subscribe(filters)
        }
    }

    func linkReceived(_ batch: InboundBatch) {
        var new: [Message] = []
        for index in 0..<batch.count {
            let message = batch[index]
            new.append(
                Message(
                    topic: String(decoding: message.topic, as: UTF8.self), payload: Array(message.payload),
                    retain: message.retain,
                    correlation: message.correlation.map(Array.init)))
        }
        let replies = new.filter { $0.topic.hasSuffix("/\(name)/reply") }.compactMap { message in
            message.json["requestId"]?.asString.map { ($0, message) }
        }
        condition.withLock {
            received += new
            for (id, message) in replies { repliesByRequest[id] = message }
            condition.broadcast()
        }
    }

    func linkSubscribed(id: Int32, granted codes: [UInt8]) {
        condition.withLock {
            granted.append(codes)
            isSubscribed = true
            condition.broadcast()
        }
        linkWoken()
    }

    func linkUnsubscribed(id: Int32) {}

    func linkAcknowledged(token: UInt64, reason: UInt8) {
        condition.withLock {
            acknowledged[token] = reason
            condition.broadcast()
        }
    }

    func linkDisconnected(_ reason: MQTTDisconnect) {
        condition.withLock {
            disconnections.append(reason)
            isSubscribed = false
            condition.broadcast()
        }
    }

    func linkWoken() {
        let taken = condition.withLock {
            guard isSubscribed else { return [] as [(MQTTLink) -> Void] }
            defer { orders.removeAll() }
            return orders
        }
        if let link { taken.forEach { $0(link) } }
    }

    func linkTick(now: Int64) -> Int64 { .max }
}

extension JSONValue {
    subscript(key: String) -> JSONValue? { asObject?[key] }
    var line: String { String(decoding: serialised(), as: UTF8.self) }
}

/// Runs `body` with a subscribed client, and ends it.
func withClient<Result>(
    _ endpoint: MQTTEndpoint, name: String = "alice", filters: [String] = [], qos: Int32 = 1, session: String? = nil,
    version: Int = 5, readsReplies: Bool = true, _ body: (Client) throws -> Result
) throws -> Result {
    let client = try Client(
        endpoint, name: name, filters: filters, qos: qos, session: session, version: version, readsReplies: readsReplies)
    defer { client.stop() }
    try #require(client.waitSubscribed(), "the client is not subscribed")
    return try body(client)
}
