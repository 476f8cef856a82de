import Matching

// Where one side is a beacon: it is where it is seen.

extension ExplainedPair {
    var sighted: Explanation.Check {
        guard publicationPlace.hasDevice, subscriptionPlace.hasDevice else {
            return .init("location", false, "a device of the two is gone")
        }
        guard showsRange else { return Self.withheld("location") }
        guard let sighting else {
            let detail = "one side is a beacon, and the other's device has not seen it for \(Self.lifeSeconds) s"
            return .init("location", false, detail)
        }
        let age = FigureText.seconds(milliseconds: max(0, now - sighting.seenAt))
        let detail = showsFigures ? "one side is a beacon, which the other's device saw \(age) ago" : "one side sees the other"
        return .init("location", true, detail)
    }

    var sightedRange: Explanation.Check {
        guard let sighting else { return .init("range", false, "a beacon that is not seen is at no distance") }
        guard showsFigures else { return .init("range", isInRange, isInRange ? "in range" : "out of range") }
        guard sighting.distance.isFinite else { return .init("range", false, "the beacon is seen, at an unknown distance") }
        let figures = "distance \(FigureText.metres(sighting.distance)) by proximity, reach \(FigureText.metres(reach))"
        return .init("range", isInRange, figures)
    }

    /// How long a sighting counts.
    private static let lifeSeconds = 90
}
