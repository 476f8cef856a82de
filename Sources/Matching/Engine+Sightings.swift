import Geodesy

/// How far a device sees a beacon, and since when it was not seen again.
public struct BeaconSighting: Equatable, Sendable {
    /// Metres; infinite: nothing was measured yet.
    public var distance: Double
    /// Milliseconds since 1970 UTC.
    public var seenAt: Int64

    public init(distance: Double, seenAt: Int64) {
        self.distance = distance
        self.seenAt = seenAt
    }
}

// Beacons: devices that never have a position. Their objects match those of the devices that see them.
extension Engine {
    /// A device saw a beacon: evaluates the objects of both.
    ///
    /// For `staleAfter` both sides of their pairs were heard of then.
    ///
    /// - Parameters:
    ///   - distance: Metres; nil: it was seen, and nothing was ever measured. Nothing is in range then.
    ///   - seenAt: Milliseconds since 1970 UTC, not later than `now`.
    public func see(
        _ beacon: DeviceRef, by observer: DeviceRef, distance: Double?, seenAt: Int64, at now: Int64, into effects: inout [Effect]
    ) {
        guard let sighting = sighting(distance, seenAt, beacon, observer) else { return }
        state.pointee.see(observer.index, beacon.index, sighting, at: now)
        state.pointee.finish(into: &effects)
    }

    /// A device sees a beacon no longer: visits between the two end (`lost`). What `once` remembers stays.
    public func loseSighting(of beacon: DeviceRef, by observer: DeviceRef, at now: Int64, into effects: inout [Effect]) {
        guard state.pointee.isAlive(beacon), state.pointee.isAlive(observer) else { return }
        state.pointee.loseSighting(observer.index, beacon.index, at: now)
        state.pointee.finish(into: &effects)
    }

    /// Restores what a device sees; nothing is evaluated before it sees the beacon again.
    public func restoreSighting(of beacon: DeviceRef, by observer: DeviceRef, distance: Double?, seenAt: Int64) {
        guard let sighting = sighting(distance, seenAt, beacon, observer) else { return }
        state.pointee.sightings.put(sighting, observer.index, beacon.index)
    }

    /// nil: neither of the two sees the other.
    public func sighting(_ one: DeviceRef, _ other: DeviceRef) -> BeaconSighting? {
        guard state.pointee.isAlive(one), state.pointee.isAlive(other) else { return nil }
        return state.pointee.sightings[one.index, other.index].map { BeaconSighting(distance: $0.distance, seenAt: $0.seenAt) }
    }

    private func sighting(_ distance: Double?, _ seenAt: Int64, _ beacon: DeviceRef, _ observer: DeviceRef) -> Sightings.Sighting?
    {
        guard beacon != observer, state.pointee.isAlive(beacon), state.pointee.isAlive(observer) else { return nil }
        let metres = distance ?? .infinity
        return Sightings.Sighting(distance: metres >= 0 ? metres : .infinity, seenAt: seenAt)
    }
}
