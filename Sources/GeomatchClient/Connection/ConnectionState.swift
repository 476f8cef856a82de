/// The state of a connection.
///
/// The order is closed, connecting, connected, disconnecting, closed; a connection that is lost goes to closed and at
/// once to connecting again.
public enum ConnectionState: Int, Sendable, CaseIterable {
    /// No connection, and none is tried: at the beginning, after the end, and for an instant when one was lost.
    case closed = 0
    /// The broker is being reached, again and again with growing pauses (at random up to 0.5…30 s).
    case connecting = 1
    /// The broker is reached, and answers of the daemon can come through.
    case connected = 2
    /// A goodbye is on its way.
    case disconnecting = 3
}
