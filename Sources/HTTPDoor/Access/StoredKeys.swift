import Datasets
import Dispatch
import Records
import Synchronization

/// The keys of a cluster that a core does not keep itself, as the store has them.
///
/// A key says in plain text which one it would be; the store says whether there is such a key.
public final class StoredKeys: Sendable {
    private struct Entry {
        var name: JWTSubject.Name
        var record: AccessKeyRecord?
        var readAt: Int64
    }

    private struct State {
        /// By the digest of the key.
        var entries: [[UInt8]: Entry] = [:]
        /// How many entries say that there is no such key, at most.
        var misses = 0
        /// How many are being read.
        var reading = 0
    }

    private let read: @Sendable (_ dataset: String, _ id: String) throws -> AccessKeyRecord?
    private let monotonic: @Sendable () -> Int64
    private let state = Mutex(State())
    private let removals = Atomic(0)
    private let queue = DispatchQueue(label: "geomatch.keys")

    /// What was read counts for so long, in milliseconds.
    private static let freshMilliseconds: Int64 = 1000
    /// Beyond these an answer is that the store cannot be asked.
    private static let readingMax = 1000
    private static let missesMax = 10_000

    /// - Parameters:
    ///   - monotonic: Milliseconds.
    ///   - read: Reads one key; blocks.
    public init(
        monotonic: @escaping @Sendable () -> Int64,
        read: @escaping @Sendable (_ dataset: String, _ id: String) throws -> AccessKeyRecord?
    ) {
        self.monotonic = monotonic
        self.read = read
    }

    /// Has it known whether there is a key that may have been made by a request.
    ///
    /// - Returns: false where the store cannot be asked.
    func find(_ key: String) async -> Bool {
        guard let name = JWTSubject.name(ofOwn: key) else { return true }
        let digest = KeySigner.digest(of: key)
        let now = monotonic()
        let isKnown = state.withLock { $0.entries[digest].map { now - $0.readAt < Self.freshMilliseconds } ?? false }
        if isKnown { return true }
        return await withCheckedContinuation { continuation in
            ask(name, digest) { continuation.resume(returning: $0) }
        }
    }

    private func ask(_ name: JWTSubject.Name, _ digest: [UInt8], done: @escaping @Sendable (Bool) -> Void) {
        let mayRead = state.withLock { state in
            guard state.reading < Self.readingMax else { return false }
            state.reading += 1
            return true
        }
        guard mayRead else { return done(false) }
        queue.async { [self] in
            let found = Result { try read(name.dataset, name.id) }
            done(take(found, name, digest))
        }
    }

    private func take(_ found: Result<AccessKeyRecord?, any Error>, _ name: JWTSubject.Name, _ digest: [UInt8]) -> Bool {
        let now = monotonic()
        let (isKnown, isRemoved) = state.withLock { state -> (Bool, Bool) in
            state.reading -= 1
            let former = state.entries[digest]
            guard case .success(let record) = found else { return (former != nil, false) }
            let own = record.flatMap { $0.digest == digest ? $0 : nil }
            if former == nil, own == nil {
                state.misses += 1
                if state.misses > Self.missesMax {
                    // Made-up keys evict no key that exists.
                    state.entries = state.entries.filter { $0.value.record != nil }
                    state.misses = 0
                }
            }
            state.entries[digest] = Entry(name: name, record: own, readAt: now)
            return (true, former?.record != nil && own == nil)
        }
        if isRemoved { removals.add(1, ordering: .releasing) }
        return isKnown
    }

    /// The key with this digest, as far as it was found.
    func record(withDigest digest: [UInt8]) -> AccessKeyRecord? { state.withLock { $0.entries[digest]?.record } }

    /// The same for what lasts: it is read again from time to time, and meanwhile counts as it was.
    func recordInUse(withDigest digest: [UInt8]) -> AccessKeyRecord? {
        let now = monotonic()
        let (record, name) = state.withLock { state -> (AccessKeyRecord?, JWTSubject.Name?) in
            guard let entry = state.entries[digest], let record = entry.record else { return (nil, nil) }
            guard now - entry.readAt >= Self.freshMilliseconds else { return (record, nil) }
            // Once at a time.
            state.entries[digest]?.readAt = now
            return (record, entry.name)
        }
        if let name { ask(name, digest) { _ in } }
        return record
    }

    /// A key was deleted through this node.
    public func forget(_ id: String) {
        state.withLock { state in
            for (digest, entry) in state.entries where entry.name.id == id { state.entries[digest] = nil }
        }
        removals.add(1, ordering: .releasing)
    }

    /// Rises whenever one is removed.
    var removalCount: Int { removals.load(ordering: .acquiring) }
}
