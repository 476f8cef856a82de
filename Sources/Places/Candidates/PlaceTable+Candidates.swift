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
    /// the normal distribution that the accuracy stands for, at its point or on average over its outline. What is inside the
    /// outline of another place shares that one's weight. The weights, with that of being at none of the places, add up to 1.
    ///
    /// How often the first one is right is limited by how densely places lie: with an accuracy of 15 m and a thousand places in
    /// a square kilometre 59 % where only the distance is known and 73 % with well-known popularity.
    ///
    /// - Parameters:
    ///   - latitude: Degrees, as longitude; where they are not on the earth, there are no candidates.
    ///   - accuracy: The radius (metres) in which the device is with 68 %; nil, negative or not a number: not known, taken as 15.
    ///   - evidence: What else is known of a place.
    public func candidates(
        latitude: Double, longitude: Double, accuracy: Double? = nil, evidence: (Handle) -> PlaceEvidence = { _ in .none }
    ) -> PlaceCandidates {
        let reach = Self.candidateReach(accuracy: accuracy)
        let hits = Array(nearest(latitude: latitude, longitude: longitude, radius: reach).prefix(Self.consideredMax))
        guard !hits.isEmpty else { return PlaceCandidates(candidates: [], probabilityOfNone: 1) }
        let noise = CandidateNoise(accuracy: accuracy, latitude: latitude, longitude: longitude)
        let known = hits.map { evidence($0.handle) }
        let prior = CandidatePrior(ranks: hits.map { placerank($0.handle) }, evidence: known, reach: reach)
        var weights = zip(hits, prior.weights).map { hit, weight in
            weight * (footprint(of: hit.handle).map(noise.density) ?? noise.density(atDistance: hit.distance))
        }
        share(&weights, among: hits)
        let total = weights.reduce(0, +) + prior.background
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
        return PlaceCandidates(candidates: candidates, probabilityOfNone: prior.background / total)
    }

    /// Who is in an outline is at one of the places inside it, or at the outline's own: the weight of the outline goes to them
    /// by their own weights, but for what it keeps.
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
            let given = weights[outline.place] * CandidatePrior.shareOfInside
            weights[outline.place] -= given
            for place in inside { weights[place] += given * weights[place] / sum }
        }
    }
}
