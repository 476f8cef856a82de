public import Foundation

/// The device this program runs on: created or adopted once, and remembered in a file of yours.
///
/// ```swift
/// let phone = try await MainDevice.start(client, file: support.appending(path: "main-device.json"))
/// try await phone.update(GeoLocation(latitude: 43.7303, longitude: 7.4203))
/// ```
public actor MainDevice {
    public nonisolated let device: GeoDevice
    private let client: GeomatchClient
    private let file: URL
    private var lastLocation: GeoLocation?

    public nonisolated var id: String { device.id }

    private init(_ client: GeomatchClient, _ device: GeoDevice, _ file: URL) {
        self.client = client
        self.device = device
        self.file = file
    }

    /// The remembered device, or one that is created and then remembered.
    ///
    /// - Parameters:
    ///   - file: Where its id is kept, for each broker, dataset and client; its folder must exist.
    ///   - adopting: An existing device to use from now on instead. `notFound` where it does not exist.
    ///   - draft: What to create where none is remembered, or the remembered one was deleted.
    public static func start(
        _ client: GeomatchClient, file: URL, adopting id: String? = nil, or draft: GeoDevice.Draft = .mobile()
    ) async throws(GeomatchError) -> MainDevice {
        let memory = Memory(file, client.configuration)
        if let id {
            let device = try await client.devices.get(id)
            try memory.remember(device.id)
            return MainDevice(client, device, file)
        }
        if let known = try memory.id {
            do throws(GeomatchError) {
                return MainDevice(client, try await client.devices.get(known), file)
            } catch  where error.kind == .notFound || error.kind == .unknownDataset {
                // Deleted meanwhile: a new one takes its place.
            }
        }
        let device = try await client.devices.create(draft).value
        try memory.remember(device.id)
        return MainDevice(client, device, file)
    }

    /// Says where it is, and returns when geomatch has it.
    ///
    /// - Returns: False where nothing was sent because latitude and longitude are those sent last.
    @discardableResult
    public func update(_ location: GeoLocation) async throws(GeomatchError) -> Bool {
        if let last = lastLocation, last.latitude == location.latitude, last.longitude == location.longitude { return false }
        let before = lastLocation
        lastLocation = location
        do throws(GeomatchError) {
            _ = try await client.devices.update(id, GeoDevice.Changes(location: location))
        } catch {
            // It may be sent again.
            if lastLocation == location { lastLocation = before }
            throw error
        }
        return true
    }

    /// Deletes the device and its child objects, and forgets it here.
    public func delete() async throws(GeomatchError) {
        try await client.devices.delete(id)
        try Memory(file, client.configuration).remember(nil)
    }
}

extension MainDevice {
    /// `{"<broker>/<dataset>/<client>": "<device id>"}`
    private struct Memory {
        private let file: URL
        private let key: String

        init(_ file: URL, _ configuration: GeomatchConfiguration) {
            self.file = file
            // Without credentials.
            let broker = (try? configuration.endpoint().name) ?? ""
            key = "\(broker)/\(configuration.dataset)/\(configuration.client)"
        }

        var id: String? {
            get throws(GeomatchError) { try read()[key] }
        }

        func remember(_ id: String?) throws(GeomatchError) {
            var ids = try read()
            ids[key] = id
            do {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
                try encoder.encode(ids).write(to: file, options: .atomic)
            } catch {
                throw GeomatchError(.file, "the main device cannot be remembered in \(file.path): \(error.localizedDescription)")
            }
        }

        /// Empty where there is no file yet. One that cannot be read is not overwritten.
        private func read() throws(GeomatchError) -> [String: String] {
            guard FileManager.default.fileExists(atPath: file.path) else { return [:] }
            do {
                return try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
            } catch {
                throw GeomatchError(.file, "the main device cannot be read from \(file.path): \(error.localizedDescription)")
            }
        }
    }
}
