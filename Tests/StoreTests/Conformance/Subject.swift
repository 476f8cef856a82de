import Foundation
import MemoryStore
import PostgresServer
import Records

@testable import Store

/// The stores that must behave alike.
enum Subject: CaseIterable {
    case sqlite, postgres, memory

    func withStore(repliesMax: Int = 10_000, _ body: (any FaultyStore) throws -> Void) throws {
        switch self {
        case .sqlite: try withScratch { try body(try $0.store(repliesMax: repliesMax)) }
        case .postgres: try PostgresServer.shared.get().withStore(repliesMax: repliesMax, body)
        case .memory: try body(MemorySubject(repliesMax: repliesMax))
        }
    }
}

/// A store whose writes fail when a test says so.
protocol FaultyStore: DurableStore {
    /// From now on nothing can be written that needs space.
    func fill() throws
    func makeSpace() throws
    /// From now on one device cannot be written, as if text were too long: ``DurableChange/poison``.
    func poison() throws
    /// No transaction begins before the body has ended.
    func holdingWrites(_ body: () throws -> Void) throws
}

extension DurableChange {
    static let poison = put(
        DeviceRecord(dataset: "c", id: "poison", type: .pin, createdAt: 1, updatedAt: 1, revision: "1-a"))

    /// Too much for a store that is full.
    static func bulk(_ number: Int = 0) -> DurableChange {
        .put(
            LiveStateRecord(
                dataset: "city", topic: "t\(number)", timestamp: 1, receivedAt: 1, number: 1,
                payload: [UInt8](repeating: 1, count: 60_000)))
    }
}

extension Store: FaultyStore {
    func fill() throws { try limitGrowth(pages: 0) }

    func makeSpace() throws { try liftLimit() }

    func poison() throws {
        try queue.inDatabase {
            try $0.execute(
                sql: """
                    CREATE TRIGGER poison BEFORE INSERT ON device WHEN new.id = 'poison' BEGIN SELECT raise(ABORT, 'poison'); END
                    """)
        }
    }

    func holdingWrites(_ body: () throws -> Void) throws {
        try queue.inDatabase { _ in try body() }
    }
}

extension DurableStore {
    func restored(_ dataset: String? = nil) throws -> Snapshot {
        var snapshot = Snapshot()
        try restore(dataset: dataset) { try snapshot.take($0) }
        return snapshot
    }
}

/// The store in memory as a store that threads use.
///
/// `@unchecked Sendable`: `memory`, `named`, `isFull` and `isPoisoned` are only touched while `lock` is held, and it is changed while `writing` is held.
final class MemorySubject: FaultyStore, @unchecked Sendable {
    private let lock = NSLock()
    private let writing = NSLock()
    private var memory: MemoryStore
    private var named: [String: String] = [:]
    private var isFull = false
    private var isPoisoned = false

    init(repliesMax: Int) { memory = MemoryStore(repliesMax: repliesMax) }

    func commit(_ changes: [DurableChange]) throws(StoreError) {
        let failure = writing.withLock {
            lock.withLock { () -> StoreError? in
                if isFull, !changes.isEmpty { return .full }
                if isPoisoned, changes.contains(.poison) { return .other("poison") }
                for change in changes { memory.apply(change) }
                return nil
            }
        }
        if let failure { throw failure }
    }

    func probe() throws(StoreError) { if lock.withLock({ isFull }) { throw .full } }

    var hasPendingPurge: Bool { false }
    func purgeSome(looking count: Int) -> Bool { false }

    func restore(dataset: String?, repliesSince: Int64, _ visit: (DurableChange) throws -> Void) throws {
        for change in lock.withLock({ memory.restored(dataset, repliesSince: repliesSince) }) { try visit(change) }
    }

    func records(_ keys: [RecordKey]) -> [DurableChange] { lock.withLock { memory.records(keys) } }

    func matches(dataset: String, deviceId: String, after: String?, limit: Int) -> [MatchRecord]? {
        lock.withLock { memory.matches(dataset: dataset, deviceId: deviceId, after: after, limit: limit) }
    }

    func match(dataset: String, id: String) -> MatchRecord? { lock.withLock { memory.match(dataset: dataset, id: id) } }
    func feedPage(_ query: FeedQuery) -> FeedPage { lock.withLock { memory.feedPage(query) } }
    func documents(_ lookups: [DocumentLookup]) -> [KnownDocument?] { lock.withLock { memory.documents(lookups) } }
    var highestMatchNumber: Int64 { lock.withLock { memory.highestMatchNumber } }
    var highestLiveNumber: Int64 { lock.withLock { memory.highestLiveNumber } }

    func metadata(_ key: String) -> String? { lock.withLock { named[key] } }
    func setMetadata(_ key: String, _ value: String?) { lock.withLock { named[key] = value } }
    func check() {}
    func close() {}

    func fill() { lock.withLock { isFull = true } }
    func makeSpace() { lock.withLock { isFull = false } }
    func poison() { lock.withLock { isPoisoned = true } }
    func holdingWrites(_ body: () throws -> Void) rethrows { try writing.withLock(body) }
}
