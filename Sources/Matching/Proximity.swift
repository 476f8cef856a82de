import Geodesy

/// How far two sides are from each other and how far they may be, decided as the engine decides it.
public struct Proximity: Equatable, Sendable {
    /// Metres along the ellipsoid between the two positions, right to 1 cm.
    public var distance: Double
    /// Metres: the sum of both ranges.
    public var reach: Double
    /// Metres that the accuracies take off the distance (negative) or add to it.
    public var allowance: Double
    /// False: under `likely` the fixes are too coarse to decide.
    public var isUsable: Bool
    /// Whether a meeting would find the two in range.
    public var isInRange: Bool

    /// - Parameters:
    ///   - publication: Valid degrees, as `subscription`.
    ///   - publicationRange: Metres, 0…5120; what lies outside counts as the nearest, as for `subscriptionRange`.
    public init(
        publication: Position, range publicationRange: Double, subscription: Position, range subscriptionRange: Double,
        accuracy: MatchOptions.Accuracy
    ) {
        distance = Geodesic.distance(
            fromLatitude: publication.latitude, fromLongitude: publication.longitude, toLatitude: subscription.latitude,
            toLongitude: subscription.longitude)
        reach = publicationRange + subscriptionRange
        let accuracies = Self.counted(publication) + Self.counted(subscription)
        let likely = Self.likelyAccuracy(Self.counted(publication), Self.counted(subscription))
        allowance =
            switch accuracy {
            case .centre: 0
            case .possible: -accuracies
            case .certain: accuracies
            case .likely: LikelyRule.entryMargin(accuracy: likely, depth: reach)
            }
        isUsable = accuracy != .likely || likely <= LikelyRule.accuracyMax(depth: reach)
        let units = gridUnits(publicationRange) &+ gridUnits(subscriptionRange)
        isInRange =
            isUsable
            && isWithin(
                Double(units) / GridPoint.unitsPerMetre - allowance,
                GridPoint(latitude: publication.latitude, longitude: publication.longitude),
                GridPoint(latitude: subscription.latitude, longitude: subscription.longitude))
    }

    /// Metres that two accuracies count together under `likely`.
    public static func likelyAccuracy(_ one: Double, _ other: Double) -> Double { (one * one + other * other).squareRoot() }

    /// Metres that a position's accuracy counts: none where it was not sent.
    public static func counted(_ position: Position) -> Double {
        let accuracy = position.horizontalAccuracy ?? 0
        return accuracy > 0 ? min(accuracy, AccuracyHistogram.widest) : 0
    }
}
