import Geodesy

// A device goes into circles round single places, or out of them: most of what changes, and seen without looking around.

extension CircumstanceEngine {
    /// Lets the circumstances begin and end whose circles the device has crossed with its last fix.
    ///
    /// - Returns: False where that takes a look, because some circle is about more than one circumstance of one place. Then nothing has
    ///   changed.
    func cross(
        _ device: UInt32, at instant: Int64, in world: @autoclosure () -> some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) -> Bool {
        let track = tracks.address(Int(device))
        let view = View(track.pointee.fix, at: instant)
        var crossings = InlineArray<5, Crossing>(repeating: Crossing())
        var count = 0
        for index in 0..<Shells.max where !track.pointee.shells.circles[index].holds(at: view.point, margin: 0) {
            guard let crossing = crossing(index, of: track, device, from: view) else { return false }
            crossings[count] = crossing
            count += 1
        }
        latest = max(latest, instant)
        // In order of the watches, as after a look.
        for position in 0..<count {
            var next = position
            for other in position..<count where crossings[other].watch < crossings[next].watch { next = other }
            crossings.swapAt(position, next)
            let crossing = crossings[position]
            track.pointee.shells[crossing.shell] = (crossing.circle, crossing.watch, crossing.place.place)
            guard crossing.isChange else { continue }
            change(crossing.watch, of: device, to: crossing.isInside, at: instant, into: &effects) {
                guard crossing.isInside else { return ([], []) }
                return crossing.isAt ? ([crossing.place], []) : ([], [crossing.place])
            }
        }
        anchorBetweenShells(track, view)
        return true
    }

    /// A circle that a device is on the other side of, or so near that only the exact distance tells.
    private struct Crossing {
        var shell = 0
        var watch: UInt32 = 0
        var place = NearbyPlace(place: 0, distance: 0)
        /// Where the device is now; what it may not cross from here.
        var isInside = false
        var circle = Shell.none
        var isAt = false
        /// A circumstance begins or ends.
        var isChange = false
    }

    private func crossing(_ index: Int, of track: UnsafePointer<DeviceTrack>, _ device: UInt32, from view: View) -> Crossing? {
        let shell = track.pointee.shells[index]
        guard shell.watch != Shells.several else { return nil }
        let brief = briefs[Int(shell.watch)]
        guard brief.isSingle else { return nil }
        let isHeld = track.pointee.held.firstPosition(of: shell.watch).isFound
        let radius = brief.radius(view.reach)
        let distance = view.distance(to: shell.circle.point)
        let isInside = distance <= radius + (isHeld ? brief.margin : 0)
        guard isInside == isHeld || brief.isForAll else { return nil }
        return Crossing(
            shell: index, watch: shell.watch, place: NearbyPlace(place: shell.place, distance: distance), isInside: isInside,
            circle: Shell(shell.circle.point, radius: isInside ? radius + brief.margin : radius, isInside: isInside),
            isAt: brief.radius < 0, isChange: isInside != isHeld)
    }

    /// Remembers how far the device can go from here: as far as it could all in all less what it has gone, and up to the next circle.
    private func anchorBetweenShells(_ track: UnsafeMutablePointer<DeviceTrack>, _ view: View) {
        let outer = Double(track.pointee.outer) - track.pointee.distanceFromAnchor
        var safe = outer
        for index in 0..<Shells.max {
            let circle = track.pointee.shells.circles[index]
            guard circle != .none else { continue }
            safe = min(safe, abs(view.distance(to: circle.point) - circle.radius))
        }
        track.pointee.anchor(safe: safe, outer: outer)
    }
}
