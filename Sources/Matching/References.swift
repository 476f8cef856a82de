/// A device of an engine. The same reference is given out again after the device was removed.
public struct DeviceRef: Hashable, Sendable {
    public let index: UInt32

    public init(index: UInt32) { self.index = index }
}

/// A publication of an engine. The same reference is given out again after the publication was removed or expired.
public struct PublicationRef: Hashable, Sendable {
    public let index: UInt32

    public init(index: UInt32) { self.index = index }
}

/// A subscription of an engine. The same reference is given out again after the subscription was removed or expired.
public struct SubscriptionRef: Hashable, Sendable {
    public let index: UInt32

    public init(index: UInt32) { self.index = index }
}

/// A floor of a building, interned by the caller: equal numbers mean the same floor of the same building.
public struct FloorRef: Hashable, Sendable {
    public var number: UInt32

    /// Not known which: equal to no floor, not even to another unknown one.
    public static let unknown = FloorRef(number: 0)

    public init(number: UInt32) { self.number = number }
}
