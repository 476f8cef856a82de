import Circumstances
import Matching
import Places
import Wire
import Records

// What the circumstances of a dataset are shown, and what comes of it.

extension Hub {
    /// What circumstances see of a dataset at this moment.
    func world(of dataset: Dataset) -> PlaceWorld { PlaceWorld(hub: self, dataset: dataset) }

    /// Lets the engine know the devices, from the first circumstance or place on: a dataset without them pays nothing.
    func activateCircumstances(of dataset: Dataset, at now: Int64) {
        let book = dataset.circumstances
        guard !book.isActive else { return }
        book.isActive = true
        for device in dataset.devicesByReference.lazy.compactMap({ $0 }) {
            book.engine.restoreDevice(device.reference.index, device.identity)
            if let fix = fix(of: device, at: now) { book.engine.restore(device.reference.index, at: fix, stay: nil) }
        }
    }

    /// Where a device is, as its live state has it.
    func fix(of device: Device, at now: Int64) -> Fix? {
        guard let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: parser)
        else { return nil }
        return Fix(update, at: min(state.timestamp, now))
    }

    // MARK: Inputs

    /// A position was accepted: the device stands there.
    func showCircumstances(_ device: Device, _ update: LiveUpdate, at timestamp: Int64, in dataset: Dataset, _ turn: inout Turn) {
        let book = dataset.circumstances
        // What is not yet resumed is shown where everything stands then.
        guard book.isActive, !unresumed.contains(dataset.id), let fix = Fix(update, at: min(timestamp, turn.now)) else { return }
        book.engine.move(device.reference.index, to: fix, at: turn.now, in: world(of: dataset), into: &circumstanceEffects)
        if !circumstanceEffects.isEmpty { handleCircumstanceEffects(of: dataset, &turn) }
    }

    /// A device's position was taken over from before it was one.
    func showCircumstances(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard dataset.circumstances.isActive, let state = device.positionTopic, let payload = state.payload,
            let update = LiveMessage.update(inPayload: payload, using: parser)
        else { return }
        showCircumstances(device, update, at: state.timestamp, in: dataset, &turn)
    }

    /// A device's last position was cleared.
    func clearCircumstances(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard dataset.circumstances.isActive else { return }
        dataset.circumstances.engine.clear(device.reference.index, into: &circumstanceEffects)
        handleCircumstanceEffects(of: dataset, &turn)
    }

    /// A device's groups changed.
    func identityChanged(_ device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard dataset.circumstances.isActive else { return }
        dataset.circumstances.engine.setDevice(
            device.reference.index, device.identity, at: turn.now, in: world(of: dataset), into: &circumstanceEffects)
        handleCircumstanceEffects(of: dataset, &turn)
    }

    /// Live data changed that circumstances may have asked for.
    func liveDataChanged(_ state: LiveState, _ turn: inout Turn) {
        let dataset = state.dataset
        guard dataset.circumstances.isActive, state.domain != "position", !unresumed.contains(dataset.id) else { return }
        for device in dataset.circumstances.takeAskers(of: state.topic) {
            dataset.circumstances.engine.review(device, at: turn.now, in: world(of: dataset), into: &circumstanceEffects)
        }
        if !circumstanceEffects.isEmpty { handleCircumstanceEffects(of: dataset, &turn) }
    }

    /// Changes a place by `change`, and shows it to the circumstances before and after.
    func changePlace(
        _ id: String, in dataset: Dataset, _ turn: inout Turn, _ change: () throws(WireError) -> Void
    ) throws(WireError) {
        let book = dataset.circumstances
        guard book.isActive else { return try change() }
        let table = dataset.places.table
        let known = table.handle(of: id)
        if let known { book.engine.placeWillChange(known, in: world(of: dataset)) }
        defer {
            let handle = table.handle(of: id)
            if let place = handle ?? known {
                book.engine.placeDidChange(
                    place, exists: handle != nil, at: turn.now, in: world(of: dataset), into: &circumstanceEffects)
            }
            handleCircumstanceEffects(of: dataset, &turn)
        }
        try change()
    }

    /// Categories, or the clock of the dataset, changed.
    func worldChanged(in dataset: Dataset) {
        if dataset.circumstances.isActive { dataset.circumstances.engine.worldDidChange() }
    }

    /// What time alone brings about.
    func advanceCircumstances(of dataset: Dataset, to now: Int64, _ turn: inout Turn) {
        let engine = dataset.circumstances.engine
        guard dataset.circumstances.isActive, !unresumed.contains(dataset.id) else { return }
        // Some thousand devices in a turn: what is left has to wait for the next tick.
        for _ in 0..<Self.turnsMax {
            guard let due = engine.nextDue, due <= now else { return }
            engine.advance(to: now, in: world(of: dataset), into: &circumstanceEffects)
            handleCircumstanceEffects(of: dataset, &turn)
        }
    }

    private static let turnsMax = 8

    // MARK: Effects

    func handleCircumstanceEffects(of dataset: Dataset, _ turn: inout Turn) {
        guard !circumstanceEffects.isEmpty else { return }
        let all = circumstanceEffects
        circumstanceEffects.removeAll(keepingCapacity: true)
        var places: [LiveState] = []
        for effect in all {
            guard let device = dataset.device(numbered: effect.device) else { continue }
            switch effect {
            case .held(let reference, _, let isHeld):
                guard let circumstance = dataset.circumstances.circumstance(reference) else { continue }
                let record = HeldRecord(
                    dataset: dataset.id, circumstanceID: circumstance.record.id, deviceID: device.record.id)
                turn.keep(isHeld ? .put(record) : .deleteHeld(record))
            case .visit(_, let row):
                turn.keep(
                    .put(PlaceVisitRecord(dataset: dataset.id, deviceID: device.record.id, visits: row)))
            case .visitForgotten(_, let placeID):
                turn.keep(
                    .deletePlaceVisit(dataset: dataset.id, deviceId: device.record.id, placeId: placeID))
            case .stay(_, let stay):
                turn.keep(.put(StayRecord(dataset: dataset.id, deviceID: device.record.id, stay: stay)))
            case .occurred(let occurrence): send(occurrence, of: device, in: dataset, &turn)
            }
            if let state = device.positionTopic, !places.contains(where: { $0 === state }) { places.append(state) }
        }
        // Written behind, a crash could bring back where a device was before, and what it did there would be told again.
        for state in places { turn.keep(.put(LiveStateRecord(state))) }
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
    init?(_ update: LiveUpdate, at timestamp: Int64) {
        guard let position = update.position else { return nil }
        self.init(
            latitude: position.latitude, longitude: position.longitude, accuracy: position.horizontalAccuracy,
            speed: update.speed, timestamp: timestamp)
    }
}

extension Device {
    /// By what circumstances choose it.
    var identity: DeviceIdentity { DeviceIdentity(id: record.id, owner: record.owner, groups: record.group) }
}
