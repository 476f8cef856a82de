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

    static let phoneMethods = ["owntracks": "POST", "overland": "POST", "osmand": "GET, POST"]

    /// Who asks, and the dataset: the key's, else one that is named.
    private func place(_ exchange: HTTPExchange) throws(HTTPRefusal) -> (dataset: String, caller: Caller) {
        let head = exchange.head
        try allow(head, Self.phoneMethods[head.path[1]] ?? "")
        let named = head.parameter("dataset")
        let caller = try exchange.door.callers.caller(of: head, for: named)
        guard let dataset = caller.dataset ?? named else {
            throw .invalid("`dataset` is required in the query where the key is for all, or there is none", field: "dataset")
        }
        return (dataset, caller)
    }

    // MARK: OwnTracks

    private func ownTracks(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange)
        let write = exchange.door.configuration.writes(dataset, caller.client)
        guard write != .none else {
            throw WireError(.unauthorized, "`\(caller.client)` may not publish live data in `\(dataset)`")
        }
        let body = try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        let topic = Self.ownTracksTopic(of: body, exchange.head, dataset: dataset, otherwise: caller.client)
        if write == .own, case .success(let topic) = topic, topic.user != caller.client {
            throw WireError(
                .unauthorized, "`\(caller.client)` may publish for the user `\(caller.client)` only, not `\(topic.user)`")
        }
        _ = await exchange.door.onCore { door in
            switch topic {
            case .success(let topic): door.receiveOwnTracks(body, on: topic, of: dataset, by: caller.client)
            case .failure(let error): door.refusePhone(error, of: "owntracks", in: dataset, by: caller.client)
            }
        }
        return .answer(HTTPAnswer(.ok, json: Array("[]".utf8)))
    }

    /// `owntracks/{user}/{device}` of the payload, else the headers' or the query's names.
    private static func ownTracksTopic(
        of body: [UInt8], _ head: RequestHead, dataset: String, otherwise: String
    ) -> Result<OwnTracksTopic, WireError> {
        let stated = Result { () throws(WireError) in
            try JSONParser().read(body) { root throws(WireError) in root["topic"]?.asString }
        }
        let levels = ((try? stated.get()) ?? nil)?.split(separator: "/").map(String.init) ?? []
        let (limitUser, limitDevice) = (head["X-Limit-U"] ?? head.parameter("u"), head["X-Limit-D"] ?? head.parameter("d"))
        // On Android the app says `owntracks/http/ID` over HTTP, and who it is in the headers.
        let isNamed = levels.count >= 3 && (levels[1] != "http" || limitUser == nil || limitDevice == nil)
        let user = isNamed ? levels[1] : limitUser ?? otherwise
        let device = isNamed ? levels[2] : limitDevice
        if let device, let topic = OwnTracksTopic(dataset: dataset, user: user, device: device) { return .success(topic) }
        if case .failure(let error) = stated { return .failure(error) }
        return .failure(
            WireError(
                .invalid,
                "the message names no device: `topic` is owntracks/USER/DEVICE, or the headers X-Limit-U and X-Limit-D name both",
                field: "topic"))
    }

    // MARK: Overland, OsmAnd

    private func overland(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange)
        let body = try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        let positions = Result { () throws(WireError) in
            try JSONParser().read(body) { root throws(WireError) in try OverlandFormat.read(root, otherwise: caller.client) }
        }
        try await take(positions, of: "overland", dataset, caller, exchange.door)
        return .answer(HTTPAnswer(.ok, json: Array(#"{"result":"ok"}"#.utf8)))
    }

    private func osmAnd(_ exchange: HTTPExchange) async throws -> Routed {
        let (dataset, caller) = try place(exchange)
        let body = exchange.head.method == .post ? try await exchange.body(upTo: LiveUpdateDecoder.payloadBytesMax) : []
        let position = Result { () throws(WireError) in
            if body.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
                return [try JSONParser().read(body) { root throws(WireError) in try OsmAndFormat.read(json: root) }]
            }
            guard let form = PercentCoding.query(body) else { throw WireError(.invalid, "the body is no form and no JSON") }
            return [try OsmAndFormat.read(exchange.head.query + form)]
        }
        try await take(position, of: "osmand", dataset, caller, exchange.door)
        return .answer(.empty())
    }

    /// What is wrong is on diagnostics: an app that got an error would send it again for ever. Only a client that may not publish at all
    /// gets one.
    private func take(
        _ positions: Result<[PhonePosition], WireError>, of app: String, _ dataset: String, _ caller: Caller, _ door: HTTPDoor
    ) async throws {
        let arrivals: [LiveArrival]
        switch positions {
        case .success(let positions): arrivals = positions.map { $0.arrival(in: dataset) }
        case .failure(let error):
            _ = await door.onCore { $0.refusePhone(error, of: app, in: dataset, by: caller.client) }
            return
        }
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

    /// What an app sent and cannot be read is on diagnostics.
    func refusePhone(_ error: WireError, of app: String, in dataset: String, by client: String) {
        guard core.hub.configuration.mayName(dataset, client), Name.isClient(client) else { return }
        Array("in/\(app)".utf8).withUnsafeBytes {
            core.receive(AdaptedMessage(dataset: dataset, updates: .failure(error)), published: $0, isRepeated: false)
        }
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
