import LiveTopics
import Records
import Wire

/// The last known state of a live topic, or that it was cleared.
final class LiveState {
    let dataset: Dataset
    /// The seven levels, encoded and normalised.
    let topic: String
    let domain: String
    let itemID: String
    /// It is the position of what its `location` level names: of a device, where there is one of this id.
    let namesDevice: Bool
    /// It says where a device is, or who is near whom: what a dataset may keep private.
    let isWhereabouts: Bool
    /// Its topic has a `location` level.
    let hasLocation: Bool
    /// Its number among the topics of its dataset, while it is known.
    var topicNumber: UInt32 = 0
    /// Whose criteria want its topic, as last looked up.
    var subscribers = CriteriaMemo()
    /// Its message before it was cleared while the door was closed.
    var lastPayload: [UInt8]?
    /// When it was true; of a cleared state from when on it was not.
    var timestamp: Int64 = .min
    var receivedAt: Int64 = .min
    /// The number of the `live/…` message that reported it; 0 while nothing is known.
    var number: Int64 = 0
    /// The `live/…` message; nil when cleared.
    var payload: [UInt8]? {
        didSet { dataset.liveBytes += (payload?.count ?? 0) - (oldValue?.count ?? 0) }
    }
    /// The client whose share of live topics it counts for.
    var holder: String?
    /// The daemon worked it out itself.
    var isDerived = false
    /// As of which of its dataset's declarations its topic was found to be declared.
    var declaredAsOf: UInt32 = 0
    /// The floor its topic names, once that was asked for.
    var floor: Floors.Place?
    /// The device whose position this is; nil where its position is another, or it is no device.
    var device: Device?
    /// Where it is in the table, and the hash it is found by; both belong to ``LiveStates``.
    var slot = -1
    var hash: UInt32 = 0

    init(dataset: Dataset, live: LiveTopic, topic: String) {
        self.dataset = dataset
        self.topic = topic
        domain = live.domain
        itemID = live.itemID
        hasLocation = live.location != LiveTopic.notApplicable
        namesDevice = live.domain == "position" && hasLocation
        isWhereabouts = KnownDomain.isWhereabouts(live.domain)
    }

    /// What may be a device with an owner.
    var item: String? { hasLocation ? itemID : nil }

    /// It says which beacons an observer sees.
    var tellsSightings: Bool { domain == KnownDomain.proximity.rawValue }

    /// It is for the owner of its device and for administrators only.
    var isPrivate: Bool { isWhereabouts && dataset.hidesPositions }

    /// Former versions published it wherever positions are private.
    var wasPublicOnce: Bool { isWhereabouts && KnownDomain(rawValue: domain) == nil }

    /// What the time of an update is compared with: when it was true, or where that lies ahead, when it arrived. Where both lie
    /// ahead nothing is late: so no clock, wrong or forged, keeps a device from being heard of.
    func time(at now: Int64) -> Int64 {
        if timestamp <= now { return timestamp }
        return receivedAt <= now ? receivedAt : .min
    }

    /// The same for what is sent: what the daemon worked out makes nothing that is sent late.
    func sentTime(at now: Int64) -> Int64 { isDerived ? .min : time(at: now) }

    /// It is in the table: something is known of its topic, be it that it was cleared.
    var isKnown: Bool { slot >= 0 }
}
