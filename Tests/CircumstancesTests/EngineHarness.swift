import Circumstances
import Testing

/// One device among a few places east of (43.7384, 7.4246), observed by what fires.
struct EngineHarness {
    let world = TownWorld()
    var engine = CircumstanceEngine()
    var effects: [CircumstanceEffect] = []
    /// Monday 2026-03-02, 00:00 UTC.
    var now: Int64 = 1_772_409_600_000

    init() {
        world.places[1] = place("cafe", east: 0, category: "cafe", chain: "x", hours: [480..<1080])
        world.places[2] = place("museum", east: 1000, category: "museum", hours: [600..<1020])
        world.places[3] = place("kiosk", east: 2000, category: "food", chain: "x", hours: nil)
        world.parents = ["cafe": "food"]
        engine.restoreDevice(0, DeviceIdentity(id: "d", owner: "a"))
    }

    func place(
        _ id: String, east: Double, category: String, chain: String? = nil, hours: [Range<Int>]?
    ) -> TownWorld.Place {
        let at = Self.position(east: east)
        return TownWorld.Place(
            id: id, latitude: at.latitude, longitude: at.longitude, categories: [category], chain: chain, hours: hours ?? [],
            hasHours: hours != nil)
    }

    static func position(east: Double) -> (latitude: Double, longitude: Double) { (43.7384, 7.4246 + east / 80_543) }

    @discardableResult
    mutating func register(
        _ text: String, _ trigger: CircumstanceRule.Trigger? = .arriving, owner: String = "a", devices: [String] = [],
        nearRadius: Double = 250, isEnabled: Bool = true
    ) throws -> CircumstanceRef {
        engine.register(
            CircumstanceRule(
                try CircumstanceExpression(text), trigger: trigger, owner: owner, devices: devices, nearRadius: nearRadius),
            isEnabled: isEnabled, at: now, in: world, into: &effects)
    }

    /// Adds, changes or removes a place.
    mutating func change(_ number: UInt32, to place: TownWorld.Place?) {
        if world.places[number] != nil { engine.placeWillChange(number, in: world) }
        world.places[number] = place
        engine.placeDidChange(number, exists: place != nil, at: now, in: world, into: &effects)
        pass(1)
    }

    /// Moves metres east of the café, after some seconds. The fix is some seconds late.
    mutating func move(
        _ east: Double, after seconds: Int64 = 0, late delay: Int64 = 0, accuracy: Double? = 5, speed: Double? = nil
    ) {
        now += seconds * 1000
        let at = Self.position(east: east)
        engine.move(
            0,
            to: Fix(
                latitude: at.latitude, longitude: at.longitude, accuracy: accuracy, speed: speed, timestamp: now - delay * 1000),
            at: now, in: world, into: &effects)
    }

    /// Lets time pass, as a clock that keeps to ``CircumstanceEngine/nextDue`` does.
    mutating func pass(_ seconds: Int64) {
        let end = now + seconds * 1000
        while let due = engine.nextDue, due <= end {
            now = max(now, due)
            engine.advance(to: now, in: world, into: &effects)
        }
        now = end
    }

    /// A new engine, with the device at the café since a fix that came now, seconds late, and without circumstances.
    mutating func restart(lastHeardLate delay: Int64, stay: StayRow?) {
        engine = CircumstanceEngine()
        effects.removeAll()
        engine.restoreDevice(0, DeviceIdentity(id: "d", owner: "a"))
        let at = Self.position(east: 0)
        engine.restore(
            0, at: Fix(latitude: at.latitude, longitude: at.longitude, accuracy: 5, timestamp: now - delay * 1000), heardAt: now,
            stay: stay)
    }

    /// What fired since the last call.
    mutating func fired() -> [CircumstanceEvent] {
        defer { effects.removeAll() }
        return effects.compactMap { if case .occurred(let occurrence) = $0 { occurrence } else { nil } }
    }

    /// Seconds since midnight at which something fired.
    mutating func firedAt() -> [Int64] { fired().map { ($0.timestamp - 1_772_409_600_000) / 1000 } }
}
