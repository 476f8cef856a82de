import Datasets
import HTTPTypes
import Wire

// POST and GET /api/{dataset}/{resource}/{verb}: the requests of the table, as over any door.

extension HTTPResponder {
    func request(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        let (dataset, name) = (head.path[1], "\(head.path[2])/\(head.path[3])")
        // One that no row has is the core's to refuse, and to count.
        let row = RequestTable.row(of: name)
        let isReading = head.method == .get || head.method == .head
        guard head.method == .post || (isReading && row?.changes != true) else {
            guard let row else { throw HTTPRefusal(RequestTable.unknown(name)) }
            throw HTTPRefusal.method(head.method, allow: row.methods)
        }
        let caller = try exchange.door.callers.caller(of: head, for: dataset)
        if !isReading { try head.allowParameters(note: ": parameters of a POST are in its body") }
        if !isReading, let form = Self.form(of: exchange.contentType), let parameter = Self.importParameter(of: name) {
            let request = APIRequest(dataset: dataset, caller: caller, name: name, body: [])
            return try await importFile(exchange, form, as: parameter, request)
        }
        // The core refuses a body that is too large for a request, under its `requestId`.
        var body = isReading ? parameters(head) : try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        if body.count <= RequestPayload.payloadBytesMax, body.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) {
            body = Array("{}".utf8)
        }
        if let key = head.fields[.idempotencyKey] { body = try Self.identify(body, by: key) }
        let request = APIRequest(dataset: dataset, caller: caller, name: name, body: body, isOfClient: true)
        guard let reply = await exchange.door.ask(request) else { throw Self.notAnswered }
        return .reply(reply)
    }

    static let notAnswered = HTTPRefusal.unavailable("the request was not answered in time, or the daemon ends: repeat it")

    /// The parameters of a query: text as it is, anything else as JSON.
    private func parameters(_ head: RequestHead) -> [UInt8] {
        var members: [(String, JSONValue)] = []
        for (name, value) in head.query where name != "key" && name != "client" {
            members.append((name, ParameterType.of(name).value(value)))
        }
        var writer = JSONWriter()
        writer.object(JSONObject(members))
        return writer.bytes
    }

    /// Puts a `requestId` before the members of a body; one of its own counts, as the last of the same name does.
    static func identify(_ body: [UInt8], by key: String) throws(HTTPRefusal) -> [UInt8] {
        guard (1...RequestPayload.idCharactersMax).contains(key.unicodeScalars.count) else {
            throw .invalid("`Idempotency-Key` has 1 to \(RequestPayload.idCharactersMax) characters", field: "Idempotency-Key")
        }
        guard let start = body.firstIndex(where: { $0 != 0x20 && !(0x09...0x0D).contains($0) }),
            body[start] == UInt8(ascii: "{")
        else { return body }
        let rest = body[(start + 1)...]
        let isEmpty = rest.first { $0 != 0x20 && !(0x09...0x0D).contains($0) } == UInt8(ascii: "}")
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("requestId", key)
        return writer.bytes + (isEmpty ? [] : [UInt8(ascii: ",")]) + rest
    }
}

extension RequestRow {
    var methods: String { changes ? "POST" : "GET, HEAD, POST" }
}

extension ParameterType {
    /// A parameter of a query. What should be JSON and is none stays a text, which the request refuses by the parameter's name.
    fileprivate func value(_ text: String) -> JSONValue {
        switch self {
        case .text: return .string(text)
        // Criteria are a text with levels, or an object of them.
        case .textOrObject where !text.hasPrefix("{"): return .string(text)
        default: break
        }
        return (try? JSONValue.parse(text)) ?? .string(text)
    }
}
