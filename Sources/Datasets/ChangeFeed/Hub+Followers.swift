import Wire
import Records

// The feed as it is streamed: always read from the store, so that it costs no memory and nothing is told before it is durable.

extension Hub {
    /// - Parameter known: The follower whose lease is renewed; nil where it begins anew.
    func follow(_ record: FollowerRecord, keeping known: Follower?, in dataset: Dataset, _ turn: inout Turn) {
        if let known {
            known.record.lease = record.lease
            known.record.leaseUntil = record.leaseUntil
            known.isPoked = true
        } else {
            addFollower(record, in: dataset)
        }
        turn.keep(.put(record))
        pumpFollowers(of: dataset, &turn)
    }

    func unfollow(_ follower: Follower, in dataset: Dataset, _ turn: inout Turn) {
        removeFollower(follower, in: dataset)
        turn.keep(.deleteFollower(dataset: dataset.id, client: follower.record.client))
    }

    func restore(_ record: FollowerRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        addFollower(record, in: dataset)
    }

    private func addFollower(_ record: FollowerRecord, in dataset: Dataset) {
        if let known = dataset.followers[record.client] { removeFollower(known, in: dataset) }
        repeat { lastFollower = (lastFollower &+ 1) & 0x3FFF_FFFF } while followers[lastFollower] != nil
        let follower = Follower(record, number: lastFollower)
        dataset.followers[record.client] = follower
        followers[follower.number] = (follower, dataset)
    }

    func removeFollower(_ follower: Follower, in dataset: Dataset) {
        dataset.followers[follower.record.client] = nil
        followers[follower.number] = nil
    }

    func removeFollowers(of dataset: Dataset) {
        for follower in dataset.followers.values { followers[follower.number] = nil }
        dataset.followers.removeAll()
    }

    // MARK: Sending

    /// Followers of what these effects change are told of it when it is durable: the store answers in order.
    func announceToFollowers(_ turn: inout Turn) {
        guard !followers.isEmpty else { return }
        var changed: [String] = []
        for change in turn.effects.changes.dropFirst(turn.effects.changesSeenByFollowers) where change.changesFeed {
            guard let name = change.dataset, changed.last != name else { continue }
            changed.append(name)
        }
        turn.effects.changesSeenByFollowers = turn.effects.changes.count
        for name in Set(changed).sorted() {
            guard let dataset = datasets[name] else { continue }
            for follower in dataset.followers.values { follower.isPoked = true }
            pumpFollowers(of: dataset, &turn)
        }
    }

    private func pumpFollowers(of dataset: Dataset, _ turn: inout Turn) {
        for follower in dataset.followers.values.sorted(by: { $0.number < $1.number }) {
            pump(follower, in: dataset, &turn)
        }
    }

    private func pump(_ follower: Follower, in dataset: Dataset, _ turn: inout Turn) {
        guard outbox.lanes.isOpen, follower.isPoked, follower.state == .idle else { return }
        follower.isPoked = false
        follower.state = .asking
        let client = follower.record.client
        let isAdministrator = configuration.administrators.allow(client: client, in: dataset.id)
        let query = FeedQuery(
            dataset: dataset.id, since: follower.record.since, limit: Page.maximum, bytes: Self.feedPageBytes,
            reader: isAdministrator ? nil : client)
        turn.effects.queries.append(
            StoreQuery(
                kind: .feed(query),
                reply: ReplyContext(address: .nobody, request: "changes/follow", dataset: dataset.id, client: client),
                use: .feed(.stream(follower.number))))
    }

    /// The store's answer to a follower.
    func stream(_ finding: StoreFinding, to number: UInt32, _ turn: inout Turn) {
        guard let (follower, dataset) = followers[number], follower.state == .asking else { return }
        follower.state = .idle
        guard case .feed(let page) = finding else {
            // The next second asks again.
            follower.isPoked = true
            return
        }
        // A store that was put back knows less than was told: the client finds out by the number it goes on from.
        follower.record.since = min(follower.record.since, page.last)
        let message = encode(page, since: follower.record.since, of: dataset)
        guard message.rows > 0 else {
            follower.record.since = message.last
            follower.isPoked = follower.isPoked || message.isPart
            return pump(follower, in: dataset, &turn)
        }
        follower.page &+= 1
        follower.state = .sending(through: message.last, isPart: message.isPart)
        let notification = Notification(
            recipient: follower.recipient, token: FollowerToken(number: number, page: follower.page).token)
        turn.effects.output.append(.notification(notification), payload: message.bytes)
    }

    /// The broker took a page, or refused it for good.
    func followerAcknowledged(_ token: FollowerToken, _ turn: inout Turn) {
        guard let (follower, dataset) = followers[token.number], follower.page == token.page,
            case .sending(let through, let isPart) = follower.state
        else { return }
        follower.record.since = through
        follower.state = .idle
        if isPart { follower.isPoked = true }
        pump(follower, in: dataset, &turn)
    }

    /// A page could not be handed over: it is read again with the next connection.
    func followerReturned(_ token: FollowerToken) {
        guard let (follower, _) = followers[token.number], follower.page == token.page, case .sending = follower.state else {
            return
        }
        follower.state = .idle
        follower.isPoked = true
    }

    /// What was sent over a former connection and not acknowledged is sent again.
    func resumeFollowers(_ turn: inout Turn) {
        for (follower, dataset) in followers.values.sorted(by: { $0.0.number < $1.0.number }) {
            if follower.state != .asking {
                follower.state = .idle
                follower.isPoked = true
            }
            pump(follower, in: dataset, &turn)
        }
    }

    // MARK: Time

    /// Once a second: leases that are over, how far each is, and questions that the store could not answer.
    func advanceFollowers(to now: Int64, _ turn: inout Turn) {
        guard !followers.isEmpty else { return }
        for (follower, dataset) in followers.values.sorted(by: { $0.0.number < $1.0.number }) {
            guard follower.record.leaseUntil > now else {
                unfollow(follower, in: dataset, &turn)
                continue
            }
            if follower.record.since != follower.sinceTold {
                follower.sinceTold = follower.record.since
                turn.keep(.put(follower.record))
            }
            pump(follower, in: dataset, &turn)
        }
    }
}
