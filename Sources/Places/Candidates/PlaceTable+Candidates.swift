import Geodesy

extension PlaceTable {
    /// The most candidates that are listed.
    public static let candidatesMax = 50

    /// The most places that are weighed against each other, the nearest ones.
    static let consideredMax = 1000

    /// How far candidates are looked for, in metres: twice the accuracy and 30 m, 100…500.
    public static func candidateReach(accuracy: Double?) -> Double {
        guard let accuracy, accuracy > 0 else { return 100 }
        return min(500, max(100, 2 * accuracy + 30))
    }

    /// At which places a device may be.
    ///
    /// Each place weighs as much as it is visited (``CandidatePrior``) times how likely the position is where its visitors are:
    /// the normal distribution that the accuracy means, at its point or on average over its outline. What is inside the
    /// outline of another place shares that one's weight, and who is at none of the places but in an outline is at that. The
    /// weights, with that of being at none of the places, add up to 1.
    ///
    /// How often the first one is right is limited by how densely places lie: with an accuracy of 15 m and a thousand places in
    /// a square kilometre 59 % where only the distance is known and 73 % with well-known popularity.
    ///
    /// - Parameters:
    ///   - latitude: Degrees, as longitude; where they are not on the earth, there are no candidates.
    ///   - accuracy: The radius (metres) in which the device is with 68 %; nil, negative or not a number: not known, taken as 15.
    ///   - stayed: Seconds for which the device has been there: the longer, the less it is at no place.
    ///   - evidence: What else is known of a place.
    public func candidates(
        latitude: Double, longitude: Double, accuracy: Double? = nil, stayed: Double = 0,
        evidence: (Handle) -> PlaceEvidence = { _ in .none }
    ) -> PlaceCandidates {
        let reach = Self.candidateReach(accuracy: accuracy)
        let hits = Array(nearest(latitude: latitude, longitude: longitude, radius: reach).prefix(Self.consideredMax))
        guard !hits.isEmpty else { return PlaceCandidates(candidates: [], probabilityOfNone: 1) }
        let noise = CandidateNoise(accuracy: accuracy, latitude: latitude, longitude: longitude)
        let known = hits.map { evidence($0.handle) }
        let prior = CandidatePrior(ranks: hits.map { placerank($0.handle) }, evidence: known, reach: reach, stayed: stayed)
        let outlines = hits.map { footprint(of: $0.handle) }
        let masses = outlines.map { $0.map(noise.mass) ?? 0 }
        var weights = hits.indices.map { place in
            prior.weights[place]
                * (outlines[place].map { masses[place] / max(CandidatePrior.outlineMin, $0.squareMetres) }
                    ?? noise.density(atDistance: hits[place].distance))
        }
        let none = Self.claim(
            prior.background, for: &weights, zip(masses, known).map { mass, evidence in evidence.isOpen == false ? 0 : mass })
        share(&weights, among: hits)
        let total = weights.reduce(0, +) + none
        var candidates = hits.indices.map { place in
            PlaceCandidates.Candidate(
                hit: hits[place], threshold: .none, isOpen: known[place].isOpen, probability: weights[place] / total)
        }
        // The hits come nearest first, and the sort leaves the order of equals unsaid.
        let order = candidates.indices.sorted { left, right in
            candidates[left].probability != candidates[right].probability
                ? candidates[left].probability > candidates[right].probability : left < right
        }
        candidates = order.prefix(Self.candidatesMax).map { candidates[$0] }
        for place in candidates.indices {
            candidates[place].threshold = threshold(candidates[place].hit, accuracy: accuracy)
        }
        return PlaceCandidates(candidates: candidates, probabilityOfNone: none / total)
    }

    /// Who is at none of the places, but in an outline, is at that, however large it is: a park has few visitors on each of its
    /// square metres, and yet a device inside is nowhere else.
    ///
    /// - Parameters:
    ///   - background: The weight of being at none of the places.
    ///   - masses: How likely the device is inside each of the outlines; 0 for those that are closed, whose insides are for nobody.
    /// - Returns: What of the background is left.
    private static func claim(_ background: Double, for weights: inout [Double], _ masses: [Double]) -> Double {
        let inside = masses.reduce(0, +)
        guard inside > 0 else { return background }
        let claimed = background * CandidatePrior.shareOfOutline * min(1, inside)
        for place in weights.indices { weights[place] += claimed * masses[place] / inside }
        return background - claimed
    }

    /// Who is in an outline is at one of the places inside it, or at the outline's own: the weight of the outline goes to them
    /// by their own weights, but for what it keeps, and the less of it the less they weigh: a kiosk at the other end of a park is
    /// no reason to be at that.
    private func share(_ weights: inout [Double], among hits: [Hit]) {
        let outlines = hits.indices.compactMap { place in
            footprint(of: hits[place].handle).map { (place: place, footprint: $0, area: $0.squareMetres) }
        }
        guard !outlines.isEmpty else { return }
        // From the largest on, so that weight goes down through a building to its floors' shops.
        let ordered = outlines.sorted { ($0.area, $1.place) > ($1.area, $0.place) }
        var parents = [Int?](repeating: nil, count: hits.count)
        var ranks = [Int](repeating: .max, count: hits.count)
        for (rank, outline) in ordered.enumerated() { ranks[outline.place] = rank }
        for (rank, outline) in ordered.enumerated() {
            for place in hits.indices where ranks[place] > rank {
                let point = point(of: hits[place].handle)
                guard outline.footprint.contains(latitude: point.latitude, longitude: point.longitude) else { continue }
                parents[place] = outline.place
            }
        }
        for outline in ordered {
            let inside = hits.indices.filter { parents[$0] == outline.place }
            let sum = inside.reduce(0) { $0 + weights[$1] }
            guard sum > 0 else { continue }
            let own = weights[outline.place]
            let given = own * CandidatePrior.shareOfInside * sum / (sum + own)
            weights[outline.place] -= given
            for place in inside { weights[place] += given * weights[place] / sum }
        }
    }
}
