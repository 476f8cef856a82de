import Geodesy
import HeapModule

// Devices come, move and go.

extension CircumstanceEngine {
    /// Makes a device known, or notes that its owner or groups changed: then what it is now in the scope of is evaluated.
    public func setDevice(
        _ device: UInt32, _ identity: DeviceIdentity, at instant: Int64, in world: @autoclosure () -> some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        let isNew = !exists(device)
        if !isNew, identities[Int(device)] == identity { return }
        restoreDevice(device, identity)
        releaseForeign(device, into: &effects)
        if !isNew, tracks[Int(device)].isKnown { review(device, at: instant, in: world(), into: &effects) }
    }

    /// Silently ends what a device holds of circumstances that no longer see it.
    private func releaseForeign(_ device: UInt32, into effects: inout [CircumstanceEffect]) {
        for number in tracks[Int(device)].held {
            guard let active = actives[Int(number)], !isInScope(active, device) else { continue }
            let position = tracks[Int(device)].held.firstPosition(of: number)
            tracks[Int(device)].held.removeNumber(at: position.index)
            effects.append(.held(CircumstanceRef(index: active.circumstance), device: device, false))
        }
    }

    /// Makes a device known without evaluating anything.
    public func restoreDevice(_ device: UInt32, _ identity: DeviceIdentity) {
        let index = Int(device)
        if index >= tracks.count {
            let more = index + 1 - tracks.count
            tracks.grow(to: index + 1)
            identities.append(contentsOf: repeatElement(DeviceIdentity(id: ""), count: more))
        }
        tracks[index].exists = true
        tracks[index].owner = identity.owner.map { number(of: $0) } ?? 0
        identities[index] = identity
    }

    /// Forgets all of a device; its number may be given to another. Its rows are void.
    public func removeDevice(_ device: UInt32) {
        guard exists(device) else { return }
        cells.remove(device)
        liveDevices.remove(device)
        histories[device] = nil
        let queued = tracks[Int(device)].queued
        tracks[Int(device)] = DeviceTrack()
        tracks[Int(device)].queued = queued
        identities[Int(device)] = DeviceIdentity(id: "")
    }

    /// Erases where a device was: its visits, its stay, its position. What it holds stays, as with ``clear(_:at:into:)``. Its visit
    /// and stay rows are void.
    public func forgetWhereabouts(of device: UInt32) {
        guard exists(device) else { return }
        histories[device] = nil
        tracks[Int(device)].hasOpenVisits = false
        forgetPosition(device)
    }

    /// The device's last position was cleared: everything about places is unknown, and unknown changes nothing.
    public func clear(_ device: UInt32, into effects: inout [CircumstanceEffect]) {
        guard exists(device), tracks[Int(device)].isKnown else { return }
        closeVisits(of: device, into: &effects)
        forgetPosition(device)
    }

    private func forgetPosition(_ device: UInt32) {
        let index = Int(device)
        cells.remove(device)
        liveDevices.remove(device)
        tracks[index].isKnown = false
        tracks[index].wasEvaluated = false
        tracks[index].motion = .unknown
        tracks[index].isStayRecorded = false
        tracks[index].due = .max
        tracks[index].since = .min
        tracks[index].latitude = 0
        tracks[index].longitude = 0
    }

    func exists(_ device: UInt32) -> Bool { Int(device) < tracks.count && tracks[Int(device)].exists }

    /// A device has moved, or sent its position again.
    ///
    /// - Parameters:
    ///   - heardAt: When the fix came, where it was known before; never after `instant`.
    ///   - world: Made only when something may change.
    public func move<World: CircumstanceWorld>(
        _ device: UInt32, to fix: Fix, heardAt: Int64 = .max, at instant: Int64, in world: @autoclosure () -> World,
        into effects: inout [CircumstanceEffect]
    ) {
        guard exists(device) else { return }
        guard take(fix, heardAt: min(heardAt, instant), at: instant, of: device, into: &effects) else { return }
        review(device, isMove: true, at: instant, in: world(), into: &effects)
    }

    /// To be called some time before ``move(_:to:heardAt:at:in:into:)``, so that what that needs of the device comes near meanwhile.
    @inline(__always)
    public func expect(_ device: UInt32) { tracks.prefetch(Int(device)) }

    /// Remembers a fix, and says whether anything may change with it.
    private func take(
        _ fix: Fix, heardAt: Int64, at instant: Int64, of device: UInt32, into effects: inout [CircumstanceEffect]
    ) -> Bool {
        let track = tracks.address(Int(device))
        let isUnconcerned = track.pointee.isUnconcerned(by: fix)
        let wasKnown = track.pointee.isKnown
        let wasPrecise = PlaceReach.isPrecise(track.pointee.sentAccuracy)
        let motion = track.pointee.motion(with: fix)
        let isSameMotion = motion == track.pointee.motion
        let isSameStay = wasKnown && track.pointee.isStaying(at: fix)
        let delay = CompactDuration(from: fix.timestamp, to: heardAt)
        track.pointee.take(fix, motion)
        var isDue = false
        if !isSameStay {
            track.pointee.beginStay(at: fix, delay)
        } else if delay < track.pointee.delay {
            isDue = lengthenStay(of: device, delay, at: instant)
        }
        // The delay of the last fix is known after a restart: a lesser one before it is not.
        let isKept = isSameStay && (track.pointee.isDelayKept || !(track.pointee.delay < delay))
        if (!isKept && uses.dwelling > 0) || (!isSameMotion && uses.moving > 0) { keepStay(of: device, into: &effects) }
        guard wasKnown, isSameStay || uses.dwelling == 0, isSameMotion || uses.moving == 0,
            wasPrecise == PlaceReach.isPrecise(fix.accuracy), track.pointee.epoch == epoch || sweepRemaining == 0,
            !track.pointee.hasAskedLive, !isDue,
            track.pointee.isStayRecorded || fix.timestamp - track.pointee.since < Self.stayMilliseconds
        else { return true }
        return !isUnconcerned
    }

    func keepStay(of device: UInt32, into effects: inout [CircumstanceEffect]) {
        let track = tracks.address(Int(device))
        track.pointee.isStayKept = true
        track.pointee.isDelayKept = true
        effects.append(.stay(device: device, track.pointee.stay))
    }

    /// A fix of a stay was heard with less delay than those before: the stay is longer than was known, and the device dwells earlier.
    ///
    /// - Returns: Whether it may dwell now.
    private func lengthenStay(of device: UInt32, _ delay: CompactDuration, at instant: Int64) -> Bool {
        let track = tracks.address(Int(device))
        let more = track.pointee.delay.milliseconds - delay.milliseconds
        track.pointee.delay = delay
        track.pointee.isDelayKept = false
        guard uses.dwelling > 0, track.pointee.due != .max else { return false }
        track.pointee.due -= more
        if track.pointee.due <= instant { return true }
        if track.pointee.due < track.pointee.queued {
            // Each fix of a backlog brings it nearer. Queued halfway, all of them together are queued a few times.
            let queued = instant + (track.pointee.due - instant) / 2
            due.insert(DueDevice(due: queued, device: device))
            track.pointee.queued = queued
        }
        return false
    }
}

extension PlaceReach {
    /// Whether such a fix can be surely at a place.
    static func isPrecise(_ accuracy: Double?) -> Bool { accuracy ?? 0 <= highAccuracyMax }
}

extension DeviceTrack {
    /// Whether a fix takes the device not far enough from where it was looked at, and across no circle, for anything to change.
    @inline(__always)
    func isUnconcerned(by fix: Fix) -> Bool {
        let spent = spent(at: fix)
        let moved = squaredDistanceFromAnchor(fix)
        let safe = Double(self.safe) - spent
        if safe > 0, moved < safe * safe { return true }
        let outer = Double(self.outer) - spent
        guard outer > 0, moved < outer * outer else { return false }
        return circles.hold(at: GridPoint(latitude: fix.latitude, longitude: fix.longitude), margin: spent)
    }

    /// As far as `at` reaches otherwise than then, everything is nearer than it was: metres.
    @inline(__always)
    private func spent(at fix: Fix) -> Double { abs(PlaceReach.at(accuracy: fix.accuracy) - Double(reach)) }

    /// At least: square metres.
    @inline(__always)
    private func squaredDistanceFromAnchor(_ fix: Fix) -> Double {
        QuickDistance.squared(
            fix.latitude, fix.longitude, Double(anchorLatitude) * SurfaceGrid.step, Double(anchorLongitude) * SurfaceGrid.step,
            scale: Double(longitudeScale))
    }

    /// Remembers where it is and how far it can go from there, metres.
    mutating func anchor(safe: Double, outer: Double) {
        anchorLatitude = SurfaceGrid.steps(latitude)
        anchorLongitude = SurfaceGrid.steps(longitude)
        // Distances to places are right to 2 cm; the anchor, the scale and the reach are rounded.
        self.safe = Float(Swift.max(0, safe * 0.9999 - 0.05))
        self.outer = Float(Swift.max(0, outer * 0.9999 - 0.05))
    }

    /// At least 1 m/s: as sent, else from the last fix to this one beyond their accuracies. Two fixes of one instant say nothing.
    ///
    /// Inlined, as all that every fix needs: called, it would be given a copy of the whole track.
    @inline(__always)
    func motion(with fix: Fix) -> Motion {
        if let speed = fix.speed { return speed >= 1 ? .moving : .still }
        guard isKnown else { return .unknown }
        let milliseconds = fix.timestamp - timestamp
        guard milliseconds > 0 else { return motion }
        let needed = Double(milliseconds) / 1000 + (fix.accuracy ?? 0) + (sentAccuracy ?? 0)
        if let isNear = isSurelyWithin(needed, of: latitude, longitude, fix) { return isNear ? .still : .moving }
        return distance(fix, latitude, longitude) >= needed ? .moving : .still
    }

    @inline(__always)
    func isStaying(at fix: Fix) -> Bool {
        guard since != .min else { return false }
        let radius = CircumstanceEngine.stayRadius
        return isSurelyWithin(radius, of: stayLatitude, stayLongitude, fix)
            ?? (distance(fix, stayLatitude, stayLongitude) <= radius)
    }

    /// Whether a fix is nearer to a position within 500 m of the anchor than a radius in metres, or farther; nil where that takes an exact
    /// distance.
    @inline(__always)
    private func isSurelyWithin(_ radius: Double, of latitude: Double, _ longitude: Double, _ fix: Fix) -> Bool? {
        let scale = Double(longitudeScale)
        let most = QuickDistance.squared(fix.latitude, fix.longitude, latitude, longitude, scale: scale)
        guard most < QuickDistance.farthest * QuickDistance.farthest else { return nil }
        if most < radius * radius { return true }
        let farther = radius * QuickDistance.excess
        return scale > QuickDistance.leastScale && most > farther * farther ? false : nil
    }

    private func distance(_ fix: Fix, _ latitude: Double, _ longitude: Double) -> Double {
        Geodesic.distance(
            fromLatitude: latitude, fromLongitude: longitude, toLatitude: fix.latitude, toLongitude: fix.longitude)
    }

    @inline(__always)
    mutating func take(_ fix: Fix, _ motion: Motion) {
        sincePrevious = isKnown ? CompactDuration(from: timestamp, to: fix.timestamp) : .zero
        latitude = fix.latitude
        longitude = fix.longitude
        timestamp = fix.timestamp
        accuracy = fix.accuracy ?? -1
        speed = fix.speed.map { Float($0) } ?? -1
        isKnown = true
        self.motion = motion
    }

    mutating func beginStay(at fix: Fix, _ delay: CompactDuration) {
        stayLatitude = fix.latitude
        stayLongitude = fix.longitude
        since = fix.timestamp
        self.delay = delay
        isStayRecorded = false
        isStayKept = false
        isDelayKept = false
    }

    var stay: StayRow {
        StayRow(
            latitude: stayLatitude, longitude: stayLongitude, since: since, isMoving: motion.isMoving, delay: delay.milliseconds)
    }
}
