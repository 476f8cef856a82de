import Geodesy

// Rows that were kept come back.
//
// Order: devices (``restoreDevice(_:_:)``), circumstances (``restore(_:isEnabled:in:)``), then the rows of both in any order, positions
// last; then ``resume(at:)`` once, and ``advance(to:atMost:in:into:)`` as ``nextDue`` says.

extension CircumstanceEngine {
    /// The last definite value of a circumstance for a device was true.
    public func restoreHeld(_ circumstance: CircumstanceRef, _ device: UInt32) {
        guard let active = entry(circumstance)?.active, exists(device) else { return }
        let position = tracks[Int(device)].held.firstPosition(of: active)
        if !position.isFound { tracks[Int(device)].held.insertNumber(active, at: position.index) }
    }

    /// It is not true any more: a row that was kept is gone again.
    public func restoreReleased(_ circumstance: CircumstanceRef, _ device: UInt32) {
        guard let active = entry(circumstance)?.active, exists(device) else { return }
        let position = tracks[Int(device)].held.firstPosition(of: active)
        if position.isFound { tracks[Int(device)].held.removeNumber(at: position.index) }
    }

    /// A place's row is gone again.
    public func restoreForgottenVisit(_ placeID: String, of device: UInt32) {
        guard exists(device), var history = histories.removeValue(forKey: device) else { return }
        if let index = history.index(of: placeID) { _ = history.remove(at: index) }
        histories[device] = history
        tracks[Int(device)].hasOpenVisits = history.rows.contains { $0.openSince != nil }
    }

    public func restoreVisit(_ row: VisitRow, of device: UInt32) {
        guard exists(device) else { return }
        var history = histories.removeValue(forKey: device) ?? VisitHistory()
        if let index = history.index(of: row.placeID) {
            history.rows[index] = row
        } else if history.rows.count < VisitHistory.placesMax {
            history.rows.append(row)
        }
        histories[device] = history
        tracks[Int(device)].hasOpenVisits = history.rows.contains { $0.openSince != nil }
    }

    /// Where a device is, and since when. A stay that began elsewhere is over: the device was not seen leaving it.
    ///
    /// - Parameters:
    ///   - heardAt: When the fix came.
    ///   - stay: Nil where no row was kept: then the stay begins with the fix.
    public func restore(_ device: UInt32, at fix: Fix, heardAt: Int64, stay: StayRow?) {
        guard exists(device) else { return }
        let index = Int(device)
        tracks[index].longitudeScale = Float(QuickDistance.longitudeScale(latitude: fix.latitude)).nextUp
        if let stay {
            tracks[index].stayLatitude = stay.latitude
            tracks[index].stayLongitude = stay.longitude
            tracks[index].since = stay.since
            tracks[index].motion = DeviceTrack.Motion(stay.isMoving)
        }
        let isSameStay = tracks[index].isStaying(at: fix)
        tracks[index].take(fix, tracks[index].motion)
        let delay = CompactDuration(from: fix.timestamp, to: heardAt)
        if let stay, isSameStay {
            let kept = stay.delay.map { CompactDuration(from: 0, to: $0) }
            let isDelayKept = kept.map { !(delay < $0) } ?? false
            tracks[index].delay = isDelayKept ? kept ?? delay : delay
            tracks[index].isStayKept = true
            tracks[index].isDelayKept = isDelayKept
        } else {
            tracks[index].beginStay(at: fix, delay)
        }
        place(device)
        tracks[index].anchor(safe: 0, outer: 0)
        tracks[index].wasEvaluated = true
    }

    /// Everything is restored: what became true or false meanwhile is reported, in turns of ``advance(to:atMost:in:into:)``.
    public func resume(at instant: Int64) {
        latest = max(latest, instant)
        areNamedPlacesStale = true
        sweepAll()
    }

    public func visits(of device: UInt32) -> VisitHistory { histories[device] ?? VisitHistory() }

    /// Whether the last definite value of a circumstance for a device was true.
    public func holds(_ circumstance: CircumstanceRef, _ device: UInt32) -> Bool {
        guard let active = entry(circumstance)?.active, exists(device) else { return false }
        return tracks[Int(device)].held.firstPosition(of: active).isFound
    }

    /// The row of a device's stay, as ``CircumstanceEffect/stay(device:_:)`` had it last; nil while it has no position.
    public func stay(of device: UInt32) -> StayRow? {
        exists(device) && tracks[Int(device)].isKnown ? tracks[Int(device)].stay : nil
    }
}
