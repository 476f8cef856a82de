import Glibc

package enum WallClock {
    /// Milliseconds since 1970 UTC.
    package static func now() -> Int64 { milliseconds(CLOCK_REALTIME) }

    /// Milliseconds of a clock that is never set.
    package static func monotonic() -> Int64 { milliseconds(CLOCK_MONOTONIC) }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
