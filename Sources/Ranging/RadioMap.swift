import Geodesy
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// By how many dB an observer hears beacons more weakly than its line of the path loss foresees, place by place, as a walk measured it.
///
/// A lattice of places around the observer. As text: where the observer hung (latitude, longitude), the lattice's first place (metres
/// east and north of it), its step in metres and its columns, then a tenth of a dB each, from west to east and from south to north, `-`
/// where the walk did not pass.
public struct RadioMap: Equatable, Sendable {
    /// Degrees: the map says nothing once the observer hangs elsewhere.
    public private(set) var latitude, longitude: Double
    private let west, south, step: Double
    private let columns: Int
    private let decibels: [Float]
    public let text: String

    public static let placesMax = 1_024
    /// Metres between two places, where they are not too many.
    private static let steps = (least: 0.5, growth: 1.25)
    /// Metres around a place from which readings count, one standard deviation, and what the line counts, in dense places.
    private static let reach = 0.4
    private static let lineWeight = 0.2
    /// So many readings make a place dense.
    private static let dense = 6.0

    /// - Returns: nil where the text is not one of a map.
    public init?(_ text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count > 6, fields.count <= 6 + Self.placesMax, text.utf8.count <= 16 * Self.placesMax else { return nil }
        let numbers = fields.prefix(5).compactMap { Double($0) }
        guard numbers.count == 5, abs(numbers[0]) <= 90, abs(numbers[1]) <= 180, abs(numbers[2]) <= 10_000,
            abs(numbers[3]) <= 10_000, (0.1...1_000).contains(numbers[4]), let columns = Int(fields[5]), columns > 0,
            (fields.count - 6).isMultiple(of: columns)
        else { return nil }
        var decibels: [Float] = []
        for field in fields.dropFirst(6) {
            if field == "-" {
                decibels.append(.nan)
            } else {
                guard let tenths = Int(field), abs(tenths) <= 600 else { return nil }
                decibels.append(Float(tenths) / 10)
            }
        }
        (latitude, longitude, west, south, step) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
        (self.columns, self.decibels, self.text) = (columns, decibels, text)
    }

    /// What a walk says of an observer.
    ///
    /// - Parameters:
    ///   - readings: Metres east and north of the observer, and by how many dB its line foresees more than was heard.
    /// - Returns: nil with less than ten readings.
    public init?(_ readings: [(place: LocalPlane.Point, decibels: Double)], latitude: Double, longitude: Double) {
        let readings = readings.filter {
            $0.decibels.isFinite && abs($0.place.x) <= 1_000 && abs($0.place.y) <= 1_000 && abs($0.decibels) <= 60
        }
        guard readings.count >= Calibration.samplesMin else { return nil }
        let x = readings.map(\.place.x)
        let y = readings.map(\.place.y)
        let (west, east) = (x.min() ?? 0, x.max() ?? 0)
        let (south, north) = (y.min() ?? 0, y.max() ?? 0)
        var step = Self.steps.least
        func count(_ span: Double) -> Int { Int(span / step) + 2 }
        while count(east - west) * count(north - south) > Self.placesMax { step *= Self.steps.growth }
        let (columns, rows) = (count(east - west), count(north - south))
        var sums = [(weight: Double, product: Double)](repeating: (0, 0), count: columns * rows)
        let reach = max(Self.reach, 0.8 * step)
        for reading in Self.thinned(readings, cell: step) {
            for row in 0..<rows {
                for column in 0..<columns {
                    let (x, y) = (west + Double(column) * step - reading.place.x, south + Double(row) * step - reading.place.y)
                    let squared = (x * x + y * y) / (2 * reach * reach)
                    guard squared < 8 else { continue }
                    let weight = reading.weight * exp(-squared)
                    sums[row * columns + column].weight += weight
                    sums[row * columns + column].product += weight * reading.decibels
                }
            }
        }
        let tenths = sums.map { sum in
            sum.weight < 0.05 ? "-" : String(Int((10 * sum.product / (sum.weight + Self.lineWeight)).rounded()))
        }
        let numbers = [latitude, longitude, west, south, step].map { Self.text($0) } + [String(columns)]
        self.init((numbers + tenths).joined(separator: " "))
    }

    /// The means of the readings of each cell; a robot that does not move says little more than one that passes.
    private static func thinned(
        _ readings: [(place: LocalPlane.Point, decibels: Double)], cell: Double
    ) -> [(place: LocalPlane.Point, decibels: Double, weight: Double)] {
        struct Cell: Hashable { var x, y: Int }
        var sums: [Cell: (x: Double, y: Double, decibels: Double, count: Double)] = [:]
        for reading in readings {
            let key = Cell(x: Int((reading.place.x / cell).rounded()), y: Int((reading.place.y / cell).rounded()))
            var sum = sums[key] ?? (0, 0, 0, 0)
            sum.x += reading.place.x
            sum.y += reading.place.y
            sum.decibels += reading.decibels
            sum.count += 1
            sums[key] = sum
        }
        return sums.sorted { ($0.key.x, $0.key.y) < ($1.key.x, $1.key.y) }.map { _, sum in
            (
                LocalPlane.Point(x: sum.x / sum.count, y: sum.y / sum.count), sum.decibels / sum.count,
                min(sum.count, dense) / dense
            )
        }
    }

    private static func text(_ value: Double) -> String { String((value * 1e7).rounded() / 1e7) }

    /// Whether it was made where an observer hangs.
    public func isOf(_ position: Position) -> Bool {
        LocalPlane(around: Position(latitude: latitude, longitude: longitude)).point(position).distance(to: .init(x: 0, y: 0)) < 2
    }

    /// dB at so many metres east and north of the observer; nil where the walk did not pass.
    func decibels(east: Double, north: Double) -> Double? {
        let column = ((east - west) / step).rounded()
        let row = ((north - south) / step).rounded()
        guard column >= 0, row >= 0, column < Double(columns), row < Double(decibels.count / columns) else { return nil }
        let value = decibels[Int(row) * columns + Int(column)]
        return value.isNaN ? nil : Double(value)
    }
}
