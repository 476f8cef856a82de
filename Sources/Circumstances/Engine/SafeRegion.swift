/// What can be relied on after a look at a device: how far it may go, which circles it may not cross meanwhile, and how long it may take.
///
/// The nearest circles are kept apart, so that a device that passes one by need not be looked at again.
struct SafeRegion {
    /// Metres to all else that may change something.
    private(set) var outer: Double
    /// The first instant at which time alone may change something.
    private(set) var due = Int64.max
    private(set) var circles = InlineArray<4, BoundaryCircle>(repeating: .none)
    private var slacks = InlineArray<4, Double>(repeating: .infinity)

    init(slack: Double) { outer = slack }

    /// Metres to the nearest that may change something.
    var safe: Double { min(outer, slacks[0]) }

    mutating func limit(_ slack: Double) { outer = min(outer, slack) }

    mutating func take(_ outcome: Outcome) {
        outer = min(outer, outcome.slack)
        due = min(due, outcome.due)
    }

    /// The device is so far, in metres, from a circle.
    mutating func take(_ circle: @autoclosure () -> BoundaryCircle, slack: Double) {
        guard slack < outer else { return }
        var (circle, slack) = (circle(), slack)
        for index in 0..<BoundaryCircles.max where circles[index] == circle { return }
        for index in 0..<BoundaryCircles.max where slack < slacks[index] {
            swap(&slacks[index], &slack)
            (circles[index], circle) = (circle, circles[index])
        }
        outer = min(outer, slack)
    }
}
