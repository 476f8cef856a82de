import Records
import Synchronization

/// The keys that requests made.
///
/// They are changed on the core's thread, and looked up by doors from any.
public final class AccessKeys: Sendable {
    private struct State {
        var records: [String: AccessKeyRecord] = [:]
        var ids: [[UInt8]: String] = [:]
        /// Used since that was last made durable.
        var used: Set<String> = []
        var usesNotedAt: Int64 = 0
    }

    private let state = Mutex(State())
    private let removals = Atomic(0)

    init() {}

    // MARK: From any thread

    /// The key with this digest, which is thereby used; nil where there is none, or it has expired.
    public func use(_ digest: [UInt8], at now: Int64) -> AccessKeyRecord? {
        state.withLock { state in
            guard let id = state.ids[digest], let record = state.records[id], record.isGood(at: now) else { return nil }
            state.records[id]?.lastUsedAt = now
            state.used.insert(id)
            return record
        }
    }

    /// Whether the key with this digest was neither deleted nor has expired.
    public func isGood(_ digest: [UInt8], at now: Int64) -> Bool {
        state.withLock { state in state.ids[digest].flatMap { state.records[$0] }?.isGood(at: now) ?? false }
    }

    /// Whether a client has one that is good for a dataset.
    public func haveKey(of client: String, for dataset: String, at now: Int64) -> Bool {
        state.withLock { state in
            state.records.values.contains { record in
                record.client == client && (record.isForAll || record.dataset == dataset) && record.isGood(at: now)
            }
        }
    }

    /// Rises whenever one is removed.
    public var removalCount: Int { removals.load(ordering: .acquiring) }

    // MARK: On the core's thread

    var count: Int { state.withLock { $0.records.count } }

    subscript(id: String) -> AccessKeyRecord? { state.withLock { $0.records[id] } }

    func all(where isWanted: (AccessKeyRecord) -> Bool) -> [AccessKeyRecord] {
        state.withLock { $0.records.values.filter(isWanted) }
    }

    func insert(_ record: AccessKeyRecord) {
        state.withLock { state in
            state.records[record.id] = record
            state.ids[record.digest] = record.id
        }
    }

    func remove(_ id: String) { removeAll { $0.id == id } }

    func removeAll(of dataset: String) { removeAll { $0.dataset == dataset } }

    private func removeAll(where goes: (AccessKeyRecord) -> Bool) {
        state.withLock { state in
            for record in state.records.values where goes(record) {
                state.records[record.id] = nil
                state.ids[record.digest] = nil
                state.used.remove(record.id)
            }
        }
        removals.add(1, ordering: .releasing)
    }

    func restore(_ use: AccessKeyUse) { state.withLock { $0.records[use.key.id]?.lastUsedAt = use.at } }

    /// A crash costs at most so much of when a key was last used, in milliseconds.
    private static let usesMilliseconds: Int64 = 60_000

    /// Makes durable, now and then, when keys were last used.
    func advance(_ turn: inout Turn) {
        let used = state.withLock { state -> [AccessKeyRecord] in
            let isDue = turn.now - state.usesNotedAt >= Self.usesMilliseconds || turn.now < state.usesNotedAt
            guard isDue, !state.used.isEmpty else { return [] }
            state.usesNotedAt = turn.now
            defer { state.used = [] }
            return state.used.sorted().compactMap { state.records[$0] }
        }
        for record in used {
            guard let at = record.lastUsedAt else { continue }
            turn.keep(.useAccessKey(dataset: record.dataset, id: record.id, at: at))
        }
    }
}

/// What a key says of itself.
public struct KeyClaims: Sendable {
    public var id: String
    /// `*`: all.
    public var dataset: String
    public var client: String
    /// Milliseconds since 1970 UTC.
    public var createdAt: Int64
    public var expiresAt: Int64?
}

/// A key as its client gets it.
public struct SignedKey: Sendable {
    public var text: String
    /// SHA-256 of the text.
    public var digest: [UInt8]

    public init(text: String, digest: [UInt8]) {
        self.text = text
        self.digest = digest
    }
}
