// The world changes: places, categories, live data, the dataset's clock.

extension CircumstanceEngine {
    /// To be called before a place is changed or removed, while the world still has it as it was.
    public func placeWillChange(_ place: UInt32, in world: some CircumstanceWorld) {
        hideNamed(place, in: world)
        disturb(place, in: world)
    }

    /// To be called after a place was added, changed or removed; evaluates the devices near where it was and is.
    ///
    /// - Parameter exists: Whether the world has the place now.
    public func placeDidChange(
        _ place: UInt32, exists: Bool, at instant: Int64, in world: some CircumstanceWorld,
        into effects: inout [CircumstanceEffect]
    ) {
        memory.forget(place)
        placeEpoch &+= 1
        if exists {
            // What was unknown of all devices, wherever they are, is known now.
            if memory.takeAwaited(of: place, in: world) { sweepAll() }
            showNamed(place, in: world)
            disturb(place, in: world)
        }
        guard !disturbed.isEmpty else { return }
        let devices = disturbed.sorted()
        disturbed.removeAll()
        for device in devices { review(device, isMove: false, at: instant, in: world, into: &effects) }
    }

    /// To be called after categories came below others, or the zone of the dataset changed: all devices are looked at, in turns
    /// of ``advance(to:atMost:in:into:)``.
    public func worldDidChange() {
        memory.forgetAll()
        memory.forgetOpenings()
        tiles.forgetAll()
        sweepAll()
    }

    /// The devices whose circumstances depend on live data of their room or location, in order. To be evaluated when these change,
    /// by ``review(_:at:in:into:)``.
    public var devicesAskingLive: [UInt32] { liveDevices.sorted() }

    /// Whether a device's circumstances depend on live data of its room or location.
    public func asksLive(_ device: UInt32) -> Bool { liveDevices.contains(device) }

    /// Evaluates a device's circumstances because something about it changed that is not its position.
    public func review(
        _ device: UInt32, at instant: Int64, in world: some CircumstanceWorld, into effects: inout [CircumstanceEffect]
    ) {
        review(device, isMove: false, at: instant, in: world, into: &effects)
    }

    private func disturb(_ place: UInt32, in world: some CircumstanceWorld) {
        tiles.forget(world.extent(of: place))
        guard !cells.isEmpty else { return }
        // Visits are remembered wherever the device is now.
        if isAskedFor(place, in: world) { return sweepAll() }
        let reach = max(uses.nearMax, PlaceReach.atMax + max(uses.atMarginMax ?? 0, PlaceReach.visitMargin))
        if let devices = devices(near: place, within: reach, in: world), devices.count + disturbed.count <= Self.turnMax {
            disturbed.formUnion(devices)
        } else {
            sweepAll()
        }
    }
}
