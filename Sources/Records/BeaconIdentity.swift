import Ranging

/// A beacon's identity: canonical upper-case UUID with hyphens, major and minor 0…65535.
public struct BeaconIdentity: Hashable, Sendable {
    public var proximityUUID: String
    public var major: Int
    public var minor: Int

    public init(proximityUUID: String, major: Int, minor: Int) {
        self.proximityUUID = proximityUUID
        self.major = major
        self.minor = minor
    }

    /// nil: it is none that a parser let through.
    package var key: BeaconKey? {
        guard let major = UInt16(exactly: major), let minor = UInt16(exactly: minor) else { return nil }
        return BeaconKey(uuid: proximityUUID.utf8, major: major, minor: minor)
    }
}
