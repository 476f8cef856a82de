import Glibc

/// How often places are visited at the time that is asked about, in relation to one another.
///
/// Visits are taken to be proportional to 1 + placerank; where a rank is not known, the mean of the others is used.
/// What was verified counts beside that as if ``rankVisits`` visits had been seen of a mean place before.
struct CandidatePrior {
    /// Their mean is about 1.
    private(set) var weights: [Double]
    /// The weight of being at no known place, for each square metre: a quarter of what the places around draw together, so
    /// that a fifth of all time is spent at none of them.
    let background: Double

    /// What the rank of a mean place is worth in verified visits.
    private static let rankVisits = 5.0
    /// How much rarer a visit is to a place that is closed, and to one of which it is not known whether it is.
    private static let closed = 0.05
    private static let unknown = 0.8
    private static let rankMax = 1e15
    /// Three hours of a week.
    private static let hourShare = 3.0 / 168
    /// How many verified visits it takes until their hours count as much as nothing known.
    private static let hourVisits = 20.0
    /// Of who is in an outline that has other places inside, so many are at one of these.
    static let shareOfInside = 0.7
    /// Of who is in an outline and at no other place, so many are at the outline's own; the others only pass through.
    static let shareOfOutline = 0.8
    /// An outline is never smaller than the place a person takes, in square metres.
    static let outlineMin = 10.0

    /// Who stays is at a place: of those at none, e to the minus one are left after so many seconds, and so many at least.
    private static let pause = (seconds: 600.0, left: 0.1)

    /// - Parameters:
    ///   - reach: Within so many metres these are all places there are.
    ///   - stayed: Seconds for which the device has been where it is.
    init(ranks: [Double?], evidence: [PlaceEvidence], reach: Double, stayed: Double = 0) {
        // Half a place in half a thousandth of a square kilometre was seen before: a single one does not make a density.
        let density = (Double(ranks.count) + 0.5) / (.pi * reach * reach + 500)
        background = 0.25 * density * max(Self.pause.left, exp(-max(0, stayed) / Self.pause.seconds))
        // Of very many of the largest, the sum is still a number.
        let known = ranks.map { rank in rank.map { 1 + min(max(0, $0), Self.rankMax) } }
        let sum = known.reduce(0) { $0 + ($1 ?? 0) }
        let mean = sum > 0 ? sum / Double(known.count { $0 != nil }) : 1
        weights = zip(known, evidence).map { rank, evidence in
            let visits = max(0, evidence.verifications)
            let popularity = ((rank ?? mean) / mean * Self.rankVisits + visits) / Self.rankVisits
            let hours = (max(0, evidence.verificationsAtThisHour) + Self.hourVisits * Self.hourShare) / (visits + Self.hourVisits)
            let openness = evidence.isOpen.map { $0 ? 1 : Self.closed } ?? Self.unknown
            return popularity * hours / Self.hourShare * openness
        }
    }
}
