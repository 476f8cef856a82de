import Geodesy
import Glibc

/// Where a device may be whose position is known with noise: normally distributed around it, alike in all directions.
struct CandidateNoise {
    private let latitude, longitude: Double
    /// Metres along each axis.
    private let deviation: Double

    /// A device is within its accuracy with 68 %: 1.515 standard deviations of each axis.
    private static let deviationsOfAccuracy = 1.515
    /// Of a device that sends no accuracy, in metres.
    private static let usualAccuracy = 15.0
    /// Points of shops are some metres off, and visitors are not on them; outlines are off by less. Metres.
    private static let pointDeviation = 7.0
    private static let outlineDeviation = 2.0

    init(accuracy: Double?, latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
        let accuracy = accuracy.flatMap { $0 > 0 ? min($0, 10_000) : nil } ?? Self.usualAccuracy
        deviation = max(1, accuracy / Self.deviationsOfAccuracy)
    }

    /// How likely the position is where the place is a point at a distance, for each square metre.
    func density(atDistance metres: Double) -> Double {
        let variance = deviation * deviation + Self.pointDeviation * Self.pointDeviation
        return exp(-metres * metres / (2 * variance)) / (2 * .pi * variance)
    }

    /// How likely the device is inside an outline, wherever in it: the part of the distribution that lies over it, 0…1.
    func mass(over footprint: Footprint) -> Double {
        let variance = deviation * deviation + Self.outlineDeviation * Self.outlineDeviation
        var mass = 0.0
        for polygon in 0..<footprint.polygonCount {
            for (number, ring) in footprint.rings(ofPolygon: polygon).enumerated() {
                let part = abs(self.mass(over: ring, of: footprint, deviation: variance.squareRoot()))
                mass += number == 0 ? part : -part
            }
        }
        return max(0, min(1, mass))
    }

    /// The sum over the triangles that the edges make with the position: in polar coordinates around it each one's part is an
    /// integral over the angle alone (D. B. Owen, Annals of Mathematical Statistics 27, 1956).
    private func mass(over ring: Int, of footprint: Footprint, deviation: Double) -> Double {
        let vertices = footprint.vertices
        let range = footprint.corners(ofRing: ring)
        let perDegree = Ellipsoid.meanRadius * .pi / 180 / deviation
        let east = perDegree * cos(latitude * .pi / 180)
        let turn = 360 * ((vertices[range.lowerBound].x - longitude) / 360).rounded()
        func plane(_ vertex: SIMD2<Double>) -> SIMD2<Double> {
            SIMD2((vertex.x - longitude - turn) * east, (vertex.y - latitude) * perDegree)
        }
        var sum = 0.0
        var from = plane(vertices[range.upperBound - 1])
        for place in range {
            let to = plane(vertices[place])
            sum += Self.mass(from, to)
            from = to
        }
        return sum
    }

    /// The standard normal distribution over the triangle between the origin and two points, negative clockwise.
    private static func mass(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> Double {
        let step = to - from
        let length = (step * step).sum().squareRoot()
        guard length > 0 else { return 0 }
        // Signed distance of the line, and the angles of its ends from the foot of the perpendicular.
        let height = (from.x * to.y - to.x * from.y) / length
        guard abs(height) > 1e-12 else { return 0 }
        let first = atan2((from * step).sum() / length, abs(height))
        let last = atan2((to * step).sum() / length, abs(height))
        let middle = (first + last) / 2
        let half = (last - first) / 2
        let sign = height > 0 ? 1.0 : -1.0
        let nearest = first * last < 0 ? height * height : min((from * from).sum(), (to * to).sum())
        // All of the distribution lies before a line so far away, to what is rounded.
        guard nearest < 6.5 * 6.5 else { return sign * half / .pi }
        var sum = 0.0
        for (node, weight) in length < short ? nodesOfShort : nodes {
            let (left, right) = (cos(middle - node * half), cos(middle + node * half))
            sum += weight * (1 - exp(-height * height / (2 * left * left)))
            sum += weight * (1 - exp(-height * height / (2 * right * right)))
        }
        return sign * sum * half / (2 * .pi)
    }

    /// Deviations; outlines of thousands of vertices have shorter edges. Three nodes, the one in the middle twice by half, are right to
    /// 0.000 2 then.
    private static let short = 0.25
    private static let nodesOfShort: [(Double, Double)] = [
        (0, 0.444_444_444_444_444), (0.774_596_669_241_483, 0.555_555_555_555_556),
    ]

    /// Gauss-Legendre, twelve nodes, the positive half.
    private static let nodes: [(Double, Double)] = [
        (0.125_233_408_511_469, 0.249_147_045_813_403), (0.367_831_498_998_180, 0.233_492_536_538_355),
        (0.587_317_954_286_617, 0.203_167_426_723_066), (0.769_902_674_194_305, 0.160_078_328_543_346),
        (0.904_117_256_370_475, 0.106_939_325_995_318), (0.981_560_634_246_719, 0.047_175_336_386_512),
    ]
}
