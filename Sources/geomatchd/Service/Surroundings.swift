import Datasets
import Glibc
import MQTTLink
import Store
import Webhooks
import Records

// What the loop stands between: a broker, a log of what is durable, webhooks, a clock. The daemon gives it the real ones, the simulation
// others that lose, repeat, refuse and crash as told.

/// The connection to a broker, as the loop uses it.
protocol BrokerLink: AnyObject {
    /// QoS 0 messages that wait for the socket.
    var queuedMessages: Int { get }
    /// QoS 1 messages whose PUBACK has not come.
    var unacknowledged: Int { get }
    func publish(_ message: OutgoingMessage) -> MQTTPublishResult
    func subscribe(_ filters: [(filter: String, qos: Int32)]) -> Int32
    func unsubscribe(_ filters: [String]) -> Int32
    /// From any thread.
    func wake()
    func stop(drainSeconds: Double)
}

/// One message on its way out; everything is borrowed for the call.
struct OutgoingMessage {
    /// UTF-8 with a NUL at its end.
    var topic: UnsafePointer<CChar>
    var payload: UnsafeRawBufferPointer
    var qos: Int32
    var retain: Bool
    var token: UInt64 = 0
    var correlation: UnsafeRawBufferPointer?
}

extension MQTTLink: BrokerLink {
    func publish(_ message: OutgoingMessage) -> MQTTPublishResult {
        publish(
            topic: message.topic, payload: message.payload, qos: message.qos, retain: message.retain, token: message.token,
            correlation: message.correlation)
    }
}

/// Where changes become durable, in order. ``Journal`` says what each promises.
protocol DurableLog: AnyObject {
    var isWritable: Bool { get }
    var backlog: Int { get }
    func append(_ changes: [DurableChange], token: UInt64)
    func commitNow(_ changes: [DurableChange]) throws(StoreError)
    func ask(_ question: StoreQuery.Kind, token: UInt64)
    /// What is known of documents when everything appended before is durable.
    func lookUp(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?]
    func collect() -> [JournalCompletion]
}

extension Journal: DurableLog {
    func ask(_ question: StoreQuery.Kind, token: UInt64) {
        read(token: token) { store in
            switch question {
            case .matches(let dataset, let deviceId, let after):
                guard let matches = try store.matches(dataset: dataset, deviceId: deviceId, after: after) else {
                    return .noSuchMatch
                }
                return .matches(matches)
            case .match(let dataset, let id): return .match(try store.match(dataset: dataset, id: id))
            case .feed(let query): return .feed(try store.feedPage(query))
            case .document(let lookup): return .document(try store.documents([lookup]).first ?? nil)
            }
        }
    }
}

/// What posts to webhooks, each post once. ``Webhooks`` says what each promises.
protocol WebhookPosting: AnyObject {
    func post(_ posts: [WebhookPost])
    func collect() -> [(token: UInt64, outcome: WebhookOutcome)]
}

extension Webhooks: WebhookPosting {}

/// What gives a dataset back as it is durable.
protocol DurableState: AnyObject {
    func restore(dataset: String, _ visit: (DurableChange) throws -> Void) throws
}

extension Store: DurableState {
    func restore(dataset: String, _ visit: (DurableChange) throws -> Void) throws {
        try restore(dataset: dataset, repliesSince: .min, visit)
    }
}

/// What time it is, in milliseconds.
struct LoopClock: Sendable {
    /// Since 1970 UTC.
    var now: @Sendable () -> Int64
    /// For deadlines: a clock that is set meanwhile does not move it.
    var monotonic: @Sendable () -> Int64

    static let system = LoopClock(now: { milliseconds(CLOCK_REALTIME) }, monotonic: { milliseconds(CLOCK_MONOTONIC) })

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
