import Geodesy
import Glibc
import Places

/// A simulated town in which it is known at which place each device is, to find out how right candidates are.
///
/// Places lie evenly; how often one is visited falls as its rank rises (Zipf, 0.7), and its placerank says so. Every fifth is an
/// outline of 16 by 24 m, in which its visitors are evenly; a point stands some metres from its visitors. Two places in three
/// are open, and nearly all visitors come to these; of 40 % it is known. A fifth of the devices is at no place.
///
/// A stay has a fix every fifteen seconds, whose errors forget each other within ``memory``; its mean is judged. People pause at no
/// place for five minutes in the mean and visit places for thirty, so that of long stays few are at none.
public struct CandidateTrial {
    /// Places in a square kilometre.
    public var density: Double
    /// Metres along each axis.
    public var deviation: Double
    public var visits: Int
    /// How long the stays have lasted; 0: a single fix.
    public var minutes: Double

    /// Seconds: how long errors of fixes are alike, how long people pause at no place, and how long they visit one.
    private static let memory = 100.0
    private static let pause = 300.0
    private static let visit = 1800.0
    private static let interval = 15.0

    public init(density: Double, deviation: Double, visits: Int, minutes: Double = 0) {
        self.density = density
        self.deviation = deviation
        self.visits = visits
        self.minutes = minutes
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
        public var tenths = [(count: Double, sum: Double, right: Double)](
            repeating: (0, 0, 0), count: 10)

        /// The sums of the negative logarithms of the truth's probability: as the candidates have it, and as who knows the whole town.
        public var logLoss = 0.0
        public var exactLogLoss = 0.0

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
                    isOutline: Int.random(in: 0..<5, using: &random) == 0,
                    isOpen: Int.random(in: 0..<3, using: &random) > 0,
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

    private func geometry(of spot: Spot, _ random: inout some RandomNumberGenerator) throws
        -> PlaceGeometry
    {
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
        _ spots: [Spot], _ table: PlaceTable, _ handles: [PlaceTable.Handle],
        _ random: inout some RandomNumberGenerator
    ) throws -> Outcome {
        var outcome = Outcome()
        var sums: [Double] = []
        var sum = 0.0
        for spot in spots {
            sum += spot.weight * (spot.isOpen ? 1 : 0.05)
            sums.append(sum)
        }
        let exact = Exact(
            spots, points: handles.map { plane(table.point(of: $0)) }, elsewhere: elsewhere)
        for _ in 0..<visits {
            var truth: PlaceTable.Handle?
            var east = Double.random(in: 60..<Self.side - 60, using: &random)
            var north = Double.random(in: 60..<Self.side - 60, using: &random)
            if Double.random(in: 0..<1, using: &random) >= elsewhere {
                let draw = Double.random(in: 0..<sum, using: &random)
                let number = sums.firstIndex { $0 > draw } ?? 0
                truth = handles[number]
                let spot = spots[number]
                east =
                    spot.east
                    + (spot.isOutline ? Double.random(in: -12..<12, using: &random) : 5 * bell(&random))
                north =
                    spot.north
                    + (spot.isOutline ? Double.random(in: -8..<8, using: &random) : 5 * bell(&random))
            }
            let fix = fixes(around: (east, north), &random)
            let seen = degrees(fix.mean.east, fix.mean.north)
            let result = table.candidates(
                latitude: seen.latitude, longitude: seen.longitude, accuracy: fix.accuracy,
                stayed: minutes * 60
            ) { handle in
                let spot = spots[Int(handle)]
                return PlaceEvidence(isOpen: spot.isKnown ? spot.isOpen : nil)
            }
            outcome.count(result, truth: truth)
            outcome.exactLogLoss -= log(
                max(
                    1e-6,
                    exact.probability(of: truth.map { Int($0) }, seenAt: fix.mean, deviation: fix.deviation)))
        }
        outcome.brier /= outcome.visits
        return outcome
    }

    /// The share of who is at no place, of those who have been where they are for so long.
    private var elsewhere: Double {
        let (none, place) = (
            0.2 * exp(-minutes * 60 / Self.pause), 0.8 * exp(-minutes * 60 / Self.visit)
        )
        return none / (none + place)
    }

    /// What is seen of a stay: the mean of its fixes and the accuracy that the daemon has it with; and how far the mean really strays.
    private func fixes(
        around place: (east: Double, north: Double), _ random: inout some RandomNumberGenerator
    ) -> (mean: (east: Double, north: Double), accuracy: Double, deviation: Double) {
        let count = 1 + Int(minutes * 60 / Self.interval)
        let kept = exp(-Self.interval / Self.memory)
        var error = (east: deviation * bell(&random), north: deviation * bell(&random))
        var sum = (east: 0.0, north: 0.0)
        var stay: Stay?
        for number in 0..<count {
            if number > 0 {
                let fresh = deviation * (1 - kept * kept).squareRoot()
                error = (
                    kept * error.east + fresh * bell(&random), kept * error.north + fresh * bell(&random)
                )
            }
            sum = (sum.east + place.east + error.east, sum.north + place.north + error.north)
            let degrees = degrees(place.east + error.east, place.north + error.north)
            let position = Position(
                latitude: degrees.latitude, longitude: degrees.longitude,
                horizontalAccuracy: deviation * 1.515)
            let instant = Int64(Double(number) * Self.interval * 1000)
            if stay == nil {
                stay = Stay(position, at: instant)
            } else {
                stay?.take(position, at: instant)
            }
        }
        let all = Double(count)
        // The variance of a mean of errors that are alike.
        let variance =
            (0..<count).reduce(0.0) {
                $0 + ($1 == 0 ? 1 : 2) * (1 - Double($1) / all) * pow(kept, Double($1))
            } / all
        return (
            (sum.east / all, sum.north / all),
            minutes == 0 ? deviation * 1.515 : stay?.accuracy ?? deviation,
            deviation * variance.squareRoot()
        )
    }

    private func plane(_ point: (latitude: Double, longitude: Double)) -> (
        east: Double, north: Double
    ) {
        (
            (point.longitude - Self.centre.longitude) * Self.metres * 0.650_774,
            (point.latitude - Self.centre.latitude) * Self.metres
        )
    }

    /// Where people are, for who knows the whole town but for what of open places is not known to anybody.
    private struct Exact {
        let spots: [Spot]
        let points: [(east: Double, north: Double)]
        let elsewhere: Double
        let shares: [Double]

        init(_ spots: [Spot], points: [(east: Double, north: Double)], elsewhere: Double) {
            let weights = spots.map { $0.weight * ($0.isKnown ? $0.isOpen ? 1 : 0.05 : 2.05 / 3) }
            let sum = weights.reduce(0, +)
            (self.spots, self.points, self.elsewhere) = (spots, points, elsewhere)
            shares = weights.map { (1 - elsewhere) * $0 / sum }
        }

        func probability(of truth: Int?, seenAt seen: (east: Double, north: Double), deviation: Double)
            -> Double
        {
            func part(_ low: Double, _ high: Double, _ at: Double) -> Double {
                (erf((high - at) / (deviation * 2.0.squareRoot()))
                    - erf((low - at) / (deviation * 2.0.squareRoot()))) / 2
            }
            func density(_ number: Int) -> Double {
                let spot = spots[number]
                if spot.isOutline {
                    return part(spot.east - 12, spot.east + 12, seen.east)
                        * part(spot.north - 8, spot.north + 8, seen.north) / 384
                }
                // The point is 5 m from the place's middle, and so are its visitors.
                let variance = 50 + deviation * deviation
                let (x, y) = (seen.east - points[number].east, seen.north - points[number].north)
                return exp(-(x * x + y * y) / (2 * variance)) / (2 * .pi * variance)
            }
            let none = elsewhere / ((CandidateTrial.side - 120) * (CandidateTrial.side - 120))
            let parts = spots.indices.map { shares[$0] * density($0) }
            let sum = none + parts.reduce(0, +)
            return (truth.map { parts[$0] } ?? none) / sum
        }
    }

    private func degrees(_ east: Double, _ north: Double) -> (latitude: Double, longitude: Double) {
        // The cosine of 49.4 degrees.
        (
            Self.centre.latitude + north / Self.metres,
            Self.centre.longitude + east / (Self.metres * 0.650_774)
        )
    }

    /// About normally distributed with variance 1: the sum of twelve.
    private func bell(_ random: inout some RandomNumberGenerator) -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
    }
}

extension CandidateTrial.Outcome {
    fileprivate mutating func count(_ result: PlaceCandidates, truth: PlaceTable.Handle?) {
        visits += 1
        var squares =
            (result.probabilityOfNone - (truth == nil ? 1 : 0))
            * (result.probabilityOfNone - (truth == nil ? 1 : 0))
        var isListed = truth == nil
        for candidate in result.candidates {
            let right = candidate.handle == truth ? 1.0 : 0
            isListed = isListed || right == 1
            squares += (candidate.probability - right) * (candidate.probability - right)
        }
        brier += squares + (isListed ? 0 : 1)
        let given =
            truth.map { handle in result.candidates.first { $0.handle == handle }?.probability ?? 0 }
            ?? result.probabilityOfNone
        logLoss -= log(max(1e-6, given))
        if truth != nil {
            atPlaces += 1
            if result.candidates.first?.handle == truth { firstRight += 1 }
            if result.candidates.prefix(3).contains(where: { $0.handle == truth }) { amongThree += 1 }
            if result.candidates.min(by: { $0.hit.distance < $1.hit.distance })?.handle == truth {
                nearestRight += 1
            }
        }
        guard let first = result.candidates.first else { return }
        let tenth = min(9, Int(first.probability * 10))
        tenths[tenth].count += 1
        tenths[tenth].sum += first.probability
        tenths[tenth].right += first.handle == truth ? 1 : 0
    }
}
