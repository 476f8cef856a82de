import Datasets
import HTTPTypes
import LiveTopics
import Wire

// Phone apps that post their position: what is wrong with it is on diagnostics, as an app would only repeat it.

extension HTTPResponder {
    func phone(_ exchange: HTTPExchange) async throws -> Routed {
        switch exchange.head.path[1] {
        case "owntracks": try await ownTracks(exchange)
        case "overland": try await overland(exchange)
        case "osmand": try await osmAnd(exchange)
        default: throw HTTPRefusal.noPath("/" + exchange.head.path.joined(separator: "/"))
        }
    }

    /// Who asks, and the dataset: the key's, else one that is named.
    private func place(_ exchange: HTTPExchange, allow: String) throws(HTTPRefusal) -> (dataset: String, caller: Caller) {
        let head = exchange.head
        guard allow.split(separator: ", ").contains(where: { $0 == head.method.rawValue }) else {
            throw .method(head.method, allow: allow)
        }
        let named = head.parameter("dataset")
        let caller = try exchange.door.callers.caller(of: head, for: named)
        guard let dataset = caller.dataset ?? named else {
            throw .invalid("`dataset` is required in the query where the key is for all, or there is none", field: "dataset")
        }
        return (dataset, caller)
    }

    // MARK: OwnTracks

    private func ownTracks(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange, allow: "POST")
        guard exchange.door.configuration.writes(dataset, caller.client) == .all else {
            throw WireError(.unauthorized, "`\(caller.client)` may not publish what OwnTracks names `user/device`")
        }
        let body = try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        if let topic = Self.ownTracksTopic(of: body, exchange.head, dataset: dataset, otherwise: caller.client) {
            _ = await exchange.door.onCore { $0.receiveOwnTracks(body, on: topic, of: dataset, by: caller.client) }
        }
        return .answer(HTTPAnswer(.ok, json: Array("[]".utf8)))
    }

    /// `owntracks/{user}/{device}` of the payload, else the headers' or the query's names.
    private static func ownTracksTopic(
        of body: [UInt8], _ head: RequestHead, dataset: String, otherwise: String
    ) -> OwnTracksTopic? {
        let told = try? JSONParser().read(body) { root throws(WireError) in root["topic"]?.asString }
        let levels = (told ?? nil)?.split(separator: "/").map(String.init) ?? []
        if levels.count >= 3 { return OwnTracksTopic(dataset: dataset, user: levels[1], device: levels[2]) }
        let user = head["X-Limit-U"] ?? head.parameter("u") ?? otherwise
        guard let device = head["X-Limit-D"] ?? head.parameter("d") else { return nil }
        return OwnTracksTopic(dataset: dataset, user: user, device: device)
    }

    // MARK: Overland, OsmAnd

    private func overland(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange, allow: "POST")
        let body = try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        let positions = try JSONParser().read(body) { root throws(WireError) in
            try OverlandFormat.read(root, otherwise: caller.client)
        }
        try await take(positions, dataset, caller, exchange.door)
        return .answer(HTTPAnswer(.ok, json: Array(#"{"result":"ok"}"#.utf8)))
    }

    private func osmAnd(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange, allow: "GET, POST")
        let body = exchange.head.method == .post ? try await exchange.body(upTo: LiveUpdateDecoder.payloadBytesMax) : []
        let position: PhonePosition
        if body.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
            position = try JSONParser().read(body) { root throws(WireError) in try OsmAndFormat.read(json: root) }
        } else {
            guard let form = PercentCoding.query(body) else { throw HTTPRefusal.invalid("the body is no form and no JSON") }
            position = try OsmAndFormat.read(exchange.head.query + form)
        }
        try await take([position], dataset, caller, exchange.door)
        return .answer(.empty())
    }

    /// Only who may not publish at all is told: an app would send again what is wrong for ever.
    private func take(_ positions: [PhonePosition], _ dataset: String, _ caller: Caller, _ door: HTTPDoor) async throws {
        let arrivals = positions.map { $0.arrival(in: dataset) }
        guard let answers = await door.update(dataset, by: caller.client, arrivals) else {
            throw HTTPRefusal.unavailable("the dataset takes nothing in at present: send it again")
        }
        for case .refused(let error) in answers where error.code == .unauthorized { throw error }
    }
}

/// Where OwnTracks would have published.
struct OwnTracksTopic: Sendable {
    let dataset: String
    let user: String
    let device: String

    /// nil where one of them can be no level.
    init?(dataset: String, user: String, device: String) {
        guard Name.isDataset(dataset) else { return nil }
        for name in [user, device] {
            guard (1...128).contains(name.utf8.count), !name.utf8.contains(where: { "/+#\0".utf8.contains($0) }) else {
                return nil
            }
        }
        self.dataset = dataset
        self.user = user
        self.device = device
    }

    /// The last level is one that apps append: a device may have its name.
    var text: String { "http/\(dataset)/\(user)/\(device)/info" }
}

extension HTTPDoor {
    /// What the adapter of OwnTracks reads on topics of ours.
    static func ownTracksAdapter() -> Adapters {
        let rule = try? AdapterRule([("filter", "http/+/+/+/info"), ("format", "owntracks"), ("dataset", "$1")])
        return Adapters(rule.map { [$0] } ?? [])
    }

    func receiveOwnTracks(_ payload: [UInt8], on topic: OwnTracksTopic, of dataset: String, by client: String) {
        let published = Array("owntracks/\(topic.user)/\(topic.device)".utf8)
        guard core.hub.configuration.mayName(dataset, client), Name.isClient(client) else { return }
        Array(topic.text.utf8).withUnsafeBytes { name in
            payload.withUnsafeBytes { payload in
                guard let adapted = ownTracks.read(topic: name, payload: payload) else { return }
                published.withUnsafeBytes { core.receive(adapted, published: $0, isRepeated: false) }
            }
        }
    }
}
