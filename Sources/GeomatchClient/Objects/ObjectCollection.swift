internal import Wire

/// The objects of one kind in the client's dataset.
///
/// What you create is yours; others' objects are `forbidden`. Every request that changes something is carried out once,
/// also where the connection is lost in between.
public struct ObjectCollection<Object: GeomatchObject>: Sendable {
    let client: GeomatchClient

    /// Begins to create an object, and returns at once.
    ///
    /// `try await collection.create(draft).value` waits for it; ``ObjectHandle/states`` lets a user interface follow.
    @discardableResult
    public func create(_ draft: Object.Draft) -> ObjectHandle<Object> {
        ObjectHandle(client) { client throws(GeomatchError) in
            try Object(members: await client.request("\(Object.resource)/create", parameters: draft.parameters))
        }
    }

    /// Creates up to 1000 objects by one request; what can be created is.
    ///
    /// - Returns: One result for each draft, in the same order.
    public func create(
        _ drafts: [Object.Draft]
    ) async throws(GeomatchError) -> [Result<Object, GeomatchError>] {
        let items = PropertyValue.array(drafts.map { .object($0.parameters) })
        let reply = try await client.send("\(Object.resource)/create", ["items": items.json])
        let answers = try ObjectReader(reply).elements("items")
        guard answers.count == drafts.count else { throw .malformed("items", "has not one answer for each draft") }
        return answers.map { answer in
            let members = answer.asObject ?? JSONObject()
            if let error = members["error"], members["id"] == nil { return .failure(GeomatchError(reply: error)) }
            return Result { () throws(GeomatchError) in try Object(members: PropertyValue.members(of: members)) }
        }
    }

    /// The object as it is now.
    ///
    /// - Throws: `notFound`, or `forbidden` for another client's.
    public func get(_ id: String) async throws(GeomatchError) -> Object {
        try Object(members: await client.request("\(Object.resource)/get", parameters: ["id": .string(id)]))
    }

    /// A handle for an object that exists, for deleting it observably.
    public func handle(_ object: Object) -> ObjectHandle<Object> { ObjectHandle(client, object) }

    /// Changes what `changes` names and nothing else.
    ///
    /// - Parameter revision: Where given and not the present one, the update fails with `conflict`; else the last wins.
    public func update(
        _ id: String, _ changes: Object.Changes, revision: String? = nil
    ) async throws(GeomatchError) -> Object {
        var parameters = changes.parameters
        parameters["id"] = .string(id)
        if let revision { parameters["revision"] = .string(revision) }
        return try Object(members: await client.request("\(Object.resource)/update", parameters: parameters))
    }

    /// Deletes an object and its child objects.
    public func delete(_ id: String, revision: String? = nil) async throws(GeomatchError) {
        var parameters: [String: PropertyValue] = ["id": .string(id)]
        if let revision { parameters["revision"] = .string(revision) }
        try await client.request("\(Object.resource)/delete", parameters: parameters)
    }

    func page(
        _ filter: [String: PropertyValue], limit: Int?, after: String?
    ) async throws(GeomatchError) -> GeomatchPage<Object> {
        var parameters = filter
        if let limit { parameters["limit"] = .integer(Int64(limit)) }
        if let after { parameters["after"] = .string(after) }
        let reply = try await client.send("\(Object.resource)/list", PropertyValue.json(of: parameters))
        var objects: [Object] = []
        for element in try ObjectReader(reply).elements("\(Object.resource)s") {
            guard let members = element.asObject else { throw .malformed(Object.resource, "is not an object") }
            objects.append(try Object(members: PropertyValue.members(of: members)))
        }
        return GeomatchPage(objects: objects, next: reply["next"]?.asString)
    }
}

extension ObjectCollection where Object == GeoDevice {
    /// Your devices and those without an owner, in the order of their ids; at most `limit` (1…1000).
    public func list(
        type: GeoDevice.Kind? = nil, limit: Int? = nil, after: String? = nil
    ) async throws(GeomatchError) -> GeomatchPage<GeoDevice> {
        try await page(type.map { ["deviceType": .string($0.rawValue)] } ?? [:], limit: limit, after: after)
    }

    /// Erases a device's positions, sightings, matches and visits, and keeps the device.
    public func forget(_ id: String) async throws(GeomatchError) {
        try await client.request("device/forget", parameters: ["id": .string(id)])
    }
}

extension ObjectCollection where Object == GeoPublication {
    /// Your publications on a device, in the order of their ids; at most `limit` (1…1000).
    public func list(
        on deviceID: String, limit: Int? = nil, after: String? = nil
    ) async throws(GeomatchError) -> GeomatchPage<GeoPublication> {
        try await page(["deviceId": .string(deviceID)], limit: limit, after: after)
    }
}

extension ObjectCollection where Object == GeoSubscription {
    /// Your subscriptions on a device, in the order of their ids; at most `limit` (1…1000).
    public func list(
        on deviceID: String, limit: Int? = nil, after: String? = nil
    ) async throws(GeomatchError) -> GeomatchPage<GeoSubscription> {
        try await page(["deviceId": .string(deviceID)], limit: limit, after: after)
    }
}
