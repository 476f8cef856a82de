/// What becomes of a match, or of one of its targets: the later, the worse.
public enum MatchFate: String, Sendable, CaseIterable, Comparable {
    case delivered
    /// A target gave up after its hour.
    case expired
    /// Refused for good, or over a maximum.
    case dropped

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// As it is stored.
    public var rank: Int {
        switch self {
        case .delivered: 0
        case .expired: 1
        case .dropped: 2
        }
    }

    public init?(rank: Int) {
        guard let fate = Self.allCases.first(where: { $0.rank == rank }) else { return nil }
        self = fate
    }
}
