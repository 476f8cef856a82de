import Circumstances
import Matching
import Wire
import Records

// How circumstances come back: nothing is invented, and nothing lost.

extension Hub {
    /// Takes back one durable row; circumstances come behind the devices, and what is held of them behind both.
    func restoreCircumstances(_ change: DurableChange, at now: Int64) throws(WireError) {
        guard let dataset = change.dataset.flatMap({ datasets[$0] }) else { return }
        let book = dataset.circumstances
        switch change {
        case .putCircumstance(let record): try restore(record, in: dataset, at: now)
        case .deleteCircumstance(_, let id):
            guard let circumstance = book.circumstances[id] else { return }
            book.remove(circumstance)
            book.engine.unregister(circumstance.reference)
        case .putHeld(let record):
            guard let circumstance = book.circumstances[record.circumstanceID], let device = dataset.devices[record.deviceID]
            else { return }
            book.engine.restoreHeld(circumstance.reference, device.reference.index)
        case .deleteHeld(let record):
            guard let circumstance = book.circumstances[record.circumstanceID], let device = dataset.devices[record.deviceID]
            else { return }
            book.engine.restoreReleased(circumstance.reference, device.reference.index)
        case .putPlaceVisit(let record):
            activateCircumstances(of: dataset, at: now)
            guard let device = dataset.devices[record.deviceID] else { return }
            book.engine.restoreVisit(record.visits, of: device.reference.index)
        case .deletePlaceVisit(_, let deviceID, let placeID):
            guard let device = dataset.devices[deviceID] else { return }
            book.engine.restoreForgottenVisit(placeID, of: device.reference.index)
        case .putStay(let record): book.restoredStays[record.deviceID] = record.stay
        case .putIncident(let record): outbox.restore(record, dataset.matchAccount)
        default: break
        }
    }

    private func restore(_ record: CircumstanceRecord, in dataset: Dataset, at now: Int64) throws(WireError) {
        activateCircumstances(of: dataset, at: now)
        let book = dataset.circumstances
        if let known = book.circumstances[record.id] {
            book.remove(known)
            book.engine.unregister(known.reference)
        }
        let expression = try CircumstanceExpression(checking: record.expression)
        let reference = book.engine.restore(record.rule(expression), isEnabled: record.isEnabled, in: world(of: dataset))
        book.insert(Circumstance(record, expression, reference: reference))
    }

    /// Everything is back: devices stand where they are, and what became true or false meanwhile is told.
    func resumeCircumstances(of dataset: Dataset, at now: Int64) {
        let book = dataset.circumstances
        if dataset.places.table.count > 0 { activateCircumstances(of: dataset, at: now) }
        guard book.isActive else { return }
        for device in dataset.devicesByReference.lazy.compactMap({ $0 }) {
            guard let fix = fix(of: device, at: now) else { continue }
            book.engine.restore(device.reference.index, at: fix, stay: book.restoredStays[device.record.id])
        }
        book.restoredStays.removeAll()
        book.engine.resume(at: now)
    }
}
