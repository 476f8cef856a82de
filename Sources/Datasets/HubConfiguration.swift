import LiveTopics
import Records

/// What an operator decides about the hub.
public struct HubConfiguration: Sendable {
    /// How a door calls what leaves, in replies and diagnostics that name it.
    public var naming = Naming { dataset, client in "\(dataset)/\(client)/" }
    /// A first live update or a first `…/create` of an unknown dataset creates it.
    public var autoCreateDatasets = true
    /// Who administers which datasets.
    public var administrators = AccessPatterns(["admin"])
    /// Whether a client may name a dataset at all.
    public var mayName: @Sendable (_ dataset: String, _ client: String) -> Bool = { _, _ in true }
    /// What a client may see of a dataset's live data.
    public var reads: @Sendable (_ dataset: String, _ client: String) -> LiveReach = { _, _ in .all }
    /// Which of a dataset's live topics a client may publish.
    public var writes: @Sendable (_ dataset: String, _ client: String) -> LiveReach = { _, _ in .all }
    /// Rises whenever what these three say may have changed. From any thread.
    public var accessVersion: @Sendable () -> Int = { 0 }
    public var limits = HubLimits()
    /// Names that no dataset may have, as the topics below them are those of an adapter's filter, which is the value.
    public var reservedDatasets: [String: String] = [:]
    /// Webhooks may be posted to loopback, link-local and private addresses.
    public var webhooksAllowPrivate = false
    /// The push services that are set up.
    public var push = PushOffer()
    /// Makes the keys that requests ask for; nil: none are made.
    public var signKey: (@Sendable (KeyClaims) -> SignedKey)?
    /// Names this daemon's store.
    public var instance = ""

    /// Who serves what in the cluster; nil: the daemon is alone.
    public var clusterStatus: (@Sendable () -> ClusterStatus)?
    /// The datasets of others in the cluster.
    public var datasetsElsewhere: (@Sendable () -> [DatasetRecord])?
    /// How many those are, as of a moment ago: asked at each creation.
    public var datasetCountElsewhere: (@Sendable () -> Int)?
    /// What those hold as far as it is known, by name: an object with `activeDomains` and `counts`.
    public var contentsElsewhere: (@Sendable (_ datasets: [String]) -> [String: [UInt8]])?
    /// Takes the same of a dataset that is here, whenever it changed; nil: the dataset is gone.
    public var noteContents: (@Sendable (_ dataset: String, _ contents: [UInt8]?) -> Void)?
    /// Keys that others in the cluster make and delete, too; nil: the hub keeps all there are.
    public var keysElsewhere: KeysElsewhere?
    /// Which numbers matches and events get.
    public var numbering = Numbering()

    public init() {}

    /// Whether a client administers a dataset, or all of them (`*`).
    func administers(_ dataset: String, _ client: RequestingClient) -> Bool {
        client.onlyDataset.map { $0 == dataset } ?? true && administrators.allow(client: client.name, in: dataset)
    }

    /// Whether a client administers any dataset that there may be.
    func administersAny(_ client: RequestingClient) -> Bool {
        client.onlyDataset.map { administers($0, client) } ?? administrators.allowAnywhere(client: client.name)
    }
}

/// The keys of a cluster: a hub keeps those of its own datasets, and only writes the others.
public struct KeysElsewhere: Sendable {
    /// Whether the hub keeps the keys of a dataset.
    public var keeps: @Sendable (_ dataset: String) -> Bool
    /// What the store has of the keys of a dataset, or of those for all; none where it cannot be asked. Blocks.
    public var stored: @Sendable (_ dataset: String) -> [AccessKeyRecord]
    /// One that this hub does not keep was deleted.
    public var deleted: @Sendable (_ id: String) -> Void

    public init(
        keeps: @escaping @Sendable (_ dataset: String) -> Bool,
        stored: @escaping @Sendable (_ dataset: String) -> [AccessKeyRecord],
        deleted: @escaping @Sendable (_ id: String) -> Void
    ) {
        self.keeps = keeps
        self.stored = stored
        self.deleted = deleted
    }
}

/// Every so many-th number, so that those of several hubs on one store are never the same.
public struct Numbering: Sendable {
    public var step: Int64 = 1
    /// The remainder of each of its numbers.
    public var remainder: Int64 = 0

    public init(step: Int64 = 1, remainder: Int64 = 0) {
        self.step = step
        self.remainder = remainder
    }

    func next(after number: Int64) -> Int64 {
        let beyond = (number - remainder) % step
        return number + step - (beyond < 0 ? beyond + step : beyond)
    }
}

/// How much of a dataset's live data a client may see, or publish.
public enum LiveReach: Sendable {
    case all
    /// The topics of its name; managed subscriptions and snapshots also show those of its devices.
    case own
    case none
}

/// The maxima of the contract, each refused as `limit` beyond.
public struct HubLimits: Sendable {
    /// What a portion of long work may cost before others have their turn: about a millisecond of one core.
    var portion = Hub.searchEffort
    public var datasets = 10_000
    /// For each dataset.
    public var liveTopics = 1_000_000
    /// Bytes of live states, for each dataset.
    public var liveBytes = 1 << 30
    /// Percent of a dataset's maximum of devices, live topics, places, categories and documents that one client may hold.
    public var clientShare = 50
    /// For each dataset.
    public var devices = 1_000_000
    /// Venues, buildings, floors, rooms and locations together, for each dataset.
    public var structureObjects = 100_000
    /// For each dataset.
    public var places = 20_000_000
    /// For each dataset.
    public var categories = 100_000
    /// For each client.
    public var circumstances = 1000
    /// For each client.
    public var geofences = 10_000
    /// How long a device that is not heard of counts as being in its room.
    public var occupancySilenceSeconds = 600
    /// For each device, publications and subscriptions each.
    public var attachmentsPerDevice = 1000
    /// For each client.
    public var rememberedReplies = 10_000
    /// Bytes of remembered replies, for each dataset: the oldest go first.
    public var rememberedReplyBytes = 64 << 20
    /// Matches that wait for delivery, for each dataset; beyond, a match is dropped and counted.
    public var pendingMatches = 100_000
    /// For each client of a dataset.
    public var liveSubscriptions = 10_000
    /// Seconds: the longest lease.
    public var leaseSeconds = 86_400.0
    /// Messages that wait at the link from which on live subscribers get the newest of each topic only.
    public var liveBacklog = 10_000
    /// Documents that are no objects of ours, for each dataset.
    public var documents = 10_000_000
    /// Clients that follow the change feed, for each dataset.
    public var followers = 10_000
    /// Topics held back for live subscribers, of all datasets; beyond, messages are dropped and counted.
    public var heldLiveTopics = 1_000_000
    /// The same for each client.
    public var pendingMatchesPerClient = 20_000
    /// Publications remembered for each subscription: beyond, no more match it. Counted as dropped.
    public var partnersPerSubscription = 10_000
    /// Pairs of publication and subscription remembered, for each dataset. Beyond, no more match.
    public var pairs = 10_000_000
    /// Beacons one observer sees at a time, and sightings it sends a second.
    public var beaconsPerObserver = 1000
    public var sightingsPerSecond = 1000
    /// Pairs of an observer and a beacon it sees at a time, for each dataset.
    public var beaconsInSight = 5_000_000
    /// For each client.
    public var beaconMonitors = 100
    /// Of all datasets together.
    public var accessKeys = 100_000
    /// Matches sent and not known to have arrived.
    public var inflightMatches = 1000
    /// Updates that wait for a suspended dataset, until newer ones replace those of their topic.
    public var waitingUpdates = 100_000
    /// Bytes of updates that wait for a suspended dataset: beyond, they only replace older ones of their topic.
    public var waitingUpdateBytes = 256 << 20
    /// Requests that wait for a suspended dataset.
    public var waitingRequests = 10_000
    /// The same in bytes.
    public var waitingRequestBytes = 64 << 20

    public init() {}

    /// How much of a maximum one client may hold that is no administrator.
    func share(of maximum: Int) -> Int { maximum / 100 * clientShare + (maximum % 100 * clientShare + 99) / 100 }
}

/// Patterns of a client (`admin`, `ops-*`), or of a dataset and a client (`museum/ops-*`); `*` matches any run of characters.
public struct AccessPatterns: Equatable, Sendable {
    public let patterns: [String]

    public init(_ patterns: [String]) { self.patterns = patterns }

    /// Whether one of the patterns names this client, in this dataset or in any.
    public func allow(client: String, in dataset: String) -> Bool {
        for pattern in patterns {
            if let slash = pattern.utf8.firstIndex(of: UInt8(ascii: "/")) {
                let after = pattern.utf8.index(after: slash)
                if Self.matches(Substring(pattern[..<slash]).utf8, dataset.utf8),
                    Self.matches(Substring(pattern[after...]).utf8, client.utf8)
                {
                    return true
                }
            } else if Self.matches(Substring(pattern).utf8, client.utf8) {
                return true
            }
        }
        return false
    }

    /// Whether one of the patterns names this client in some dataset.
    public func allowAnywhere(client: String) -> Bool {
        patterns.contains { pattern in
            let parts = pattern.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            return parts.last.map { Self.matches($0, client.utf8) } ?? false
        }
    }

    /// Greedy wildcard match in linear space and at worst quadratic time over names of at most 64 bytes.
    private static func matches(_ pattern: Substring.UTF8View, _ name: String.UTF8View) -> Bool {
        let p = Array(pattern)
        let n = Array(name)
        var i = 0
        var j = 0
        var star = -1
        var resume = 0
        while j < n.count {
            if i < p.count, p[i] == UInt8(ascii: "*") {
                star = i
                resume = j
                i += 1
            } else if i < p.count, p[i] == n[j] {
                i += 1
                j += 1
            } else if star >= 0 {
                i = star + 1
                resume += 1
                j = resume
            } else {
                return false
            }
        }
        while i < p.count, p[i] == UInt8(ascii: "*") { i += 1 }
        return i == p.count
    }
}
