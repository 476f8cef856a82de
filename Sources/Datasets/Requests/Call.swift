import Wire
import Records

/// One request, being answered.
struct Call {
    let dataset: Dataset
    let client: RequestingClient
    var parameters: Parameters
    var now: Int64
    /// What the store knows of a push's documents, where it was asked.
    var documents: [KnownDocument?]?
    /// Of the pushed document it is carried out for.
    var stamp: PushStamp?
    /// See ``ReturnAddress/isOpen``.
    var isOpen = false
}

extension Call {
    var configuration: HubConfiguration { dataset.shared.configuration }
    var limits: HubLimits { dataset.shared.limits }

    /// The device a parameter names, if the client may have it.
    ///
    /// - Parameter ownerless: Why a client that is no administrator may not do this to a device without an owner; nil if it may.
    func device(named key: String = "deviceId", ownerless: String? = nil) throws(WireError) -> Device {
        let id = try parameters.id(key)
        guard let device = dataset.devices[id] else {
            throw WireError(.notFound, "there is no device `\(id)`", field: key)
        }
        try checkOwner(device.record.owner, of: "device", id, field: key)
        if let ownerless, device.record.owner == nil, !client.isAdministrator {
            throw WireError(.forbidden, ownerless, field: key)
        }
        return device
    }

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
        let groups = dataset.devices.all.reduce(into: Set<String>()) { groups, device in
            let record = device.record
            if !record.group.isEmpty, record.owner == nil || record.owner == client { groups.formUnion(record.group) }
        }
        if let name = others.first(where: { !groups.contains($0) }) {
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
