import HeapModule

// What time alone brings about, and what was put off.

extension CircumstanceEngine {
    /// When ``advance(to:atMost:in:into:)`` is wanted next; nil for never. A time that has passed means: as soon as nothing else
    /// waits.
    public var nextDue: Int64? {
        !isLearning && sweepRemaining > 0 || !named.outdated.isEmpty ? latest : due.min?.due
    }

    /// Evaluates what is due, at most so many devices in one turn: while ``nextDue`` is not later, call again.
    public func advance(
        to instant: Int64, atMost limit: Int = turnMax, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        latest = max(latest, instant)
        if !named.outdated.isEmpty { refreshNamed(atMost: limit, in: world) }
        var turns = 0
        while turns < limit, let first = due.min, first.due <= instant {
            due.removeMin()
            let device = first.device
            guard Int(device) < tracks.count, tracks[Int(device)].queued == first.due else { continue }
            tracks[Int(device)].queued = .max
            let next = tracks[Int(device)].due
            if next <= instant {
                tracks[Int(device)].due = .max
                turns += 1
                review(device, isMove: false, at: instant, in: world, into: &effects)
            } else if next != .max {
                due.insert(DueDevice(due: next, device: device))
                tracks[Int(device)].queued = next
            }
        }
        sweep(at: instant, atMost: limit - turns, in: world, into: &effects)
    }

    private func sweep(
        at instant: Int64, atMost limit: Int, in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        guard sweepRemaining > 0, !isLearning else { return }
        for _ in 0..<min(max(limit, 1), sweepRemaining) {
            if sweepNext >= tracks.count { sweepNext = 0 }
            review(UInt32(sweepNext), isMove: false, at: instant, in: world, into: &effects)
            sweepNext += 1
            sweepRemaining -= 1
        }
        guard sweepRemaining == 0 else { return }
        for circumstance in sweeping {
            guard let number = entry(CircumstanceRef(index: circumstance))?.active, let active = actives[Int(number)] else {
                continue
            }
            active.epoch = 0
            active.isSilent = false
        }
        sweeping.removeAll()
    }
}
