internal import Wire

/// Something that lives on a session: told what happens, under the session's lock.
protocol SessionComponent: AnyObject {
    /// Called for each change, in order.
    func stateChanged(_ state: ConnectionState, _ core: SessionCore)
    /// After a reconnection (all filters stand again), and when another instance of the daemon came online: what the
    /// daemon was told may be gone, and what it said meanwhile is.
    func recover(_ core: SessionCore)
    /// The session ended for good; every hold on it is void.
    func failed(_ error: GeomatchError, _ core: SessionCore)
    /// The connection is lost, or not reached; it is tried again.
    func troubled(_ error: GeomatchError)
    func received(_ payload: JSONValue?, topic: String, _ core: SessionCore)
    /// The broker refuses one of the component's filters.
    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore)
    /// Whatever is due at `now`. - Returns: the next instant something is, milliseconds since 1970 UTC.
    func tick(_ now: Int64, _ core: SessionCore) -> Int64
}
