/// What one message of another ecosystem says, in native payloads.
public struct AdapterReadings {
    /// One live update without its topic.
    public struct Reading: Equatable, Sendable {
        /// What it is about: the `location` level where nothing else is configured. Decoded.
        public var item: String
        /// The item has an identity of its own, which a configured `location` does not replace.
        public var keepsItem = false
        public var domain: String
        /// A native payload; empty clears the state.
        public var payload: [UInt8]
    }

    /// A message that speaks of more than this is refused.
    static let maximum = 1000
    /// So that a native payload of sightings stays far below 64 KiB.
    static let sightingsMaximum = 100

    public private(set) var all: [Reading] = []
    /// Sightings that are not yet a payload, of one observer.
    private var sightings = JSONWriter()
    private var sightingCount = 0
    private var observer = ""
    /// The broker replayed the message.
    private let isRetained: Bool

    public init(isRetained: Bool = false) {
        self.isRetained = isRetained
    }

    mutating func add(_ payload: [UInt8], of domain: String, item: String, keepsItem: Bool = false) throws(WireError) {
        guard all.count < Self.maximum else {
            throw WireError(.tooLarge, "the payload speaks of more than \(Self.maximum) things")
        }
        all.append(Reading(item: item, keepsItem: keepsItem, domain: domain, payload: payload))
    }

    mutating func clear(_ domain: String, item: String) {
        all.append(Reading(item: item, domain: domain, payload: []))
    }

    mutating func add(_ position: AdaptedPosition, item: String, extras: [JSONNode] = [], except: [String] = []) throws(WireError)
    {
        try add(position.payload(extras: extras, except: except), of: KnownDomain.position.rawValue, item: item)
    }

    /// Adds what an observer saw. What the broker kept says nothing of now unless it says when it was.
    mutating func add(_ sighting: AdaptedSighting, observer: String) throws(WireError) {
        if isRetained, sighting.timestamp == nil { return }
        if sightingCount == Self.sightingsMaximum || !self.observer.utf8.elementsEqual(observer.utf8) { try endSightings() }
        if sightingCount == 0 {
            sightings.beginObject()
            sightings.key("sightings")
            sightings.beginArray()
        }
        self.observer = observer
        sightingCount += 1
        sighting.write(into: &sightings)
    }

    /// To be called once when all is added.
    mutating func endSightings() throws(WireError) {
        guard sightingCount > 0 else { return }
        sightings.endArray()
        sightings.endObject()
        try add(sightings.bytes, of: KnownDomain.proximity.rawValue, item: observer)
        sightings = JSONWriter()
        sightingCount = 0
    }
}
