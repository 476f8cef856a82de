import Matching
import Places
import Records

/// A device as the hub holds it.
final class Device {
    var record: DeviceRecord
    let reference: DeviceRef
    /// The live topic its position came on; nil while it has none.
    var positionTopic: LiveState?
    /// Which geofences hold it, as published, and the position topic that this goes with.
    var presence: LiveState?
    var presenceOf: LiveState?
    /// Where it stays, in a dataset with places.
    var stay: DeviceStay?
    /// The numbers of its newest matches, oldest first.
    var matches: [Int64] = [] {
        didSet { validity?.end() }
    }
    /// Of what doors keep of its matches, see ``Devices/validity(of:)``.
    var validity: Validity?

    init(_ record: DeviceRecord, reference: DeviceRef) {
        self.record = record
        self.reference = reference
    }
}

/// Where a device stays: apart, for most devices are in datasets without places.
final class DeviceStay {
    var stay: Stay

    init(_ stay: Stay) { self.stay = stay }
}
