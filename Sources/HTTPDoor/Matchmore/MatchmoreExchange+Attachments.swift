import Wire

// /v5/devices/{deviceId}/publications and …/subscriptions

extension MatchmoreExchange {
    enum Attachment: String {
        case publications, subscriptions

        /// Of our requests.
        var resource: String { String(rawValue.dropLast()) }
    }

    func create(_ kind: Attachment, on device: String) async throws -> HTTPAnswer {
        let body = try await body()
        _ = try body.text("deviceId")
        var parameters: [(String, JSONValue?)] = [
            ("deviceId", .string(device)), ("topic", .string(try body.required("topic", try body.text("topic")))),
            ("range", .double(try body.required("range", try body.number("range")))),
            ("duration", .double(try body.required("duration", try body.number("duration")))),
        ]
        switch kind {
        case .publications: parameters.append(("properties", try body.properties("properties")))
        case .subscriptions:
            parameters += [
                ("selector", try body.text("selector").map { .string($0) }),
                ("matchTTL", try body.number("matchTTL").map { .double($0) }),
                ("matchDTL", try body.number("matchDTL").map { .double($0) }),
                ("pushers", try body.texts("pushers").map { .array($0.map { .string($0) }) }),
            ]
        }
        do {
            return created(shape(kind, try await ask("\(kind.resource)/create", parameters)))
        } catch let error as WireError {
            throw error.refusingContent
        }
    }

    func list(_ kind: Attachment, of device: String) async throws -> HTTPAnswer {
        let objects = try await askAll("\(kind.resource)/list", [("deviceId", .string(device))], kind.rawValue)
        return found(.array(objects.map { shape(kind, $0) }))
    }

    func get(_ kind: Attachment, _ id: String, of device: String) async throws -> HTTPAnswer {
        found(shape(kind, try await find(kind, id, of: device)))
    }

    func delete(_ kind: Attachment, _ id: String, of device: String) async throws -> HTTPAnswer {
        _ = try await find(kind, id, of: device)
        _ = try await ask("\(kind.resource)/delete", [("id", .string(id))])
        return .empty()
    }

    private func find(_ kind: Attachment, _ id: String, of device: String) async throws -> JSONObject {
        let object = try await ask("\(kind.resource)/get", [("id", .string(id))])
        guard object["deviceId"]?.asString == device else {
            throw WireError(.notFound, "the device `\(device.prefix(128))` has no \(kind.resource) `\(id.prefix(128))`")
        }
        return object
    }

    private func shape(_ kind: Attachment, _ object: JSONObject) -> JSONValue {
        switch kind {
        case .publications: MatchmoreObjects.publication(object, of: caller.world)
        case .subscriptions: MatchmoreObjects.subscription(object, of: caller.world)
        }
    }
}
