import Geodesy
import Glibc
import Places

/// A simulated town in which it is known at which place each device is, to find out how right candidates are.
///
/// Places lie evenly; how often one is visited falls as its rank rises (Zipf, 0.7), and its placerank says so. Every fifth is an
/// outline of 16 by 24 m, in which its visitors are evenly; a point stands some metres from its visitors. Two places in three
/// are open, and nearly all visitors come to these; of 40 % it is known. A fifth of the devices is at no place.
public struct CandidateTrial {
    /// Places in a square kilometre.
    public var density: Double
    /// Metres along each axis.
    public var deviation: Double
    public var visits: Int

    public init(density: Double, deviation: Double, visits: Int) {
        self.density = density
        self.deviation = deviation
        self.visits = visits
    }

    public struct Outcome: Sendable {
        public var visits = 0.0
        /// Of who was at a place.
        public var atPlaces = 0.0
        /// The first candidate was the right one; the nearest one was.
        public var firstRight = 0.0
        public var nearestRight = 0.0
        /// The right one was among the first three.
        public var amongThree = 0.0
        /// The mean over all visits of the sum of the squares of what each probability, that of no place among them, is off.
        public var brier = 0.0
        /// By tenths of the first candidate's probability: how often, their sum, and how often it was right.
        public var tenths = [(count: Double, sum: Double, right: Double)](repeating: (0, 0, 0), count: 10)

        public init() {}

        /// By how much the first candidate's probability is off on average, in classes of a tenth.
        public var calibrationError: Double {
            tenths.reduce(0) { $0 + abs($1.sum - $1.right) } / max(1, visits)
        }
    }

    private static let metres = 111_195.0
    private static let side = 800.0
    private static let centre = (latitude: 49.4, longitude: 8.69)

    private struct Spot {
        var east, north, weight: Double
        var isOutline, isOpen, isKnown: Bool
    }

    public func run(_ random: inout some RandomNumberGenerator) throws -> Outcome {
        let count = Int(density * Self.side * Self.side / 1e6)
        var spots: [Spot] = []
        for rank in Array(1...count).shuffled(using: &random) {
            spots.append(
                Spot(
                    east: Double.random(in: 0..<Self.side, using: &random),
                    north: Double.random(in: 0..<Self.side, using: &random), weight: pow(Double(rank), -0.7),
                    isOutline: Int.random(in: 0..<5, using: &random) == 0, isOpen: Int.random(in: 0..<3, using: &random) > 0,
                    isKnown: Int.random(in: 0..<5, using: &random) < 2))
        }
        let table = PlaceTable()
        var handles: [PlaceTable.Handle] = []
        for (number, spot) in spots.enumerated() {
            handles.append(
                try table.upsert(
                    Place(
                        id: "\(number)", placerank: spot.weight * Double(count),
                        geometry: try geometry(of: spot, &random))
                ).handle)
        }
        return try visit(spots, table, handles, &random)
    }

    private func geometry(of spot: Spot, _ random: inout some RandomNumberGenerator) throws -> PlaceGeometry {
        guard spot.isOutline else {
            let place = degrees(spot.east + 5 * bell(&random), spot.north + 5 * bell(&random))
            return try PlaceGeometry(latitude: place.latitude, longitude: place.longitude)
        }
        let corners = [(-12.0, -8.0), (12, -8), (12, 8), (-12, 8)].map { corner in
            let place = degrees(spot.east + corner.0, spot.north + corner.1)
            return Area.Polygon.Vertex(longitude: place.longitude, latitude: place.latitude)
        }
        return try PlaceGeometry(polygons: [[corners]])
    }

    private func visit(
        _ spots: [Spot], _ table: PlaceTable, _ handles: [PlaceTable.Handle], _ random: inout some RandomNumberGenerator
    ) throws -> Outcome {
        var outcome = Outcome()
        var sums: [Double] = []
        var sum = 0.0
        for spot in spots {
            sum += spot.weight * (spot.isOpen ? 1 : 0.05)
            sums.append(sum)
        }
        for _ in 0..<visits {
            var truth: PlaceTable.Handle?
            var east = Double.random(in: 60..<Self.side - 60, using: &random)
            var north = Double.random(in: 60..<Self.side - 60, using: &random)
            if Int.random(in: 0..<5, using: &random) > 0 {
                let draw = Double.random(in: 0..<sum, using: &random)
                let number = sums.firstIndex { $0 > draw } ?? 0
                truth = handles[number]
                let spot = spots[number]
                east = spot.east + (spot.isOutline ? Double.random(in: -12..<12, using: &random) : 5 * bell(&random))
                north = spot.north + (spot.isOutline ? Double.random(in: -8..<8, using: &random) : 5 * bell(&random))
            }
            let seen = degrees(east + deviation * bell(&random), north + deviation * bell(&random))
            let result = table.candidates(
                latitude: seen.latitude, longitude: seen.longitude, accuracy: deviation * 1.515
            ) { handle in
                let spot = spots[Int(handle)]
                return PlaceEvidence(isOpen: spot.isKnown ? spot.isOpen : nil)
            }
            outcome.count(result, truth: truth)
        }
        outcome.brier /= outcome.visits
        return outcome
    }

    private func degrees(_ east: Double, _ north: Double) -> (latitude: Double, longitude: Double) {
        // The cosine of 49.4 degrees.
        (Self.centre.latitude + north / Self.metres, Self.centre.longitude + east / (Self.metres * 0.650_774))
    }

    /// About normally distributed with variance 1: the sum of twelve.
    private func bell(_ random: inout some RandomNumberGenerator) -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
    }
}

extension CandidateTrial.Outcome {
    fileprivate mutating func count(_ result: PlaceCandidates, truth: PlaceTable.Handle?) {
        visits += 1
        var squares = (result.probabilityOfNone - (truth == nil ? 1 : 0)) * (result.probabilityOfNone - (truth == nil ? 1 : 0))
        var isListed = truth == nil
        for candidate in result.candidates {
            let right = candidate.handle == truth ? 1.0 : 0
            isListed = isListed || right == 1
            squares += (candidate.probability - right) * (candidate.probability - right)
        }
        brier += squares + (isListed ? 0 : 1)
        if truth != nil {
            atPlaces += 1
            if result.candidates.first?.handle == truth { firstRight += 1 }
            if result.candidates.prefix(3).contains(where: { $0.handle == truth }) { amongThree += 1 }
            if result.candidates.min(by: { $0.hit.distance < $1.hit.distance })?.handle == truth { nearestRight += 1 }
        }
        guard let first = result.candidates.first else { return }
        let tenth = min(9, Int(first.probability * 10))
        tenths[tenth].count += 1
        tenths[tenth].sum += first.probability
        tenths[tenth].right += first.handle == truth ? 1 : 0
    }
}
