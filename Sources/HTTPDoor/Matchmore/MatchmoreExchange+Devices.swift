import Wire

// /v5/devices, /v5/devices/IBeaconTriples, /v5/devices/{deviceId}

extension MatchmoreExchange {
    func createDevice() async throws -> HTTPAnswer {
        let body = try await body()
        let type = try body.required("deviceType", try body.text("deviceType"))
        var parameters: [(String, JSONValue?)] = [
            ("deviceType", .string(type)), ("name", try body.text("name").map { .string($0) }),
            ("group", try body.texts("group").map { .array($0.map { .string($0) }) }),
        ]
        let location = try body.location("location")
        switch type {
        case "MobileDevice":
            parameters += [
                ("platform", try body.text("platform").map { .string($0) }),
                ("deviceToken", try body.text("deviceToken").map { .string($0) }), ("location", location?.value),
            ]
        case "PinDevice": parameters.append(("location", location?.value))
        default:
            // A beacon is known by proximity: clients send a location all the same.
            parameters += [
                ("proximityUUID", try body.text("proximityUUID").map { .string($0) }),
                ("major", try body.integer("major").map { .integer($0) }),
                ("minor", try body.integer("minor").map { .integer($0) }),
            ]
        }
        return created(MatchmoreObjects.device(try await ask("device/create", parameters)))
    }

    func getDevice(_ id: String) async throws -> HTTPAnswer {
        found(MatchmoreObjects.device(try await ask("device/get", [("id", .string(id))])))
    }

    func updateDevice(_ id: String) async throws -> HTTPAnswer {
        let body = try await body()
        let changes: [(String, JSONValue?)] = [
            ("name", try body.text("name").map { .string($0) }),
            ("deviceToken", try body.text("deviceToken").map { .string($0) }),
        ]
        guard changes.contains(where: { $0.1 != nil }) else { return try await getDevice(id) }
        do {
            return found(MatchmoreObjects.device(try await ask("device/update", [("id", .string(id))] + changes)))
        } catch let error as WireError {
            throw error.refusingContent
        }
    }

    func deleteDevice(_ id: String) async throws -> HTTPAnswer {
        _ = try await ask("device/delete", [("id", .string(id))])
        return .empty()
    }

    func listTriples() async throws -> HTTPAnswer {
        found(.array(try await askAll("beacon/list", [], "beacons").map(MatchmoreObjects.triple)))
    }
}
