/// What a ``LiveDataManager`` reports, in the order in which it happened. More cases may come: have a `default`.
public enum LiveDataEvent: Sendable {
    case received(LiveUpdate)
    case stateChanged(ConnectionState)
    case subscribed(LiveSubscription)
    case unsubscribed(LiveSubscription)
    /// The subscription is not active and not tried again: the daemon or the broker refuses it, now or after a reconnection.
    case subscriptionFailed(LiveSubscription, GeomatchError)
    case unsubscriptionFailed(LiveSubscription, GeomatchError)
    /// The connection is lost or not reached (`connectionLost`: it is tried again), refused for good (`refused`,
    /// `topicRefused`), or something came that does not follow the contract (`malformed`).
    case failed(GeomatchError)

    var isUpdate: Bool {
        if case .received = self { true } else { false }
    }
}
