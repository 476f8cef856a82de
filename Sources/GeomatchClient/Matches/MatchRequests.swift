internal import Wire

/// What the daemon knows of matches. ``MatchMonitor`` reports them as they happen.
public struct MatchRequests: Sendable {
    let client: GeomatchClient

    /// The newest hundred matches of a device's subscriptions, oldest first.
    ///
    /// - Parameter after: Only those after the match of this id.
    public func list(on deviceID: String, after: String? = nil) async throws(GeomatchError) -> [GeoMatch] {
        var parameters: JSONObject = ["deviceId": .string(deviceID)]
        parameters["after"] = after.map { .string($0) }
        return try Self.matches(in: await client.send("match/list", parameters))
    }

    /// One match, as long as it is among the newest hundred of its device.
    ///
    /// - Throws: `notFound`, or `forbidden` where the subscription is another client's.
    public func get(_ id: String) async throws(GeomatchError) -> GeoMatch {
        try GeoMatch(members: await client.request("match/get", parameters: ["id": .string(id)]))
    }

    /// Why a pair matches now, or does not. Changes nothing.
    public func explain(
        publication: String, subscription: String
    ) async throws(GeomatchError) -> MatchExplanation {
        let reply = ObjectReader(
            try await client.send(
                "match/explain", ["publicationId": .string(publication), "subscriptionId": .string(subscription)]))
        var checks: [MatchExplanation.Check] = []
        for element in try reply.elements("checks") {
            let check = try ObjectReader(element, "checks")
            checks.append(
                MatchExplanation.Check(
                    name: try check.string("check"), passes: check.flag("pass"),
                    detail: check.object["detail"].map { Self.text($0) } ?? ""))
        }
        return MatchExplanation(matches: reply.flag("matches"), checks: checks)
    }

    private static func text(_ detail: JSONValue) -> String { detail.asString ?? PropertyValue(detail).description }

    static func matches(in reply: JSONObject) throws(GeomatchError) -> [GeoMatch] {
        var matches: [GeoMatch] = []
        for element in try ObjectReader(reply).elements("matches") {
            matches.append(try match(element))
        }
        return matches
    }

    static func match(_ value: JSONValue?) throws(GeomatchError) -> GeoMatch {
        guard let object = value?.asObject else { throw .malformed("match", "is not an object") }
        return try GeoMatch(members: PropertyValue.members(of: object))
    }
}
