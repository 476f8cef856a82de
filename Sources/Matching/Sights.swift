/// Which devices see which beacons, and how far those are.
///
/// A beacon stands nowhere: what is in its range are the devices that see it.
struct Sights {
    struct Sight: BitwiseCopyable {
        /// Metres; infinite: it is seen, and nothing was measured yet.
        var distance: Double
        /// Milliseconds since 1970 UTC.
        var seenAt: Int64
    }

    private var all: [UInt64: Sight] = [:]
    /// By device: whom it sees, or who sees it.
    private var partners: [UInt32: [UInt32]] = [:]

    @inline(__always)
    var isEmpty: Bool { all.isEmpty }

    /// Bytes, without what the lists of devices with more than a few partners hold.
    var bytes: Int {
        all.capacity * (MemoryLayout<UInt64>.stride + MemoryLayout<Sight>.stride) + partners.capacity * 48 + all.count * 8
    }

    private static func key(_ a: UInt32, _ b: UInt32) -> UInt64 { UInt64(min(a, b)) << 32 | UInt64(max(a, b)) }

    /// Of two devices in either order, one of which is a beacon.
    subscript(a: UInt32, b: UInt32) -> Sight? { isEmpty ? nil : all[Self.key(a, b)] }

    /// In the order in which they came to see each other, as far as nobody left since.
    func partners(of device: UInt32) -> [UInt32] { isEmpty ? [] : partners[device] ?? [] }

    mutating func put(_ sight: Sight, _ observer: UInt32, _ beacon: UInt32) {
        guard all.updateValue(sight, forKey: Self.key(observer, beacon)) == nil else { return }
        partners[observer, default: []].append(beacon)
        partners[beacon, default: []].append(observer)
    }

    mutating func remove(_ a: UInt32, _ b: UInt32) {
        guard all.removeValue(forKey: Self.key(a, b)) != nil else { return }
        for (device, partner) in [(a, b), (b, a)] {
            // Nothing depends on their order: what a sighting leads to is told in the order of its pairs.
            guard var left = partners.removeValue(forKey: device), let place = left.firstIndex(of: partner) else { continue }
            left.swapAt(place, left.count - 1)
            left.removeLast()
            if !left.isEmpty { partners[device] = left }
        }
    }

    mutating func removeAll(of device: UInt32) {
        for partner in partners(of: device) { remove(device, partner) }
    }
}
