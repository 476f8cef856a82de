import Foundation
import Testing

/// Recorded drives: those of `Data/go_track.csv`, or of another file there.
struct Trace {
    struct Point {
        var device: String
        var time: String
        var latitude: Double
        var longitude: Double
    }

    /// In the order of the file: by device, then by time.
    var points: [Point] = []
    /// In the order of their first point.
    var devices: [String] = []

    init(_ name: String = "go_track") throws {
        let file = try #require(Bundle.module.url(forResource: "Data/\(name)", withExtension: "csv"))
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let header = (lines.first ?? "").split(separator: ",")
        let columns = try ["device", "timestamp", "lat", "lon"].map { column in
            try #require(header.firstIndex { $0 == column })
        }
        for line in lines.dropFirst() {
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            try #require(fields.count == header.count)
            let point = Point(
                device: String(fields[columns[0]]), time: String(fields[columns[1]]),
                latitude: try #require(Double(fields[columns[2]])), longitude: try #require(Double(fields[columns[3]])))
            if devices.last != point.device { devices.append(point.device) }
            points.append(point)
        }
    }
}

/// Distance on the WGS 84 ellipsoid in metres, by another way than the daemon's. Source: T. Vincenty, "Direct and inverse solutions of
/// geodesics on the ellipsoid", Survey Review 176, 1975.
func vincentyDistance(_ a: (latitude: Double, longitude: Double), _ b: (latitude: Double, longitude: Double)) -> Double {
    let major = 6_378_137.0
    let flattening = 1 / 298.257223563
    let minor = major * (1 - flattening)
    let radian = Double.pi / 180
    let difference = (b.longitude - a.longitude) * radian
    let reduced1 = atan((1 - flattening) * tan(a.latitude * radian))
    let reduced2 = atan((1 - flattening) * tan(b.latitude * radian))
    let (sin1, cos1, sin2, cos2) = (sin(reduced1), cos(reduced1), sin(reduced2), cos(reduced2))
    var lambda = difference
    for _ in 0..<100 {
        let sinSigma = (pow(cos2 * sin(lambda), 2) + pow(cos1 * sin2 - sin1 * cos2 * cos(lambda), 2)).squareRoot()
        if sinSigma == 0 { return 0 }
        let cosSigma = sin1 * sin2 + cos1 * cos2 * cos(lambda)
        let sigma = atan2(sinSigma, cosSigma)
        let sinAlpha = cos1 * cos2 * sin(lambda) / sinSigma
        let cosSquaredAlpha = 1 - sinAlpha * sinAlpha
        let cos2Middle = cosSquaredAlpha == 0 ? 0 : cosSigma - 2 * sin1 * sin2 / cosSquaredAlpha
        let c = flattening / 16 * cosSquaredAlpha * (4 + flattening * (4 - 3 * cosSquaredAlpha))
        let before = lambda
        let inner = cos2Middle + c * cosSigma * (-1 + 2 * cos2Middle * cos2Middle)
        lambda = difference + (1 - c) * flattening * sinAlpha * (sigma + c * sinSigma * inner)
        guard abs(lambda - before) < 1e-13 else { continue }
        let uSquared = cosSquaredAlpha * (major * major - minor * minor) / (minor * minor)
        let bigA = 1 + uSquared / 16384 * (4096 + uSquared * (-768 + uSquared * (320 - 175 * uSquared)))
        let bigB = uSquared / 1024 * (256 + uSquared * (-128 + uSquared * (74 - 47 * uSquared)))
        let last =
            bigB / 6 * cos2Middle * (-3 + 4 * sinSigma * sinSigma) * (-3 + 4 * cos2Middle * cos2Middle)
        let deltaSigma =
            bigB * sinSigma * (cos2Middle + bigB / 4 * (cosSigma * (-1 + 2 * cos2Middle * cos2Middle) - last))
        return minor * bigA * (sigma - deltaSigma)
    }
    return .nan
}
