import Matching
import Wire
import Records

// What follows from a changed structure.

extension Dataset {
    /// After an import: what does not move, as pins do, is by now on the floor that the structure says. Very many are looked at in portions.
    func refreshFloors(_ turn: inout Turn) {
        guard structure.consumeChange(at: turn.now) else { return }
        shared.live.reportMoves(&turn)
        floorRefresh = Enrolment(of: devices, at: turn.now, behind: floorRefresh)
        if !refreshMoreFloors(shared.limits.portion, &turn) { shared.unfinished.append(id) }
    }

    /// A portion of the devices whose floor is to be looked up.
    ///
    /// - Returns: Whether none is left.
    func refreshMoreFloors(_ portion: Int, _ turn: inout Turn) -> Bool {
        guard floorRefresh != nil else { return true }
        var effort = portion
        var floors: [(device: Device, floor: FloorRef)] = []
        while effort > 0 {
            guard let number = floorRefresh?.popNext() else {
                floorRefresh = nil
                break
            }
            effort -= Self.floorEffort
            guard let device = devices[number], let state = device.positionTopic, let payload = state.payload,
                let update = LiveMessage.update(inPayload: payload, using: shared.parser)
            else { continue }
            let found = locatesPositions ? structure.whereabouts(of: update, on: state.topic) : nil
            guard let floor = structure.floor(of: state, index: update.floorIndex, found: found) else { continue }
            floors.append((device, floor))
        }
        floors.sort { ByteKey($0.device.record.id) < ByteKey($1.device.record.id) }
        geomatching.setFloors(floors, &turn)
        geofences.floorsChanged(floors, isLast: floorRefresh == nil, &turn)
        return floorRefresh == nil
    }

    /// In the unit of ``HubLimits/portion``, as measured.
    private static let floorEffort = 8
}
