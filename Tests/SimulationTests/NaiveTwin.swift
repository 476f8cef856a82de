import Geodesy

/// What the daemon should have done, by the shortest code that says so.
///
/// It is given what the daemon was handed, in that order, and which of it a crash undid. Where it cannot know (a position after a
/// crash, until the device tells another) it expects nothing.
struct NaiveTwin {
    struct Publication {
        var device: String
        var topic: String
        var range: Double
        var expiresAt: Int64
        var kind: Int
    }

    struct Subscription {
        var device: String
        var topic: String
        var range: Double
        var expiresAt: Int64
        var selector: SelectorChoice
        var excludesSelf: Bool
        var isVisit: Bool
    }

    enum SelectorChoice: String, CaseIterable {
        case all = ""
        case one = "k = 1"
        case positive = "k > 0"
        case none = "absent = 1"

        func isTrue(of kind: Int) -> Bool {
            switch self {
            case .all: true
            case .one: kind == 1
            case .positive: kind > 0
            case .none: false
            }
        }
    }

    struct Pair: Hashable, Comparable {
        var subscription: String
        var publication: String
        static func < (a: Pair, b: Pair) -> Bool { (a.subscription, a.publication) < (b.subscription, b.publication) }
    }

    /// Where devices stand; nil where nobody can know.
    private(set) var positions: [String: (place: Int, timestamp: Int64)] = [:]
    var publications: [String: Publication] = [:]
    var subscriptions: [String: Subscription] = [:]
    /// Pairs of `once` that were in range when they were looked at, and whose match no crash undid.
    private(set) var met: Set<Pair> = []
    /// When the last crash was.
    private var knowsSince: Int64 = .min
    /// Every position a device has reported.
    private(set) var visited: [String: Set<Int>] = [:]

    static let metresBetweenPlaces = 25.0
    /// Of every visit, metres: one of the places lies within it, at the longest reach.
    static let exitMargin = 8.0
    /// Of every other visit, seconds: lives end and begin meanwhile.
    static let dwell = 5

    /// Places on a meridian, far enough from any boundary: ranges end between them.
    static func latitude(of place: Int) -> Double { 40 + Double(place) * metresBetweenPlaces / 111_035.0 }
    static let longitude = 7.0

    static func distance(_ a: Int, _ b: Int) -> Double {
        Geodesic.distance(
            fromLatitude: latitude(of: a), fromLongitude: longitude, toLatitude: latitude(of: b), toLongitude: longitude)
    }

    /// - Returns: Whether it is newer than what was known.
    mutating func move(_ device: String, to place: Int, timestamp: Int64, at now: Int64) {
        visited[device, default: []].insert(place)
        // From before a crash: the daemon may know a newer one, or have lost it.
        guard timestamp >= knowsSince else { return }
        if let known = positions[device], timestamp < known.timestamp { return }
        positions[device] = (place, timestamp)
        evaluate(at: now)
    }

    func isAlive(_ pair: Pair, at now: Int64) -> Bool {
        guard let publication = publications[pair.publication], let subscription = subscriptions[pair.subscription] else {
            return false
        }
        return publication.expiresAt > now && subscription.expiresAt > now
    }

    /// In range, alive, equal topics, selector TRUE; nil where that cannot be known.
    func isMeeting(_ pair: Pair, at now: Int64) -> Bool? {
        guard isAlive(pair, at: now), let publication = publications[pair.publication],
            let subscription = subscriptions[pair.subscription]
        else { return false }
        guard publication.topic == subscription.topic, subscription.selector.isTrue(of: publication.kind),
            !(subscription.excludesSelf && publication.device == subscription.device)
        else { return false }
        guard let a = positions[publication.device]?.place, let b = positions[subscription.device]?.place else { return nil }
        let beyond = Self.distance(a, b) - publication.range - subscription.range
        // Just outside, a visit goes on if there is one.
        if subscription.isVisit, beyond > 0, beyond <= Self.exitMargin { return nil }
        return beyond <= 0
    }

    mutating func evaluate(at now: Int64) {
        for (id, subscription) in subscriptions where !subscription.isVisit {
            for other in publications.keys {
                let pair = Pair(subscription: id, publication: other)
                if isMeeting(pair, at: now) == true { met.insert(pair) }
            }
        }
    }

    /// The process died: what it had not written did not happen.
    mutating func crash(at now: Int64, isDurable: (Pair) -> Bool) {
        knowsSince = now
        positions = [:]
        met = met.filter(isDurable)
    }
}
