internal import Foundation

/// The time of day, for what people and payloads are shown.
package enum WallClock {
    /// Milliseconds since 1970 UTC.
    package static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

/// A clock for deadlines: nobody sets it, and it goes on while the machine sleeps.
enum SteadyClock {
    private static let start = ContinuousClock.now

    /// Milliseconds since this was called first.
    static func now() -> Int64 {
        // `start` is made before the instant that is compared with it.
        let start = Self.start
        return (ContinuousClock.now - start).milliseconds
    }

    /// An instant of this clock on another one.
    ///
    /// - Parameters:
    ///   - instant: `Int64.max` stays what it is.
    ///   - now: The other clock at present, in milliseconds.
    static func translate(_ instant: Int64, to now: Int64) -> Int64 {
        instant == .max ? .max : now + (instant - Self.now())
    }
}
