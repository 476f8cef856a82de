import Cluster
import Glibc
import Synchronization

/// When the leases were last renewed, by a clock that goes on while the machine sleeps.
final class LeaseClock: Sendable {
    private let renewedAt = Atomic<Int64>(.min)

    /// Milliseconds since the machine began.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    func renewed(at instant: Int64) { renewedAt.store(instant, ordering: .sequentiallyConsistent) }

    /// Whether nobody can have taken a shard of this node's.
    var isFresh: Bool {
        let renewed = renewedAt.load(ordering: .sequentiallyConsistent)
        return renewed != .min && Self.now() - renewed < Member.silenceMilliseconds
    }
}
