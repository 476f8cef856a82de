import Records

/// The store of a ``Journal``: it applies changes in order, each batch in one transaction, and reads beside that.
///
/// ``Store`` keeps them in a file, another one in PostgreSQL, the tests have one in memory, and one suite of tests runs against all.
public protocol DurableStore: AnyObject, Sendable {
    /// Writes the changes in order, in one transaction. When it throws, none of them was kept.
    func commit(_ changes: [DurableChange]) throws(StoreError)
    /// Finds out whether it can be written while there is nothing to write.
    func probe() throws(StoreError)
    /// Whether the way to it is seen to be broken, without asking; nil: there is no way that could be.
    var isCutOff: Bool? { get }
    /// Whether there are rows that nobody reads any more.
    var hasPendingPurge: Bool { get throws(StoreError) }
    /// Removes some of what nobody reads any more, in one short transaction that looks at so many rows; returns whether there is more.
    func purgeSome(looking count: Int) throws(StoreError) -> Bool

    /// Gives back everything, or what belongs to one dataset, as ``Store/restore(dataset:repliesSince:_:)`` says.
    func restore(dataset: String?, repliesSince: Int64, _ visit: (DurableChange) throws -> Void) throws
    /// What is durable of each key, in the order asked: the record, or the change that removes it where there is none. All that is
    /// there below a key with fewer fields than its kind has.
    func records(_ keys: [RecordKey]) throws(StoreError) -> [DurableChange]
    /// The newest matches of a device, oldest first; nil where `after` is not among its newest hundred.
    func matches(dataset: String, deviceId: String, after: String?, limit: Int) throws(StoreError) -> [MatchRecord]?
    /// One match of a dataset while its device lists it; nil where there is none.
    func match(dataset: String, id: String) throws(StoreError) -> MatchRecord?
    func feedPage(_ query: FeedQuery) throws(StoreError) -> FeedPage
    /// What is known of documents, in the order asked; nil where there is none.
    func documents(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?]
    /// The highest number a match ever had, also where that match is gone; 0 before the first.
    var highestMatchNumber: Int64 { get throws(StoreError) }
    /// The highest number a live state ever had, also where that state is gone; 0 before the first.
    var highestLiveNumber: Int64 { get throws(StoreError) }

    /// A named value, such as the store's id; nil where it was never set.
    func metadata(_ key: String) throws(StoreError) -> String?
    /// Sets a named value durably; nil removes it.
    func setMetadata(_ key: String, _ value: String?) throws(StoreError)
    /// Reads all of it where it is the one that knows whether it is damaged.
    func check() throws(StoreError)
    func close() throws(StoreError)
}

extension DurableStore {
    public var isCutOff: Bool? { nil }

    public func matches(dataset: String, deviceId: String, after: String? = nil) throws(StoreError) -> [MatchRecord]? {
        try matches(dataset: dataset, deviceId: deviceId, after: after, limit: 100)
    }

    public func restore(dataset: String? = nil, _ visit: (DurableChange) throws -> Void) throws {
        try restore(dataset: dataset, repliesSince: .min, visit)
    }
}

extension Store: DurableStore {}
