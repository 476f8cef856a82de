/// By how much a beacon is stronger than it says, as learned from one estimate of its place after the other.
///
/// All observers hear the same beacon: what all hear too strongly is the beacon's. From one moment's levels that is hardly told apart from
/// a place nearer to all of them; over minutes it is, for the beacon moves and its strength stays.
public struct BeaconStrength: Equatable, Sendable {
    /// dB.
    public private(set) var decibels = 0.0
    /// dB by which it may be wrong.
    public private(set) var deviation = 12.0
    private var estimates = 0.0

    /// dB: a beacon of which nothing is known, and one that was followed for a minute or more.
    private static let deviations = (first: 12.0, least: 1.5)
    /// So many estimates, one a second, weigh in the mean.
    private static let memory = 300.0

    public init() {}

    private init(deviation: Double) { self.deviation = deviation }

    /// It is as strong as it says, but for what differs between beacons of one kind.
    static let asSaid = BeaconStrength(deviation: 2)

    /// - Parameter seen: What one estimate came to, dB.
    public mutating func take(_ seen: Double) {
        guard seen.isFinite else { return }
        estimates = min(estimates + 1, Self.memory)
        decibels += (seen - decibels) / estimates
        deviation = max(Self.deviations.least, Self.deviations.first / (1 + estimates).squareRoot())
    }
}
