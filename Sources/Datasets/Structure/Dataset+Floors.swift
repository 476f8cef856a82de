import Matching
import Wire
import Records

// What follows from a changed structure.

extension Dataset {
    /// After an import: what does not move, as pins do, is by now on the floor that the structure says.
    func refreshFloors(_ turn: inout Turn) {
        guard structure.consumeChange(at: turn.now) else { return }
        shared.live.reportMoves(&turn)
        var floors: [(device: Device, floor: FloorRef)] = []
        for id in devices.keys.sorted(by: { ByteKey($0) < ByteKey($1) }) {
            guard let device = devices[id], let state = device.positionTopic, let payload = state.payload,
                let update = LiveMessage.update(inPayload: payload, using: shared.parser)
            else { continue }
            let found = locatesPositions ? structure.whereabouts(of: update, on: state.topic) : nil
            guard let floor = structure.floor(of: state, index: update.floorIndex, found: found) else { continue }
            floors.append((device, floor))
        }
        geomatching.setFloors(floors, &turn)
        geofences.floorsChanged(floors, &turn)
    }
}
