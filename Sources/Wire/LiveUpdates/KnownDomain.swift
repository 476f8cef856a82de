/// The domains whose properties have types; every other one is free.
public enum KnownDomain: String, Sendable, CaseIterable {
    case position
    case occupancy
    case availability
    case count
    case temperature
    case co2
    case humidity
    case proximity
    /// Which geofences hold a device; only ever derived.
    case presence

    /// Whether live data of a domain says where devices are. OwnTracks' transitions and waypoints are free domains that do.
    public static func isWhereabouts(_ domain: String) -> Bool { whereabouts.contains(domain) }

    private static let whereabouts: Set<String> = [
        position.rawValue, proximity.rawValue, presence.rawValue, "transition", "waypoint",
    ]
}
