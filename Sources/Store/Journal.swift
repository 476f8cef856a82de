import Foundation
import Records

/// The thread that writes the store: what is handed to it is written in order, and what could not be written waits.
///
/// Reads take their place in the order, so each sees what was appended before it. While the store refuses to be written (a full disk)
/// appended changes wait and are tried again each second, demands are refused at once, and reads run at once, seeing what is durable.
/// Must be closed: its thread holds it until then.
///
/// `@unchecked Sendable`: `shared` is only touched while `gate` is locked; `waiting`, `outage`, `hasHurried` and `hasDebris` only on the journal's own
/// thread; everything else is constant.
public final class Journal: @unchecked Sendable {
    let store: Store
    let wake: @Sendable () -> Void
    let report: @Sendable (JournalEvent) -> Void
    /// Seconds between two tries while the store refuses.
    let retryInterval: Double

    let gate = Gate()
    var shared = Shared()

    /// Taken from `shared.arrived` and not yet done.
    var waiting = Backlog()
    var outage: Outage?
    var hasHurried = false
    /// The store has rows that nobody reads any more, to be removed while nothing waits.
    var hasDebris = false

    struct Shared {
        var arrived: [Backlog.Entry] = []
        var completions: [JournalCompletion] = []
        /// Changes that were appended and are not durable.
        var backlog = 0
        /// Why the store cannot be written; nil while it can.
        var failure: StoreError?
        var isClosing = false
        /// Nobody waits any longer for what is left.
        var isAbandoned = false
        /// How many changes were left when the thread ended; nil while it runs.
        var unwritten: Int?
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - wake: Called on the journal's thread when ``collect()`` has something new.
    ///   - report: Called on the journal's thread.
    public convenience init(
        store: Store, wake: @escaping @Sendable () -> Void, report: @escaping @Sendable (JournalEvent) -> Void
    ) {
        self.init(store: store, retryInterval: 1, wake: wake, report: report)
    }

    init(
        store: Store, retryInterval: Double, wake: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (JournalEvent) -> Void
    ) {
        self.store = store
        self.retryInterval = retryInterval
        self.wake = wake
        self.report = report
        let thread = Thread { self.run() }
        thread.name = "journal"
        thread.start()
    }

    /// Hands over changes that must become durable some time; `token` comes back in ``JournalCompletion/durable(_:)`` when they are.
    ///
    /// They are kept until they are written, in order, several batches in one transaction. Must not be called after ``close(timeoutSeconds:)``.
    public func append(_ changes: [DurableChange], token: UInt64) {
        gate.locked {
            shared.arrived.append(.changes(changes, tokens: [token]))
            shared.backlog += changes.count
            gate.signal(.arrived)
        }
    }

    /// Writes the changes behind everything appended before, and returns when all of it is durable.
    ///
    /// When it throws, none of these changes was kept; what was appended before still waits. While the store is known to refuse it throws
    /// at once.
    public func commitNow(_ changes: [DurableChange]) throws(StoreError) {
        let demand = Demand()
        let result = gate.locked { () -> Result<Void, StoreError> in
            if let failure = shared.failure { return .failure(failure) }
            if shared.isClosing { return .failure(.other("the journal is closed")) }
            shared.arrived.append(.demand(changes, demand))
            gate.signal(.arrived)
            while true {
                if let result = demand.result { return result }
                gate.wait(for: .settled, until: nil)
            }
        }
        try result.get()
    }

    /// Runs a query behind everything appended before; its answer comes in ``JournalCompletion/answer(_:_:)``.
    ///
    /// What the query throws becomes ``StoreAnswer/failed``.
    public func read(token: UInt64, _ query: @escaping @Sendable (Store) throws -> StoreAnswer) {
        gate.locked {
            shared.arrived.append(.read(token, query))
            gate.signal(.arrived)
        }
    }

    /// What is known of documents when everything appended before is durable; nil for those there are none of.
    public func lookUp(_ lookups: [DocumentLookup]) throws(StoreError) -> [KnownDocument?] {
        try commitNow([])
        return try store.documents(lookups)
    }

    /// What was done since the last call, in order.
    public func collect() -> [JournalCompletion] {
        gate.locked {
            let completions = shared.completions
            shared.completions = []
            return completions
        }
    }

    /// False from the first write that failed to the next that succeeds.
    public var isWritable: Bool { gate.locked { shared.failure == nil } }

    /// How many changes were appended and are not yet durable.
    public var backlog: Int { gate.locked { shared.backlog } }

    /// Writes what waits and ends the thread; the store stays open, for a last mark and its own ``Store/close()``.
    ///
    /// - Parameter timeoutSeconds: How long to try; at least one try is made.
    /// - Returns: false when something could not be written in time, and is lost.
    public func close(timeoutSeconds: Double) -> Bool {
        let deadline = Gate.now() + timeoutSeconds
        return gate.locked {
            shared.isClosing = true
            gate.signal(.arrived)
            while shared.unwritten == nil, Gate.now() < deadline { gate.wait(for: .settled, until: deadline) }
            shared.isAbandoned = true
            gate.signal(.arrived)
            return shared.unwritten == 0
        }
    }
}
