import EngineMemory

/// Which devices see which beacons, and how far those are.
///
/// A beacon has no position: what is in its range are the devices that see it. Of each pair 40 bytes are kept, with those of the index
/// that finds it some 50: there are as many pairs as people in a building times beacons on its walls.
struct Sightings {
    struct Sighting: BitwiseCopyable {
        /// Metres; infinite: it is seen, and nothing was measured yet.
        var distance: Double
        /// Milliseconds since 1970 UTC.
        var seenAt: Int64
    }

    private struct Record: BitwiseCopyable {
        var sighting: Sighting
        /// The two devices, the smaller number first.
        var low: UInt32
        var high: UInt32
        /// Its neighbours in the list of each. A free record's `ofLow.next` names the next free one.
        var ofLow = Links()
        var ofHigh = Links()
    }

    private struct Links: BitwiseCopyable {
        var next = none
        var previous = none
    }

    private var records = ContiguousArray<Record>()
    private var firstFree = none
    private var count = 0
    private var numbers = OpenTable<NumberSlot>()
    /// By device: the latest of the pairs it is in.
    private var latest = ContiguousArray<UInt32>()

    func deallocate() { numbers.deallocate() }

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    var bytes: Int { records.capacity * MemoryLayout<Record>.stride + numbers.bytes + latest.capacity * 4 }

    /// Of two devices in either order, one of which is a beacon.
    subscript(a: UInt32, b: UInt32) -> Sighting? { find(min(a, b), max(a, b)).map { records[Int($0)].sighting } }

    /// In the order in which they came to see each other.
    func partners(of device: UInt32) -> [UInt32] {
        guard Int(device) < latest.count else { return [] }
        var found: [UInt32] = []
        var number = latest[Int(device)]
        while number != none {
            let record = records[Int(number)]
            found.append(record.low == device ? record.high : record.low)
            number = record.low == device ? record.ofLow.next : record.ofHigh.next
        }
        return found.reversed()
    }

    mutating func put(_ sighting: Sighting, _ observer: UInt32, _ beacon: UInt32) {
        let (low, high) = (min(observer, beacon), max(observer, beacon))
        if let known = find(low, high) {
            records[Int(known)].sighting = sighting
            return
        }
        let number = take(Record(sighting: sighting, low: low, high: high))
        while latest.count <= Int(high) { latest.append(none) }
        link(number, to: low)
        link(number, to: high)
        count += 1
        numbers.insert(NumberSlot(number, hash: PairHash.of(low, high)))
    }

    mutating func remove(_ a: UInt32, _ b: UInt32) {
        guard let number = find(min(a, b), max(a, b)) else { return }
        let record = records[Int(number)]
        if let slot = numbers.find(PairHash.of(record.low, record.high), where: { $0 == number }) { numbers.remove(slot) }
        unlink(record.ofLow, of: record.low)
        unlink(record.ofHigh, of: record.high)
        records[Int(number)].ofLow.next = firstFree
        firstFree = number
        count -= 1
        guard count == 0 else { return }
        numbers.deallocate()
        self = Sightings()
    }

    mutating func removeAll(of device: UInt32) {
        for partner in partners(of: device) { remove(device, partner) }
    }

    // MARK: Records and lists

    private mutating func take(_ record: Record) -> UInt32 {
        if firstFree != none {
            let number = firstFree
            firstFree = records[Int(number)].ofLow.next
            records[Int(number)] = record
            return number
        }
        // By an eighth: little is to be empty.
        if records.count == records.capacity { records.reserveCapacity(records.count + max(16, records.count / 8)) }
        records.append(record)
        return UInt32(truncatingIfNeeded: records.count - 1)
    }

    private mutating func link(_ number: UInt32, to device: UInt32) {
        let next = latest[Int(device)]
        update(number, in: device) { $0 = Links(next: next) }
        if next != none { update(next, in: device) { $0.previous = number } }
        latest[Int(device)] = number
    }

    private mutating func unlink(_ links: Links, of device: UInt32) {
        if links.previous == none {
            latest[Int(device)] = links.next
        } else {
            update(links.previous, in: device) { $0.next = links.next }
        }
        if links.next != none { update(links.next, in: device) { $0.previous = links.previous } }
    }

    private mutating func update(_ number: UInt32, in device: UInt32, _ change: (inout Links) -> Void) {
        if records[Int(number)].low == device {
            change(&records[Int(number)].ofLow)
        } else {
            change(&records[Int(number)].ofHigh)
        }
    }

    // MARK: Index

    @inline(__always)
    private func find(_ low: UInt32, _ high: UInt32) -> UInt32? {
        guard count > 0 else { return nil }
        return numbers.find(PairHash.of(low, high)) { records[Int($0)].low == low && records[Int($0)].high == high }?.pointee
            .number
    }
}
