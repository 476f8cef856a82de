import CPrefetch
import Geodesy

// Moving one device, and a burst of them in a pipeline.
extension EngineState {
    /// The device has no position from now on; its visits end where it was.
    mutating func displace(_ device: UInt32, at now: Int64, into effects: inout [Effect]) {
        endVisits(ofDevice: device, .lost, at: now, unlinking: true)
        finish(into: &effects)
        guard devices[device].isPlaced else { return }
        for side in [Side.publication, .subscription] {
            var entry = devices[device].first(side)
            while entry != none {
                unplace(side, entry)
                entry = self.entry(side, entry).pointee.next
            }
        }
        devices[device].isPlaced = false
        devices[device].point = .nowhere
        devices[device].budget = .infinity
        accuracies.change(from: devices[device].horizontalAccuracy, to: .nan)
    }

    /// Puts the device and its lanes somewhere; nothing is evaluated.
    @inline(__always)
    mutating func put(
        _ device: UInt32, _ position: Position, _ point: GridPoint, _ floor: FloorRef, heardAt: Int64, fixedAt: Int64
    ) {
        let record = devices.base + Int(device)
        record.pointee.point = point
        record.pointee.latitude = position.latitude
        record.pointee.longitude = position.longitude
        record.pointee.altitude = position.altitude ?? .nan
        let accuracy = position.horizontalAccuracy ?? .nan
        accuracies.change(from: record.pointee.isPlaced ? record.pointee.horizontalAccuracy : .nan, to: accuracy)
        record.pointee.horizontalAccuracy = accuracy
        record.pointee.floor = floor.number
        // Who is fixed counts as heard of for ever.
        heard[device] = Heard(at: heard[device].at == .max ? .max : heardAt, fixedAt: fixedAt)
        let wasPlaced = record.pointee.isPlaced
        record.pointee.isPlaced = true
        put(.publication, record, wasPlaced)
        put(.subscription, record, wasPlaced)
    }

    @inline(__always)
    private mutating func put(_ side: Side, _ device: UnsafeMutablePointer<Device>, _ wasPlaced: Bool) {
        var entry = device.pointee.first(side)
        while entry != none {
            if wasPlaced { shift(side, entry, to: device) } else { place(side, entry) }
            entry = self.entry(side, entry).pointee.next
        }
    }

    /// Moves a device and evaluates what that brought into range or moved far enough.
    ///
    /// - Parameters:
    ///   - fixedAt: When it was there; nil: now.
    ///   - probes: The places in the probePrefetch of this device's probes.
    mutating func move(
        _ device: UInt32, _ position: Position, _ point: GridPoint, _ floor: FloorRef, fixedAt: Int64? = nil, at now: Int64,
        probePrefetch probes: Range<Int>
    ) {
        let record = devices.base + Int(device)
        // Where it was placed after a restart, it may have come into range of somebody in steps that were lost.
        let former = record.pointee.isPlaced && !record.pointee.isUnexamined ? record.pointee.point : nil
        record.pointee.isUnexamined = false
        let travelled = former.map { $0.squaredChord(to: point).squareRoot() } ?? 0
        put(device, position, point, floor, heardAt: now, fixedAt: fixedAt ?? now)
        var reviewed = false
        if former != nil { record.pointee.budget -= Float(travelled * (1.0005 / GridPoint.unitsPerMetre)) + 0.001 }
        // A device without a position before may be far from where it met a beacon.
        if former == nil, !sightings.isEmpty { record.pointee.budget = 0 }
        // What was restored is looked at with the first position; else all pairs in range are hits then.
        if record.pointee.budget <= 0.01 {
            review(device, at: now)
            reviewed = true
        }
        var next = probes.lowerBound
        for side in [Side.publication, .subscription] {
            var index = record.pointee.first(side)
            while index != none {
                let entry = entry(side, index)
                let sweep = Sweep(point: point, from: former, range: entry.pointee.range, travelled: travelled)
                var first = 0
                var count = 0
                if next < probes.upperBound, probePrefetch.probes[next].version == version(side.opposite),
                    probePrefetch.probes[next].former == former
                {
                    first = probePrefetch.probes[next].firstRun
                    count = probePrefetch.probes[next].runCount
                } else {
                    first = runs.count
                    count = gather(
                        side, index, latitude: position.latitude, longitude: position.longitude, point: point, from: former)
                }
                next += 1
                scan(first, count, sweep, from: side)
                // A device's own pair is seen from its publication, and has been in range as long as it has a position.
                resolve(side, index, at: now, sparesSelf: former != nil || side == .subscription, sparesKnown: reviewed)
                probeAccuracyAware(side, index, at: now, sparesSelf: side == .subscription, sparesKnown: reviewed)
                index = entry.pointee.next
            }
        }
    }
}
