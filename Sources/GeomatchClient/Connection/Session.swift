internal import Foundation
internal import Synchronization

/// A connection, shared by what needs it, behind one lock.
///
/// `core` is used in ``change(_:)`` alone, while `lock` is held: the guard behind `@unchecked Sendable`. (A `Mutex` around
/// it could not lend it to closures that capture anything of their caller.) Nothing called there waits or takes another
/// lock but those of mailboxes, which are innermost.
final class Session: @unchecked Sendable {
    private let lock = NSLock()
    private let core: SessionCore
    let configuration: GeomatchConfiguration

    init(_ configuration: GeomatchConfiguration) throws(GeomatchError) {
        self.configuration = configuration
        core = try SessionCore(configuration)
        core.session = self
    }

    /// The one way to the session's state. Never from within itself.
    func change<Result>(_ body: (SessionCore) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        let result = body(core)
        core.failUnopened()
        return result
    }

    /// Ends everything: what waits gets `closed`.
    ///
    /// - Parameter drainSeconds: How long what was published may take to reach the broker.
    func close(drainSeconds: Double = 0) { change { $0.fail(.closed, drainSeconds: drainSeconds) } }

    /// Waits for what `start` begins; `start` is given what to call, once, under the lock.
    ///
    /// - Parameter start: Returns how to give it up when the task is cancelled.
    func wait<Value: Sendable>(
        _ start: @Sendable (SessionCore, @escaping @Sendable (Result<Value, GeomatchError>) -> Void) -> GiveUp
    ) async throws(GeomatchError) -> Value {
        let giveUp = Mutex<GiveUp?>(nil)
        let result: Result<Value, GeomatchError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                change { core in
                    let way = start(core) { continuation.resumeUnlocked(returning: $0) }
                    giveUp.withLock { $0 = way }
                    if Task.isCancelled { way(core) }
                }
            }
        } onCancel: {
            guard let way = giveUp.withLock({ $0 }) else { return }
            change { way($0) }
        }
        return try result.get()
    }
}

/// Makes what is waited for end with `cancelled`; without effect where it has ended.
typealias GiveUp = @Sendable (SessionCore) -> Void
