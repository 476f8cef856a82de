import Geodesy

/// A box around a geofence in 16 bytes, so that most of those near a position are ruled out without a look at them.
struct FenceSketch {
    private var west, south, east, north: Float

    /// More than degrees lose as floats.
    private static let slack: Float = 4e-5

    /// Holds nothing.
    static let nothing = FenceSketch(west: 1, south: 1, east: -1, north: -1)

    private init(west: Float, south: Float, east: Float, north: Float) {
        (self.west, self.south, self.east, self.north) = (west, south, east, north)
    }

    init(_ boxes: [Area.Box]) {
        self = .nothing
        for (index, box) in boxes.enumerated() {
            // What lies across the antimeridian, or ends there, is looked at wherever it is.
            let isWhole = box.west > box.east || box.west <= -180 || box.east >= 180
            let sketch = FenceSketch(
                west: isWhole ? -200 : Float(box.west) - Self.slack, south: Float(box.south) - Self.slack,
                east: isWhole ? 200 : Float(box.east) + Self.slack, north: Float(box.north) + Self.slack)
            self =
                index == 0
                ? sketch
                : FenceSketch(
                    west: min(west, sketch.west), south: min(south, sketch.south), east: max(east, sketch.east),
                    north: max(north, sketch.north))
        }
    }

    @inline(__always)
    func mayHold(_ latitude: Float, _ longitude: Float) -> Bool {
        west <= longitude && longitude <= east && south <= latitude && latitude <= north
    }
}
