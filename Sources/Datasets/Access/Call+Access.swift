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

    /// A position that a request sets is a live update, too: without an owner, a device's is for those who may publish it.
    func checkMover(of device: Device) throws(WireError) {
        let id = device.record.id
        guard device.record.owner == nil, !client.isAdministrator,
            !configuration.writes(dataset.id, client.name).includes(id, for: client.name)
        else { return }
        throw WireError(.unauthorized, "`\(client.name)` may not move `\(id)`: see `access`", field: "location")
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
