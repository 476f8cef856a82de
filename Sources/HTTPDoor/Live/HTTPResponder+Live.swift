import Datasets
import HTTPTypes
import LiveTopics
import Wire

// Live updates: one of a path, or many of a body.

extension HTTPResponder {
    /// `POST` or `DELETE /api/{dataset}/live/{venue}/{building}/{floor}/{room}/{location}/{domain}`
    func update(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        guard head.method == .post || head.method == .delete else { throw HTTPRefusal.method(head.method, allow: "POST, DELETE") }
        let dataset = head.path[1]
        let caller = try exchange.door.callers.caller(of: head, for: dataset)
        try head.allowParameters()
        // The core refuses a payload that is too large for an update, and reports it.
        let payload = head.method == .post ? try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes) : []
        guard head.method == .delete || !payload.isEmpty else {
            throw HTTPRefusal.invalid("the body is the update's payload, a JSON object; DELETE clears the state")
        }
        let topic = ([dataset] + head.path[3...]).map(LevelCoding.encode).joined(separator: "/")
        let answers = await exchange.door.update(dataset, by: caller.client, [LiveArrival(topic: topic, payload: payload)])
        guard let answer = answers?.first else { throw Self.notTaken }
        if case .refused(let error) = answer { throw error }
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("result")
        answer.encode(into: &writer)
        writer.endObject()
        return .answer(HTTPAnswer(.ok, json: writer.bytes))
    }

    private static let notTaken = HTTPRefusal.unavailable("the dataset takes nothing in at present: send it again")

    /// `POST /api/{dataset}/live`: a list of `{"topic","payload"}`, or a line for each.
    func updates(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        guard head.method == .post else { throw HTTPRefusal.method(head.method, allow: "POST") }
        let caller = try exchange.door.callers.caller(of: head, for: head.path[1])
        try head.allowParameters()
        let body = try await exchange.body(upTo: exchange.door.configuration.limits.bodyBytes)
        let items = try Self.items(of: body)
        let good = items.compactMap { try? $0.get() }
        guard let answers = await exchange.door.update(head.path[1], by: caller.client, good) else { throw Self.notTaken }
        var rest = answers[...]
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("result")
        writer.beginObject()
        writer.key("items")
        writer.beginArray()
        for item in items {
            switch item {
            case .success: (rest.popFirst() ?? .suspended).encode(into: &writer)
            case .failure(let error): UpdateAnswer.refused(error).encode(into: &writer)
            }
        }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        return .answer(HTTPAnswer(.ok, json: writer.bytes))
    }

    /// What a body holds, each element read for itself.
    private static func items(of body: [UInt8]) throws(WireError) -> [Result<LiveArrival, WireError>] {
        let parser = JSONParser()
        if body.first(where: { !isSpace($0) }) == UInt8(ascii: "[") {
            return try parser.read(body) { root throws(WireError) in
                try checkCount(root.elements.lazy.map { _ in 1 }.prefix(itemsMax + 1).reduce(0, +))
                return root.elements.map(item)
            }
        }
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: itemsMax + 1).filter { !$0.allSatisfy(isSpace) }
        try checkCount(lines.count)
        return lines.map { line in
            do throws(WireError) {
                return try parser.read(Array(line)) { root throws(WireError) in item(root) }
            } catch {
                return .failure(error)
            }
        }
    }

    /// More than there are updates in a whole body; what is none, such as `0`, is answered at many times its length.
    private static let itemsMax = 30_000

    private static func checkCount(_ count: Int) throws(WireError) {
        guard count <= itemsMax else { throw WireError(.tooLarge, "a request has at most \(itemsMax) updates") }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func item(_ node: JSONNode) -> Result<LiveArrival, WireError> {
        guard node.kind == .object, let topic = node["topic"]?.asString else {
            return .failure(WireError(.invalid, "an element is an object with `topic` and `payload`", field: "topic"))
        }
        guard let payload = node["payload"] else {
            return .failure(WireError(.invalid, "`payload` is missing: an object, or null to clear the state", field: "payload"))
        }
        var writer = JSONWriter()
        if payload.kind != .null { writer.value(JSONValue(payload)) }
        return .success(LiveArrival(topic: topic, payload: writer.bytes))
    }
}
