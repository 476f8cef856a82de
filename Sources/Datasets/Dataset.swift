import Geodesy
import LiveTopics
import Matching
import Selectors
import Wire

/// One tenant: its devices and what hangs on them, the engine that matches them, its counters.
///
/// Owned by the ``Hub``; nothing here knows of another dataset.
final class Dataset {
    var record: DatasetRecord
    private(set) var engine = Engine()
    var devices: [String: Device] = [:]
    var publications: [String: Publication] = [:]
    var subscriptions: [String: Subscription] = [:]
    /// Ids in the order lists give them.
    var deviceOrder = SortedIDs()
    /// By the engine's references, which are dense and reused.
    private(set) var publicationsByReference: [Publication?] = []
    private(set) var subscriptionsByReference: [Subscription?] = []
    /// By the engine's references.
    private(set) var devicesByReference: [Device?] = []
    /// Which device has which beacon identity.
    var beacons: [BeaconIdentity: String] = [:]
    /// Positions of ids that are no device, by id: taken over when it becomes one.
    var positionsWithoutDevice: [String: LiveState] = [:]
    /// Live topics with a known state; cleared ones are not counted.
    private(set) var liveTopicCount = 0
    /// How many live topics of each domain have a known state.
    var activeDomains: [String: Int] = [:]
    var counters = DatasetCounters()
    var diagnostics = DiagnosticsWindow()
    var replies = ReplyMemory()
    /// Positions that came in and were not yet shown to the engine, in order of arrival.
    var moves: [Move] = []
    /// Subscriptions whose delivery counters changed since they were last made durable.
    var deliveriesChanged: [Subscription] = []
    /// The status message as last published, and when.
    var statusTold: [UInt8] = []
    var statusToldAt: Int64 = .min

    init(_ record: DatasetRecord) { self.record = record }

    var id: String { record.id }

    /// Lets go of everything the store gives back, before it does: devices and what hangs on them.
    ///
    /// Live state, counters, diagnostics and remembered replies stay.
    func reset() {
        engine = Engine()
        devices.removeAll()
        deviceOrder = SortedIDs()
        publications.removeAll()
        subscriptions.removeAll()
        publicationsByReference.removeAll()
        subscriptionsByReference.removeAll()
        devicesByReference.removeAll()
        beacons.removeAll()
        positionsWithoutDevice.removeAll()
        moves.removeAll()
        deliveriesChanged.removeAll()
    }

    /// A live topic has a state from now on, or none any more.
    func countLiveTopic(_ domain: String, by step: Int) {
        liveTopicCount += step
        activeDomains[domain, default: 0] += step
        if activeDomains[domain] == 0 { activeDomains[domain] = nil }
    }

    // MARK: Objects by reference

    func publication(_ reference: PublicationRef) -> Publication? {
        let index = Int(reference.index)
        return index < publicationsByReference.count ? publicationsByReference[index] : nil
    }

    func subscription(_ reference: SubscriptionRef) -> Subscription? {
        let index = Int(reference.index)
        return index < subscriptionsByReference.count ? subscriptionsByReference[index] : nil
    }

    func register(_ publication: Publication) {
        publications[publication.record.id] = publication
        publicationsByReference.place(publication, at: publication.reference.index)
    }

    func register(_ subscription: Subscription) {
        subscriptions[subscription.record.id] = subscription
        subscriptionsByReference.place(subscription, at: subscription.reference.index)
    }

    func register(_ device: Device) {
        devices[device.record.id] = device
        deviceOrder.insert(device.record.id)
        devicesByReference.place(device, at: device.reference.index)
        if let beacon = device.record.beacon { beacons[beacon] = device.record.id }
    }

    func device(_ reference: DeviceRef) -> Device? {
        let index = Int(reference.index)
        return index < devicesByReference.count ? devicesByReference[index] : nil
    }

    /// Forgets what the engine has already let go of.
    func forget(_ publication: Publication) {
        publications[publication.record.id] = nil
        publicationsByReference[Int(publication.reference.index)] = nil
    }

    func forget(_ subscription: Subscription) {
        subscriptions[subscription.record.id] = nil
        subscriptionsByReference[Int(subscription.reference.index)] = nil
    }

    func remove(_ publication: Publication) {
        engine.removePublication(publication.reference)
        forget(publication)
    }

    func remove(_ subscription: Subscription) {
        engine.removeSubscription(subscription.reference)
        forget(subscription)
    }

    /// Removes a device with what hangs on it.
    func remove(_ device: Device) {
        let gone = engine.removeDevice(device.reference)
        for reference in gone.publications {
            if let publication = publication(reference) { forget(publication) }
        }
        for reference in gone.subscriptions {
            if let subscription = subscription(reference) { forget(subscription) }
        }
        devices[device.record.id] = nil
        deviceOrder.remove(device.record.id)
        devicesByReference[Int(device.reference.index)] = nil
        if let beacon = device.record.beacon, beacons[beacon] == device.record.id { beacons[beacon] = nil }
    }

    func publications(of device: Device) -> [Publication] {
        engine.publications(of: device.reference).compactMap(publication)
    }

    func subscriptions(of device: Device) -> [Subscription] {
        engine.subscriptions(of: device.reference).compactMap(subscription)
    }

    /// Whether a client may read, change or attach to an object: its owner may, anybody where it has none, administrators always.
    func allows(_ client: RequestingClient, owner: String?) -> Bool {
        owner == nil || owner == client.name || client.isAdministrator
    }
}

extension Array {
    /// Stores at an index beyond the end, filling up with nil.
    fileprivate mutating func place<Wrapped>(_ element: Wrapped, at index: UInt32) where Element == Wrapped? {
        while count <= Int(index) { append(nil) }
        self[Int(index)] = element
    }
}

/// Who asks.
struct RequestingClient {
    var name: String
    var isAdministrator: Bool
}

/// A device as the hub holds it.
final class Device {
    var record: DeviceRecord
    let reference: DeviceRef
    /// The live topic its position came on; nil while it stands nowhere.
    var positionTopic: LiveState?
    /// The numbers of its newest matches, oldest first.
    var matches: [Int64] = []

    init(_ record: DeviceRecord, reference: DeviceRef) {
        self.record = record
        self.reference = reference
    }
}

/// A publication as the hub holds it.
final class Publication {
    var record: PublicationRecord
    let reference: PublicationRef
    var expiresAt: Int64 { deadline(from: record.createdAt, duration: record.duration) }

    init(_ record: PublicationRecord, reference: PublicationRef) {
        self.record = record
        self.reference = reference
    }
}

/// A subscription as the hub holds it.
final class Subscription {
    var record: SubscriptionRecord
    let reference: SubscriptionRef
    /// Stands in the dataset's list of changed deliveries.
    var deliveryChanged = false
    var expiresAt: Int64 { deadline(from: record.createdAt, duration: record.duration) }

    init(_ record: SubscriptionRecord, reference: SubscriptionRef) {
        self.record = record
        self.reference = reference
    }
}

/// The last known state of a live topic, or that it was cleared.
final class LiveState {
    let dataset: Dataset
    /// The seven levels, encoded and normalised.
    let topic: String
    let domain: String
    let itemID: String
    var timestamp: Int64
    var receivedAt: Int64
    /// The number of the `live/…` message that told it.
    var number: Int64
    /// The `live/…` message; nil when cleared.
    var payload: [UInt8]?
    /// Changed since it was last made durable.
    var dirty = false
    /// The device this position moves.
    var device: Device?

    init(
        dataset: Dataset, topic: String, domain: String, itemID: String, timestamp: Int64, receivedAt: Int64, number: Int64,
        payload: [UInt8]?
    ) {
        self.dataset = dataset
        self.topic = topic
        self.domain = domain
        self.itemID = itemID
        self.timestamp = timestamp
        self.receivedAt = receivedAt
        self.number = number
        self.payload = payload
    }
}

/// When something created then with this duration in seconds ceases to live; durations have no upper limit.
func deadline(from createdAt: Int64, duration: Double) -> Int64 {
    let milliseconds = duration * 1000
    guard milliseconds < 4e18 else { return .max }
    let sum = createdAt.addingReportingOverflow(Int64(milliseconds.rounded(.up)))
    return sum.overflow ? .max : sum.partialValue
}
