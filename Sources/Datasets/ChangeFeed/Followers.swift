import Records
import Wire

/// The clients that follow change feeds, over all datasets, and what is on its way to them.
///
/// A feed is always read from the store, so that it costs no memory and nothing is reported before it is durable.
final class Followers {
    /// A page of a feed as a message.
    typealias Message = (bytes: [UInt8], last: Int64, rows: Int, isPart: Bool)

    private let administrators: AccessPatterns
    private let mayName: @Sendable (_ dataset: String, _ client: String) -> Bool
    private var byNumber: [UInt32: Follower] = [:]
    /// By dataset and client.
    private var byClient: [String: [String: Follower]] = [:]
    private var lastNumber: UInt32 = 0
    /// Notifications can leave.
    private var isOpen = false
    /// Datasets whose next change a door wants to hear of.
    private var watched: Set<String> = []

    init(
        administrators: AccessPatterns,
        mayName: @escaping @Sendable (_ dataset: String, _ client: String) -> Bool = { _, _ in true }
    ) {
        self.administrators = administrators
        self.mayName = mayName
    }

    var isEmpty: Bool { byNumber.isEmpty }

    subscript(dataset: String, client: String) -> Follower? { byClient[dataset]?[client] }

    func count(of dataset: String) -> Int { byClient[dataset]?.count ?? 0 }

    // MARK: Coming and going

    /// - Parameter known: The follower whose lease is renewed; nil where it begins anew.
    func follow(_ record: FollowerRecord, keeping known: Follower?, _ turn: inout Turn) {
        if let known {
            known.record.lease = record.lease
            known.record.leaseUntil = record.leaseUntil
            known.mayLag = true
        } else {
            restore(record)
        }
        turn.keep(.put(record))
        askFor(record.dataset, &turn)
    }

    func unfollow(_ follower: Follower, _ turn: inout Turn) {
        remove(follower)
        turn.keep(.deleteFollower(dataset: follower.record.dataset, client: follower.record.client))
    }

    /// Access has changed: a client that may not name the dataset any more is sent its feed no longer.
    func reviewAccess(_ turn: inout Turn) {
        for follower in inOrder where !mayName(follower.record.dataset, follower.record.client) { unfollow(follower, &turn) }
    }

    /// Adds a follower, in place of the one that its client was before. One whose client may not name the dataset any more is sent
    /// nothing, and ends with the next second.
    func restore(_ record: FollowerRecord) {
        var record = record
        if !mayName(record.dataset, record.client) { record.leaseUntil = .min }
        if let known = self[record.dataset, record.client] { remove(known) }
        repeat { lastNumber = (lastNumber &+ 1) & 0x3FFF_FFFF } while byNumber[lastNumber] != nil
        let follower = Follower(record, number: lastNumber)
        byClient[record.dataset, default: [:]][record.client] = follower
        byNumber[follower.number] = follower
    }

    func remove(_ follower: Follower) {
        let record = follower.record
        byClient[record.dataset]?[record.client] = nil
        if byClient[record.dataset]?.isEmpty == true { byClient[record.dataset] = nil }
        byNumber[follower.number] = nil
    }

    /// Removes those of a dataset that was deleted.
    func removeAll(of dataset: String) {
        for follower in byClient.removeValue(forKey: dataset)?.values ?? [:].values { byNumber[follower.number] = nil }
    }

    // MARK: Sending

    /// Followers of what this turn changes hear of it when it is durable: the store answers in order.
    func announce(_ turn: inout Turn) {
        guard !byNumber.isEmpty || !watched.isEmpty else { return }
        var changed: [String] = []
        for change in turn.effects.changes.dropFirst(turn.effects.changesSeenByFollowers) where change.changesFeed {
            guard let name = change.dataset, changed.last != name else { continue }
            changed.append(name)
        }
        turn.effects.changesSeenByFollowers = turn.effects.changes.count
        for name in Set(changed).sorted() {
            if watched.remove(name) != nil { turn.effects.output.append(.feedChange, name: name, payload: []) }
            for follower in byClient[name]?.values ?? [:].values { follower.mayLag = true }
            askFor(name, &turn)
        }
    }

    /// Has the next change of a dataset's feed leave as ``Output/Kind/feedChange``, once.
    func watch(_ dataset: String) { watched.insert(dataset) }

    /// Asks the store for those of a dataset that may lag.
    private func askFor(_ dataset: String, _ turn: inout Turn) {
        for follower in (byClient[dataset] ?? [:]).values.sorted(by: { $0.number < $1.number }) { ask(follower, &turn) }
    }

    private func ask(_ follower: Follower, _ turn: inout Turn) {
        guard isOpen, follower.mayLag, follower.state == .idle, follower.record.leaseUntil > turn.now else { return }
        follower.mayLag = false
        follower.state = .asking
        let (dataset, client) = (follower.record.dataset, follower.record.client)
        let query = FeedQuery(
            dataset: dataset, since: follower.record.since, limit: Page.maximum, bytes: Page.maximumBytes,
            reader: administrators.allow(client: client, in: dataset) ? nil : client)
        turn.effects.queries.append(
            StoreQuery(
                kind: .feed(query),
                reply: ReplyContext(address: .nobody, request: "changes/follow", dataset: dataset, client: client),
                use: .feed(.stream(follower.number))))
    }

    /// The store's answer to a follower.
    ///
    /// - Parameter encode: Makes a message of a page, from a number on.
    func answer(_ finding: StoreAnswer, to number: UInt32, _ encode: (FeedPage, Int64) -> Message, _ turn: inout Turn) {
        guard let follower = byNumber[number], follower.state == .asking else { return }
        follower.state = .idle
        guard case .feed(let page) = finding else {
            // The next second asks again.
            follower.mayLag = true
            return
        }
        // A store that was put back knows less than was reported: the client finds out by the number it goes on from.
        follower.record.since = min(follower.record.since, page.last)
        let message = encode(page, follower.record.since)
        guard message.rows > 0 else {
            follower.record.since = message.last
            follower.mayLag = follower.mayLag || message.isPart
            return ask(follower, &turn)
        }
        follower.page &+= 1
        follower.state = .sending(through: message.last, isPart: message.isPart)
        let notification = Notification(
            recipient: follower.recipient, token: FollowerToken(number: number, page: follower.page).token)
        turn.effects.output.append(.notification(notification), payload: message.bytes)
    }

    /// A page arrived, or was refused for good.
    func delivered(_ token: FollowerToken, _ turn: inout Turn) {
        guard let follower = byNumber[token.number], follower.page == token.page,
            case .sending(let through, let isPart) = follower.state
        else { return }
        follower.record.since = through
        follower.state = .idle
        if isPart { follower.mayLag = true }
        ask(follower, &turn)
    }

    /// A page could not be handed over: it is read again when the door opens.
    func returned(_ token: FollowerToken) {
        guard let follower = byNumber[token.number], follower.page == token.page, case .sending = follower.state else { return }
        follower.state = .idle
        follower.mayLag = true
    }

    /// A door opened: what was sent before and is not known to have arrived is sent again.
    func open(_ turn: inout Turn) {
        isOpen = true
        for follower in inOrder {
            if follower.state != .asking {
                follower.state = .idle
                follower.mayLag = true
            }
            ask(follower, &turn)
        }
    }

    func close() { isOpen = false }

    private var inOrder: [Follower] { byNumber.values.sorted { $0.number < $1.number } }

    // MARK: Time

    /// Once a second: leases that are over, how far each is, and questions that the store could not answer.
    func advance(_ turn: inout Turn) {
        guard !byNumber.isEmpty else { return }
        for follower in inOrder {
            guard follower.record.leaseUntil > turn.now else {
                unfollow(follower, &turn)
                continue
            }
            if follower.record.since != follower.durableSince {
                follower.durableSince = follower.record.since
                turn.keep(.put(follower.record))
            }
            ask(follower, &turn)
        }
    }
}
