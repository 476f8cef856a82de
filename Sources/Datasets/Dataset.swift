import Geodesy
import LiveTopics
import Matching
import Ranging
import Selectors
import Wire
import Records

/// One tenant: its devices and what hangs on them, the engine that matches them, its counters.
///
/// Owned by the ``Hub``; nothing here knows of another dataset.
final class Dataset {
    var record: DatasetRecord {
        didSet {
            declarations &+= 1
            if record.timeZone != oldValue.timeZone { places.hours = PlaceHours(timeZone: record.timeZone) }
        }
    }
    /// Venues, buildings, floors, rooms and locations.
    var structure = Structure() {
        didSet { declarations &+= 1 }
    }
    /// Where positions are in the structure; made when first needed, and anew after each change.
    var locator: Locator?
    /// Rises with whatever may change what a strict dataset lets in.
    var declarations: UInt32 = 1
    /// Where it is derived: who is in which room.
    var occupancy: Occupancy?
    private(set) var engine: Engine
    private let engineLimits: EngineLimits
    var devices = ByteKeyed<Device>()
    var publications = ByteKeyed<Publication>()
    var subscriptions = ByteKeyed<Subscription>()
    /// Ids in the order lists give them.
    var deviceOrder = SortedIDs()
    /// Points of interest.
    let places: PlaceBook
    private(set) var circumstances = CircumstanceBook()
    /// By the engine's references, as the next two.
    private(set) var devicesByReference: [Device?] = []
    /// By the engine's references, which are dense and reused.
    private(set) var publicationsByReference: [Publication?] = []
    private(set) var subscriptionsByReference: [Subscription?] = []
    /// Which device has which beacon identity.
    var beacons: [BeaconKey: String] = [:]
    /// Which device carries which beacon.
    var carriers: [BeaconKey: String] = [:]
    /// Who sees which beacons, and what follows from it.
    var beaconField = BeaconField()
    /// Positions of ids that are no device, by id: taken over when it becomes one.
    var positionsWithoutDevice = ByteKeyed<LiveState>()
    /// Live topics with a known state; cleared ones are not counted.
    private(set) var liveTopicCount = 0
    var clearedStates = ClearedStates()
    /// The live topics with a known state by dense numbers, and who subscribed to them.
    var liveTopics = LiveTopicTable()
    var liveSubscriptions = LiveSubscriptions()
    var floors = Floors()
    /// When the structure was last changed, until positions were looked up in it again.
    var floorsOutdatedAt: Int64?
    /// Documents that are no objects of ours, those deleted and not yet forgotten included.
    var documentCount = 0
    /// What ended of late, for who asks why it did not match.
    var ended = EndedObjects()
    /// The instant of what is being handled; nothing is noted as ended before there is one.
    var instant: Int64 = .min
    /// How many live topics of each domain have a known state.
    var activeDomains: [String: Int] = [:]
    var updateCounters = UpdateCounters()
    var requestCounters = RequestCounters()
    let diagnostics: Diagnostics
    let matchAccount: MatchAccount
    var status = StatusReport()
    var replies = ReplyMemory()
    /// Positions that came in and were not yet shown to the engine, in order of arrival.
    var moves: [Move] = []
    /// Why what comes in for it waits.
    var suspension: Suspension? {
        didSet { isSuspended = suspension != nil || isLoading }
    }
    /// It is read again after a refusal. Time stands still, and what comes in waits.
    var isLoading = false {
        didSet { isSuspended = suspension != nil || isLoading }
    }
    /// What comes in waits: for one of these, or behind what waited for them.
    var isSuspended = false

    init(_ record: DatasetRecord, limits: HubLimits = HubLimits()) {
        self.record = record
        diagnostics = Diagnostics(of: record.id)
        matchAccount = MatchAccount(diagnostics)
        engineLimits = EngineLimits(partnersPerSubscription: limits.partnersPerSubscription, pairs: limits.pairs)
        engine = Engine(limits: engineLimits)
        places = PlaceBook(limit: limits.places, timeZone: record.timeZone)
    }

    var id: String { record.id }

    var isBeingDeleted: Bool { if case .deletion? = suspension { true } else { false } }
    /// Time brings nothing about.
    var isHalted: Bool { isLoading || isBeingDeleted }

    /// Lets go of everything the store gives back, before it does: devices and what hangs on them.
    ///
    /// Live state, counters, diagnostics and remembered replies stay.
    func reset() {
        for subscription in subscriptionsByReference { subscription?.isGone = true }
        engine = Engine(limits: engineLimits)
        devices.removeAll()
        deviceOrder = SortedIDs()
        publications.removeAll()
        subscriptions.removeAll()
        devicesByReference.removeAll()
        circumstances = CircumstanceBook()
        publicationsByReference.removeAll()
        subscriptionsByReference.removeAll()
        beacons.removeAll()
        carriers.removeAll()
        beaconField.monitors.reset()
        structure = Structure()
        locator = nil
        occupancy = nil
        positionsWithoutDevice.removeAll()
        moves.removeAll()
        documentCount = 0
    }

    /// A live topic has a state from now on, or none any more.
    func countLiveTopic(_ domain: String, by step: Int) {
        liveTopicCount += step
        activeDomains[domain, default: 0] += step
        if activeDomains[domain] == 0 { activeDomains[domain] = nil }
    }

    // MARK: Objects by reference

    func device(numbered number: UInt32) -> Device? {
        Int(number) < devicesByReference.count ? devicesByReference[Int(number)] : nil
    }

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
        if circumstances.isActive { circumstances.engine.restoreDevice(device.reference.index, device.identity) }
        if let beacon = device.record.beacon?.key { beacons[beacon] = device.record.id }
        if let carried = device.record.carries?.key { carriers[carried] = device.record.id }
        tieSights(of: device)
    }

    /// Forgets what the engine has already let go of.
    func forget(_ publication: Publication) {
        if instant != .min {
            let record = publication.record
            ended.publications.note(record, id: record.id, bytes: record.footprint, at: instant)
        }
        for number in publication.visitors {
            subscription(SubscriptionRef(index: number))?.visits[publication.reference.index] = nil
        }
        publications[publication.record.id] = nil
        publicationsByReference[Int(publication.reference.index)] = nil
    }

    func forget(_ subscription: Subscription) {
        if instant != .min {
            var record = subscription.record
            // Nothing is signed with it any more.
            record.secret = nil
            ended.subscriptions.note(record, id: record.id, bytes: record.footprint, at: instant)
        }
        for number in subscription.visits.keys {
            publication(PublicationRef(index: number))?.visitors.remove(subscription.reference.index)
        }
        subscription.isGone = true
        subscriptions[subscription.record.id] = nil
        subscriptionsByReference[Int(subscription.reference.index)] = nil
    }

    // What is removed here is not told: it was told already, or never was.

    func remove(_ publication: Publication) {
        var untold: [Effect] = []
        engine.removePublication(publication.reference, at: 0, into: &untold)
        forget(publication)
    }

    func remove(_ subscription: Subscription) {
        var untold: [Effect] = []
        engine.removeSubscription(subscription.reference, at: 0, into: &untold)
        forget(subscription)
    }

    /// Removes a device with what hangs on it.
    func remove(_ device: Device) {
        var untold: [Effect] = []
        let gone = engine.removeDevice(device.reference, at: 0, into: &untold)
        for reference in gone.publications {
            if let publication = publication(reference) { forget(publication) }
        }
        for reference in gone.subscriptions {
            if let subscription = subscription(reference) { forget(subscription) }
        }
        devices[device.record.id] = nil
        devicesByReference[Int(device.reference.index)] = nil
        circumstances.engine.removeDevice(device.reference.index)
        places.forget(device.record.id)
        // Its id counts as declared no longer.
        declarations &+= 1
        if let beacon = device.record.beacon?.key, beacons[beacon]?.hasSameBytes(as: device.record.id) == true {
            beacons[beacon] = nil
        }
        uncarry(device)
    }

    func publications(of device: Device) -> [Publication] {
        engine.publications(of: device.reference).compactMap(publication)
    }

    func subscriptions(of device: Device) -> [Subscription] {
        engine.subscriptions(of: device.reference).compactMap(subscription)
    }
}

extension Array {
    /// Stores at an index beyond the end, filling up with nil.
    fileprivate mutating func place<Wrapped>(_ element: Wrapped, at index: UInt32) where Element == Wrapped? {
        while count <= Int(index) { append(nil) }
        self[Int(index)] = element
    }
}
