import DaemonCore
import Logging
import MQTTDoor

@testable import Datasets

/// A door without a broker: it spells topics as the MQTT door does.
final class HarnessDoor: Door {
    let topics: Topics
    private let liveQoS: Int32
    weak var core: Core?
    var published: [HubHarness.Published] = []
    private(set) var retained: [String: String] = [:]
    var acknowledges = false
    /// What is for many at once counts once.
    var itemsSent = 0
    var backlog = 0
    /// Of replies to each client that have not arrived.
    var untakenReplyBytes = 0
    var wakes = 0
    /// Those that the store had when the door heard last that there are others.
    private(set) var durableDatasets: [String] = []
    let notices = NoticeLog()

    init(_ topics: Topics, liveQoS: Int32) {
        self.topics = topics
        self.liveQoS = liveQoS
    }

    func datasetsChanged() { durableDatasets = core?.hub.datasetNames.filter { core?.hub.isDurable($0) == true } ?? [] }
    func wake() { wakes += 1 }
    func replyBytes(of queue: UInt32) -> Int { untakenReplyBytes }
    func isFlooded(by client: String, in dataset: String) -> Bool { true }

    func eraseInput(_ topic: String) {
        published.append(
            HubHarness.Published(topic: topic, payload: "", qos: 1, retain: true, token: 0, correlation: nil))
    }

    func send(_ batch: OutputBatch) {
        batch.bytes.withUnsafeBytes { bytes in
            for item in batch.items {
                itemsSent += 1
                item.forEachReceiver { send($0, bytes) }
            }
        }
    }

    private func send(_ item: Output, _ bytes: UnsafeRawBufferPointer) {
        var topic: [UInt8] = []
        guard let sending = topics.spell(item, bytes, liveQoS: liveQoS, door: 0, into: &topic) else { return }
        let message = HubHarness.Published(
            topic: String(decoding: topic, as: UTF8.self), payload: String(decoding: bytes[item.payload], as: UTF8.self),
            qos: UInt8(sending.qos), retain: sending.retain, token: sending.token,
            correlation: sending.correlation.map { Array($0) })
        published.append(message)
        if message.retain { retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
        if message.token != 0, acknowledges { core?.delivered(message.token, refusal: nil) }
    }

    // MARK: What comes in

    func receive(_ message: HubHarness.Message) {
        message.topic.withUnsafeBytes { topic in
            message.payload.withUnsafeBytes { payload in
                switch topics.read(topic) {
                case .request(let dataset, let client, let name):
                    guard !message.retained else { return }
                    if !Topics.isRequestName(name) { core?.receiveMalformedRequest(topic, of: dataset) }
                    core?.receive(
                        Envelope(
                            dataset: dataset, client: client, name: name, body: payload,
                            answer: address(dataset, client, message)))
                case .malformedRequest(let dataset): core?.receiveMalformedRequest(topic, of: dataset)
                case .update(let topic):
                    core?.receive(IncomingUpdate(topic: topic, payload: payload, isRepeated: message.retained))
                case .other: break
                }
            }
        }
    }

    private func address(_ dataset: String, _ client: String, _ message: HubHarness.Message) -> ReturnAddress {
        (message.responseTopic ?? []).withUnsafeBytes { response in
            (message.correlation ?? []).withUnsafeBytes { correlation in
                MQTTReturnAddress.make(
                    door: 0,
                    topic: topics.reply(
                        dataset: dataset, client: client, responseTopic: message.responseTopic == nil ? nil : response),
                    correlation: message.correlation == nil ? nil : correlation)
            }
        }
    }

    func adopt(_ topic: String, _ payload: String, restores: Bool) {
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { payload in
                guard let state = topics.liveState(topic) else { return }
                core?.adopt(IncomingUpdate(topic: state, payload: payload, isRepeated: true), restores: restores)
            }
        }
    }
}

/// Remembers posts until a test answers for them.
final class HarnessPoster: Poster {
    var posts: [WebhookPost] = []
    private var outcomes: [(token: UInt64, outcome: PostOutcome)] = []

    func post(_ posts: [WebhookPost]) { self.posts += posts }

    func answer(_ post: WebhookPost, _ outcome: PostOutcome) {
        posts.removeAll { $0.token == post.token }
        outcomes.append((post.token, outcome))
    }

    func collect() -> [(token: UInt64, outcome: PostOutcome)] {
        defer { outcomes = [] }
        return outcomes
    }
}

/// Single-threaded like the tests that use it.
final class HarnessClock: @unchecked Sendable {
    var now: Int64 = 1_700_000_000_000
    /// It goes on by so much whenever the monotonic time is read.
    var step: Int64 = 0

    func monotonic() -> Int64 {
        now += step
        return now
    }
}

/// Lines of the log: the message and its metadata.
final class NoticeLog: LogHandler, @unchecked Sendable {
    private(set) var lines: [String] = []
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        lines.append(([event.message.description] + metadata).joined(separator: " "))
    }
}

/// Remembers messages for push services until a test answers for them.
final class HarnessPushPoster: PushPoster {
    var posts: [PushPost] = []
    private var results: [PushResult] = []

    func post(_ posts: [PushPost]) { self.posts += posts }

    func answer(_ post: PushPost, _ outcome: PostOutcome) {
        posts.removeAll { $0.token == post.token }
        results.append(PushResult(token: post.token, kind: post.target.kind, outcome: outcome))
    }

    func collect() -> [PushResult] {
        defer { results = [] }
        return results
    }
}
