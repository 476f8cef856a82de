/// Observes a ``LiveDataManager``, at once and on the connection's thread: a slow observer slows the connection down.
///
/// It is called under the session's lock, which guards its state too; it asks nothing of the client meanwhile.
package protocol LiveDataObserver: AnyObject, Sendable {
    /// - Parameter message: As it came; nil for an update that left unseen.
    func received(_ update: LiveUpdate, _ message: UnsafeRawBufferPointer?)
    /// After the last message of what came together.
    func receivedAll()
    func happened(_ event: LiveDataEvent)
    /// A subscription is active again, after the connection or the daemon was lost.
    func restored()
    /// The daemon said that it goes, or the broker that it is gone.
    func daemonLeft()
    /// - Returns: When it wants its next turn, milliseconds since 1970 UTC.
    func turn(now: Int64) -> Int64
}

extension LiveDataManager {
    /// Notifies `observer` of everything from now on, before anybody else.
    package func observe(_ observer: some LiveDataObserver) { withLive { live, _ in live.observer = observer } }
}
