import LiveTopics
import Records
import Wire

// key/create · list · delete

extension AccessKeys {
    /// A hundred years.
    private static let expirySecondsMax = 3_153_600_000.0

    /// - Parameter exists: Whether there is a dataset of a name.
    func create(_ call: Call, _ exists: (String) -> Bool, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let parameters = call.parameters
        let client = try parameters.string("client")
        guard Name.isClient(client) else {
            throw parameters.error(
                "client", "must be a client's name: 1 to 64 of A-Z a-z 0-9 . _ -, not `diagnostics` or `status`",
                not: .string(client))
        }
        let dataset = try dataset(call, exists)
        let name = try parameters.optionalString("name", characters: 1...256) ?? client
        let seconds = try parameters.optionalNumber("expiresIn", in: 1...Self.expirySecondsMax, unit: "seconds")
        guard let sign = call.configuration.signKey else {
            throw WireError(.unsupported, "this daemon makes no keys; write them under `keys` in its configuration")
        }
        if count >= call.limits.accessKeys { removeExpired(at: call.now, &turn) }
        guard count < call.limits.accessKeys else {
            throw WireError(.limit, "there are \(call.limits.accessKeys) keys, the maximum")
        }
        let claims = KeyClaims(
            id: turn.newID(), dataset: dataset, client: client, createdAt: call.now,
            expiresAt: seconds.map { call.now + Int64($0 * 1000) })
        let key = sign(claims)
        let record = AccessKeyRecord(
            dataset: dataset, id: claims.id, client: client, name: name, createdAt: call.now, expiresAt: claims.expiresAt,
            digest: key.digest)
        if call.configuration.keysElsewhere?.keeps(dataset) ?? true { insert(record) }
        turn.keep(.put(record))
        return JSONWriter.object { writer in
            record.encodeMembers(into: &writer)
            writer.member("key", key.text)
        }
    }

    private func removeExpired(at now: Int64, _ turn: inout Turn) {
        for key in all(where: { !$0.isGood(at: now) }) {
            remove(key.id)
            turn.keep(.deleteAccessKey(dataset: key.dataset, id: key.id))
        }
    }

    /// What the key is to be good for, which its maker must administer.
    private func dataset(_ call: Call, _ exists: (String) -> Bool) throws(WireError) -> String {
        guard let name = try call.parameters.optionalString("dataset"), name != call.dataset.id else { return call.dataset.id }
        guard call.configuration.administers(name, call.client) else {
            let whom = name == AccessKeyRecord.anyDataset ? "administrators of all datasets" : "its administrators"
            throw WireError(.unauthorized, "a key for `\(name.prefix(80))` is made by \(whom)", field: "dataset")
        }
        guard name == AccessKeyRecord.anyDataset || exists(name) else { throw .unknownDataset(name) }
        return name
    }

    func list(_ call: Call) throws(WireError) -> [UInt8] {
        let page = try Page(call.parameters)
        let keys = all { isVisible($0, call) }
        let known = Set(keys.map(\.id))
        let visible = keys + elsewhere(call).filter { !known.contains($0.id) }
        return page.encode(
            "keys", sorting: visible, id: \.id, item: { key in JSONWriter.object(key.encodeMembers) })
    }

    func delete(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let id = try call.parameters.id("id")
        let known = self[id].flatMap { isVisible($0, call) ? $0 : nil }
        guard let key = known ?? elsewhere(call).first(where: { $0.id == id }) else {
            throw WireError(.notFound, "there is no key `\(id)`", field: "id")
        }
        remove(id)
        call.configuration.keysElsewhere?.deleted(id)
        turn.keep(.deleteAccessKey(dataset: key.dataset, id: id))
        return deleted(id)
    }

    /// What the store has of the keys that a caller may see.
    private func elsewhere(_ call: Call) -> [AccessKeyRecord] {
        guard let elsewhere = call.configuration.keysElsewhere else { return [] }
        let seesAll = call.configuration.administers(AccessKeyRecord.anyDataset, call.client)
        return ([call.dataset.id] + (seesAll ? [AccessKeyRecord.anyDataset] : [])).flatMap(elsewhere.stored)
    }

    private func isVisible(_ key: AccessKeyRecord, _ call: Call) -> Bool {
        key.dataset == call.dataset.id
            || key.isForAll && call.configuration.administers(AccessKeyRecord.anyDataset, call.client)
    }
}
