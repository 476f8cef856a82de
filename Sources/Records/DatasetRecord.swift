/// What a dataset is durably: a tenant with its structure policy.
public struct DatasetRecord: Equatable, Sendable {
    /// 1–64 of `A-Z a-z 0-9 . _ -`, not `live` or `geomatch`.
    public var id: String
    public var name: String?
    /// `open` or `strict`.
    public var policy: String
    /// The domains that are active in a strict dataset; nil where all are.
    public var domains: [String]?
    public var autoCreateDevices: Bool
    public var derivedOccupancy: Bool
    /// IANA name.
    public var timeZone: String
    public var createdAt: Int64
    public var updatedAt: Int64
    /// `N-<hash>`.
    public var revision: String

    public init(
        id: String, name: String? = nil, policy: String = "open", domains: [String]? = nil, autoCreateDevices: Bool = true,
        derivedOccupancy: Bool = false, timeZone: String = "UTC", createdAt: Int64, updatedAt: Int64, revision: String
    ) {
        self.id = id
        self.name = name
        self.policy = policy
        self.domains = domains
        self.autoCreateDevices = autoCreateDevices
        self.derivedOccupancy = derivedOccupancy
        self.timeZone = timeZone
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}
