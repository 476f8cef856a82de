import HTTPTypes
import Wire

// /v5: the old cloud's requests, answered in its shapes.

extension HTTPResponder {
    func matchmore(_ exchange: HTTPExchange) async throws -> Routed {
        do {
            return .answer(try await MatchmoreExchange(exchange).answer())
        } catch let refusal as HTTPRefusal {
            return .answer(refusal.matchmoreAnswer)
        } catch let error as WireError {
            return .answer(HTTPRefusal(error).matchmoreAnswer)
        }
    }
}

extension RequestHead {
    /// The old clients run in pages of any origin, and in apps.
    var isMatchmore: Bool { path.first == "v5" }
}

/// One request of an old client.
struct MatchmoreExchange {
    typealias Handler = (HTTPRequest.Method, () async throws -> HTTPAnswer)

    let exchange: HTTPExchange
    let caller: MatchmoreCaller

    var door: HTTPDoor { exchange.door }
    /// Below `/v5`.
    private var levels: ArraySlice<String> { exchange.head.path.dropFirst() }

    init(_ exchange: HTTPExchange) throws(HTTPRefusal) {
        self.exchange = exchange
        caller = try exchange.door.callers.matchmoreCaller(of: exchange.head)
    }

    func answer() async throws -> HTTPAnswer {
        let handlers = handlers()
        guard !handlers.isEmpty else { throw HTTPRefusal.noPath("/" + exchange.head.path.joined(separator: "/")) }
        if exchange.head.method == .options {
            let methods = handlers.map(\.0.rawValue)
            return .offer((methods + (methods.contains("GET") ? ["HEAD"] : [])).joined(separator: ", "))
        }
        let method = exchange.head.method == .head ? .get : exchange.head.method
        guard let handler = handlers.first(where: { $0.0 == method }) else {
            throw HTTPRefusal.method(method, allow: handlers.map(\.0.rawValue).joined(separator: ", "))
        }
        return try await handler.1()
    }

    private func handlers() -> [Handler] {
        let levels = Array(levels)
        guard levels.first == "devices" else { return [] }
        switch levels.count {
        case 1: return [(.post, createDevice)]
        case 2 where levels[1] == "IBeaconTriples": return [(.get, listTriples)]
        case 2:
            return [
                (.get, { try await getDevice(levels[1]) }), (.patch, { try await updateDevice(levels[1]) }),
                (.delete, { try await deleteDevice(levels[1]) }),
            ]
        case 3: return collection(levels[2], of: levels[1])
        case 4 where levels[2] == "matches": return [(.get, { try await getMatch(levels[3], of: levels[1]) })]
        case 4:
            guard let kind = Attachment(rawValue: levels[2]) else { return [] }
            return [
                (.get, { try await get(kind, levels[3], of: levels[1]) }),
                (.delete, { try await delete(kind, levels[3], of: levels[1]) }),
            ]
        default: return []
        }
    }

    private func collection(_ name: String, of device: String) -> [Handler] {
        switch name {
        case "matches": return [(.get, { try await listMatches(of: device) })]
        case "locations": return [(.post, { try await createLocation(of: device) })]
        case "proximityEvents": return [(.post, { try await createProximityEvent(of: device) })]
        default:
            guard let kind = Attachment(rawValue: name) else { return [] }
            return [(.get, { try await list(kind, of: device) }), (.post, { try await create(kind, on: device) })]
        }
    }

    // MARK: Bodies

    /// Reads the body; one that names another world is refused.
    func body() async throws -> MatchmoreBody {
        let body = try MatchmoreBody(try await exchange.body(upTo: RequestPayload.payloadBytesMax))
        if let world = try body.text("worldId"), world != caller.world {
            throw HTTPRefusal.forbidden("`worldId` is \(world.prefix(80)), and the key is for \(caller.world)")
        }
        return body
    }

    // MARK: Requests

    /// Carries out a request of the table for the caller.
    ///
    /// - Throws: ``WireError``, as it was answered.
    func ask(_ name: String, _ parameters: [(String, JSONValue?)]) async throws -> JSONObject {
        let given = parameters.compactMap { name, value in value.map { (name, $0) } }
        let request = APIRequest(
            dataset: caller.world, caller: caller.caller, name: name, body: JSONValue.object(JSONObject(given)).serialised())
        guard let reply = await door.ask(request) else { throw Self.unanswered }
        defer { door.written(reply) }
        guard let object = (try? JSONValue.parse(reply.bytes))?.asObject else { throw Self.unanswered }
        if let result = object["result"]?.asObject { return result }
        let error = object["error"]?.asObject
        let code = error?["error"]?.asString.flatMap(ErrorCode.init) ?? .internal
        throw WireError(code, error?["message"]?.asString ?? "", field: error?["field"]?.asString)
    }

    static let unanswered = HTTPRefusal.unavailable("the request was not answered in time, or the daemon ends: repeat it")

    /// All elements of a list, page by page.
    func askAll(_ name: String, _ parameters: [(String, JSONValue?)], _ list: String) async throws -> [JSONObject] {
        var elements: [JSONObject] = []
        var after: JSONValue?
        repeat {
            let page = try await ask(name, parameters + [("after", after)])
            elements += (page[list]?.asArray ?? []).compactMap(\.asObject)
            after = page["next"]
        } while after != nil
        return elements
    }

    // MARK: Answers

    func created(_ value: JSONValue) -> HTTPAnswer { HTTPAnswer(.created, json: value.serialised()) }

    func found(_ value: JSONValue) -> HTTPAnswer { HTTPAnswer(.ok, json: value.serialised()) }
}
