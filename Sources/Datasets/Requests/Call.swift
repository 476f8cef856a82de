import Wire
import Records

/// One request, being answered.
struct Call {
    let dataset: Dataset
    var client: RequestingClient
    var parameters: Parameters
    var now: Int64
    /// What the store knows of a push's documents, where it was asked.
    var documents: [KnownDocument?]?
    /// Of the pushed document it is carried out for.
    var stamp: PushStamp?
    /// See ``ReturnAddress/isOpen``.
    var isOpen = false
    /// One of many that a request brings.
    var isItem = false
}

extension Call {
    var configuration: HubConfiguration { dataset.shared.configuration }
    var limits: HubLimits { dataset.shared.limits }

    /// The device a parameter names, if the client may have it.
    ///
    /// - Parameter ownerless: Why a client that is no administrator may not do this to a device without an owner; nil if it may.
    func device(named key: String = "deviceId", ownerless: String? = nil) throws(WireError) -> Device {
        let device = try device(parameters.id(key), field: key)
        if let ownerless, device.record.owner == nil, !client.isAdministrator {
            throw WireError(.forbidden, ownerless, field: key)
        }
        return device
    }

    /// A device that a parameter names in its own way.
    func device(_ id: String, field: String) throws(WireError) -> Device {
        guard let device = dataset.devices[id] else {
            let devices = dataset.devices
            throw absent("device", id, of: devices.keys, field: field) { devices[$0]?.record.owner }
        }
        try checkOwner(device.record.owner, of: "device", id, field: field)
        return device
    }

    /// That there is nothing of an id, and which one may be meant.
    ///
    /// - Parameters:
    ///   - ids: Of all there is; of more than ``nearMax`` none is looked at, and none where many requests come as one.
    ///   - owner: Whose it is: what the client does not reach is not named to it.
    ///   - rest: Follows the id.
    func absent(
        _ kind: String, _ id: String, _ rest: String = "", of ids: some Collection<String>, field: String = "id",
        owner: (String) -> String?
    ) -> WireError {
        var near: String?
        if !isItem, stamp == nil, ids.count <= Self.nearMax {
            near = Nearness.nearest(to: id, ofIDs: ids) { client.reaches(owner: owner($0)) }
        }
        return WireError(
            .notFound, "there is no \(kind) `\(id)`\(rest)" + (near.map { "; did you mean `\($0)`?" } ?? ""), field: field)
    }

    static let nearMax = 2000

    /// Refuses what belongs to another client, see ``RequestingClient/reaches(owner:)``.
    func checkOwner(_ owner: String?, of kind: String, _ id: String, field: String = "id") throws(WireError) {
        guard client.reaches(owner: owner) else {
            throw WireError(.forbidden, "the \(kind) `\(id)` belongs to another client", field: field)
        }
    }

    /// Refuses devices that an object of a client would never hear of: it follows those of its client and those without an owner, also where
    /// an administrator asks. A name that is no device's is a group, or of a device to come.
    func checkFollowed(_ names: [String], by client: String, field: String = "devices") throws(WireError) {
        let others = names.filter { name in dataset.devices[name]?.record.owner.map { $0 != client } ?? false }
        guard !others.isEmpty else { return }
        // A group may be called like another client's device.
        if let name = others.first(where: { !dataset.devices.hasGroup($0, of: client) }) {
            throw WireError(
                .forbidden,
                "the device `\(name)` belongs to another client: only devices of `\(client)` and those without an owner are followed",
                field: field)
        }
    }
}

/// A push that waits for what the store knows.
struct AwaitedDocuments {
    var lookups: [DocumentLookup]
    var call: Call
    /// The documents it is about.
    var keys: Set<DocumentKey>
    /// One of them changed since the store was asked.
    var isOutdated = false
    /// Others need not wait for it, but those who ask about documents: what it brings is no object of ours, and nothing waits yet.
    var letsOthersPass = false

    /// None of the documents is an object of ours.
    var isForeign: Bool { lookups.allSatisfy { DocumentType(rawValue: $0.type) == nil } }
}
