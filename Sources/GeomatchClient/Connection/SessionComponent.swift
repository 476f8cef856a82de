internal import MQTTValues

/// Something that lives on a session: notified of what happens, under the session's lock.
protocol SessionComponent: AnyObject {
    /// Called for each change, in order.
    func stateChanged(_ state: ConnectionState, _ core: SessionCore)
    /// After a reconnection (all filters are granted again), and when another instance of the daemon came online: what the
    /// daemon was sent may be gone, and what it published meanwhile is.
    func recover(_ core: SessionCore)
    /// The session ended for good; every hold on it is void.
    func failed(_ error: GeomatchError, _ core: SessionCore)
    /// The connection is lost, or not reached; it is tried again.
    func troubled(_ error: GeomatchError)
    /// A message on one of the component's filters that the broker did not keep from before.
    func received(_ message: InboundMessage, _ core: SessionCore)
    /// After the last message of what came together.
    func receivedAll()
    /// The daemon is offline, as it said or the broker did for it.
    func daemonLeft()
    /// The broker refuses one of the component's filters.
    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore)
    /// Whatever is due at `now`. - Returns: the next instant something is; both on ``SteadyClock``.
    func tick(_ now: Int64, _ core: SessionCore) -> Int64
}

extension SessionComponent {
    func receivedAll() {}
    func daemonLeft() {}
}
