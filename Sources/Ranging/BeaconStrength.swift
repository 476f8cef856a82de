/// By how much a beacon is stronger than it says, as learned from one step after the other.
///
/// All observers hear the same beacon: what all hear too strongly is the beacon's. From one moment's levels that is hard to distinguish
/// from a place nearer to all of them; over minutes it is, for the beacon moves and its strength stays.
struct BeaconStrength: Equatable, Sendable {
    /// dB.
    private(set) var decibels = 0.0
    /// dB by which it may be wrong.
    var deviation: Double { max(Self.deviations.least, Self.deviations.first / (1 + seconds).squareRoot()) }
    private var seconds = 0.0

    /// dB: a beacon of which nothing is known, and one that was followed for a while.
    private static let deviations = (first: 12.0, least: 4.0)
    /// So many seconds weigh in the mean.
    private static let memory = 300.0

    /// - Parameter seen: What a step of so many seconds came to, dB.
    mutating func take(_ seen: Double, seconds: Double) {
        guard seen.isFinite else { return }
        self.seconds = min(self.seconds + seconds, Self.memory)
        decibels += (seen - decibels) * min(1, seconds / max(1, self.seconds))
    }
}
