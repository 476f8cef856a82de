import Matching
import Wire
import Records

// dataset/import, and what follows from a changed structure.

extension Hub {
    func importStructure(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let collection = try call.parameters.nested("structure")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let work = call.dataset.structure.take(try collection.array("features"), of: call.dataset.id, at: call.now)
        call.dataset.occupancy?.isOutdated = true
        for record in work.records { turn.keep(.put(record)) }
        structureChanged(in: call.dataset, &turn)
        return work.encoded()
    }

    /// After an import: what does not move, as pins do, is by now on the floor that the structure says.
    func refreshFloors(of dataset: Dataset, _ turn: inout Turn) {
        guard dataset.structure.takeChange(at: turn.now) else { return }
        showMoves(&turn)
        var floors: [(device: Device, floor: FloorRef)] = []
        for id in dataset.devices.keys.sorted(by: { ByteKey($0) < ByteKey($1) }) {
            guard let device = dataset.devices[id], let state = device.positionTopic, let payload = state.payload,
                let update = LiveMessage.update(inPayload: payload, using: parser)
            else { continue }
            let found = dataset.locatesPositions ? dataset.structure.whereabouts(of: update, on: state.topic) : nil
            guard let floor = dataset.structure.floor(of: state, index: update.floorIndex, found: found) else { continue }
            floors.append((device, floor))
        }
        dataset.geomatching.setFloors(floors, &turn)
    }
}
