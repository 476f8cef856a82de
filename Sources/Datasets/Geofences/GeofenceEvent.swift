import Geofencing
import Records
import Wire

/// One event of a geofence as it is published.
struct GeofenceEvent {
    let id: String
    let geofence: GeofenceRecord
    let deviceID: String
    let event: String
    var fix: FenceFix?
    let at: Int64
    let reason: FenceEnd?
    /// The id of the event that the visit began with.
    var visit = ""
    /// Seconds, at its end.
    var duration: Double?

    init(id: String, geofence: GeofenceRecord, deviceID: String, _ effect: FenceEffect) {
        self.id = id
        self.geofence = geofence
        self.deviceID = deviceID
        switch effect {
        case .entered(_, _, let fix, let at):
            event = "entered"
            self.fix = fix
            self.at = at
            reason = nil
        case .dwelled(_, _, let fix, let at):
            event = "dwelled"
            self.fix = fix
            self.at = at
            reason = nil
        case .exited(_, _, let fix, let at, _, let reason):
            event = "exited"
            self.fix = fix
            self.at = at
            self.reason = reason
        }
    }

    /// `{"id","event","geofence","name"?,"deviceId","location"?,"timestamp","visit","duration"?,"reason"?}`
    func encoded() -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", id)
            writer.member("event", event)
            writer.member("geofence", geofence.id)
            writer.member("name", optional: geofence.name)
            writer.member("deviceId", deviceID)
            if let fix {
                writer.key("location")
                writer.beginObject()
                writer.member("latitude", fix.latitude)
                writer.member("longitude", fix.longitude)
                if fix.accuracy > 0 { writer.member("horizontalAccuracy", fix.accuracy) }
                writer.member("timestamp", fix.timestamp)
                writer.endObject()
            }
            writer.member("timestamp", at)
            writer.member("visit", visit)
            writer.member("duration", optional: duration)
            writer.member("reason", optional: reason?.rawValue)
        }
    }
}
