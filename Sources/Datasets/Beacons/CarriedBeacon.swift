import Ranging

/// A beacon that a device carries about, followed from gateway to gateway.
struct CarriedBeacon {
    var room = RoomTrack()
    var track = PositionTrack()
    /// Around where ``track`` counts metres.
    var plane: LocalPlane?
    /// Why it is in its room, and since when.
    var reason = ""
    var since: Int64 = 0
    var locatedAt: Int64 = .min
    /// It is in the list of those that were seen.
    var isNoted = false
}
