/// How far a connection has come: online only when every subscription is granted and a probe came through.
public struct Session {
    public enum Phase: Equatable {
        case away
        case subscribing(id: Int32)
        /// Retained live state is read, where the store may lack some.
        case adopting(id: Int32)
        case unsubscribing(id: Int32)
        /// Waits for its own request until then.
        case probing(until: Int64)
        case online
        /// A filter was refused or the probe never came: it is tried again at the next connection.
        case refused
    }

    /// How long a probe may take, in milliseconds.
    static let probeMilliseconds: Int64 = 10_000

    public internal(set) var phase = Phase.away
    /// The filters the broker may hold for us: added when asked for, removed when it said so. A persistent session outlives
    /// connections and processes, and a filter forgotten too early would deliver everything twice.
    public internal(set) var held: Set<String> = []
    /// Filters we asked the broker to let go of, by the number of the request.
    var removals: [Int32: Set<String>] = [:]
    /// An earlier life did not end cleanly: the broker may retain live state that the store lacks.
    var mustAdopt = false
    /// Retained live state is read.
    var isAdopting = false
    /// What the retained mark says the broker holds; nil until it came.
    var mark: Int64?
    /// Filters asked for while online, by the number of the subscription.
    var additions: [Int32: [String]] = [:]
    private(set) var probe = 0

    /// What is on its way out.
    var leaving: Set<String> { removals.values.reduce(into: []) { $0.formUnion($1) } }

    mutating func nextProbe() -> String {
        probe += 1
        return String(probe)
    }
}
