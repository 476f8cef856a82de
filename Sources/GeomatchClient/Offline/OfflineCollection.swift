internal import Foundation

/// A type of document that Swift knows: devices, publications, subscriptions, places, beacons, sightings, or one of yours.
public protocol OfflineRecord: Sendable {
    /// What its documents have as `type`.
    static var documentType: String { get }
    /// - Parameter members: Those of the document, `id` and `revision` included.
    init(members: [String: PropertyValue]) throws(GeomatchError)
}

extension GeoDevice: OfflineRecord {
    public static var documentType: String { resource }
}

extension GeoPublication: OfflineRecord {
    public static var documentType: String { resource }
}

extension GeoSubscription: OfflineRecord {
    public static var documentType: String { resource }
}

/// The documents of one type in a store.
public struct OfflineCollection<Record: OfflineRecord>: Sendable {
    let store: OfflineStore

    /// One record; nil where there is none.
    public func get(_ id: String) throws(GeomatchError) -> Record? {
        guard let document = try store.document(type: Record.documentType, id: id) else { return nil }
        return try Record(members: document.complete)
    }

    /// Records in the order of their ids; what is not of the record's shape is left out.
    public func list(after: String? = nil, limit: Int = 1000) throws(GeomatchError) -> [Record] {
        var records: [Record] = []
        for document in try store.documents(type: Record.documentType, after: after, limit: limit) {
            if let record = try? Record(members: document.complete) { records.append(record) }
        }
        return records
    }

    /// Writes a record as a whole; durable when it returns.
    ///
    /// - Parameter parameters: A draft of the record, or anything with its members. Without `id` it gets a UUID.
    @discardableResult
    public func put(_ parameters: some GeomatchParameters) throws(GeomatchError) -> Record {
        var members = parameters.parameters
        let id = members["id"]?.stringValue
        let known = try id.flatMap { id throws(GeomatchError) in try store.document(type: Record.documentType, id: id) }
        let now = PropertyValue.integer(Date().milliseconds)
        members["createdAt"] = known?["createdAt"] ?? members["createdAt"] ?? now
        members["updatedAt"] = now
        let document = try store.put(members, type: Record.documentType, id: id)
        return try Record(members: document.complete)
    }

    /// Deletes a record. Without effect where there is none.
    public func delete(_ id: String) throws(GeomatchError) { try store.delete(type: Record.documentType, id: id) }
}

extension OfflineCollection where Record: GeomatchObject {
    /// Writes an object as a whole; durable when it returns, made by the daemon when it has it.
    @discardableResult
    public func put(_ draft: Record.Draft) throws(GeomatchError) -> Record { try put(Parameters(parameters: draft.parameters)) }
}

/// What is written, whichever way it was said.
private struct Parameters: GeomatchParameters {
    var parameters: [String: PropertyValue]
}

extension OfflineStore {
    public var devices: OfflineCollection<GeoDevice> { OfflineCollection(store: self) }
    public var publications: OfflineCollection<GeoPublication> { OfflineCollection(store: self) }
    public var subscriptions: OfflineCollection<GeoSubscription> { OfflineCollection(store: self) }
    /// Read here, written by the daemon's own request.
    public var places: OfflineCollection<GeoPlace> { OfflineCollection(store: self) }
    /// `{"type":"gbeacon","proximityID","major","minor"}`
    public var beacons: OfflineCollection<GeoBeacon> { OfflineCollection(store: self) }
    public var sightings: OfflineCollection<GeoSighting> { OfflineCollection(store: self) }

    /// Documents of a type of yours.
    public func collection<Record: OfflineRecord>(of type: Record.Type) -> OfflineCollection<Record> {
        OfflineCollection(store: self)
    }
}

extension OfflineDocument {
    /// Its members with id and revision.
    var complete: [String: PropertyValue] {
        var members = members
        members["id"] = .string(id)
        members["revision"] = .string(revision)
        return members
    }
}
