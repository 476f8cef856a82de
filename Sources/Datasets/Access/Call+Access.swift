import Records
import Wire

// Who may know where a device is, and who may move one by a request.

extension Call {
    /// Only those the configuration names see live data here, as everywhere.
    func checkReader() throws(WireError) {
        guard configuration.reads(dataset.id, client.name) != .none else {
            throw WireError(
                .unauthorized,
                "`\(client.name)` may not see live data of `\(dataset.id)`: see `access` and `live.readers`")
        }
    }

    /// A position that a request sets is a live update, too: it is for those who may publish it, also of devices with an owner.
    func checkMover(of device: Device) throws(WireError) {
        try checkMover(of: device.record.id, device.record.type, owner: device.record.owner)
    }

    /// With `write: own` a client moves what has its name. Of what it owns also what is nobody's name: pins, devices of generated ids, and
    /// those whose ids begin with its name and `/`.
    ///
    /// - Parameter id: nil: it is generated.
    func checkMover(of id: String?, _ type: DeviceType, owner: String?) throws(WireError) {
        guard !client.isAdministrator else { return }
        switch configuration.writes(dataset.id, client.name) {
        case .all: return
        case .own:
            guard let id, id != client.name else { return }
            if owner == client.name, type == .pin || id.hasPrefix("\(client.name)/") || Identifiers.isUUID(id) { return }
        case .none: break
        }
        let device = id.map { "`\($0)`" } ?? "a device"
        throw WireError(.unauthorized, "`\(client.name)` may not move \(device): see `access`", field: "location")
    }

    /// Whether the client may ask where a device is, see ``Devices/mayLocate(_:by:)``.
    func mayLocate(_ device: Device) -> Bool {
        client.isAdministrator || dataset.devices.mayLocate(device, by: client.name)
    }
}

extension LiveReach {
    /// Whether it includes a topic of this `location`.
    func includes(_ location: String, for client: String) -> Bool {
        switch self {
        case .all: true
        case .own: location == client
        case .none: false
        }
    }
}
