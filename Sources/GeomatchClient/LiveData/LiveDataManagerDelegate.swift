/// Is notified of what happens on a ``LiveDataManager``, one call after the other in order; all have an empty default.
///
/// The calls come on a task of their own, never while the manager is at work, so each may call it. A delegate on the main
/// actor is called there. One that is slow loses the oldest updates (``GeomatchConfiguration/bufferSize``), never a change
/// of state or an error.
public protocol LiveDataManagerDelegate: AnyObject, Sendable {
    func liveDataManager(_ manager: LiveDataManager, didReceive update: LiveUpdate) async
    func liveDataManager(_ manager: LiveDataManager, didChange state: ConnectionState) async
    func liveDataManager(_ manager: LiveDataManager, didSubscribe subscription: LiveSubscription) async
    func liveDataManager(_ manager: LiveDataManager, didUnsubscribe subscription: LiveSubscription) async
    /// It is not active, and not tried again.
    func liveDataManager(
        _ manager: LiveDataManager, didFailToSubscribe subscription: LiveSubscription, error: GeomatchError) async
    func liveDataManager(
        _ manager: LiveDataManager, didFailToUnsubscribe subscription: LiveSubscription, error: GeomatchError) async
    /// The connection is lost or refused, or something came that cannot be read.
    func liveDataManager(_ manager: LiveDataManager, didFail error: GeomatchError) async
}

extension LiveDataManagerDelegate {
    public func liveDataManager(_ manager: LiveDataManager, didReceive update: LiveUpdate) async {}
    public func liveDataManager(_ manager: LiveDataManager, didChange state: ConnectionState) async {}
    public func liveDataManager(_ manager: LiveDataManager, didSubscribe subscription: LiveSubscription) async {}
    public func liveDataManager(_ manager: LiveDataManager, didUnsubscribe subscription: LiveSubscription) async {}
    public func liveDataManager(
        _ manager: LiveDataManager, didFailToSubscribe subscription: LiveSubscription, error: GeomatchError
    ) async {}
    public func liveDataManager(
        _ manager: LiveDataManager, didFailToUnsubscribe subscription: LiveSubscription, error: GeomatchError
    ) async {}
    public func liveDataManager(_ manager: LiveDataManager, didFail error: GeomatchError) async {}
}
