import Foundation
import GeomatchClient

/// Notes that are taken underground and reach everybody when there is a network again.
final class Notebook: Sendable {
    private let store: OfflineStore

    init(folder: URL, client: String) throws {
        store = try OfflineStore(file: folder.appendingPathComponent("museum.sqlite"), dataset: "museum", client: client)
        // Of two that wrote the same note, both texts are kept.
        store.onConflict { conflict in
            let texts = ([conflict.winner] + conflict.others).compactMap { $0["text"]?.stringValue }
            return .merge(["text": .string(texts.sorted().joined(separator: "\n"))])
        }
    }

    /// Returns when it is durable, whatever the network does.
    func write(_ text: String, as id: String) throws { try store.put(["text": .string(text)], type: "note", id: id) }

    func read(_ id: String) throws -> String? { try store.document(type: "note", id: id)?["text"]?.stringValue }

    /// Objects of geomatch are documents too: the daemon makes this device when it hears of it.
    func addCafe() throws {
        try store.devices.put(.pin(id: "cafe", name: "Café", location: GeoLocation(latitude: 43.73, longitude: 7.42)))
    }

    /// In step with the daemon from here on, across lost connections; ends with `stop()` or with the store.
    func keepInStep(with client: GeomatchClient) throws { try store.start(with: client) }

    /// Each change from now on, regardless of who made it; iterate with `for await`.
    var changes: BufferedSequence<OfflineChange, Never> { store.changes }

    var status: String { "\(store.progress.status.rawValue), \(store.progress.pending) to go" }
}
