import Wire
import Records

// What the store found for a request.

extension Dataset {
    /// The result of a question to the store. Matches belong to their subscription's owner.
    func result(
        of query: StoreQuery, _ finding: StoreAnswer, for client: RequestingClient, _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        switch finding {
        case .failed:
            throw WireError(.internal, "the store cannot be read at present")
        case .noSuchMatch:
            throw WireError(.notFound, "`after` names no match that is kept", field: "after")
        case .match(let match):
            guard let match else { throw WireError(.notFound, "there is no such match", field: "id") }
            guard client.reaches(owner: match.owner) else {
                throw WireError(.forbidden, "the match belongs to another client's subscription", field: "id")
            }
            return shown(match.body, to: client)
        case .feed(let page):
            guard case .feed(let asked) = query.kind else { throw .unknownDataset(id) }
            return try feed.result(of: query, asked, page, in: self, &turn)
        case .documents(let documents):
            guard case .documents(let lookups) = query.kind, let lookup = lookups.first else {
                throw .unknownDataset(id)
            }
            if case .documents(let content) = query.use {
                return feed.encode(documents, lookups, withContent: content, for: client, in: self)
            }
            return try feed.result(documents.first ?? nil, lookup, limit: query.limit, for: client)
        case .matches(let matches):
            let visible = matches.filter { query.reply.address.isForDevice || client.reaches(owner: $0.owner) }
            return Page(limit: query.limit).encode("matches", visible, id: \.id) { shown($0.body, to: client) }
        }
    }

    /// A match as a client may see it now: it may be from before positions became private.
    private func shown(_ body: [UInt8], to client: RequestingClient) -> [UInt8] {
        guard hidesPositions, !client.isAdministrator, var match = (try? JSONValue.parse(body))?.asObject else {
            return body
        }
        for side in ["publication", "subscription"] {
            guard var object = match[side]?.asObject, object["location"] != nil else { continue }
            let device = object["deviceId"]?.asString.flatMap { devices[$0] }
            guard devices.hides(device, from: client.name) else { continue }
            object["location"] = nil
            match[side] = .object(object)
        }
        return JSONValue.object(match).serialised()
    }
}
