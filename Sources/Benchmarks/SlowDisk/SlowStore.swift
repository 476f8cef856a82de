import Foundation
import Records
import Store

/// A store whose commits take long, as on a busy or worn disk.
final class SlowStore: DurableStore {
    private let store: Store
    private let commitSeconds: Double

    init(_ store: Store, commitSeconds: Double) {
        self.store = store
        self.commitSeconds = commitSeconds
    }

    func commit(_ changes: [DurableChange]) throws(StoreError) {
        Thread.sleep(forTimeInterval: commitSeconds)
        try store.commit(changes)
    }

    func probe() throws(StoreError) { try store.probe() }
    var hasPendingPurge: Bool { get throws(StoreError) { false } }
    func purgeSome(looking count: Int) throws(StoreError) -> Bool { false }
    func restore(dataset: String?, repliesSince: Int64, _ visit: (DurableChange) throws -> Void) throws {
        try store.restore(dataset: dataset, repliesSince: repliesSince, visit)
    }
    func records(_ keys: [RecordKey]) throws(StoreError) -> [DurableChange] { try store.records(keys) }
    func matches(
        dataset: String, deviceId: String, after: String?, limit: Int
    ) throws(StoreError) -> [MatchRecord]? {
        try store.matches(dataset: dataset, deviceId: deviceId, after: after, limit: limit)
    }
    func match(dataset: String, id: String) throws(StoreError) -> MatchRecord? { try store.match(dataset: dataset, id: id) }
    func feedPage(_ query: FeedQuery) throws(StoreError) -> FeedPage { try store.feedPage(query) }
    func documents(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?] { try store.documents(lookups) }
    var highestMatchNumber: Int64 { get throws(StoreError) { try store.highestMatchNumber } }
    var highestLiveNumber: Int64 { get throws(StoreError) { try store.highestLiveNumber } }
    func metadata(_ key: String) throws(StoreError) -> String? { try store.metadata(key) }
    func setMetadata(_ key: String, _ value: String?) throws(StoreError) { try store.setMetadata(key, value) }
    func check() throws(StoreError) { try store.check() }
    func close() throws(StoreError) { try store.close() }
}
