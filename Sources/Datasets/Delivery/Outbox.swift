import DequeModule
import Records

/// Matches that are not yet with everyone they are for.
///
/// A match enters with its number and leaves when each target is settled. Nothing goes out before it is durable.
struct Outbox {
    private(set) var parcels: [Int64: Parcel] = [:]
    /// What goes over the broker, the match topic and `mqtt:` pushers.
    var lanes = BrokerLanes()
    /// What goes to webhooks.
    var posts = PostQueues()
    /// Not yet durable, in order.
    private var held = Deque<Int64>()
    /// Matches up to here are durable and may go out.
    private var durableThrough: Int64 = 0
    /// How many wait, for each client of each dataset.
    private var waiting: [String: Int] = [:]

    mutating func append(_ parcel: Parcel) {
        parcels[parcel.number] = parcel
        waiting[parcel.client, default: 0] += 1
        held.append(parcel.number)
    }

    /// How many matches of a client wait for whom they are for.
    func waiting(of client: String) -> Int { waiting[client] ?? 0 }

    mutating func durable(through number: Int64) {
        durableThrough = max(durableThrough, number)
        while let first = held.first, first <= durableThrough {
            held.removeFirst()
            guard let parcel = parcels[first] else { continue }
            for token in parcel.outstanding { release(token, of: parcel) }
        }
    }

    private mutating func release(_ token: ParcelToken, of parcel: Parcel) {
        switch parcel.target(token.slot) {
        case .match, .path: lanes.append(token, of: parcel.client)
        case .webhook(let url): posts.append(token, to: url, of: parcel.client)
        }
    }

    /// Marks one target of a match as settled.
    ///
    /// - Returns: The match as it is then; nil where that target was settled before, or the match is gone.
    mutating func settle(_ token: ParcelToken, as fate: MatchFate) -> Parcel? {
        guard var parcel = parcels[token.number], parcel.owes(token.slot) else { return nil }
        parcel.settled |= 1 << UInt32(token.slot)
        parcel.fate = max(parcel.fate, fate)
        if parcel.isSettled { _ = remove(token.number) } else { parcels[token.number] = parcel }
        return parcel
    }

    /// Takes out a match that will not go to anybody any more.
    mutating func remove(_ number: Int64) -> Parcel? {
        guard let parcel = parcels.removeValue(forKey: number) else { return nil }
        for slot in 0...parcel.pushers.count { lanes.end(ParcelToken(number: number, slot: slot)) }
        let left = (waiting[parcel.client] ?? 1) - 1
        waiting[parcel.client] = left > 0 ? left : nil
        return parcel
    }

    /// Whether a target of a match is still to take it.
    func owes(_ token: ParcelToken) -> Bool { parcels[token.number]?.owes(token.slot) == true }

    /// The same subscription is another object after the store gave it back.
    mutating func relink(_ number: Int64, to subscription: Subscription?) { parcels[number]?.subscription = subscription }

    /// - Returns: The numbers of those removed.
    mutating func removeAll(where isGone: (Parcel) -> Bool) -> [Int64] {
        let gone = parcels.filter { isGone($0.value) }.map(\.key)
        for number in gone { _ = remove(number) }
        return gone
    }
}
