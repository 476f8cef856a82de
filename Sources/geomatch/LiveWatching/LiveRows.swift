import Wire

/// What a live subscription has told so far: the newest update of each topic that has not left.
///
/// A subscription that was lost and is taken up again begins with a snapshot. What it does not tell again is gone; which messages
/// belong to it is seen by their arrival at the daemon, before the subscription.
struct LiveRows {
    struct Row: Equatable {
        /// The topic's levels, as they are encoded.
        var levels: [String]
        /// The message.
        var payload: [UInt8]
        /// Milliseconds since 1970 UTC, of the event and of its arrival at the daemon.
        var timestamp: Int64
        var receivedAt: Int64
        /// When it came here.
        var seenAt: Int64
        fileprivate var turn: Int
    }

    /// What a message did.
    enum Change: Equatable {
        case updated, left
        /// It is no live update, or there are too many rows already.
        case none
    }

    static let countMax = 100_000

    private var rows: [[UInt8]: Row] = [:]
    /// Counts the subscriptions.
    private var turn = 0
    private var snapshot: (count: Int, told: Int, at: Int64)?
    /// Topics beyond the bound, or not; updates of them pass by.
    private(set) var isFull = false

    var count: Int { rows.count }
    /// In no order.
    var all: some Collection<Row> { rows.values }

    mutating func apply(_ payload: UnsafeRawBufferPointer, now: Int64) -> Change {
        guard let update = (try? JSONValue.parse(payload))?.asObject, let topic = update["topic"]?.asString else { return .none }
        let key = Array(topic.utf8)
        if update["left"]?.asBool == true { return rows.removeValue(forKey: key) == nil ? .none : .left }
        let known = rows[key]
        guard known != nil || rows.count < Self.countMax else {
            isFull = true
            return .none
        }
        let receivedAt = update["receivedAt"]?.asInt64 ?? 0
        if known?.turn != turn, let at = snapshot?.at, receivedAt <= at { snapshot?.told += 1 }
        rows[key] = Row(
            levels: known?.levels ?? topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init),
            payload: Array(payload), timestamp: update["timestamp"]?.asInt64 ?? now, receivedAt: receivedAt, seenAt: now,
            turn: turn)
        return .updated
    }

    /// A subscription is asked for: its snapshot will tell what there is.
    mutating func beginTurn() {
        turn += 1
        snapshot = nil
    }

    /// The subscription stands.
    ///
    /// - Parameters:
    ///   - count: How many messages its snapshot has.
    ///   - instant: When it was made, by the daemon's clock.
    mutating func expectSnapshot(of count: Int, at instant: Int64) {
        let told = rows.values.count { $0.turn == turn && $0.receivedAt <= instant }
        snapshot = (count, told, instant)
    }

    /// Every message of the snapshot has come.
    var isComplete: Bool { snapshot.map { $0.told >= $0.count } ?? false }

    /// There is something an earlier subscription told and this one did not, yet.
    var hasStale: Bool { rows.values.contains { $0.turn != turn } }

    /// Takes out what the snapshot did not tell again, in the order of the topics.
    mutating func takeStale() -> [Row] {
        let stale = rows.filter { $0.value.turn != turn }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for (key, _) in stale { rows[key] = nil }
        return stale.map(\.value)
    }
}

extension LiveRows.Row {
    /// The message as the daemon would have said that the object left.
    var leftMessage: [UInt8] { payload.dropLast() + Array(",\"left\":true}".utf8) }

    /// The properties for a line: `available false`.
    var text: String {
        guard let update = (try? JSONValue.parse(payload))?.asObject else { return "" }
        let members = update["properties"]?.asObject?.members ?? []
        let text = members.map { "\(PlainText.printable($0.key)) \(PlainText.of($0.value))" }.joined(separator: "  ")
        return update["derived"]?.asBool == true ? text + "  (derived)" : text
    }
}
