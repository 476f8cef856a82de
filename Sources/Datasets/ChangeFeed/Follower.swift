/// A client that the feed of its dataset is sent to: a page at a time, the next one when the broker has taken it.
final class Follower {
    enum State: Equatable {
        case idle
        /// The store is asked for a page.
        case asking
        /// A page is on its way; behind it `isPart` more wait.
        case sending(through: Int64, isPart: Bool)
    }

    let number: UInt64
    var record: FollowerRecord
    var state = State.idle
    /// Something may have changed since the store was last asked.
    var isPoked = true
    /// `record.since` when it was last made durable.
    var sinceTold: Int64

    init(_ record: FollowerRecord, number: UInt64) {
        self.record = record
        self.number = number
        sinceTold = record.since
    }
}

/// Names a follower towards the broker. Tokens of matches stay far below this bit, those of live messages have the one above it.
struct FollowerToken {
    var number: UInt64

    init(number: UInt64) { self.number = number }

    init?(_ token: UInt64) {
        guard token >> 62 == 1 else { return nil }
        number = token & (1 << 62 - 1)
    }

    var token: UInt64 { 1 << 62 | number }
}

/// What a page of a feed was asked for.
enum FeedUse: Equatable, Sendable {
    case get
    /// Seconds of the lease.
    case follow(since: Int64?, lease: Double)
    case unfollow
    case stream(UInt64)
}
