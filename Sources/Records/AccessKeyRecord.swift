import Wire

/// A key that a request made: it identifies one client of one dataset, or of all.
public struct AccessKeyRecord: Equatable, Sendable {
    /// ``anyDataset``: all.
    public var dataset: String
    /// The `jti` of the key.
    public var id: String
    public var client: String
    /// For people.
    public var name: String
    public var createdAt: Int64
    /// The first instant at which it is no longer good; nil: never.
    public var expiresAt: Int64?
    /// SHA-256 of the key, which itself is kept nowhere.
    public var digest: [UInt8]
    public var lastUsedAt: Int64?

    /// No dataset has this name.
    public static let anyDataset = "*"

    public init(
        dataset: String, id: String, client: String, name: String, createdAt: Int64, expiresAt: Int64? = nil, digest: [UInt8],
        lastUsedAt: Int64? = nil
    ) {
        self.dataset = dataset
        self.id = id
        self.client = client
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.digest = digest
        self.lastUsedAt = lastUsedAt
    }

    public var isForAll: Bool { dataset == Self.anyDataset }

    public func isGood(at now: Int64) -> Bool { expiresAt.map { now < $0 } ?? true }

    /// As requests answer with it.
    package func encodeMembers(into writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("client", client)
        writer.member("name", name)
        if isForAll { writer.member("dataset", dataset) }
        writer.member("createdAt", createdAt)
        writer.member("expiresAt", optional: expiresAt)
        writer.member("lastUsedAt", optional: lastUsedAt)
    }
}

extension AccessKeyRecord: DurableRecord {
    public static var kind: Kind { .accessKey }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(id)
        fields.write(client)
        fields.write(name)
        fields.write(createdAt)
        fields.write(expiresAt)
        fields.write(digest)
        fields.write(lastUsedAt)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), id: fields.text(), client: fields.text(), name: fields.text(), createdAt: fields.int64(),
            expiresAt: fields.optionalInt64(), digest: fields.bytes(), lastUsedAt: fields.optionalInt64())
    }
}

/// That a key was used.
public struct AccessKeyUse: RecordAmendment {
    public static var kind: Kind { .accessKey }
    public static let columns = ["lastUsedAt"]
    public static var isReplaced: Bool { true }
    public let key: RecordKey
    public let at: Int64

    public func write(to fields: inout some FieldWriter) { fields.write(at) }
}

extension DurableChange {
    package static func deleteAccessKey(dataset: String, id: String) -> Self { .delete(RecordKey(.accessKey, dataset, id)) }
    package static func useAccessKey(dataset: String, id: String, at instant: Int64) -> Self {
        .amend(AccessKeyUse(key: RecordKey(.accessKey, dataset, id), at: instant))
    }
}
