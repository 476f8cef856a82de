import Circumstances
import Records
import Wire

/// The circumstances of one dataset, and the engine that evaluates them.
///
/// What it finds leaves as durable changes of the turn and as events in the outbox.
final class CircumstanceBook {
    let engine = CircumstanceEngine()
    let dataset: String
    let devices: Devices
    let places: PlaceBook
    let structure: StructureBook
    let shared: Shared
    let account: MatchAccount
    /// The engine knows the devices: it does from the first circumstance or place on.
    private(set) var isActive = false
    /// Those it does not know yet; nil: it knows all.
    private(set) var enrolment: Enrolment?
    /// Its dataset was restored, and nothing is evaluated before all of it is back.
    private(set) var isRestoring = false
    private var circumstances = ByteKeyed<Circumstance>()
    /// By the engine's references, which are dense and reused.
    private var byReference: [Circumstance?] = []
    /// How many each client has.
    private var counts: [String: Int] = [:]
    /// The devices whose circumstances asked for a live topic, by these topics.
    private var askers = ByteKeyed<Set<UInt32>>()
    /// Stays that the store gave back, until the positions are there.
    private var restoredStays = ByteKeyed<StayRow>()
    private var effects: [CircumstanceEffect] = []

    /// Beyond, all devices whose circumstances ask for live data are evaluated when any changes.
    private static let askedTopicsMax = 1_000_000
    /// Devices of which time brings something about, before others have their turn.
    private static let reviewsPerTurn = 128

    init(
        _ dataset: String, _ devices: Devices, _ places: PlaceBook, _ structure: StructureBook, _ account: MatchAccount,
        _ shared: Shared
    ) {
        self.dataset = dataset
        self.devices = devices
        self.places = places
        self.structure = structure
        self.account = account
        self.shared = shared
    }

    var count: Int { circumstances.count }
    /// In no order.
    var all: [Circumstance] { circumstances.keys.compactMap { circumstances[$0] } }
    /// What circumstances see of the dataset at this moment.
    var world: PlaceWorld { PlaceWorld(book: self) }

    /// In no order.
    var ids: some Collection<String> { circumstances.keys }

    subscript(id: String) -> Circumstance? { circumstances[id] }

    func count(of client: String) -> Int { counts[client] ?? 0 }

    /// Lets the engine know the devices, from the first circumstance or place on: a dataset without them pays nothing. Very many are shown
    /// to it in portions, and each before anything becomes of it.
    func activate(at now: Int64) {
        guard !isActive else { return }
        guard devices.count * Self.enrolmentEffort > shared.limits.portion else { return activateAtOnce(at: now) }
        isActive = true
        enrolment = Enrolment(of: devices, at: now)
        engine.isLearning = true
        shared.unfinished.append(dataset)
    }

    /// Shows the engine a device that it may not know yet.
    func enrol(_ device: Device) {
        if enrolment?.enrol(device.reference.index) == true { show(device) }
    }

    private func show(_ device: Device) {
        guard let startedAt = enrolment?.startedAt else { return }
        engine.restoreDevice(device.reference.index, device.identity)
        guard let (fix, heardAt) = fix(of: device, at: startedAt) else { return }
        engine.restore(device.reference.index, at: fix, heardAt: heardAt, stay: nil)
    }

    /// A portion of what is left to be done: of devices to be shown, and of those to be evaluated.
    ///
    /// - Returns: Whether nothing is left.
    func goOn(_ portion: Int, _ turn: inout Turn) -> Bool {
        guard isActive, !isRestoring else { return true }
        var effort = portion
        while enrolment != nil, effort > 0 {
            guard let number = enrolment?.popNext() else {
                enrolment = nil
                engine.isLearning = false
                break
            }
            effort -= Self.enrolmentEffort
            if let device = devices[number] { show(device) }
        }
        while effort > 0, let due = engine.nextDue, due <= turn.now {
            engine.advance(to: turn.now, atMost: Self.reviewsAtOnce, in: world, into: &effects)
            effort -= Self.reviewsAtOnce * Self.reviewEffort + effects.count * Self.effectEffort
            handleEffects(&turn)
        }
        return enrolment == nil && engine.nextDue.map { $0 > turn.now } ?? true
    }

    /// In the unit of ``HubLimits/portion``, as measured.
    private static let enrolmentEffort = 8
    private static let reviewEffort = 4
    private static let effectEffort = 15
    private static let reviewsAtOnce = 16

    private func activateAtOnce(at now: Int64) {
        guard !isActive else { return }
        isActive = true
        for device in devices.all {
            engine.restoreDevice(device.reference.index, device.identity)
            if !isRestoring, let (fix, heardAt) = fix(of: device, at: now) {
                engine.restore(device.reference.index, at: fix, heardAt: heardAt, stay: nil)
            }
        }
    }

    // MARK: Circumstances

    /// Registers a circumstance, or replaces the one of its id.
    @discardableResult
    func register(
        _ record: CircumstanceRecord, _ expression: CircumstanceExpression, _ pushers: [Pusher], _ turn: inout Turn
    ) -> Circumstance {
        activate(at: turn.now)
        let known = circumstances[record.id]
        // First what is registered, then what is held of it.
        turn.keep(.put(record))
        let reference = engine.register(
            record.rule(expression), replacing: known?.reference, isEnabled: record.isEnabled, at: turn.now, in: world,
            into: &effects)
        let circumstance = Circumstance(record, expression, pushers, reference: reference)
        insert(circumstance)
        handleEffects(&turn)
        return circumstance
    }

    func enable(_ circumstance: Circumstance, _ turn: inout Turn) {
        change(circumstance, &turn) { $0.isEnabled = true }
        engine.enable(circumstance.reference, at: turn.now, in: world, into: &effects)
        handleEffects(&turn)
    }

    func disable(_ circumstance: Circumstance, _ turn: inout Turn) {
        engine.disable(circumstance.reference)
        change(circumstance, &turn) { $0.isEnabled = false }
    }

    func unregister(_ circumstance: Circumstance) {
        remove(circumstance)
        engine.unregister(circumstance.reference)
    }

    private func change(_ circumstance: Circumstance, _ turn: inout Turn, _ change: (inout CircumstanceRecord) -> Void) {
        change(&circumstance.record)
        circumstance.record.updatedAt = turn.now
        circumstance.record.revision = Revision.next(
            after: circumstance.record.revision, content: circumstance.record.encoded())
        turn.keep(.put(circumstance.record))
    }

    private func insert(_ circumstance: Circumstance) {
        if let former = circumstances[circumstance.record.id] { remove(former) }
        circumstances[circumstance.record.id] = circumstance
        byReference.place(circumstance, at: circumstance.reference.index)
        counts[circumstance.record.owner, default: 0] += 1
    }

    private func remove(_ circumstance: Circumstance) {
        circumstances[circumstance.record.id] = nil
        byReference[Int(circumstance.reference.index)] = nil
        let left = count(of: circumstance.record.owner) - 1
        counts[circumstance.record.owner] = left > 0 ? left : nil
    }

    private func circumstance(_ reference: CircumstanceRef) -> Circumstance? {
        Int(reference.index) < byReference.count ? byReference[Int(reference.index)] : nil
    }

    // MARK: Devices

    /// A device exists from now on.
    func insert(_ device: Device) {
        _ = enrolment?.enrol(device.reference.index)
        if isActive { engine.restoreDevice(device.reference.index, device.identity) }
    }

    /// A position was accepted: the device is there.
    ///
    /// - Parameter heardAt: When it came, where that is earlier than now.
    func move(
        _ device: Device, _ update: LiveUpdate, at timestamp: Int64, heardAt: Int64 = .max, _ turn: inout Turn
    ) {
        // Before all is back, it is shown with everything else.
        guard isActive, !isRestoring, let fix = Fix(update, at: min(timestamp, turn.now)) else { return }
        engine.move(device.reference.index, to: fix, heardAt: heardAt, at: turn.now, in: world, into: &effects)
        if !effects.isEmpty { handleEffects(&turn) }
    }

    /// A device has a position that was known before, or is set by a request.
    func move(_ device: Device, _ turn: inout Turn) {
        guard isActive, let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: shared.parser)
        else { return }
        move(device, update, at: state.timestamp, heardAt: state.receivedAt, &turn)
    }

    /// A device's last position was cleared.
    func clear(_ device: Device, _ turn: inout Turn) {
        guard isActive else { return }
        engine.clear(device.reference.index, into: &effects)
        handleEffects(&turn)
    }

    /// A device's groups changed.
    func identityChanged(_ device: Device, _ turn: inout Turn) {
        guard isActive else { return }
        engine.setDevice(device.reference.index, device.identity, at: turn.now, in: world, into: &effects)
        handleEffects(&turn)
    }

    /// Where a device is, as its live state has it, and when that came.
    private func fix(of device: Device, at now: Int64) -> (fix: Fix, heardAt: Int64)? {
        guard let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: shared.parser)
        else { return nil }
        return Fix(update, at: min(state.timestamp, now)).map { ($0, min(state.receivedAt, now)) }
    }

    // MARK: Places and time

    /// Changes a place by `change`, and shows it to the circumstances before and after.
    func changePlace(
        _ id: String, _ turn: inout Turn, _ change: () throws(WireError) -> Void
    ) throws(WireError) {
        guard isActive else { return try change() }
        let known = places.table.handle(of: id)
        if let known { engine.placeWillChange(known, in: world) }
        defer {
            let handle = places.table.handle(of: id)
            if let place = handle ?? known {
                engine.placeDidChange(place, exists: handle != nil, at: turn.now, in: world, into: &effects)
            }
            handleEffects(&turn)
        }
        try change()
    }

    /// Categories, or the clock of the dataset, changed.
    func worldChanged() {
        if isActive { engine.worldDidChange() }
    }

    /// What time alone brings about, so much in a turn; ``goOn(_:_:)`` goes on with the rest.
    func advance(_ turn: inout Turn) {
        guard isActive, !isRestoring, let due = engine.nextDue, due <= turn.now else { return }
        engine.advance(to: turn.now, atMost: Self.reviewsPerTurn, in: world, into: &effects)
        handleEffects(&turn)
        if let due = engine.nextDue, due <= turn.now { shared.unfinished.append(dataset) }
    }

    // MARK: Live data

    /// Live data changed that circumstances may have asked for.
    func liveDataChanged(_ state: LiveState, _ turn: inout Turn) {
        guard isActive, state.domain != "position", !isRestoring else { return }
        for device in removeAskers(of: state.topic) {
            engine.review(device, at: turn.now, in: world, into: &effects)
        }
        if !effects.isEmpty { handleEffects(&turn) }
    }

    /// A circumstance of a device asked for the state of a live topic.
    func note(_ device: UInt32, asksFor topic: String) {
        if askers.count >= Self.askedTopicsMax, askers[topic] == nil { return }
        askers[topic, or: []].insert(device)
    }

    /// The devices whose circumstances asked for a topic; they ask again when they are evaluated.
    private func removeAskers(of topic: String) -> [UInt32] {
        guard !askers.isEmpty else { return [] }
        if askers.count >= Self.askedTopicsMax {
            askers.removeAll()
            return engine.devicesAskingLive
        }
        return askers.removeValue(forKey: topic)?.filter { engine.asksLive($0) }.sorted() ?? []
    }

    // MARK: Effects

    private func handleEffects(_ turn: inout Turn) {
        guard !effects.isEmpty else { return }
        let all = effects
        effects.removeAll(keepingCapacity: true)
        var states: [LiveState] = []
        for effect in all {
            guard let device = devices[effect.device] else { continue }
            let id = device.record.id
            switch effect {
            case .held(let reference, _, let isHeld):
                guard let circumstance = circumstance(reference) else { continue }
                let record = HeldRecord(dataset: dataset, circumstanceID: circumstance.record.id, deviceID: id)
                turn.keep(isHeld ? .put(record) : .deleteHeld(record))
            case .visit(_, let row): turn.keep(.put(PlaceVisitRecord(dataset: dataset, deviceID: id, visits: row)))
            case .visitForgotten(_, let placeID):
                turn.keep(.deletePlaceVisit(dataset: dataset, deviceId: id, placeId: placeID))
            case .stay(_, let stay): turn.keep(.put(StayRecord(dataset: dataset, deviceID: id, stay: stay)))
            case .occurred(let occurrence):
                if let circumstance = circumstance(occurrence.circumstance) {
                    send(event(occurrence, of: circumstance, device, &turn), of: circumstance, device, &turn)
                }
            }
            if let state = device.positionTopic, !states.contains(where: { $0 === state }) { states.append(state) }
        }
        // Written behind, a crash could bring back where a device was before, and what it did there would be reported again.
        for state in states { turn.keep(.put(LiveStateRecord(state))) }
    }

    // MARK: Restarting

    /// Its dataset was restored; see ``resume(at:)``.
    func beginRestoring() { isRestoring = true }

    /// - Throws: Where the record is not what this program wrote.
    func restore(_ record: CircumstanceRecord, at now: Int64) throws(WireError) {
        activateAtOnce(at: now)
        if let known = circumstances[record.id] { unregister(known) }
        let expression = try CircumstanceExpression(checking: record.expression)
        let reference = engine.restore(record.rule(expression), isEnabled: record.isEnabled, in: world)
        let pushers = try [Pusher](reading: record.pushers, of: record.recipient, naming: shared.naming)
        insert(Circumstance(record, expression, pushers, reference: reference))
    }

    func restore(_ record: HeldRecord) {
        guard let device = devices[record.deviceID], let circumstance = circumstances[record.circumstanceID] else { return }
        engine.restoreHeld(circumstance.reference, device.reference.index)
    }

    func restoreReleased(_ circumstanceID: String, _ deviceID: String) {
        guard let device = devices[deviceID], let circumstance = circumstances[circumstanceID] else { return }
        engine.restoreReleased(circumstance.reference, device.reference.index)
    }

    func restore(_ record: PlaceVisitRecord, at now: Int64) {
        activateAtOnce(at: now)
        if let device = devices[record.deviceID] { engine.restoreVisit(record.visits, of: device.reference.index) }
    }

    func restoreForgottenVisit(_ placeID: String, _ deviceID: String) {
        if let device = devices[deviceID] { engine.restoreForgottenVisit(placeID, of: device.reference.index) }
    }

    func restore(_ record: StayRecord) { restoredStays[record.deviceID] = record.stay }

    /// Where a device was is erased.
    func forgetWhereabouts(of device: Device) {
        engine.forgetWhereabouts(of: device.reference.index)
        restoredStays[device.record.id] = nil
    }

    /// Everything is back: devices are where they are, and what became true or false meanwhile is reported.
    func resume(at now: Int64) {
        isRestoring = false
        if places.table.count > 0 { activateAtOnce(at: now) }
        guard isActive else { return }
        for device in devices.all {
            guard let (fix, heardAt) = fix(of: device, at: now) else { continue }
            engine.restore(device.reference.index, at: fix, heardAt: heardAt, stay: restoredStays[device.record.id])
        }
        restoredStays.removeAll()
        engine.resume(at: now)
    }
}

extension CircumstanceEffect {
    fileprivate var device: UInt32 {
        switch self {
        case .held(_, let device, _), .visit(let device, _), .visitForgotten(let device, _), .stay(let device, _): device
        case .occurred(let occurrence): occurrence.device
        }
    }
}

extension Fix {
    /// nil where the update is no position.
    fileprivate init?(_ update: LiveUpdate, at timestamp: Int64) {
        guard let position = update.position else { return nil }
        self.init(
            latitude: position.latitude, longitude: position.longitude, accuracy: position.horizontalAccuracy,
            speed: update.speed, timestamp: timestamp)
    }
}

extension Device {
    /// By what circumstances choose it.
    fileprivate var identity: DeviceIdentity { DeviceIdentity(id: record.id, owner: record.owner, groups: record.group) }
}
