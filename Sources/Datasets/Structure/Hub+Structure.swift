import Wire
import Records

// dataset/import, and how the structure comes back.

extension Hub {
    func importStructure(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        let collection = try call.parameters.nested("structure")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let features = try collection.array("features")
        // The locator holds the structure, too: with it, changing would copy.
        dataset.locator = nil
        var work = StructureImport(
            into: dataset.structure, of: dataset.id, limit: configuration.limits.structureObjects)
        dataset.structure = Structure()
        work.take(features)
        dataset.structure = work.structure
        dataset.occupancy?.isOutdated = true
        dataset.floorsOutdatedAt = call.now
        for record in work.records { turn.keep(.put(record)) }
        return work.encoded()
    }

    /// After an import: what stands still, as pins do, is by now on the floor that the structure says.
    ///
    /// Every position is read, so a structure that comes in many requests is waited for: until a second passed without one.
    func refreshFloors(of dataset: Dataset, _ turn: inout Turn) {
        guard let outdatedAt = dataset.floorsOutdatedAt, turn.now - outdatedAt >= 1000 || turn.now < outdatedAt else { return }
        dataset.floorsOutdatedAt = nil
        showMoves(&turn)
        engineEffects.removeAll(keepingCapacity: true)
        for id in dataset.devices.keys.sorted(by: { ByteKey($0) < ByteKey($1) }) {
            guard let device = dataset.devices[id], let state = device.positionTopic, let payload = state.payload,
                let update = LiveMessage.update(inPayload: payload, using: parser)
            else { continue }
            let found = dataset.locatesPositions ? whereabouts(of: update, at: state) : nil
            guard let floor = floor(of: state, index: update.floorIndex, found: found) else { continue }
            dataset.engine.setFloor(of: device.reference, to: floor, at: turn.now, into: &engineEffects)
        }
        handleEngineEffects(of: dataset, &turn)
    }

    func restore(_ record: StructureRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        // What is kept was read before: an outline that cannot be read now would only be missing.
        let geometry = record.geometry.flatMap { try? JSONValue.parse(Array($0.utf8), using: parser) }
        let outline = (try? Outline(geometry: geometry)) ?? nil
        dataset.locator = nil
        dataset.structure.put(record, outline: outline)
    }
}
