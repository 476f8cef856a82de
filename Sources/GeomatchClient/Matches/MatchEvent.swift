/// What a ``MatchMonitor`` reports, in the order in which it happened. More cases may come: have a `default`.
public enum MatchEvent: Sendable {
    case matched(GeoMatch)
    /// More than a hundred matches of this device came while the connection was away: the daemon keeps no more, and those
    /// before the ones that follow were missed.
    case missed(deviceID: String)
    case stateChanged(ConnectionState)
    /// The device is no longer monitored: the daemon or the broker refuses it. Not tried again.
    case monitoringFailed(deviceID: String, GeomatchError)
    /// The connection is lost or not reached (`connectionLost`: it is tried again), refused for good, or something came that
    /// does not follow the contract (`malformed`).
    case failed(GeomatchError)

    var isMatch: Bool {
        if case .matched = self { true } else { false }
    }
}

/// Is notified of what happens on a ``MatchMonitor``, one call after the other in order; all have an empty default.
///
/// The calls come on a task of their own. A delegate on the main actor is called there.
public protocol MatchMonitorDelegate: AnyObject, Sendable {
    func matchMonitor(_ monitor: MatchMonitor, didFind match: GeoMatch) async
    /// Everything else.
    func matchMonitor(_ monitor: MatchMonitor, didNotice event: MatchEvent) async
}

extension MatchMonitorDelegate {
    public func matchMonitor(_ monitor: MatchMonitor, didFind match: GeoMatch) async {}
    public func matchMonitor(_ monitor: MatchMonitor, didNotice event: MatchEvent) async {}
}
