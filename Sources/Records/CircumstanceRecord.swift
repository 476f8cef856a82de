import Circumstances

/// What one circumstance is durably. Its id is known once in its dataset.
public struct CircumstanceRecord: Equatable, Sendable {
    public var dataset: String
    public var id: String
    /// The client that registered it, whose tree it is told in.
    public var owner: String
    /// As it was sent.
    public var expression: String
    /// nil: it is evaluated on demand only.
    public var trigger: CircumstanceRule.Trigger?
    public var name: String?
    public var tags: [String]
    /// Ids and groups of devices; empty for its owner's and those without an owner.
    public var devices: [String]
    /// Metres.
    public var nearRadius: Double
    /// Metres.
    public var exitMargin: Double
    /// A trace goes with each message.
    public var debug: Bool
    public var isEnabled: Bool
    public var createdAt: Int64
    public var updatedAt: Int64
    public var revision: String

    public init(
        dataset: String, id: String, owner: String, expression: String, trigger: CircumstanceRule.Trigger? = nil,
        name: String? = nil, tags: [String] = [], devices: [String] = [], nearRadius: Double = 250, exitMargin: Double = 10,
        debug: Bool = false, isEnabled: Bool = true, createdAt: Int64, updatedAt: Int64, revision: String = ""
    ) {
        self.dataset = dataset
        self.id = id
        self.owner = owner
        self.expression = expression
        self.trigger = trigger
        self.name = name
        self.tags = tags
        self.devices = devices
        self.nearRadius = nearRadius
        self.exitMargin = exitMargin
        self.debug = debug
        self.isEnabled = isEnabled
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

/// The last definite value of a circumstance for a device was true.
public struct HeldRecord: Equatable, Sendable {
    public var dataset: String
    public var circumstanceID: String
    public var deviceID: String

    public init(dataset: String, circumstanceID: String, deviceID: String) {
        self.dataset = dataset
        self.circumstanceID = circumstanceID
        self.deviceID = deviceID
    }
}

/// The visits of a device to a place.
public struct PlaceVisitRecord: Equatable, Sendable {
    public var dataset: String
    public var deviceID: String
    public var visits: VisitRow

    public init(dataset: String, deviceID: String, visits: VisitRow) {
        self.dataset = dataset
        self.deviceID = deviceID
        self.visits = visits
    }
}

/// Since when a device is where it is.
public struct StayRecord: Equatable, Sendable {
    public var dataset: String
    public var deviceID: String
    public var stay: StayRow

    public init(dataset: String, deviceID: String, stay: StayRow) {
        self.dataset = dataset
        self.deviceID = deviceID
        self.stay = stay
    }
}

/// A message that a circumstance occurred, or that a region of beacons was entered or left, until the broker has it.
public struct IncidentRecord: Equatable, Sendable {
    /// What an incident is about; also the level of its topic.
    public enum Source: String, Sendable, CaseIterable {
        case circumstance
        case beacon
    }

    /// Of the same sequence as the numbers of matches: the order of delivery.
    public var number: Int64
    public var dataset: String
    public var id: String
    public var source: Source
    /// Of the circumstance, or of the monitor.
    public var sourceID: String
    /// Whose tree it is delivered to.
    public var owner: String
    public var createdAt: Int64
    /// The JSON as published.
    public var body: [UInt8]

    public init(
        number: Int64, dataset: String, id: String, source: Source, sourceID: String, owner: String, createdAt: Int64,
        body: [UInt8]
    ) {
        self.number = number
        self.dataset = dataset
        self.id = id
        self.source = source
        self.sourceID = sourceID
        self.owner = owner
        self.createdAt = createdAt
        self.body = body
    }
}
