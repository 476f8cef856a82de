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

    /// It says where devices are.
    public var isWhereabouts: Bool { self == .position || self == .proximity || self == .presence }
}
