import Wire

@testable import Datasets

/// A hub with a store that is a list: durable changes are kept, and replayed for a restart.
final class HubHarness {
    var hub: Hub
    var now: Int64 = 1_700_000_000_000
    /// What became durable, in order.
    var changes: [DurableChange] = []
    /// What was published: topic, payload, retain flag and token.
    var published: [Published] = []
    var storeRefuses = false
    var configuration: HubConfiguration
    var notices: [Notice] = []

    struct Published: Equatable {
        var topic: String
        var payload: String
        var retain: Bool
        var token: UInt64

        var json: JSONValue? { try? JSONValue.parse(payload) }
    }

    init(_ adjust: (inout HubConfiguration) -> Void = { _ in }) {
        var configuration = HubConfiguration()
        configuration.seed = (1, 2)
        adjust(&configuration)
        self.configuration = configuration
        hub = Hub(configuration)
        var effects = HubEffects()
        hub.brokerConnected(into: &effects)
    }

    /// A message as the broker would pass it.
    func send(_ topic: String, _ payload: String, retained: Bool = false, responseTopic: String? = nil, correlation: String? = nil) {
        var effects = HubEffects()
        receive(topic, Array(payload.utf8), retained: retained, responseTopic: responseTopic, correlation: correlation, &effects)
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    func send(_ topic: String, bytes: [UInt8]) {
        var effects = HubEffects()
        receive(topic, bytes, retained: false, responseTopic: nil, correlation: nil, &effects)
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    /// Several messages in one batch.
    func batch(_ messages: [(topic: String, payload: String)]) {
        var effects = HubEffects()
        for message in messages {
            receive(message.topic, Array(message.payload.utf8), retained: false, responseTopic: nil, correlation: nil, &effects)
        }
        hub.endBatch(at: now, into: &effects)
        perform(effects)
    }

    private func receive(
        _ topic: String, _ payload: [UInt8], retained: Bool, responseTopic: String?, correlation: String?,
        _ effects: inout HubEffects
    ) {
        let topic = Array(topic.utf8)
        let response = responseTopic.map { Array($0.utf8) }
        let data = correlation.map { Array($0.utf8) }
        topic.withUnsafeBytes { topic in
            payload.withUnsafeBytes { payload in
                (response ?? []).withUnsafeBytes { response in
                    (data ?? []).withUnsafeBytes { data in
                        hub.receive(
                            Inbound(
                                topic: topic, payload: payload, retained: retained,
                                responseTopic: responseTopic == nil ? nil : response,
                                correlation: correlation == nil ? nil : data), at: now, into: &effects)
                    }
                }
            }
        }
    }

    /// Lets time pass in steps of a tick.
    func advance(milliseconds: Int64) {
        let end = now + milliseconds
        while now < end {
            now = min(end, now + Hub.tickMilliseconds)
            var effects = HubEffects()
            hub.advance(to: now, into: &effects)
            perform(effects)
        }
    }

    /// What the shell does: publish, make durable, publish what waited, and so on until nothing is left.
    func perform(_ effects: HubEffects) {
        var effects = effects
        while !effects.isEmpty {
            var next = HubEffects()
            publish(effects.messages)
            if storeRefuses, effects.hasRequests {
                _ = hub.refused(effects, reason: "no space", at: now, into: &next)
            } else {
                if !storeRefuses { changes += effects.changes }
                publish(effects.gated)
                hub.committed(effects.deletions, at: now, into: &next)
                hub.durable(matchesThrough: hub.matchNumber, into: &next)
            }
            for query in effects.queries { hub.answer(query, with: finding(query.kind), at: now, into: &next) }
            notices += effects.notices
            effects = next
        }
    }

    private func publish(_ batch: OutboundBatch) {
        for message in batch.messages {
            published.append(
                Published(
                    topic: String(decoding: batch.bytes[message.topic], as: UTF8.self),
                    payload: String(decoding: batch.bytes[message.payload], as: UTF8.self), retain: message.retain,
                    token: message.token))
        }
    }

    private func finding(_ kind: StoreQuery.Kind) -> StoreFinding {
        let matches = changes.compactMap { change -> MatchRecord? in
            if case .putMatch(let record) = change { record } else { nil }
        }
        switch kind {
        case .match(let dataset, let id): return .match(matches.first { $0.dataset == dataset && $0.id == id })
        case .matches(let dataset, let device, let after):
            let all = matches.filter { $0.dataset == dataset && $0.deviceId == device }.suffix(100)
            guard let after else { return .matches(Array(all)) }
            guard let index = all.firstIndex(where: { $0.id == after }) else { return .noSuchMatch }
            return .matches(Array(all[(index + 1)...]))
        }
    }

    /// Sends a request and takes its reply out.
    func request(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        published.removeAll()
        send("geomatch/\(dataset)/\(client)/request/\(name)", parameters)
        let topic = "geomatch/\(dataset)/\(client)/reply"
        guard let index = published.firstIndex(where: { $0.topic == topic }) else { return nil }
        return published.remove(at: index).json
    }

    func result(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        request(name, parameters, client: client, dataset: dataset)?["result"]
    }

    /// `error` and `field` of a refused request, such as `invalid range`.
    func refusal(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> String? {
        guard let error = request(name, parameters, client: client, dataset: dataset)?["error"] else { return nil }
        return [error["error"], error["field"]].compactMap { value -> String? in
            if case .string(let text)? = value { text } else { nil }
        }.joined(separator: " ")
    }

    var matches: [Published] { published.filter { $0.topic.contains("/match/") } }

    /// What a kill -9 leaves: a new hub with what is durable.
    func restart() throws {
        hub = Hub(configuration)
        for change in changes { try hub.restore(change, at: now) }
        hub.endRestoration(liveNumber: 0, matchNumber: 0)
        published.removeAll()
        var effects = HubEffects()
        hub.brokerConnected(into: &effects)
        perform(effects)
    }
}

extension JSONValue {
    subscript(_ key: String) -> JSONValue? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
}
