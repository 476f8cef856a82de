import LiveTopics
import Records
import Wire

/// What doors that speak in devices know of one, beside the requests of the table.
public struct DeviceSummary: Sendable {
    public var owner: String?
    /// The number of its newest match.
    public var newestMatch: Int64?
    /// Of what `match/list` shows from now on; nil while the store may not have the newest match.
    public var matchesValidity: Validity?
    /// Where it is a beacon.
    public var beacon: Beacon?

    public struct Beacon: Equatable, Sendable {
        public var proximityUUID: String
        public var major: Int
        public var minor: Int
    }
}

extension Hub {
    /// What is known of a device that a client may have, as `device/get` says.
    ///
    /// - Parameters:
    ///   - client: Who asks; nil: nobody in particular, who may know that it exists.
    ///   - moves: Whether the client wants to say where it is, or what it sees.
    /// - Returns: nil while the dataset takes nothing in: ask again.
    public func summary(
        ofDevice id: String, of name: String, for client: String?, moves: Bool = false, at now: Int64
    ) throws(WireError) -> DeviceSummary? {
        if let client {
            guard Name.isClient(client), configuration.mayName(name, client) else {
                throw WireError(.unauthorized, "`\(client.prefix(64))` may not name the dataset `\(name.prefix(80))`")
            }
        }
        if holdsUpdates(name) { return nil }
        guard let dataset = datasets[name] else { throw .unknownDataset(name) }
        guard let client else {
            guard let device = dataset.devices[id] else { throw WireError(.notFound, "there is no device `\(id.prefix(128))`") }
            return DeviceSummary(device)
        }
        let call = Call(
            dataset: dataset,
            client: RequestingClient(
                name: client, isAdministrator: configuration.administrators.allow(client: client, in: name)),
            parameters: Parameters(["deviceId": .string(id)]), now: now)
        let device = try call.device()
        if moves { try call.checkMover(of: device) }
        var summary = DeviceSummary(device)
        if device.matches.last.map(outbox.isDurable) ?? true { summary.matchesValidity = dataset.devices.validity(of: device) }
        return summary
    }

    /// The beacon that a device is, which every client of its dataset may know.
    public func beacon(ofDevice id: String, of name: String) -> DeviceSummary.Beacon? {
        datasets[name]?.devices[id].flatMap { DeviceSummary($0).beacon }
    }
}

extension DeviceSummary {
    init(_ device: Device) {
        owner = device.record.owner
        newestMatch = device.matches.last
        beacon = device.record.beacon.map {
            Beacon(proximityUUID: $0.proximityUUID, major: $0.major, minor: $0.minor)
        }
    }
}
