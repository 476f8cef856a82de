import Datasets
import Foundation
import MQTTLink
import MemoryStore
import Synchronization
@testable import Records

/// The daemon's own logic on a store of tables, behind a real broker: what replicas are tested with.
///
/// `hub`, `store` and `link` belong to the link's thread: the guard behind `@unchecked Sendable`.
final class HubDaemon: MQTTLinkHandler, @unchecked Sendable {
    private var hub: Hub
    private var store = MemoryStore()
    private var link: MQTTLink?
    private var nextAdvance: Int64 = 0
    private let orders = Mutex<[@Sendable (HubDaemon) -> Void]>([])
    private let ended = DispatchSemaphore(value: 0)
    private var lives: UInt64 = 1

    init(_ broker: TestBroker) throws {
        hub = Hub(Self.configuration(1))
        var settings = MQTTLinkConfiguration(endpoint: broker.endpoint, clientID: "hub", persistentSession: true)
        settings.backoffMinimumSeconds = 0.02
        settings.backoffMaximumSeconds = 0.1
        let link = try MQTTLink(configuration: settings, handler: self)
        self.link = link
        Thread { [self] in
            link.run()
            ended.signal()
        }.start()
    }

    private static func configuration(_ life: UInt64) -> HubConfiguration {
        var configuration = HubConfiguration()
        configuration.seed = (life, 7)
        configuration.instance = "hub"
        return configuration
    }

    func end() {
        link?.stop(drainSeconds: 0)
        ended.wait()
    }

    /// Ends as killed and begins again on what was durable.
    func restart() {
        order { daemon in
            daemon.lives += 1
            daemon.hub = Hub(Self.configuration(daemon.lives))
            for change in daemon.store.restored() { try? daemon.hub.restore(change, at: daemon.now) }
            daemon.hub.endRestoration(
                liveNumber: daemon.store.highestLiveNumber, matchNumber: daemon.store.highestMatchNumber)
            daemon.connected()
        }
    }

    /// Loses everything, as a store that was wiped.
    func wipe() {
        order { daemon in
            daemon.store = MemoryStore()
            daemon.hub = Hub(Self.configuration(99))
            daemon.connected()
        }
    }

    /// As after a month: deletions so far are kept no longer.
    func forgetDeletions() {
        order { daemon in
            for instant in [0, Int64.max] { daemon.store.apply(.forgetTombstones(before: instant, at: daemon.now)) }
        }
    }

    private func order(_ order: @escaping @Sendable (HubDaemon) -> Void) {
        let done = DispatchSemaphore(value: 0)
        orders.withLock {
            $0.append { daemon in
                order(daemon)
                done.signal()
            }
        }
        link?.wake()
        done.wait()
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private func connected() {
        var effects = HubEffects()
        hub.brokerConnected(into: &effects)
        perform(effects)
        publish("geomatch/status", #"{"state":"online","version":"t","instance":"\#(lives)","startedAt":0}"#, retain: true)
    }

    private func publish(_ topic: String, _ payload: String, retain: Bool) {
        _ = link?.publish(topic: topic, payload: payload.utf8, qos: 1, retain: retain)
    }

    // MARK: MQTTLinkHandler

    func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
        link?.subscribe([("geomatch/+/+/request/#", 1)])
    }

    func linkSubscribed(id: Int32, granted: [UInt8]) { connected() }

    func linkReceived(_ batch: InboundBatch) {
        var effects = HubEffects()
        for index in 0..<batch.count {
            let message = batch[index]
            hub.receive(
                Inbound(
                    topic: message.topic, payload: message.payload, padded: true, retained: message.retain,
                    responseTopic: message.responseTopic, correlation: message.correlation), at: now, into: &effects)
            if let lookups = hub.documentLookups {
                perform(effects)
                effects = HubEffects()
                hub.resume(with: store.documents(lookups), at: now, into: &effects)
            }
            guard !effects.deletions.isEmpty else { continue }
            perform(effects)
            effects = HubEffects()
        }
        perform(effects)
    }

    func linkAcknowledged(token: UInt64, reason: UInt8) {
        var effects = HubEffects()
        hub.acknowledged(token, reason: reason, into: &effects)
        perform(effects)
    }

    func linkUnsubscribed(id: Int32) {}
    func linkDisconnected(_ reason: MQTTDisconnect) { hub.brokerLost() }
    func linkWoken() { carryOut() }

    func linkTick(now: Int64) -> Int64 {
        guard link?.isConnected == true else { return now + 50 }
        carryOut()
        if now >= nextAdvance {
            nextAdvance = now + Hub.tickMilliseconds
            var effects = HubEffects()
            hub.advance(to: now, into: &effects)
            perform(effects)
        }
        return nextAdvance
    }

    private func carryOut() {
        let due = orders.withLock { orders in
            defer { orders.removeAll() }
            return orders
        }
        for order in due { order(self) }
    }

    private func perform(_ first: HubEffects) {
        var effects = first
        hub.endBatch(at: now, into: &effects)
        while !effects.isEmpty {
            var next = HubEffects()
            send(effects.messages)
            for change in effects.changes { store.apply(change) }
            send(effects.gated)
            hub.committed(effects.deletions, at: now, into: &next)
            for query in effects.queries { hub.answer(query, with: store.finding(query.kind), at: now, into: &next) }
            hub.endBatch(at: now, into: &next)
            effects = next
        }
    }

    private func send(_ batch: OutboundBatch) {
        for message in batch.messages {
            let result = link?.publish(
                topic: String(decoding: batch.bytes[message.topic], as: UTF8.self), payload: batch.bytes[message.payload],
                qos: Int32(message.qos), retain: message.retain, token: message.token,
                correlation: message.correlation.map { Array(batch.bytes[$0]) })
            if result != .accepted, message.token != 0 { hub.returned(message.token) }
        }
    }
}

/// Runs `body` with a broker and the daemon's logic, and ends both.
func withHub<Result>(_ body: (TestBroker, HubDaemon) async throws -> Result) async throws -> Result {
    try await withBroker { broker in
        let daemon = try HubDaemon(broker)
        defer { daemon.end() }
        return try await body(broker, daemon)
    }
}
