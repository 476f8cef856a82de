import Foundation
import Loopback
import Logging
import MQTTLink
import Store
import Testing

@testable import geomatchd

@Suite("The session of a former client id", .timeLimit(.minutes(5)))
struct SessionHandoverTests {
    /// A client that notes what comes, on a thread of its own.
    private final class Reader: MQTTLinkHandler, @unchecked Sendable {
        private let condition = NSCondition()
        private var received: [String] = []
        private var isSubscribed = false
        private var isOver = false
        private(set) var hadSession: Bool?
        private let filters: [String]
        private var link: MQTTLink?

        init(_ endpoint: MQTTEndpoint, id: String, session: Bool, filters: [String] = []) throws {
            self.filters = filters
            let link = try MQTTLink(
                configuration: MQTTLinkConfiguration(endpoint: endpoint, clientID: id, persistentSession: session), handler: self)
            self.link = link
            Thread.detachNewThread { [self] in
                link.run()
                note { self.isOver = true }
            }
        }

        private func note(_ change: () -> Void) {
            condition.withLock {
                change()
                condition.broadcast()
            }
        }

        func wait(_ isReached: ([String], Bool?) -> Bool) -> Bool {
            let limit = Date(timeIntervalSinceNow: 20)
            return condition.withLock {
                while !isReached(received, hadSession) {
                    if !condition.wait(until: limit) { return isReached(received, hadSession) }
                }
                return true
            }
        }

        func waitSubscribed() -> Bool { wait { _, _ in isSubscribed } }
        func publish(_ messages: [(topic: String, payload: String, responseTopic: String?)]) {
            // Before its connection a message would be refused.
            _ = wait { _, session in session != nil }
            condition.withLock { orders += messages }
            link?.wake()
        }
        private var orders: [(topic: String, payload: String, responseTopic: String?)] = []

        func stop() {
            link?.stop(drainSeconds: 10)
            _ = wait { _, _ in isOver }
        }

        func linkConnected(sessionPresent: Bool, protocolVersion: Int) {
            if !filters.isEmpty { link?.subscribe(filters.map { ($0, 1) }) }
            note { hadSession = sessionPresent }
        }
        func linkReceived(_ batch: InboundBatch) {
            let texts = (0..<batch.count).map { index in
                let response = batch[index].responseTopic.map { " to " + String(decoding: $0, as: UTF8.self) } ?? ""
                return String(decoding: batch[index].payload, as: UTF8.self) + response
            }
            note { received += texts }
        }
        func linkSubscribed(id: Int32, granted: [UInt8]) { note { isSubscribed = true } }
        func linkUnsubscribed(id: Int32) {}
        func linkAcknowledged(token: UInt64, reason: UInt8) {}
        func linkDisconnected(_ reason: MQTTDisconnect) {}
        func linkWoken() {
            let taken = condition.withLock {
                defer { orders = [] }
                return orders
            }
            for (topic, payload, response) in taken {
                payload.utf8CString.withUnsafeBytes { bytes in
                    let payload = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
                    func send(_ response: UnsafePointer<CChar>?) {
                        _ = link?.publish(topic: topic, payload: payload, qos: 1, retain: false, responseTopic: response)
                    }
                    if let response { response.withCString(send) } else { send(nil) }
                }
            }
        }
        func linkTick(now: Int64) -> Int64 { .max }
    }

    private func withBroker(_ body: (EmbeddedBroker) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "geomatch-handover-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let broker = EmbeddedBroker(
            EmbeddedBrokerConfiguration(dataDirectory: folder, port: Loopback.freePort(), log: { _ in }))
        try broker.start(timeoutSeconds: 20)
        defer { broker.stop() }
        try body(broker)
    }

    private static let filters = ["geomatch/+/+/request/+", "geomatch/+/+/request/+/+"]

    private func handOver(_ broker: EmbeddedBroker) throws -> Bool {
        try SessionHandover(
            SessionHandover.Configuration(
                endpoint: broker.endpoint, formerID: "geomatchd-old", presentID: "geomatchd-new", filters: Self.filters,
                markTopic: "geomatch/geomatch/i/request/probe/handover"),
            log: Logger(label: "test"), note: { _ in }
        ).run()
    }

    @Test("What it holds is moved in order to the present one, and it ends: it collects nothing more")
    func moved() throws {
        try withBroker { broker in
            let old = try Reader(broker.endpoint, id: "geomatchd-old", session: true, filters: Self.filters)
            #expect(old.waitSubscribed())
            old.stop()
            let client = try Reader(broker.endpoint, id: "client", session: false)
            let requests = (0..<1500).map { "request \($0)" }
            client.publish(requests.map { ("geomatch/d/ann/request/device/get", $0, nil) })
            client.stop()
            let asking = try Reader(broker.endpoint, id: "asking", session: false)
            asking.publish([("geomatch/d/ann/request/device/get", "last", "geomatch/d/ann/answers")])
            asking.stop()
            #expect(try handOver(broker))
            let new = try Reader(broker.endpoint, id: "geomatchd-new", session: true)
            #expect(new.wait { received, _ in received.contains { $0.hasPrefix("last") } })
            #expect(new.hadSession == true)
            new.stop()
            #expect(new.wait { received, _ in received.filter { $0 != "{}" } == requests + ["last to geomatch/d/ann/answers"] })
            let again = try Reader(broker.endpoint, id: "geomatchd-old", session: true)
            #expect(again.wait { _, session in session == false })
            again.stop()
        }
    }

    @Test("Where there is none nothing is moved, and the present session stands")
    func none() throws {
        try withBroker { broker in
            #expect(try handOver(broker))
            let new = try Reader(broker.endpoint, id: "geomatchd-new", session: true)
            #expect(new.wait { _, session in session == true })
            new.stop()
        }
    }

    @Test("A data directory of before gets a secret client id, and remembers the former one; a new one has none to remember")
    func names() throws {
        for isOld in [true, false] {
            let folder = NSTemporaryDirectory() + "geomatch-names-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let path = folder + "/geomatch.sqlite"
            if isOld {
                let store = try Store(path: path)
                try store.setMetadata("storeId", "known")
                try store.close()
            }
            // Nobody listens there.
            let arguments = ["--broker", "mqtt://127.0.0.1:1", "--data-dir", folder, "--start-timeout", "1"]
            var ids: Set<String?> = []
            for _ in 0..<2 {
                let said = try geomatchd(arguments)
                #expect(said.code == 69, "\(said)")
                let store = try Store(path: path)
                let id = try #require(try store.metadata("clientId"))
                let instance = try #require(try store.metadata("storeId"))
                #expect(id.hasPrefix("geomatchd-") && id.utf8.count > 30 && !id.contains(instance))
                #expect(!said.error.contains(id.dropFirst(10)))
                #expect(try store.metadata("formerClientId") == (isOld ? "geomatchd-known" : nil))
                ids.insert(id)
                try store.close()
            }
            #expect(ids.count == 1)
        }
    }
}
