import Foundation
import MQTTLink
import Testing
import Wire

/// Stands in for geomatchd: subscribes to `filters`, notes what comes, and answers as configured.
final class FakeDaemon: MQTTLinkHandler, @unchecked Sendable {
    struct Message: Equatable {
        var topic: String
        var payload: String
    }

    typealias Answer = @Sendable (FakeDaemon, Message, _ correlation: [UInt8]?) -> Void

    /// Guards what follows; the link belongs to its thread.
    private let condition = NSCondition()
    private var messages: [Message] = []
    private var orders: [(MQTTLink) -> Void] = []
    private var isReady = false
    private var hasEnded = false
    private(set) var link: MQTTLink?
    private let filters: [String]
    private let answer: Answer

    init(_ broker: TestBroker, filters: [String], answer: @escaping Answer = { _, _, _ in }) throws {
        self.filters = filters
        self.answer = answer
        let endpoint = MQTTEndpoint(host: "127.0.0.1", port: broker.port)
        let link = try MQTTLink(
            configuration: MQTTLinkConfiguration(endpoint: endpoint, clientID: "daemon-\(broker.port)"), handler: self)
        self.link = link
        Thread { [self] in
            link.run()
            condition.withLock {
                hasEnded = true
                condition.broadcast()
            }
        }.start()
        #expect(wait { self.isReady })
    }

    /// On the link's thread.
    func publish(_ topic: String, _ payload: String, retain: Bool = false, correlation: [UInt8]? = nil) {
        _ = link?.publish(topic: topic, payload: payload.utf8, qos: 1, retain: retain, correlation: correlation)
    }

    /// From any thread; returns when the broker has it.
    func tell(_ topic: String, _ payload: String, retain: Bool = false) {
        let before = condition.withLock { acknowledged }
        condition.withLock { orders.append { _ in self.publish(topic, payload, retain: retain) } }
        link?.wake()
        _ = wait { self.acknowledged > before }
    }

    func received(_ count: Int) -> [Message] {
        _ = wait { self.messages.count >= count }
        return condition.withLock { messages }
    }

    func end() {
        link?.stop(drainSeconds: 1)
        _ = wait { self.hasEnded }
    }

    private var acknowledged = 0

    private func wait(until isReached: () -> Bool) -> Bool {
        let limit = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !isReached() { if !condition.wait(until: limit) { return isReached() } }
            return true
        }
    }

    private func note(_ change: () -> Void) {
        condition.withLock {
            change()
            condition.broadcast()
        }
    }

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        if filters.isEmpty { note { isReady = true } } else { link?.subscribe(filters.map { ($0, 1) }) }
    }

    func linkReceived(_ batch: InboundBatch) {
        for index in 0..<batch.count {
            let message = Message(
                topic: String(decoding: batch[index].topic, as: UTF8.self),
                payload: String(decoding: batch[index].payload, as: UTF8.self))
            answer(self, message, batch[index].correlation.map(Array.init))
            note { messages.append(message) }
        }
    }

    func linkSubscribed(id: Int32, granted: [UInt8]) { note { isReady = true } }
    func linkUnsubscribed(id: Int32) {}
    func linkAcknowledged(token: UInt64, reason: UInt8) { note { acknowledged += 1 } }
    func linkDisconnected(_ reason: MQTTDisconnect) {}
    func linkWoken() {
        let taken = condition.withLock {
            defer { orders.removeAll() }
            return orders
        }
        if let link { taken.forEach { $0(link) } }
    }
    func linkTick(now: Int64) -> Int64 { .max }
}

/// Runs `body` with a broker and a fake daemon.
func withDaemon<Result>(
    filters: [String], answer: @escaping FakeDaemon.Answer = { _, _, _ in }, _ body: (TestBroker, FakeDaemon) throws -> Result
) throws -> Result {
    try withBroker { broker in
        let daemon = try FakeDaemon(broker, filters: filters, answer: answer)
        defer { daemon.end() }
        return try body(broker, daemon)
    }
}
