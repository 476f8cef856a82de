/// A table whose rows are records, replaced as a whole.
///
/// The columns stand here once, in the order in which records are bound and read.
struct Table: Sendable {
    let name: String
    /// Writes a row, replacing the one of the same key. A row keeps its place when it is replaced.
    let upsert: String
    /// All columns of all rows; a condition may follow.
    let select: String

    /// - Parameter key: The first so many columns, which are unique together.
    init(_ name: String, key: Int, _ columns: String) {
        let names = columns.split(separator: " ").map(String.init)
        let values = (1...names.count).map { "?\($0)" }
        let rest = names[key...].map { "\($0) = excluded.\($0)" }
        self.name = name
        select = "SELECT \(names.joined(separator: ", ")) FROM \(name)"
        upsert = """
            INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", "))) \
            ON CONFLICT (\(names[..<key].joined(separator: ", "))) DO UPDATE SET \(rest.joined(separator: ", "))
            """
    }

    static let dataset = Table(
        "dataset", key: 1,
        "id name policy domains autoCreateDevices derivedOccupancy timeZone createdAt updatedAt revision")
    static let deletedDataset = Table("deletedDataset", key: 1, "id at")
    static let structure = Table("structure", key: 4, "dataset level parents id name floorIndex capacity geometry")
    static let device = Table(
        "device", key: 2,
        """
        dataset id type name groupNames platform deviceToken proximityUUID major minor owner createdAt updatedAt revision \
        carriedUUID carriedMajor carriedMinor rangingExponent rangingOffset rangingFilter
        """)
    static let publication = Table(
        "publication", key: 2, "dataset id deviceId topic range duration properties owner createdAt updatedAt revision")
    static let subscription = Table(
        "subscription", key: 2,
        """
        dataset id deviceId topic range duration selector matchTTL matchDTL excludeSelf pushers hints owner createdAt updatedAt \
        revision matched delivered retried expired dropped lastMatchAt lastError mode exitMargin dwell staleAfter accuracy \
        floor secret
        """)
    static let pair = Table(
        "pair", key: 3,
        """
        dataset subscriptionId publicationId lastMatchAt publicationLatitude publicationLongitude subscriptionLatitude \
        subscriptionLongitude
        """)
    static let visit = Table("visit", key: 3, "dataset subscriptionId publicationId id since")
    static let follower = Table("follower", key: 2, "dataset client since lease leaseUntil")
    static let liveState = Table("liveState", key: 2, "dataset topic timestamp receivedAt number payload")
}
