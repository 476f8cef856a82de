import Geodesy
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// By how many dB an observer hears beacons more weakly than its line of the path loss foresees, place by place, as a walk measured it,
/// and how well that is known.
///
/// A lattice of places around the observer. As text: where the observer hung (latitude, longitude), the lattice's first place (metres
/// east and north of it), its step in metres and its columns, then a tenth of a dB each with its standard deviation behind a colon, from
/// west to east and from south to north, `-` where the walk says nothing.
///
/// What is between the readings of a walk is a Gaussian process: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
/// chapter 2, with a Matérn covariance.
public struct RadioMap: Equatable, Sendable {
    /// Degrees: the map says nothing once the observer hangs elsewhere.
    public private(set) var latitude, longitude: Double
    private let west, south, step: Double
    private let columns: Int
    private let places: [Known]
    public let text: String

    /// What is known of a place.
    struct Known: Equatable, Sendable {
        /// dB, and dB².
        var decibels, variance: Float

        /// What a walk does not say.
        static let nothing = Known(decibels: 0, variance: Float(RadioMap.spread * RadioMap.spread))
    }

    public static let placesMax = 1_024
    /// Metres between two places, where they are not too many.
    private static let steps = (least: 0.5, growth: 1.25)
    /// dB by which places differ from the line, and metres over which they do. These four are the likeliest of two walks through a flat,
    /// each taken alone (4.8 and 4.9 dB, 1.6 and 1.6 m, 4.0 and 3.8 dB, 2.6 and 2.7 dB).
    static let spread = 4.85
    private static let length = 1.6
    /// dB by which single readings stray, and by which all of a visit of a place do together: bodies and how a beacon is turned.
    private static let noise = (reading: 3.9, visit: 2.65)
    /// dB that are supposed of places whose deviation a map does not state.
    private static let unstated: Float = 2

    /// - Returns: nil where the text is not one of a map.
    public init?(_ text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count > 6, fields.count <= 6 + Self.placesMax, text.utf8.count <= 16 * Self.placesMax else { return nil }
        let numbers = fields.prefix(5).compactMap { Double($0) }
        guard numbers.count == 5, abs(numbers[0]) <= 90, abs(numbers[1]) <= 180, abs(numbers[2]) <= 10_000,
            abs(numbers[3]) <= 10_000, (0.1...1_000).contains(numbers[4]), let columns = Int(fields[5]), columns > 0,
            (fields.count - 6).isMultiple(of: columns)
        else { return nil }
        var places: [Known] = []
        for field in fields.dropFirst(6) {
            guard let known = Self.known(field) else { return nil }
            places.append(known)
        }
        (latitude, longitude, west, south, step) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
        (self.columns, self.places, self.text) = (columns, places, text)
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
        let visited = Self.visited(readings, cell: step)
        guard let field = Field(visited) else { return nil }
        let tenths = (0..<columns * rows).map { place in
            let known = field.known(
                LocalPlane.Point(x: west + Double(place % columns) * step, y: south + Double(place / columns) * step))
            // The walk is too far away.
            guard known.variance < 0.9 * Known.nothing.variance else { return "-" }
            return "\(Int((10 * known.decibels).rounded())):\(Int((10 * known.variance.squareRoot()).rounded()))"
        }
        let numbers = [latitude, longitude, west, south, step].map { Self.text($0) } + [String(columns)]
        self.init((numbers + tenths).joined(separator: " "))
    }

    private static func known(_ field: Substring) -> Known? {
        guard field != "-" else { return .nothing }
        let parts = field.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count <= 2, let tenths = parts[0], abs(tenths) <= 600 else { return nil }
        guard parts.count == 2 else { return Known(decibels: Float(tenths) / 10, variance: unstated * unstated) }
        guard let deviation = parts[1], (0...600).contains(deviation) else { return nil }
        return Known(decibels: Float(tenths) / 10, variance: Float(deviation * deviation) / 100)
    }

    /// What the readings of a walk, in its order, say of each cell. A robot that does not move says little more than one that passes;
    /// one that comes again says more.
    private static func visited(_ readings: [(place: LocalPlane.Point, decibels: Double)], cell: Double) -> [Field.Sample] {
        struct Cell: Hashable { var x, y: Int }
        typealias Sums = (x: Double, y: Double, decibels: Double, weight: Double)
        var cells: [Cell: Sums] = [:]
        var visit: (cell: Cell, sums: Sums)?
        func leave() {
            guard let (cell, sums) = visit else { return }
            // The weight of a visit is one over its variance.
            let weight = 1 / (noise.visit * noise.visit + noise.reading * noise.reading / sums.weight)
            let part = weight / sums.weight
            var former = cells[cell] ?? (0, 0, 0, 0)
            former.x += part * sums.x
            former.y += part * sums.y
            former.decibels += part * sums.decibels
            former.weight += weight
            cells[cell] = former
        }
        for reading in readings {
            let key = Cell(x: Int((reading.place.x / cell).rounded()), y: Int((reading.place.y / cell).rounded()))
            if visit?.cell != key {
                leave()
                visit = (key, (0, 0, 0, 0))
            }
            visit?.sums.x += reading.place.x
            visit?.sums.y += reading.place.y
            visit?.sums.decibels += reading.decibels
            visit?.sums.weight += 1
        }
        leave()
        return cells.sorted { ($0.key.x, $0.key.y) < ($1.key.x, $1.key.y) }.map { _, sums in
            Field.Sample(
                place: LocalPlane.Point(x: sums.x / sums.weight, y: sums.y / sums.weight), decibels: sums.decibels / sums.weight,
                variance: 1 / sums.weight)
        }
    }

    /// The Gaussian process given some samples.
    private struct Field {
        struct Sample {
            var place: LocalPlane.Point
            /// dB, and dB².
            var decibels, variance: Double
        }

        private let places: [LocalPlane.Point]
        /// The Cholesky factor of the samples' covariance, row by row, and what it makes of the samples.
        private var factor: [Double]
        private var whitened: [Double] = []

        /// - Returns: nil where rounding leaves no covariance, which noise of a dB and more prevents.
        init?(_ samples: [Sample]) {
            places = samples.map(\.place)
            let count = samples.count
            factor = [Double](repeating: 0, count: count * count)
            for row in 0..<count {
                for column in 0...row {
                    var sum = Self.covariance(places[row], places[column])
                    if row == column { sum += samples[row].variance }
                    for before in 0..<column { sum -= factor[row * count + before] * factor[column * count + before] }
                    if row == column {
                        guard sum > 0 else { return nil }
                        factor[row * count + row] = sum.squareRoot()
                    } else {
                        factor[row * count + column] = sum / factor[column * count + column]
                    }
                }
            }
            whitened = solved(samples.map(\.decibels))
        }

        func known(_ place: LocalPlane.Point) -> Known {
            let parts = solved(places.map { Self.covariance($0, place) })
            var (decibels, variance) = (0.0, RadioMap.spread * RadioMap.spread)
            for (part, sample) in zip(parts, whitened) {
                decibels += part * sample
                variance -= part * part
            }
            return Known(decibels: Float(min(60, max(-60, decibels))), variance: Float(max(0, variance)))
        }

        /// Forward substitution.
        private func solved(_ values: [Double]) -> [Double] {
            var values = values
            for row in values.indices {
                var sum = values[row]
                for before in 0..<row { sum -= factor[row * values.count + before] * values[before] }
                values[row] = sum / factor[row * values.count + row]
            }
            return values
        }

        /// Matérn's of 3/2.
        private static func covariance(_ one: LocalPlane.Point, _ other: LocalPlane.Point) -> Double {
            let lengths = 3.0.squareRoot() * one.distance(to: other) / RadioMap.length
            return RadioMap.spread * RadioMap.spread * (1 + lengths) * exp(-lengths)
        }
    }

    private static func text(_ value: Double) -> String { String((value * 1e7).rounded() / 1e7) }

    /// Whether it was made where an observer hangs.
    public func isOf(_ position: Position) -> Bool {
        LocalPlane(around: Position(latitude: latitude, longitude: longitude)).point(position).distance(to: .init(x: 0, y: 0)) < 2
    }

    /// What is known at so many metres east and north of the observer, between its places in a straight line.
    func known(east: Double, north: Double) -> Known {
        guard let column = between(east - west, columns), let row = between(north - south, places.count / columns) else {
            return .nothing
        }
        return known(column, row)
    }

    /// What is known of each cell of a grid.
    func known(of grid: FilterGrid, from observer: LocalPlane.Point) -> [Known] {
        let side = PositionFilter.side
        let rows = (0..<side).map { between(grid.centre(of: $0).y - observer.y - south, places.count / columns) }
        var cells = [Known](repeating: .nothing, count: PositionFilter.cells)
        for number in 0..<side {
            guard let column = between(grid.centre(of: number * side).x - observer.x - west, columns) else { continue }
            for (cell, row) in zip(number * side..<number * side + side, rows) {
                if let row { cells[cell] = known(column, row) }
            }
        }
        return cells
    }

    /// Two places beside each other, and how far it is from one to the other.
    private typealias Between = (one: Int, other: Int, part: Float)

    /// - Returns: nil: it is beyond.
    private func between(_ metres: Double, _ count: Int) -> Between? {
        let steps = metres / step
        guard steps >= -0.5, steps < Double(count) - 0.5 else { return nil }
        let one = min(max(0, Int(steps)), max(0, count - 2))
        return (one, min(one + 1, count - 1), Float(min(1, max(0, steps - Double(one)))))
    }

    private func known(_ column: Between, _ row: Between) -> Known {
        func mixed(_ one: Known, _ other: Known, _ part: Float) -> Known {
            Known(
                decibels: one.decibels + part * (other.decibels - one.decibels),
                variance: one.variance + part * (other.variance - one.variance))
        }
        let (south, north) = (row.one * columns, row.other * columns)
        return mixed(
            mixed(places[south + column.one], places[south + column.other], column.part),
            mixed(places[north + column.one], places[north + column.other], column.part), row.part)
    }
}
