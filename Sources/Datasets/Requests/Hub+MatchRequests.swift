import Wire
import Records

// match/get · list: the store has the bodies

extension Hub {
    func getMatch(_ call: Call) throws(WireError) -> Outcome {
        .query(.match(dataset: call.dataset.id, id: try call.parameters.id("id")), .reply(limit: 1))
    }

    func listMatches(_ call: Call) throws(WireError) -> Outcome {
        let device = try device(named: "deviceId", call)
        let page = try Page(call.parameters)
        return .query(
            .matches(dataset: call.dataset.id, deviceId: device.record.id, after: page.after), .reply(limit: page.limit))
    }

    /// The result of a question to the store. Matches belong to their subscription's owner.
    func result(of query: StoreQuery, _ finding: StoreFinding, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let context = query.reply
        guard let dataset = datasets[context.dataset] else { throw .unknownDataset(context.dataset) }
        let client = client(of: context)
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
            return shown(match.body, to: client, in: dataset)
        case .feed(let page):
            guard case .feed(let feed) = query.kind else { throw .unknownDataset(context.dataset) }
            return try result(of: query, feed, page, in: dataset, &turn)
        case .documents(let documents):
            guard case .documents(let lookups) = query.kind, let lookup = lookups.first else {
                throw .unknownDataset(context.dataset)
            }
            if case .documents(let content) = query.use {
                return encode(documents, lookups, withContent: content, for: client, in: dataset)
            }
            return try result(documents.first ?? nil, lookup, limit: query.limit, for: client)
        case .matches(let matches):
            let visible = matches.filter { context.address.isForDevice || client.reaches(owner: $0.owner) }
            return Page(limit: query.limit).encode("matches", visible, id: \.id) { shown($0.body, to: client, in: dataset) }
        }
    }

    /// A match as a client may see it now: it may be from before positions became private.
    private func shown(_ body: [UInt8], to client: RequestingClient, in dataset: Dataset) -> [UInt8] {
        guard dataset.hidesPositions, !client.isAdministrator, var match = (try? JSONValue.parse(body))?.asObject else {
            return body
        }
        for side in ["publication", "subscription"] {
            guard var object = match[side]?.asObject, object["location"] != nil else { continue }
            let device = object["deviceId"]?.asString.flatMap { dataset.devices[$0] }
            guard dataset.devices.hides(device, from: client.name) else { continue }
            object["location"] = nil
            match[side] = .object(object)
        }
        return JSONValue.object(match).serialised()
    }
}
