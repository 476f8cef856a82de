internal import Foundation

/// The time of day, as the link's loop has it.
package enum WallClock {
    /// Milliseconds since 1970 UTC.
    package static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
