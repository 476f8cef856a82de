import Wire

// match/get · list: the store has the bodies

extension Hub {
    func getMatch(_ call: Call) throws(WireError) -> Outcome {
        .query(.match(dataset: call.dataset.id, id: try call.parameters.id("id")))
    }

    func listMatches(_ call: Call) throws(WireError) -> Outcome {
        let device = try device(named: "deviceId", call)
        let after = try call.parameters.optionalString("after", characters: 1...256)
        return .query(.matches(dataset: call.dataset.id, deviceId: device.record.id, after: after))
    }

    /// The result of a question to the store. Matches belong to their subscription's owner.
    func result(of query: StoreQuery, _ finding: StoreFinding) throws(WireError) -> [UInt8] {
        let context = query.reply
        guard let dataset = datasets[context.dataset] else { throw .unknownDataset(context.dataset) }
        let client = RequestingClient(
            name: context.client,
            isAdministrator: configuration.administrators.allow(client: context.client, in: context.dataset))
        switch finding {
        case .failed:
            throw WireError(.internal, "the store cannot be read at present")
        case .noSuchMatch:
            throw WireError(.notFound, "`after` names no match that is kept", field: "after")
        case .match(let match):
            guard let match else { throw WireError(.notFound, "there is no such match", field: "id") }
            guard dataset.allows(client, owner: match.owner) else {
                throw WireError(.forbidden, "the match belongs to another client's subscription", field: "id")
            }
            return match.body
        case .matches(let matches):
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("matches")
            writer.beginArray()
            let visible = matches.filter { dataset.allows(client, owner: $0.owner) }
            for match in Self.newest(visible, within: Page.maximumBytes) { writer.raw(match.body) }
            writer.endArray()
            writer.endObject()
            return writer.bytes
        }
    }

    /// The newest whose bodies fit into one reply, oldest first.
    private static func newest(_ matches: [MatchRecord], within bytes: Int) -> ArraySlice<MatchRecord> {
        var size = 0
        var first = matches.endIndex
        while first > matches.startIndex, size + matches[first - 1].body.count < bytes {
            first -= 1
            size += matches[first].body.count + 1
        }
        return matches[first...]
    }
}
