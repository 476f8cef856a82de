// After a restart: visits go on from their records and the last fixes.
extension GeofenceEngine {
    /// The visit of a device, as its records have it.
    public mutating func restoreVisit(
        of device: UInt32, in number: Int32, since: Int64, hasDwelled: Bool, outsideSince: Int64? = nil
    ) {
        grow(devices: device)
        guard fences.core(number) != nil else { return }
        // It may be known from before it dwelled.
        restoreEnd(of: device, in: number)
        let dwelledAt = hasDwelled ? since + (fences.values(of: number)?.dwell ?? 0) : nil
        begin(number, of: device, since: since, dwelledAt: dwelledAt)
        change(device, number) { $0.outsideSince = outsideSince }
    }

    /// The visit of its records is over.
    public mutating func restoreEnd(of device: UInt32, in number: Int32) {
        if let visit = visit(of: device, in: number) { forget(visit, of: device) }
    }

    /// Everything is back: visits go on from the last fixes, with their deadlines.
    public mutating func resume() {
        for (number, mover) in movers.sorted(by: { $0.key < $1.key }) {
            guard let fence = fence(number), let centre = fence.centre else { continue }
            restore(number, fence, around: (centre, mover.radius))
        }
        for device in visits.indices {
            guard let fix = fixes[device] else { continue }
            for visit in visits[device] {
                guard let fence = fence(visit.fence), let area = fence.area else { continue }
                switch fence.rule.standing(of: fix, in: area, depth: { area.depth }) {
                case .outside: setOutside(visit, of: UInt32(device), since: visit.outsideSince ?? fix.timestamp)
                case .inside, .between: setOutside(visit, of: UInt32(device), since: nil)
                case .unusable: break
                }
                scheduleDwell(of: UInt32(device), in: visit.fence, fix)
                scheduleSilence(of: UInt32(device), in: visit.fence, fix)
            }
        }
    }

    /// - Parameter instant: nil: the last fix was not outside.
    mutating func setOutside(_ visit: FenceVisit, of device: UInt32, since instant: Int64?) {
        guard visit.outsideSince != instant else { return }
        change(device, visit.fence) { $0.outsideSince = instant }
        outsideChanged.append((device, visit.fence))
    }
}
