import Datasets
import Glibc

/// How often what took how long.
public struct Histogram: Sendable {
    /// The upper bounds in seconds; what is beyond the last is counted, too.
    public static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// Up to and including each bound, not summed up; one more for what is beyond.
    public private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    public private(set) var count = 0
    public private(set) var seconds = 0.0

    public init() {}

    public mutating func note(_ seconds: Double) {
        let seconds = max(0, seconds)
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        count += 1
        self.seconds += seconds
    }

    /// Adds what another counted.
    public mutating func add(_ other: Histogram) {
        for (index, number) in other.counts.enumerated() { counts[index] += number }
        count += other.count
        seconds += other.seconds
    }

    /// In milliseconds, to the bounds; what is beyond the last counts as that.
    var latency: DaemonFigures.Latency { DaemonFigures.Latency(half: milliseconds(of: 0.5), mostly: milliseconds(of: 0.99)) }

    private func milliseconds(of share: Double) -> Double? {
        guard count > 0 else { return nil }
        var left = Int((Double(count) * share).rounded(.up))
        let index = counts.firstIndex { part in
            left -= part
            return left <= 0
        }
        return Self.bounds[min(index ?? .max, Self.bounds.count - 1)] * 1000
    }
}

/// What the loop measures of itself, for those who monitor the daemon.
public struct Meters: Sendable {
    /// From a request's arrival to its reply.
    public var requests = Histogram()
    /// From a change to its being durable.
    public var commits = Histogram()
    /// How often notifications could leave again.
    public var openings = 0
    /// Of the filters that were asked for on this connection, those that the broker refused.
    public var refusedSubscriptions = 0
    /// Posts to webhooks and push services.
    public private(set) var posts: [PostLabels: Int] = [:]
    /// For how many minutes each service took nothing for a reason that the operator has to mend.
    public var pushFaults: [PushKind: Int] = [:]

    /// What is said of a post.
    public struct PostLabels: Hashable, Sendable {
        public var kind: String
        public var outcome: String

        public init(_ kind: String, _ outcome: String) {
            self.kind = kind
            self.outcome = outcome
        }

        /// All that can be said, in order.
        public static let all: [PostLabels] =
            ["taken", "refused", "failed"].map { PostLabels("webhook", $0) }
            + PushKind.allCases.flatMap { kind in
                ["taken", "refused", "failed", "gone", "misconfigured"].map { PostLabels(kind.rawValue, $0) }
            }
    }

    public init() {}

    /// Adds what another loop measured.
    public mutating func add(_ other: Meters) {
        requests.add(other.requests)
        commits.add(other.commits)
        // The first opening of each is none of a loop that was online before.
        openings = max(1, openings) + max(0, other.openings - 1)
        refusedSubscriptions += other.refusedSubscriptions
        posts.merge(other.posts, uniquingKeysWith: +)
        pushFaults.merge(other.pushFaults, uniquingKeysWith: +)
    }

    mutating func count(_ outcome: PostOutcome, of kind: String) {
        let word =
            switch outcome {
            case .taken: "taken"
            case .refused: "refused"
            case .failed: "failed"
            case .gone: "gone"
            case .misconfigured: "misconfigured"
            }
        posts[PostLabels(kind, word), default: 0] += 1
    }

    /// Seconds of a clock that is never set.
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
