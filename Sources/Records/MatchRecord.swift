/// One match or end of a visit as it was delivered, kept among the newest hundred of its subscription's device.
public struct MatchRecord: Equatable, Sendable {
    /// Rises with every match of the store, over all datasets: the order of delivery.
    public var number: Int64
    public var dataset: String
    public var id: String
    public var deviceId: String
    public var subscriptionId: String
    public var publicationId: String
    /// The subscription's owner, whose tree it is delivered to; nil for none.
    public var owner: String?
    public var createdAt: Int64
    /// The JSON as published.
    public var body: [UInt8]
    /// Not yet with everyone it is for.
    public var pending: Bool
    /// Whom it is for beside the match topic, as the subscription named them when it was made; empty once it is not pending.
    public var pushers: [String]
    /// What webhooks are signed with; nil once it is not pending.
    public var secret: String?
    /// What push services are handed, as JSON; nil where it is for none.
    public var push: String?
    /// A bit for each target that took it or never will: the match topic first, then the pushers.
    public var completed: UInt32 = 0
    /// The worst that became of those.
    public var fate: MatchFate = .delivered

    public init(
        number: Int64, dataset: String, id: String, deviceId: String, subscriptionId: String, publicationId: String,
        owner: String?, createdAt: Int64, body: [UInt8], pending: Bool, pushers: [String] = [], secret: String? = nil
    ) {
        self.number = number
        self.dataset = dataset
        self.id = id
        self.deviceId = deviceId
        self.subscriptionId = subscriptionId
        self.publicationId = publicationId
        self.owner = owner
        self.createdAt = createdAt
        self.body = body
        self.pending = pending
        self.pushers = pushers
        self.secret = secret
    }
}

extension MatchRecord: DurableRecord {
    public static var kind: Kind { .match }

    public func write(to fields: inout some FieldWriter) {
        fields.write(number)
        fields.write(dataset)
        fields.write(id)
        fields.write(deviceId)
        fields.write(subscriptionId)
        fields.write(publicationId)
        fields.write(owner)
        fields.write(createdAt)
        fields.write(pending)
        fields.write(list: pushers.isEmpty ? nil : pushers)
        fields.write(secret)
        fields.write(Int64(completed))
        fields.write(fate.rank)
        fields.write(push)
        fields.write(body)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        let (number, dataset, id, deviceId) = (fields.int64(), fields.text(), fields.text(), fields.text())
        let (subscriptionId, publicationId) = (fields.text(), fields.text())
        let (owner, createdAt, pending) = (fields.optionalText(), fields.int64(), fields.flag())
        let pushers = try fields.optionalList() ?? []
        let (secret, completed, rank) = (fields.optionalText(), fields.int64(), fields.int())
        guard let fate = MatchFate(rank: rank) else { throw MalformedRow() }
        let push = fields.optionalText()
        self.init(
            number: number, dataset: dataset, id: id, deviceId: deviceId, subscriptionId: subscriptionId,
            publicationId: publicationId, owner: owner, createdAt: createdAt, body: fields.bytes(), pending: pending,
            pushers: pushers, secret: secret)
        self.completed = UInt32(truncatingIfNeeded: completed)
        self.fate = fate
        self.push = push
    }
}

/// Some of the match's targets are completed, and others are not.
public struct MatchProgress: RecordAmendment {
    public static var kind: Kind { .match }
    public static let columns = ["settled", "fate"]
    public let key: RecordKey
    public let completed: UInt32
    public let fate: MatchFate

    public func write(to fields: inout some FieldWriter) {
        fields.write(Int64(completed))
        fields.write(fate.rank)
    }
}

/// All targets of the match are completed: whom it was for, and what signed it, is nobody's business any more.
public struct MatchEnd: RecordAmendment {
    public static var kind: Kind { .match }
    public static let columns = ["pending", "pushers", "secret", "push"]
    public let key: RecordKey

    public func write(to fields: inout some FieldWriter) {
        fields.write(false)
        fields.write(list: nil)
        fields.write(nil as String?)
        fields.write(nil as String?)
    }
}

extension DurableChange {
    package static func matchProgress(number: Int64, completed: UInt32, fate: MatchFate) -> Self {
        .amend(MatchProgress(key: RecordKey(.match, number: number), completed: completed, fate: fate))
    }
    package static func matchCompleted(number: Int64) -> Self { .amend(MatchEnd(key: RecordKey(.match, number: number))) }
    /// The match has left the newest hundred of its device.
    package static func forgetMatch(number: Int64) -> Self { .delete(RecordKey(.match, number: number)) }
}

extension MatchRecord {
    /// The most matches of one device that can be read.
    package static let listedMax = 100

    /// Those of a device that are read.
    ///
    /// - Parameters:
    ///   - newest: Its newest hundred, the newest first.
    ///   - after: The id of one of them: the first so many behind it. Without it, the newest so many.
    ///   - limit: 1…100; others are brought into these bounds.
    /// - Returns: Oldest first; nil where `after` is none of them.
    package static func page(of newest: [(number: Int64, id: String)], after: String?, limit: Int) -> [Int64]? {
        let limit = min(max(limit, 1), listedMax)
        guard let after else { return newest.prefix(limit).reversed().map(\.number) }
        guard let index = newest.firstIndex(where: { $0.id.hasSameBytes(as: after) }) else { return nil }
        return newest[..<index].reversed().prefix(limit).map(\.number)
    }
}
