import Foundation

@testable import MQTTLink

/// One message as a value that outlives its batch.
struct Received: Equatable, Sendable {
    var topic: String
    var payload: String
    var retain = false
    var leftOut: UInt32 = 0
    var responseTopic: String?
    var correlation: [UInt8]?
}

/// A handler that notes everything and lets tests wait for it; and the thread that runs its link.
final class LinkRecorder: MQTTLinkHandler, @unchecked Sendable {
    enum Event: Equatable {
        case connected(sessionPresent: Bool, version: Int)
        case subscribed([UInt8])
        case unsubscribed
        case acknowledged(UInt64, UInt8)
        case disconnected(MQTTDisconnect.Cause)
    }

    /// Guards everything below but `link`, which belongs to its thread.
    private let condition = NSCondition()
    private var events: [Event] = []
    private var messages: [Received] = []
    private var orders: [(MQTTLink) -> Void] = []
    private var hasEnded = false
    private(set) var link: MQTTLink?
    private let filters: [(filter: String, qos: Int32)]
    private let onMessage: ((MQTTLink, Received) -> Void)?

    init(
        _ configuration: MQTTLinkConfiguration, filters: [(filter: String, qos: Int32)] = [], ring: LiveRing? = nil,
        onMessage: ((MQTTLink, Received) -> Void)? = nil
    ) throws {
        self.filters = filters
        self.onMessage = onMessage
        let link = try MQTTLink(configuration: configuration, handler: self, ring: ring)
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

    /// Runs `order` on the link's thread, soon.
    func order(_ order: @escaping (MQTTLink) -> Void) {
        condition.withLock { orders.append(order) }
        link?.wake()
    }

    /// Runs `order` on the link's thread and returns its result.
    func ask<Result>(_ order: @escaping (MQTTLink) -> Result) -> Result? {
        var result: Result?
        self.order { link in
            let found = order(link)
            self.condition.withLock {
                result = found
                self.condition.broadcast()
            }
        }
        _ = wait { _, _ in result != nil }
        return condition.withLock { result }
    }

    /// Waits until `isReached` holds of all that came so far; false after 20 s.
    func wait(seconds: Double = 20, until isReached: ([Event], [Received]) -> Bool) -> Bool {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while !isReached(events, messages) {
                if !condition.wait(until: limit) { return isReached(events, messages) }
            }
            return true
        }
    }

    func wait(for event: Event) -> Bool { wait { events, _ in events.contains(event) } }
    func waitConnected() -> Bool { wait { events, _ in events.contains(where: \.isConnected) } }
    func waitSubscribed() -> Bool { wait { events, _ in events.contains(where: \.isSubscribed) } }
    var received: [Received] { condition.withLock { messages } }
    var noted: [Event] { condition.withLock { events } }
    var lastConnected: Event? { noted.last(where: \.isConnected) }
    var wasConnected: Bool { lastConnected != nil }
    var wasDisconnected: Bool { noted.contains(where: \.isDisconnected) }

    func publish(_ topic: String, _ payload: String, qos: Int32 = 1, retain: Bool = false, token: UInt64 = 0) {
        order { _ = $0.publish(topic: topic, payload: payload.utf8, qos: qos, retain: retain, token: token) }
    }

    /// Publishes at QoS 1 and waits for the acknowledgement; its reason, where 0x10 (nobody subscribed) counts as 0.
    func publishAndWait(_ topic: String, _ payload: String, retain: Bool = false) -> UInt8? {
        let token = UInt64.random(in: 1 << 32 ... .max)
        publish(topic, payload, retain: retain, token: token)
        _ = wait { events, _ in events.contains { $0.token == token } }
        for case .acknowledged(token, let reason) in noted { return reason == 0x10 ? 0 : reason }
        return nil
    }

    /// Ends the link; false where it does not within 20 s.
    @discardableResult
    func stop(drainSeconds: Double = 5) -> Bool {
        link?.stop(drainSeconds: drainSeconds)
        let limit = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !hasEnded { if !condition.wait(until: limit) { return hasEnded } }
            return true
        }
    }

    private func note(_ event: Event) {
        condition.withLock {
            events.append(event)
            condition.broadcast()
        }
    }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        if !filters.isEmpty { link?.subscribe(filters) }
        note(.connected(sessionPresent: sessionPresent, version: protocolVersion))
    }

    func linkReceived(_ batch: InboundBatch) {
        var new: [Received] = []
        for index in 0..<batch.count {
            let message = batch[index]
            new.append(
                Received(
                    topic: String(decoding: message.topic, as: UTF8.self),
                    payload: String(decoding: message.payload, as: UTF8.self), retain: message.retain,
                    leftOut: message.leftOut,
                    responseTopic: message.responseTopic.map { String(decoding: $0, as: UTF8.self) },
                    correlation: message.correlation.map(Array.init)))
        }
        if let onMessage, let link { new.forEach { onMessage(link, $0) } }
        condition.withLock {
            messages += new
            condition.broadcast()
        }
    }

    func linkSubscribed(id: Int32, granted: [UInt8]) { note(.subscribed(granted)) }
    func linkUnsubscribed(id: Int32) { note(.unsubscribed) }
    func linkAcknowledged(token: UInt64, reason: UInt8) { note(.acknowledged(token, reason)) }
    func linkDisconnected(_ reason: MQTTDisconnect) { note(.disconnected(reason.cause)) }

    func linkWoken() {
        let taken = condition.withLock {
            defer { orders.removeAll() }
            return orders
        }
        if let link { taken.forEach { $0(link) } }
    }

    func linkTick(now: Int64) -> Int64 { .max }
}

extension LinkRecorder.Event {
    var isConnected: Bool { if case .connected = self { true } else { false } }
    var isSubscribed: Bool { if case .subscribed = self { true } else { false } }
    var isDisconnected: Bool { if case .disconnected = self { true } else { false } }
    var token: UInt64? { if case .acknowledged(let token, _) = self { token } else { nil } }
}

/// Runs `body` with a link to `endpoint`, and ends it.
func withLink<Result>(
    _ endpoint: MQTTEndpoint, id: String = "test-\(UInt32.random(in: 0 ... .max))", version: Int = 5,
    filters: [(filter: String, qos: Int32)] = [], ring: LiveRing? = nil, change: (inout MQTTLinkConfiguration) -> Void = { _ in },
    _ body: (LinkRecorder) throws -> Result
) throws -> Result {
    var configuration = MQTTLinkConfiguration(endpoint: endpoint, clientID: id)
    configuration.protocolVersion = version
    configuration.backoffMinimumSeconds = 0.05
    configuration.backoffMaximumSeconds = 0.2
    change(&configuration)
    let recorder = try LinkRecorder(configuration, filters: filters, ring: ring)
    defer { recorder.stop(drainSeconds: 0) }
    return try body(recorder)
}
