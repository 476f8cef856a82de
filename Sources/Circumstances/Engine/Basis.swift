/// What the value of a condition rests on, seen from a device among places.
enum Basis: UInt8 {
    /// That some place of its guard is within reach: an `at` or `near` of one identity.
    case reach
    /// That some place of its guard is within reach of which its rules are true, at whatever distance: an `at` or `near` of anything but
    /// thresholds.
    case rules
    case everything
}
