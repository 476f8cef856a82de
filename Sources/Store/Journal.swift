import Foundation
import Records

/// The threads that write and read the store, so that the thread that decides never waits for the disk.
///
/// What is appended is written in order, several batches in one transaction. While the store refuses to be written (a full disk),
/// batches that may wait are kept and tried again each second; the first one that may not is given back with everything behind it,
/// because what came later may rest on it. While it cannot be reached, everything is kept: nobody knows what became of what was under way,
/// and nothing can be read to find out. Reads run beside the writes and see what is durable, during an outage too.
/// Must be closed: its threads hold it until then.
///
/// `@unchecked Sendable`: `shared` is only touched while `gate` is locked; `waiting`, `outage`, `singly`, `hasHurried`, `lookAt` and `hasPendingPurge` only on
/// the writing thread; everything else is constant.
public final class Journal: @unchecked Sendable {
    let store: any DurableStore
    let wake: @Sendable () -> Void
    let report: @Sendable (JournalEvent) -> Void
    /// Seconds between two tries while the store refuses.
    let retryInterval: Double

    let gate = Gate()
    var shared = Shared()

    /// Taken from `shared.arrived` and not yet done.
    var waiting = Backlog()
    var outage: Outage?
    /// So many entries at the front are written one at a time, to find the one that cannot be.
    var singly = 0
    var hasHurried = false
    /// When to see whether the store is cut off; nil where it cannot be.
    var lookAt: Double?
    /// The store has rows that nobody reads any more, to be removed while nothing waits.
    var hasPendingPurge = false

    struct Shared {
        var arrived: [Backlog.Entry] = []
        var questions = Questions()
        var questionsForAll = Questions()
        var completions: [JournalCompletion] = []
        /// Changes that were appended, are not durable and were not given back.
        var backlog = 0
        /// Why the store cannot be written; nil while it can.
        var failure: StoreError?
        /// The token of a refusal until it is taken in: nothing is accepted meanwhile.
        var refusedFrom: UInt64?
        var isClosing = false
        /// Nobody waits any longer for what is left.
        var isAbandoned = false
        /// How many changes were left when the writing thread ended; nil while it runs.
        var unwritten: Int?
        /// Threads that read.
        var readers = 2
    }

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - wake: Called on any thread when ``collect()`` has something new.
    ///   - report: Called on the writing thread.
    public convenience init(
        store: any DurableStore, wake: @escaping @Sendable () -> Void, report: @escaping @Sendable (JournalEvent) -> Void
    ) {
        self.init(store: store, retryInterval: 1, wake: wake, report: report)
    }

    init(
        store: any DurableStore, retryInterval: Double, wake: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (JournalEvent) -> Void
    ) {
        self.store = store
        self.retryInterval = retryInterval
        self.wake = wake
        self.report = report
        start("journal") { $0.write() }
        start("journal-read") { $0.read(isForAll: false) }
        start("journal-load") { $0.read(isForAll: true) }
    }

    private func start(_ name: String, _ body: @escaping @Sendable (Journal) -> Void) {
        let thread = Thread { body(self) }
        thread.name = name
        thread.start()
    }

    /// Hands over changes to be written behind everything appended before. Returns at once.
    ///
    /// Either ``JournalCompletion/durable(through:)`` or ``JournalCompletion/refused(from:_:)`` covers the token in the end. Dropped
    /// without a further completion while a refusal has not been taken in with ``resume(afterRefusal:)``. Must not be called after
    /// ``close(timeoutSeconds:)``.
    ///
    /// - Parameters:
    ///   - token: One above the token of the batch before.
    ///   - mayWait: False where a request waits for it, which is better refused than kept waiting during an outage.
    public func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool) {
        let isRefused = gate.locked { () -> Bool in
            guard shared.refusedFrom == nil else { return false }
            if !mayWait, let failure = shared.failure, !failure.isUnreachable {
                // All that is still kept comes before it, and waits.
                shared.refuse(from: token, failure)
                return true
            }
            shared.arrived.append(Backlog.Entry(changes: changes, token: token, mayWait: mayWait))
            shared.backlog += changes.count
            gate.signal(.arrived)
            return false
        }
        if isRefused { wake() }
    }

    /// Accepts changes again after a refusal was taken in: what is appended from now on was decided without what was refused.
    ///
    /// - Parameter token: Of ``JournalCompletion/refused(from:_:)``. Nothing happens with another one.
    public func resume(afterRefusal token: UInt64) {
        gate.locked { if shared.refusedFrom == token { shared.refusedFrom = nil } }
    }

    /// Runs a query on what is durable, behind the reads of its kind asked for before; the answer comes in
    /// ``JournalCompletion/answer(_:_:)``.
    ///
    /// What the query throws becomes ``StoreAnswer/failed``. Reads pause while too much lies uncollected.
    ///
    /// - Parameters:
    ///   - token: Of any numbering.
    ///   - isForAll: Others than who asks wait for it, too: it does not give way where the cores are busy.
    public func read(
        token: UInt64, isForAll: Bool = false, _ query: @escaping @Sendable (any DurableStore) throws -> StoreAnswer
    ) {
        gate.locked {
            shared[isForAll: isForAll].append(token, query)
            gate.signal(isForAll ? .askedForAll : .asked)
        }
    }

    /// What was done since the last call, in order of writing and in order of reading.
    public func collect() -> [JournalCompletion] {
        gate.locked {
            let completions = shared.completions
            shared.completions = []
            shared.questions.answersWereCollected()
            shared.questionsForAll.answersWereCollected()
            // Called at each turn: threads that read are not woken for nothing.
            if shared.questions.areWaiting { gate.signal(.asked) }
            if shared.questionsForAll.areWaiting { gate.signal(.askedForAll) }
            return completions
        }
    }

    /// False from the first write that failed to the next that succeeds.
    public var isWritable: Bool { gate.locked { shared.failure == nil } }

    /// How many changes were appended and are neither durable nor given back.
    public var backlog: Int { gate.locked { shared.backlog } }

    /// Writes what waits and ends the threads; the store stays open, for a last mark.
    ///
    /// - Parameter timeoutSeconds: How long to try; at least one try is made.
    /// - Returns: false when something could not be written in time, and is lost.
    public func close(timeoutSeconds: Double) -> Bool {
        let deadline = Gate.now() + timeoutSeconds
        return gate.locked {
            shared.isClosing = true
            gate.signal(.arrived)
            gate.signal(.asked)
            gate.signal(.askedForAll)
            while shared.unwritten == nil || shared.readers > 0, Gate.now() < deadline {
                gate.wait(for: .settled, until: deadline)
            }
            shared.isAbandoned = true
            gate.signal(.arrived)
            return shared.unwritten == 0
        }
    }
}

extension Journal.Shared {
    /// Accepts nothing until the refusal is taken in.
    mutating func refuse(from token: UInt64, _ error: StoreError) {
        refusedFrom = token
        completions.append(.refused(from: token, error))
    }
}
