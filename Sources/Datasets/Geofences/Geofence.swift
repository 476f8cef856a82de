import Geofencing
import Records

/// A geofence as the hub holds it.
final class Geofence {
    var record: GeofenceRecord
    /// What it encloses, as it was asked for.
    var area: GeofenceArea
    /// The engine's.
    let number: Int32
    let recipient: Recipient
    /// What its `pushers` name beside that.
    var pushers: [Pusher]
    /// Why it encloses nothing at present.
    var problem: String?
    /// So many of those inside are still to be compared with their presence; nil: none, see ``Geofences/resize(_:_:)``.
    var presencesLeft: Int?
    var deliveryChanged = false
    var isGone = false

    init(_ record: GeofenceRecord, _ area: GeofenceArea, pushers: [Pusher], number: Int32) {
        self.record = record
        self.area = area
        self.pushers = pushers
        self.number = number
        recipient = record.recipient
    }

    /// As the engine knows it, without its area.
    var fence: Fence {
        Fence(rule: record.rule, area: nil, isEnabled: record.isEnabled, owner: record.owner, devices: record.devices)
    }
}

extension Geofence: Delivering {
    var dataset: String { record.dataset }
    var delivery: Delivery {
        get { record.delivery }
        set { record.delivery = newValue }
    }
    var deliveryChange: DurableChange { .putDelivery(dataset: record.dataset, geofence: record.path, record.delivery) }
}

extension GeofenceRecord {
    /// Of its events.
    var recipient: Recipient { Recipient(dataset, owner, .geofence, id) }
}
