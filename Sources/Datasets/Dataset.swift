import Wire
import Records

/// One tenant: its devices, the components that own what is known of them, its counters.
///
/// Owned by the ``Hub``; nothing here knows of another dataset.
final class Dataset {
    var record: DatasetRecord {
        didSet {
            structure.noteDeclarations()
            if record.timeZone != oldValue.timeZone { places.hours = PlaceHours(timeZone: record.timeZone) }
        }
    }
    /// Venues, buildings, floors, rooms and locations.
    let structure: StructureBook
    /// Whose floors are to be looked up in the structure, which changed; nil: nobody's.
    var floorRefresh: Enrolment?
    /// Where it is derived: who is in which room.
    var occupancy: Occupancy?
    private(set) var geomatching: Geomatching
    let devices: Devices
    /// Points of interest.
    let places: PlaceBook
    private(set) var circumstances: CircumstanceBook
    /// Who is inside of which geofence.
    let geofences: Geofences
    let beacons: Beacons
    /// Positions of ids that are no device, by id: taken over when it becomes one.
    var positionsWithoutDevice = ByteKeyed<LiveState>()
    /// Live topics with a known state; cleared ones are not counted.
    private(set) var liveTopicCount = 0
    /// Of the messages of known live states.
    var liveBytes = 0
    /// How many live topics each client holds.
    private(set) var liveTopicsHeld = Holdings()
    var clearedStates = ClearedStates()
    /// The live topics with a known state by dense numbers, and who subscribed to them.
    var liveTopics = LiveTopicTable()
    var liveSubscriptions = LiveSubscriptions()
    let feed: ChangeFeed
    /// How many live topics of each domain have a known state.
    var activeDomains: [String: Int] = [:]
    var updateCounters = UpdateCounters()
    var requestCounters = RequestCounters()
    /// Requests by name and outcome.
    var requestOutcomes: [RequestOutcome: Int] = [:]
    let diagnostics: Diagnostics
    let matchAccount: MatchAccount
    var status = StatusReport()
    /// What those elsewhere in the cluster know of it.
    var sharedContents: DatasetContents?
    var replies = ReplyMemory()
    /// Its creation is.
    var isDurable = true
    /// Why what comes in for it waits.
    var suspension: Suspension? {
        didSet { isSuspended = suspension != nil || isLoading }
    }
    /// It is read again after a refusal. Time does not advance, and what comes in waits.
    var isLoading = false {
        didSet { isSuspended = suspension != nil || isLoading }
    }
    /// Positions and sightings are shown to the owners of devices and administrators only; durable.
    var hidesPositions: Bool {
        get { devices.isPrivate }
        set {
            devices.isPrivate = newValue
            viewVersion += 1
        }
    }
    /// The number of the last live state before positions were last hidden or shown.
    var positionsChangedAt: Int64 = 0
    /// Another one where what was looked at before is to be looked at again: it was read again, or positions were hidden or shown.
    private(set) var viewVersion = 0
    /// What comes in, or some of it, waits: for one of these, or behind what waited for them.
    var isSuspended = false
    /// Of what comes in only its client's requests and those about documents wait, for a push.
    var letsOthersPass: Bool {
        if case .push(let awaited)? = suspension { awaited.letsOthersPass && !isLoading } else { false }
    }
    /// Live updates wait.
    var holdsUpdates: Bool { isSuspended && !letsOthersPass }

    let shared: Shared

    init(_ record: DatasetRecord, _ shared: Shared = Shared()) {
        self.shared = shared
        let limits = shared.limits
        self.record = record
        devices = Devices(
            isAdministrator: { shared.administrators.allow(client: $0, in: record.id) },
            reads: { shared.configuration.reads(record.id, $0) })
        devices.isPrivate = record.livePositions == .none
        diagnostics = Diagnostics(of: record.id)
        matchAccount = MatchAccount(diagnostics)
        geomatching = Geomatching(record.id, devices, matchAccount, shared)
        places = PlaceBook(limit: limits.places, timeZone: record.timeZone)
        structure = StructureBook(shared, diagnostics)
        beacons = Beacons(devices, shared)
        circumstances = CircumstanceBook(record.id, devices, places, structure, matchAccount, shared)
        geofences = Geofences(record.id, devices, places, structure, matchAccount, shared)
        feed = ChangeFeed(shared)
    }

    var id: String { record.id }

    var isBeingDeleted: Bool { if case .deletion? = suspension { true } else { false } }
    var isPushing: Bool { if case .push? = suspension { true } else { false } }
    /// Time brings nothing about. What came before it goes on is handled first, as of when it came.
    var isHalted: Bool { isLoading || isSuspended && !isPushing }
    /// How far time has gone on for it.
    var advancedTo = Int64.min

    /// Forgets everything the store gives back, before it does.
    ///
    /// Live state, counters, diagnostics and remembered replies stay.
    func reset() {
        viewVersion += 1
        geomatching = geomatching.emptied()
        devices.removeAll()
        circumstances = CircumstanceBook(id, devices, places, structure, matchAccount, shared)
        geofences.reset()
        beacons.reset()
        structure.reset()
        if floorRefresh != nil { structure.mustLookAgain() }
        floorRefresh = nil
        occupancy = nil
        positionsWithoutDevice.removeAll()
        feed.reset()
    }

    /// A live topic has a state from now on, or none any more.
    func countLiveTopic(_ state: LiveState, by step: Int) {
        liveTopicCount += step
        activeDomains[state.domain, default: 0] += step
        if activeDomains[state.domain] == 0 { activeDomains[state.domain] = nil }
        if step > 0 { state.holder = state.hasLocation ? devices[state.itemID]?.record.owner : nil }
        liveTopicsHeld.count(state.holder, by: step)
    }

    // MARK: Devices

    /// Adds a device.
    func add(_ record: DeviceRecord) -> Device {
        let device = Device(record, reference: geomatching.engine.addDevice(isFixed: record.type == .pin))
        devices.insert(device)
        circumstances.insert(device)
        geofences.insert(device)
        for sighting in beacons.insert(device) { geomatching.restore(sighting) }
        return device
    }

    /// A device is about to change: engines that do not know it yet are shown it as it was.
    @inline(__always)
    func enrol(_ device: Device) {
        if geofences.enrolment != nil { geofences.enrol(device) }
        if circumstances.enrolment != nil { circumstances.enrol(device) }
    }

    /// A device has another record from now on.
    func change(_ device: Device, to record: DeviceRecord) {
        enrol(device)
        beacons.change(device.record, to: record)
        devices.change(device, to: record)
    }

    /// Everything is back: its engines take up work.
    func resume(_ turn: inout Turn) {
        beacons.reviewAccess(&turn)
        geomatching.resume(beacons: beacons.holders.values, &turn)
        circumstances.resume(at: turn.now)
    }

    /// Removes a device with its publications and subscriptions.
    func remove(_ device: Device) {
        geomatching.remove(device)
        devices.remove(device)
        circumstances.engine.removeDevice(device.reference.index)
        geofences.forget(device: device.reference.index)
        places.forget(device.record.id)
        // Its id counts as declared no longer.
        structure.noteDeclarations()
        beacons.remove(device.record)
    }

    /// Positions are looked up in the structure: it has outlines, or somebody counts who is where.
    var locatesPositions: Bool { structure.tree.hasOutlines || record.derivedOccupancy }
}
