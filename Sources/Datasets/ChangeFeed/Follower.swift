import Records

/// A client that the feed of its dataset is sent to: a page at a time, the next one when that has arrived.
final class Follower {
    enum State: Equatable {
        case idle
        /// The store is asked for a page.
        case asking
        /// A page is on its way; behind it `isPart` more wait.
        case sending(through: Int64, isPart: Bool)
    }

    let number: UInt32
    let recipient: Recipient
    var record: FollowerRecord
    var state = State.idle
    /// Of the page that was sent last.
    var page: UInt32 = 0
    /// Something may have changed since the store was last asked.
    var mayLag = true
    /// `record.since` when it was last made durable.
    var durableSince: Int64

    init(_ record: FollowerRecord, number: UInt32) {
        self.record = record
        self.number = number
        recipient = Recipient(record.dataset, record.client, .changes)
        durableSince = record.since
    }
}

/// Names a page of a follower towards a door: what is sent again when it opens anew is another one, so that the arrival of the first
/// does not count for it. Tokens of matches stay far below the highest bit here, those of live messages have the one above.
struct FollowerToken {
    var number: UInt32
    var page: UInt32

    init(number: UInt32, page: UInt32) {
        self.number = number
        self.page = page
    }

    init?(_ token: UInt64) {
        guard token >> 62 == 1 else { return nil }
        number = UInt32(token >> 32 & 0x3FFF_FFFF)
        page = UInt32(token & 0xFFFF_FFFF)
    }

    var token: UInt64 { 1 << 62 | UInt64(number & 0x3FFF_FFFF) << 32 | UInt64(page) }
}

/// What a page of a feed was asked for.
enum FeedUse: Equatable, Sendable {
    case get(RowContent)
    /// Seconds of the lease.
    case follow(since: Int64?, lease: Double)
    case unfollow
    case stream(UInt32)
}
