/// A device at an instant: all that a circumstance can be about.
struct Situation {
    var device: UInt32
    /// Milliseconds since 1970 UTC.
    var instant: Int64
    /// False while the device has no position: then everything about places is unknown.
    var isKnown: Bool
    /// Metres; nil where none was sent.
    var accuracy: Double?
    /// Nearest first where a condition is evaluated as a whole: all that rules can be true of within their reach, margins included, and `foresight` metres more.
    var places: [NearbyPlace] = []
    var foresight: Double
    var isMoving: Bool?
    /// Since when it has been within 50 m of here, on the clock of `instant`.
    var dwellingSince: Int64?
    var visits: VisitHistory?
}

extension Situation {
    /// For rules of places, which ask for nothing but the time.
    init(instant: Int64) {
        self.init(device: 0, instant: instant, isKnown: true, foresight: 0)
    }
}
