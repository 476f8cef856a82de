import Circumstances
import Matching
import Wire
import Records

// How circumstances come back: nothing is invented, and nothing lost.

extension Hub {
    func restoreDeleted(circumstance key: RecordKey) {
        guard let book = dataset(of: key)?.circumstances, let circumstance = book.circumstances[key.id] else { return }
        book.remove(circumstance)
        book.engine.unregister(circumstance.reference)
    }

    func restore(_ record: HeldRecord) {
        guard let dataset = datasets[record.dataset], let device = dataset.devices[record.deviceID],
            let circumstance = dataset.circumstances.circumstances[record.circumstanceID]
        else { return }
        dataset.circumstances.engine.restoreHeld(circumstance.reference, device.reference.index)
    }

    func restoreReleased(_ key: RecordKey) {
        guard let dataset = dataset(of: key), let device = dataset.devices[key.text(2)],
            let circumstance = dataset.circumstances.circumstances[key.text(1)]
        else { return }
        dataset.circumstances.engine.restoreReleased(circumstance.reference, device.reference.index)
    }

    func restore(_ record: PlaceVisitRecord, at now: Int64) {
        guard let dataset = datasets[record.dataset] else { return }
        activateCircumstances(of: dataset, at: now)
        guard let device = dataset.devices[record.deviceID] else { return }
        dataset.circumstances.engine.restoreVisit(record.visits, of: device.reference.index)
    }

    func restoreForgotten(placeVisit key: RecordKey) {
        guard let dataset = dataset(of: key), let device = dataset.devices[key.text(1)] else { return }
        dataset.circumstances.engine.restoreForgottenVisit(key.text(2), of: device.reference.index)
    }

    func restore(_ record: CircumstanceRecord, at now: Int64) throws(WireError) {
        guard let dataset = datasets[record.dataset] else { return }
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
