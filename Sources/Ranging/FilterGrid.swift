/// Where the cells of a ``PositionFilter`` lie.
struct FilterGrid: Sendable, Equatable {
    private let west, south: Double
    /// Metres, of a cell.
    let width, height: Double

    /// Metres around the observers, which mostly hang at the edges of what they cover, and what a grid covers at least. With outlines it may
    /// be larger, as they say where nobody is.
    private static let margin = (open: 0.5, outlined: 0.75)
    private static let spanMin = 6.0

    /// - Parameter points: At least one.
    init(around points: [LocalPlane.Point], isOutlined: Bool = false) {
        let margin = isOutlined ? Self.margin.outlined : Self.margin.open
        func span(_ values: [Double]) -> (low: Double, metres: Double) {
            let low = values.min() ?? 0
            let high = values.max() ?? 0
            let metres = max(Self.spanMin, high - low + 2 * margin)
            return ((low + high - metres) / 2, metres)
        }
        let (x, y) = (span(points.map(\.x)), span(points.map(\.y)))
        (west, south) = (x.low, y.low)
        (width, height) = (x.metres / Double(PositionFilter.side), y.metres / Double(PositionFilter.side))
    }

    func centre(of cell: Int) -> LocalPlane.Point {
        LocalPlane.Point(
            x: west + (Double(cell / PositionFilter.side) + 0.5) * width,
            y: south + (Double(cell % PositionFilter.side) + 0.5) * height)
    }

    /// nil: it lies outside.
    func cell(at place: LocalPlane.Point) -> Int? {
        let column = (place.x - west) / width
        let row = (place.y - south) / height
        let side = Double(PositionFilter.side)
        guard column >= 0, row >= 0, column < side, row < side else { return nil }
        return Int(column) * PositionFilter.side + Int(row)
    }

    /// Whether it holds another grid and is not much larger: it then stays as it is, for moving it blurs what is known.
    func suits(_ other: FilterGrid) -> Bool {
        let side = Double(PositionFilter.side)
        let slack = 0.01
        return west <= other.west + slack && south <= other.south + slack
            && west + side * width >= other.west + side * other.width - slack
            && south + side * height >= other.south + side * other.height - slack && width <= 1.7 * other.width
            && height <= 1.7 * other.height
    }
}
