internal import Foundation
internal import LiveTopics
internal import Wire

// What the fake does by itself: objects that are created, read, changed and deleted, live subscriptions, lists of matches.

extension GeomatchFake {
    /// The whole reply to a request.
    func reply(to name: String, _ parameters: JSONObject, of client: String) -> JSONObject {
        var asked = parameters
        asked["requestId"] = nil
        let request = Request(client: client, name: name, parameters: PropertyValue.members(of: asked))
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers[name]
        }
        var reply: JSONObject = ["request": .string(name)]
        reply["requestId"] = parameters["requestId"]
        do throws(GeomatchError) {
            let result = if let answer { try answer(request) } else { try itself(request) }
            reply["result"] = .object(PropertyValue.json(of: result))
        } catch {
            var members: JSONObject = [
                "error": .string(error.kind.rawValue), "code": .integer(Int64(error.code)), "message": .string(error.message),
            ]
            members["field"] = error.field.map { .string($0) }
            reply["error"] = .object(members)
        }
        return reply
    }

    /// What a live subscription that just began is sent first.
    func snapshot(for name: String, _ parameters: JSONObject, of client: String) -> [(path: String, payload: [UInt8])] {
        guard name == "live/subscribe", parameters["snapshot"]?.asBool != false, let id = parameters["id"]?.asString else {
            return []
        }
        return state.withLock { state in
            guard let target = state.live.first(where: { $0.client == client && $0.id == id }) else { return [] }
            return known(target.criteria, state).map { ("live/\(LevelCoding.encode(id))", JSONValue.object($0).serialised()) }
        }
    }

    private func known(_ criteria: Criteria, _ state: State) -> [JSONObject] {
        state.known.sorted { $0.key < $1.key }.filter { topic, _ in
            LiveUpdateTopic(encoded: topic).map { criteria.matches($0.levels) } ?? false
        }.map(\.value)
    }

    private func itself(_ request: Request) throws(GeomatchError) -> [String: PropertyValue] {
        let parts = request.name.split(separator: "/").map(String.init)
        let parameters = request.parameters
        switch (parts.first ?? "", parts.last ?? "") {
        case ("dataset", "get"): return ["id": .string(dataset), "policy": "open"]
        case ("match", "list"):
            let device = parameters["deviceId"]?.stringValue ?? ""
            return ["matches": .array(state.withLock { $0.matches[device] ?? [] })]
        case ("live", let verb): return try live(verb, request)
        case ("circumstance", "register"): return try register(parameters, of: request.client)
        case ("circumstance", "enable"): return try update("circumstance", try parameters.identifier, ["enabled": true])
        case ("circumstance", "disable"): return try update("circumstance", try parameters.identifier, ["enabled": false])
        case ("circumstance", "unregister"): return try delete("circumstance", try parameters.identifier)
        case (let resource, "create"): return try create(resource, request)
        case (let resource, "get"): return try object(resource, try parameters.identifier)
        case (let resource, "update"): return try update(resource, try parameters.identifier, parameters)
        case (let resource, "delete"): return try delete(resource, try parameters.identifier)
        case (let resource, "list"): return list(resource, parameters)
        default:
            throw GeomatchError(
                .unsupported, "the fake does not know \(request.name): give it an answer(\"\(request.name)\")", code: 501)
        }
    }

    // MARK: Objects

    func object(_ resource: String, _ id: String) throws(GeomatchError) -> [String: PropertyValue] {
        guard let object = state.withLock({ $0.objects[resource]?[id] }) else {
            throw GeomatchError(.notFound, "there is no \(resource) `\(id)`", code: 404, field: "id")
        }
        return object
    }

    private func create(_ resource: String, _ request: Request) throws(GeomatchError) -> [String: PropertyValue] {
        guard let items = request.parameters["items"]?.arrayValue else {
            return try create(resource, request.parameters, of: request.client)
        }
        var results: [PropertyValue] = []
        for item in items {
            do throws(GeomatchError) {
                results.append(.object(try create(resource, item.objectValue ?? [:], of: request.client)))
            } catch {
                results.append([
                    "error": [
                        "error": .string(error.kind.rawValue), "code": .integer(Int64(error.code)),
                        "message": .string(error.message),
                    ]
                ])
            }
        }
        return ["items": .array(results)]
    }

    private func create(
        _ resource: String, _ parameters: [String: PropertyValue], of client: String
    ) throws(GeomatchError) -> [String: PropertyValue] {
        let id = parameters["id"]?.stringValue ?? UUID().uuidString.lowercased()
        var object = parameters
        object["id"] = .string(id)
        object["owner"] = .string(client)
        object["createdAt"] = .integer(WallClock.now())
        object["updatedAt"] = object["createdAt"]
        object["revision"] = "1-fake"
        let isNew = state.withLock { state in
            guard state.objects[resource]?[id] == nil else { return false }
            state.objects[resource, default: [:]][id] = object
            return true
        }
        guard isNew else { throw GeomatchError(.conflict, "there is a \(resource) `\(id)` already", code: 409, field: "id") }
        return object
    }

    /// The same id again replaces it, where it is the client's.
    private func register(
        _ circumstance: [String: PropertyValue], of client: String
    ) throws(GeomatchError) -> [String: PropertyValue] {
        let id = try circumstance.identifier
        guard let former = try? object("circumstance", id) else {
            return try create("circumstance", circumstance.merging(["enabled": true]) { $1 }, of: client)
        }
        guard former["owner"]?.stringValue == client else {
            throw GeomatchError(.forbidden, "the circumstance `\(id)` belongs to another client", code: 403, field: "id")
        }
        var changes = former.mapValues { _ in PropertyValue.null }
        for key in ["id", "owner", "createdAt", "revision"] { changes[key] = nil }
        return try update("circumstance", id, changes.merging(circumstance) { $1 }.merging(["enabled": true]) { $1 })
    }

    private func update(
        _ resource: String, _ id: String, _ changes: [String: PropertyValue]
    ) throws(GeomatchError) -> [String: PropertyValue] {
        var object = try object(resource, id)
        if let read = changes["revision"], read != object["revision"] {
            throw GeomatchError(.conflict, "the \(resource) `\(id)` has another revision by now", code: 409, field: "revision")
        }
        for (key, value) in changes where key != "revision" { object[key] = value == .null ? nil : value }
        let number = (object["revision"]?.stringValue?.split(separator: "-").first).flatMap { Int($0) } ?? 0
        object["revision"] = .string("\(number + 1)-fake")
        object["updatedAt"] = .integer(WallClock.now())
        state.withLock { $0.objects[resource]?[id] = object }
        return object
    }

    /// With a device its publications and subscriptions go.
    private func delete(_ resource: String, _ id: String) throws(GeomatchError) -> [String: PropertyValue] {
        _ = try object(resource, id)
        state.withLock { state in
            state.objects[resource]?[id] = nil
            guard resource == "device" else { return }
            for child in ["publication", "subscription"] {
                state.objects[child] = state.objects[child]?.filter { $0.value["deviceId"] != .string(id) }
            }
        }
        return ["id": .string(id), "state": "deleted"]
    }

    private func list(_ resource: String, _ parameters: [String: PropertyValue]) -> [String: PropertyValue] {
        let all = state.withLock { $0.objects[resource] ?? [:] }.sorted { $0.key < $1.key }
        let wanted = parameters.filter { ["deviceId", "deviceType"].contains($0.key) }
        let found = all.filter { id, object in
            id > parameters["after"]?.stringValue ?? "" && wanted.allSatisfy { object[$0.key] == $0.value }
        }
        let page = found.prefix(parameters["limit"]?.intValue ?? 1000)
        var result: [String: PropertyValue] = ["\(resource)s": .array(page.map { .object($0.value) })]
        if page.count < found.count { result["next"] = page.last.map { .string($0.key) } }
        return result
    }

    // MARK: Live data

    private func live(_ verb: String, _ request: Request) throws(GeomatchError) -> [String: PropertyValue] {
        let (client, parameters) = (request.client, request.parameters)
        switch verb {
        case "subscribe", "snapshot":
            let criteria: Criteria
            do throws(WireError) {
                criteria = try CriteriaCoding.decode(parameters["criteria"]?.json, dataset: dataset)
            } catch {
                throw GeomatchError(.invalid, error.message, code: 400, field: error.field)
            }
            guard verb == "subscribe" else {
                let updates = state.withLock { known(criteria, $0) }
                return ["updates": .array(updates.map { .object(PropertyValue.members(of: $0)) })]
            }
            let id = parameters["id"]?.stringValue ?? UUID().uuidString.lowercased()
            let count = state.withLock { state in
                state.live.removeAll { $0.client == client && $0.id == id }
                state.live.append(LiveTarget(client: client, id: id, criteria: criteria))
                return known(criteria, state).count
            }
            return ["id": .string(id), "snapshot": .integer(Int64(count)), "leaseUntil": .integer(WallClock.now() + 3_600_000)]
        case "renew": return ["id": .string(try parameters.identifier), "leaseUntil": .integer(WallClock.now() + 3_600_000)]
        case "unsubscribe":
            let id = try parameters.identifier
            state.withLock { $0.live.removeAll { $0.client == client && $0.id == id } }
            return ["id": .string(id), "state": "deleted"]
        default: throw GeomatchError(.unsupported, "the fake does not know live/\(verb)", code: 501)
        }
    }
}

extension [String: PropertyValue] {
    fileprivate var identifier: String {
        get throws(GeomatchError) {
            guard let id = self["id"]?.stringValue else {
                throw GeomatchError(.invalid, "`id` is required", code: 400, field: "id")
            }
            return id
        }
    }
}
