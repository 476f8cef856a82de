import Records

/// A match or an event on its way: durable, numbered, complete when each of its targets has it or never will.
struct PendingDelivery {
    var number: Int64
    /// Of its dataset.
    var account: MatchAccount
    /// Whose delivery it counts for; that may be gone by now.
    var source: (any Delivering)?
    /// The subscription's owner in its dataset: whose turn it takes, and whose maximum it counts for.
    var client: String { recipient.owner }
    var id: String
    var createdAt: Int64
    var body: [UInt8]
    var recipient: Recipient
    /// As they were when the match was made.
    var pushers: [Pusher]
    var secret: String?
    /// What push services are handed, as JSON.
    var push: String?
    /// What it is about, for those.
    var pair = ""
    /// It is about a circumstance, beacons or a geofence, and counts as no match.
    var isEvent = false
    /// A bit for each target that has it or never will: the recipient first, then the pushers.
    var completed: UInt32 = 0
    /// The worst that became of those.
    var fate = MatchFate.delivered

    /// When its pushers give up.
    var givesUpAt: Int64 { createdAt + Self.givesUpAfterMilliseconds }
    var isComplete: Bool { completed.nonzeroBitCount > pushers.count }
    /// Those that are still to have it.
    var outstanding: [DeliveryToken] {
        (0...pushers.count).filter(isOutstanding).map { DeliveryToken(number: number, slot: $0) }
    }

    func isOutstanding(_ slot: Int) -> Bool { slot <= pushers.count && completed & 1 << UInt32(slot) == 0 }

    func target(_ slot: Int) -> Pusher { slot == 0 ? .match : pushers[slot - 1] }

    static let givesUpAfterMilliseconds: Int64 = 3_600_000
}

/// Names one target of one match towards doors and webhooks, over every try.
struct DeliveryToken: Hashable, Comparable {
    var number: Int64
    /// 0 is the recipient, then come the pushers.
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

/// What the matches of one dataset came to.
final class MatchAccount {
    var counters = MatchCounters()
    var budgetReport = BudgetReport()
    /// Since the log had it.
    private var droppedCount = 0
    let diagnostics: Diagnostics

    init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

    /// So many were not delivered.
    func noteDropped(_ count: Int) { droppedCount += count }

    /// Logs how many were dropped.
    func note(of dataset: String, _ turn: inout Turn) {
        guard droppedCount > 0 else { return }
        turn.note(.matchesDropped(dataset: dataset, count: droppedCount))
        droppedCount = 0
    }
}
