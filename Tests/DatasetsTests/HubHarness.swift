import MemoryStore
import Wire

@testable import Datasets
@testable import Records

/// A hub with a store that is a few tables, a broker that remembers what it retains, and a clock that is advanced.
final class HubHarness {
    var hub: Hub
    var now: Int64 = 1_700_000_000_000
    var store = MemoryStore()
    /// What became durable, in order.
    var changes: [DurableChange] = []
    /// What was published since the last request.
    var published: [Published] = []
    /// What the broker retains.
    var retained: [String: String] = [:]
    var notices: [Notice] = []
    /// What was posted to webhooks and not yet answered for.
    var posts: [WebhookPost] = []
    /// The broker takes each match at once.
    var acknowledges = false
    /// The store can be written; it is noticed when something is.
    var isDiskFull = false
    private(set) var isRefusalKnown = false
    private var waiting: [(changes: [DurableChange], matchNumber: Int64)] = []
    private var configuration: HubConfiguration
    private var lives: UInt64 = 1

    struct Published: Equatable {
        var topic: String
        var payload: String
        var qos: UInt8
        var retain: Bool
        var token: UInt64
        var correlation: [UInt8]?

        var json: JSONValue? { try? JSONValue.parse(payload) }
    }

    init(_ adjust: (inout HubConfiguration) -> Void = { _ in }) {
        var configuration = HubConfiguration()
        configuration.seed = (lives, 2)
        adjust(&configuration)
        self.configuration = configuration
        hub = Hub(configuration)
        connect()
    }

    func connect() {
        var effects = HubEffects()
        hub.brokerConnected(into: &effects)
        perform(effects)
    }

    // MARK: Input

    struct Message {
        var topic: [UInt8]
        var payload: [UInt8]
        var retained = false
        var responseTopic: [UInt8]?
        var correlation: [UInt8]?

        init(
            _ topic: String, _ payload: String, retained: Bool = false, responseTopic: String? = nil, correlation: String? = nil
        ) {
            self.init(bytes: Array(topic.utf8), Array(payload.utf8))
            self.retained = retained
            self.responseTopic = responseTopic.map { Array($0.utf8) }
            self.correlation = correlation.map { Array($0.utf8) }
        }

        init(bytes topic: [UInt8], _ payload: [UInt8]) {
            self.topic = topic
            self.payload = payload
        }
    }

    /// A message as the broker would pass it.
    func send(
        _ topic: String, _ payload: String, retained: Bool = false, responseTopic: String? = nil, correlation: String? = nil
    ) {
        batch([Message(topic, payload, retained: retained, responseTopic: responseTopic, correlation: correlation)])
    }

    func send(_ topic: String, bytes: [UInt8]) { batch([Message(bytes: Array(topic.utf8), bytes)]) }

    /// A `live/…` message that the broker retained over a kill.
    func adopt(_ topic: String, _ payload: String) {
        var effects = HubEffects()
        Array(topic.utf8).withUnsafeBytes { topic in
            Array(payload.utf8).withUnsafeBytes { payload in
                hub.adopt(Inbound(topic: topic, payload: payload, retained: true), at: now, into: &effects)
            }
        }
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    /// Several messages in one batch, as the daemon's loop handles them.
    func batch(_ messages: [Message]) {
        var effects = HubEffects()
        hub.storeIsWritable = !isRefusalKnown
        for message in messages {
            receive(message, &effects)
            if let lookups = hub.documentLookups {
                hub.endBatch(at: now, into: &effects)
                perform(effects)
                effects = HubEffects()
                hub.resume(with: store.documents(lookups), at: now, into: &effects)
            }
            guard !effects.deletions.isEmpty else { continue }
            hub.endBatch(at: now, into: &effects)
            perform(effects)
            effects = HubEffects()
        }
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    private func receive(_ message: Message, _ effects: inout HubEffects) {
        message.topic.withUnsafeBytes { topic in
            message.payload.withUnsafeBytes { payload in
                (message.responseTopic ?? []).withUnsafeBytes { response in
                    (message.correlation ?? []).withUnsafeBytes { correlation in
                        hub.receive(
                            Inbound(
                                topic: topic, payload: payload, retained: message.retained,
                                responseTopic: message.responseTopic == nil ? nil : response,
                                correlation: message.correlation == nil ? nil : correlation), at: now, into: &effects)
                    }
                }
            }
        }
    }

    /// Lets time pass in steps of a tick.
    func advance(milliseconds: Int64, step: Int64 = Hub.tickMilliseconds) {
        let end = now + milliseconds
        while now < end {
            now = min(end, now + step)
            var effects = HubEffects()
            hub.storeIsWritable = !isRefusalKnown
            hub.advance(to: now, into: &effects)
            hub.writeBehind(count: .max, into: &effects)
            perform(effects)
        }
    }

    func loseBroker() { hub.brokerLost() }

    func acknowledge(_ token: UInt64, reason: UInt8 = 0) {
        var effects = HubEffects()
        hub.acknowledged(token, reason: reason, into: &effects)
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    /// What became of a post.
    func answer(_ post: WebhookPost, _ outcome: WebhookOutcome = .taken(status: 200)) {
        posts.removeAll { $0.token == post.token }
        var effects = HubEffects()
        hub.posted(post.token, outcome, at: now, into: &effects)
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    // MARK: What the daemon's loop does

    func perform(_ effects: HubEffects) {
        var effects = effects
        while !effects.isEmpty {
            var next = HubEffects()
            hub.endBatch(at: now, into: &effects)
            publish(effects.messages, &next)
            keep(effects, &next)
            for query in effects.queries { hub.answer(query, with: store.finding(query.kind), at: now, into: &next) }
            notices += effects.notices
            posts += effects.posts
            effects = next
        }
    }

    private func keep(_ effects: HubEffects, _ next: inout HubEffects) {
        if effects.changes.isEmpty {
            publish(effects.gated, &next)
        } else if isDiskFull {
            isRefusalKnown = true
            if effects.hasRequests { refuse(effects, &next) } else { waiting.append((effects.changes, hub.matchNumber)) }
        } else {
            commit(effects.changes)
            publish(effects.gated, &next)
            hub.committed(effects.deletions, at: now, into: &next)
            hub.durable(matchesThrough: hub.matchNumber, into: &next)
        }
    }

    private func commit(_ changes: [DurableChange]) {
        self.changes += changes
        for change in changes { store.apply(change) }
    }

    private func refuse(_ effects: HubEffects, _ next: inout HubEffects) {
        let (left, datasets) = hub.refused(effects, reason: "no space", at: now, into: &next)
        if !left.isEmpty { waiting.append((left, hub.matchNumber)) }
        var known = Set<String>()
        hub.beginRebuilding(datasets)
        for name in datasets {
            let unconfirmed = waiting.flatMap(\.changes).filter { $0.dataset == name }
            for change in store.restored(name) + unconfirmed {
                if case .putDataset(let record) = change { known.insert(record.id) }
                try? hub.restore(change, at: now)
            }
        }
        hub.endRebuilding(datasets, known: known, at: now, into: &next)
    }

    /// There is room on the disk again.
    func heal() {
        isDiskFull = false
        isRefusalKnown = false
        hub.storeIsWritable = true
        for (changes, number) in waiting {
            commit(changes)
            var effects = HubEffects()
            hub.durable(matchesThrough: number, into: &effects)
            perform(effects)
        }
        waiting = []
    }

    private func publish(_ batch: OutboundBatch, _ next: inout HubEffects) {
        for message in batch.messages {
            let published = Published(
                topic: String(decoding: batch.bytes[message.topic], as: UTF8.self),
                payload: String(decoding: batch.bytes[message.payload], as: UTF8.self), qos: message.qos,
                retain: message.retain, token: message.token, correlation: message.correlation.map { Array(batch.bytes[$0]) })
            self.published.append(published)
            if message.retain { retained[published.topic] = published.payload.isEmpty ? nil : published.payload }
            if message.token != 0, acknowledges { hub.acknowledged(message.token, reason: 0, into: &next) }
        }
    }

    /// The daemon ends, or is killed, and starts again on the same store and broker; `meanwhile` is before the broker is reached.
    func restart(killed: Bool = false, meanwhile: () -> Void = {}) {
        if !killed {
            var effects = HubEffects()
            hub.finish(into: &effects)
            perform(effects)
        }
        let mark = killed ? 0 : hub.liveNumber
        lives += 1
        configuration.seed = (lives, 2)
        hub = Hub(configuration)
        for change in store.restored() { try? hub.restore(change, at: now) }
        hub.endRestoration(liveNumber: store.highestLiveNumber, matchNumber: store.highestMatchNumber)
        published.removeAll()
        posts.removeAll()
        meanwhile()
        hub.brokerHolds(through: mark)
        settle()
        connect()
    }

    /// What the operator changes takes effect with the next life.
    func adjust(_ change: (inout HubConfiguration) -> Void) { change(&configuration) }

    /// Makes what the broker retains right again.
    func settle() {
        while !hub.isSettled {
            var effects = HubEffects()
            _ = hub.continueResync(count: 100, at: now, into: &effects)
            perform(effects)
        }
    }

    // MARK: Requests

    /// Sends a request and takes its reply out.
    func request(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        published.removeAll()
        send("geomatch/\(dataset)/\(client)/request/\(name)", parameters)
        return takeReply(client: client, dataset: dataset)
    }

    func takeReply(client: String = "alice", dataset: String = "d") -> JSONValue? {
        let topic = "geomatch/\(dataset)/\(client)/reply"
        guard let index = published.firstIndex(where: { $0.topic == topic }) else { return nil }
        return published.remove(at: index).json
    }

    func result(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        request(name, parameters, client: client, dataset: dataset)?["result"]
    }

    /// `error` and `field` of a refused request, such as `invalid range`; nil where it succeeded.
    func refusal(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> String? {
        request(name, parameters, client: client, dataset: dataset)?["error"].map(\.refusal)
    }

    var matches: [Published] { published.filter { $0.topic.contains("/match/") } }

    /// What was published on a topic since the last request.
    func payloads(_ topic: String) -> [String] { published.filter { $0.topic == topic }.map(\.payload) }

    func diagnostics(_ kind: String = "update", dataset: String = "d") -> [JSONValue] {
        published.filter { $0.topic == "geomatch/\(dataset)/diagnostics/\(kind)" }.compactMap(\.json)
    }

    var counters: DatasetCounters { hub.datasets["d"]?.counters ?? DatasetCounters() }

    /// The devices that have a publication and a subscription in most tests: a pin and a phone that can be moved.
    func makePair(_ publication: String = "", _ subscription: String = "") {
        _ = request("device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#)
        _ = request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = request(
            "publication/create",
            #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":3600\#(publication)}"#)
        _ = request(
            "subscription/create",
            #"{"id":"s","deviceId":"phone","topic":"coffee","range":50,"duration":3600\#(subscription)}"#)
    }

    /// Moves a device so many metres north of the pin.
    func move(_ device: String = "phone", metres: Double, extra: String = "") {
        let latitude = 43.73 + metres / 111_100
        send("d/-/-/-/-/\(device)/position", #"{"lat":\#(latitude),"lon":7.42\#(extra)}"#)
    }
}

extension JSONValue {
    subscript(_ key: String) -> JSONValue? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    var text: String? { asString }

    var number: Double? { asDouble }

    var elements: [JSONValue] { asArray ?? [] }

    var keys: [String] { asObject?.keys ?? [] }

    /// `error` and `field` of an error.
    var refusal: String { [self["error"]?.text, self["field"]?.text].compactMap(\.self).joined(separator: " ") }
}
