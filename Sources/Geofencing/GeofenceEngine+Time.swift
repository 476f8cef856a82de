import HeapModule

// What time brings about: dwelling, and the end of who is not heard of.
extension GeofenceEngine {
    /// Dwelling and silence up to now.
    public mutating func advance(to now: Int64, into effects: inout [FenceEffect]) {
        while let first = deadlines.min, first.at <= now {
            _ = deadlines.popMin()
            guard let visit = visit(of: first.device, in: first.fence), let fix = fix(of: first.device) else { continue }
            // With its new rule it gets new deadlines.
            if case .rule? = changed[first.fence] { continue }
            if first.isSilence {
                endSilent(visit, of: first.device, fix, now: now, into: &effects)
            } else if visit.dwellsAt <= now {
                dwellInTime(visit, of: first.device, fix, into: &effects)
            } else if visit.dwellsAt != .max {
                deadlines.insert(Deadline(at: visit.dwellsAt, device: first.device, fence: first.fence, isSilence: false))
            }
        }
    }

    mutating func endSilent(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, now: Int64, into effects: inout [FenceEffect]
    ) {
        guard let stale = staleAfter(device, in: visit.fence) else { return }
        let due = fix.heardAt + stale
        guard due > now else { return end(visit, of: device, at: fix.timestamp + stale, .lost, into: &effects) }
        deadlines.insert(Deadline(at: due, device: device, fence: visit.fence, isSilence: true))
    }

    /// A visit that seems to be ending is not one of dwelling yet: the next fix says.
    mutating func dwellInTime(
        _ visit: FenceVisit, of device: UInt32, _ fix: FenceFix, into effects: inout [FenceEffect]
    ) {
        guard let values = fences.values(of: visit.fence), visit.outsideSince == nil else { return }
        dwell(visit, of: device, fix, at: visit.since + values.dwell, into: &effects)
    }

    /// When time makes a visit one of dwelling: a source that lags behind our clock goes on lagging.
    mutating func scheduleDwell(of device: UInt32, in number: Int32, _ fix: FenceFix) {
        guard fences.core(number)?.dwells == true, let dwell = fences.values(of: number)?.dwell,
            let visit = visit(of: device, in: number), !visit.hasDwelled
        else { return }
        let due = visit.since + dwell + max(0, fix.heardAt - fix.timestamp)
        // One that comes too early is put in again.
        if due < visit.dwellsAt { deadlines.insert(Deadline(at: due, device: device, fence: number, isSilence: false)) }
        change(device, number) { $0.dwellsAt = due }
    }

    mutating func scheduleSilence(of device: UInt32, in number: Int32, _ fix: FenceFix) {
        guard fences.core(number)?.getsStale == true, let stale = staleAfter(device, in: number) else { return }
        deadlines.insert(Deadline(at: fix.heardAt + stale, device: device, fence: number, isSilence: true))
    }

    /// After how much silence a device has left; nil for never.
    func staleAfter(_ device: UInt32, in number: Int32) -> Int64? {
        devices[Int(device)]?.isFixed == true ? nil : fences.values(of: number)?.staleAfter
    }
}
