import Wire

// /v5/devices/{deviceId}/matches: clients ask each second, mostly for what they have.

extension MatchmoreExchange {
    func listMatches(of device: String) async throws -> HTTPAnswer {
        let key = MatchPages.Key(world: caller.world, client: caller.client, device: device)
        if let page = door.knownMatches(key) { return HTTPAnswer(.ok, json: page) }
        let accessVersion = door.accessVersion()
        let summary = try await summary(of: device)
        let isEmpty = summary.newestMatch == nil
        let matches = isEmpty ? [] : try await askAll("match/list", [("deviceId", .string(device))], "matches")
        let page = JSONValue.array(matches.compactMap { MatchmoreObjects.match($0, of: caller.world) }).serialised()
        if let validity = summary.matchesValidity {
            door.matchPages.keep(page, for: key, on: MatchPages.Basis(validity: validity, accessVersion: accessVersion))
        }
        return HTTPAnswer(.ok, json: page)
    }

    func getMatch(_ id: String, of device: String) async throws -> HTTPAnswer {
        let match = try await ask("match/get", [("id", .string(id))])
        guard match["subscription"]?.asObject?["deviceId"]?.asString == device,
            let answer = MatchmoreObjects.match(match, of: caller.world)
        else { throw WireError(.notFound, "the device `\(device.prefix(128))` has no match `\(id.prefix(128))`") }
        return found(answer)
    }
}
