/// A value, and what it can be relied on for.
struct Outcome {
    var truth: Truth
    /// Metres the device can move before it may be another value.
    var slack = Double.infinity
    /// The first instant at which it may be another value by time alone.
    var due = Int64.max

    static let unknown = Outcome(truth: .unknown)

    /// Both must hold.
    @inline(__always)
    mutating func relyOn(slack: Double, due: Int64) {
        self.slack = min(self.slack, slack)
        self.due = min(self.due, due)
    }
}
