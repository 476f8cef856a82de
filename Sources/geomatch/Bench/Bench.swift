import GeomatchClient
import Wire

/// Moves devices of its own past a pin of its own, and measures the time until the daemon reports it.
struct Bench {
    let updates: Int
    let rate: Double?
    let window: Int
    private let name = "bench-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    private let devices: [String]

    /// With the pin they fit into one request.
    static let devicesMax = 999
    static let latitude = 10.0

    init(updates: Int, devices: Int, rate: Double?, window: Int) {
        self.updates = updates
        self.rate = rate
        self.window = window
        self.devices = (0..<devices).map { [name] in "\(name)-\($0)" }
    }

    /// What is made is deleted again, however it goes.
    func run(_ client: GeomatchClient) async throws -> BenchFigures {
        do {
            var figures = BenchFigures()
            try await make(client, &figures)
            let movement = BenchMovement(
                client.configuration, name: name, devices: devices, updates: updates, rate: rate, window: window)
            try await client.run(movement)
            figures.add(movement.figures)
            await shielded { await delete(client) }
            return figures
        } catch {
            if client.connectionState == .connected { await shielded { await delete(client) } }
            throw error
        }
    }

    private func make(_ client: GeomatchClient, _ figures: inout BenchFigures) async throws {
        let startedAt = ContinuousClock.now
        for (request, parameters) in [
            ("device/create", pinAndDevices), ("publication/create", publications), ("subscription/create", subscription),
        ] {
            let reply = try await client.reply(to: request, parameters)
            if let error = reply.firstError { throw CommandFailure.errorReply(ErrorText.of(.object(error))) }
            figures.objects += reply["result"]?.asObject?["items"]?.asArray?.count ?? 1
        }
        figures.objectSeconds = (ContinuousClock.now - startedAt) / .seconds(1)
    }

    private func delete(_ client: GeomatchClient) async {
        let replies = ([name] + devices).enumerated().map { number, device in
            let id = "\(name)-delete-\(number)"
            let parameters: JSONObject = ["requestId": .string(id), "id": .string(device)]
            return client.ask("device/delete", id: id, JSONValue.object(parameters).serialised())
        }
        for reply in replies { _ = try? await reply.get() }
    }

    private var pinAndDevices: JSONObject {
        let location: JSONObject = ["latitude": .double(Self.latitude), "longitude": .double(Self.latitude)]
        let pin: JSONObject = ["deviceType": "PinDevice", "id": .string(name), "location": .object(location)]
        let items = devices.map { JSONValue.object(["deviceType": "MobileDevice", "id": .string($0)]) }
        return ["items": .array([.object(pin)] + items)]
    }

    private var publications: JSONObject {
        let items = devices.map { device in
            JSONValue.object([
                "id": .string(device), "deviceId": .string(device), "topic": .string(name), "range": 1, "duration": 86_400,
            ])
        }
        return ["items": .array(items)]
    }

    private var subscription: JSONObject {
        [
            "id": .string(name), "deviceId": .string(name), "topic": .string(name), "range": 100, "duration": 86_400,
            "matchTTL": 0,
        ]
    }
}

extension JSONObject {
    /// The error of a reply, or of the first of its items that has one.
    fileprivate var firstError: JSONObject? {
        if let error = self["error"]?.asObject { return error }
        for item in self["result"]?.asObject?["items"]?.asArray ?? [] {
            if let error = item.asObject?["error"]?.asObject { return error }
        }
        return nil
    }
}
