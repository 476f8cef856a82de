import Records

/// A match on its way to whom it is for: durable, numbered, settled when each of its targets took it or never will.
struct Parcel {
    var number: Int64
    var dataset: Dataset
    /// Whose delivery it counts for; that may be gone by now.
    var subscription: Subscription?
    /// The subscription's owner in its dataset: whose turn it takes, and whose maximum it counts for.
    var client: String { recipient.owner }
    var id: String
    var createdAt: Int64
    var body: [UInt8]
    var recipient: Recipient
    /// As they were when the match was made.
    var pushers: [Pusher]
    var secret: String?
    /// It tells of a circumstance or of beacons, and counts as no match.
    var isIncident = false
    /// A bit for each target that took it or never will: the recipient first, then the pushers.
    var settled: UInt32 = 0
    /// The worst that became of those.
    var fate = MatchFate.delivered

    /// When its webhooks give up.
    var givesUpAt: Int64 { createdAt + Self.givesUpAfterMilliseconds }
    var isSettled: Bool { settled.nonzeroBitCount > pushers.count }
    /// Those that are still to take it.
    var outstanding: [ParcelToken] {
        (0...pushers.count).filter { settled & 1 << UInt32($0) == 0 }.map { ParcelToken(number: number, slot: $0) }
    }

    func owes(_ slot: Int) -> Bool { slot <= pushers.count && settled & 1 << UInt32(slot) == 0 }

    func target(_ slot: Int) -> Pusher { slot == 0 ? .match : pushers[slot - 1] }

    static let givesUpAfterMilliseconds: Int64 = 3_600_000
}

/// Names one target of one match towards the broker and the webhooks, over every try.
struct ParcelToken: Hashable, Comparable {
    var number: Int64
    /// 0 is the match topic, then come the pushers.
    var slot: Int

    init(number: Int64, slot: Int) {
        self.number = number
        self.slot = slot
    }

    /// Never 0: numbers begin at 1.
    var raw: UInt64 { UInt64(bitPattern: number) << 5 | UInt64(slot) }

    init(raw: UInt64) {
        number = Int64(bitPattern: raw >> 5)
        slot = Int(raw & 31)
    }

    static func < (left: Self, right: Self) -> Bool { left.raw < right.raw }
}
