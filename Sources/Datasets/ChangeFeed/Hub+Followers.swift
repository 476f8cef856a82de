import Wire
import Records

// The feed as it is streamed: always read from the store, so that it costs no memory and nothing is told before it is durable.

extension Hub {
    /// - Parameter known: The follower whose lease is renewed; nil where it begins anew.
    func follow(
        _ record: FollowerRecord, keeping known: Follower?, in dataset: Dataset, into effects: inout HubEffects
    ) {
        if let known {
            known.record.lease = record.lease
            known.record.leaseUntil = record.leaseUntil
            known.isPoked = true
        } else {
            addFollower(record, in: dataset)
        }
        effects.changes.append(.putFollower(record))
        pumpFollowers(of: dataset, into: &effects)
    }

    func unfollow(_ follower: Follower, in dataset: Dataset, into effects: inout HubEffects) {
        removeFollower(follower, in: dataset)
        effects.changes.append(.deleteFollower(dataset: dataset.id, client: follower.record.client))
    }

    func restore(_ record: FollowerRecord) {
        guard !isRebuilding, let dataset = datasets[record.dataset] else { return }
        addFollower(record, in: dataset)
    }

    private func addFollower(_ record: FollowerRecord, in dataset: Dataset) {
        if let known = dataset.followers[record.client] { removeFollower(known, in: dataset) }
        repeat { lastFollower = (lastFollower &+ 1) & 0x3FFF_FFFF } while followers[lastFollower] != nil
        let follower = Follower(record, number: lastFollower)
        dataset.followers[record.client] = follower
        followers[follower.number] = (follower, dataset)
    }

    private func removeFollower(_ follower: Follower, in dataset: Dataset) {
        dataset.followers[follower.record.client] = nil
        followers[follower.number] = nil
    }

    func removeFollowers(of dataset: Dataset) {
        for follower in dataset.followers.values { followers[follower.number] = nil }
        dataset.followers.removeAll()
    }

    // MARK: Sending

    /// Followers of what these effects change are told of it when it is durable: the store answers in order.
    func tellFollowers(_ effects: inout HubEffects) {
        guard !followers.isEmpty else { return }
        var changed: [String] = []
        for change in effects.changes.dropFirst(effects.changesSeenByFollowers) where change.changesFeed {
            guard let name = change.dataset, changed.last != name else { continue }
            changed.append(name)
        }
        effects.changesSeenByFollowers = effects.changes.count
        for name in Set(changed).sorted() {
            guard let dataset = datasets[name] else { continue }
            for follower in dataset.followers.values { follower.isPoked = true }
            pumpFollowers(of: dataset, into: &effects)
        }
    }

    private func pumpFollowers(of dataset: Dataset, into effects: inout HubEffects) {
        for follower in dataset.followers.values.sorted(by: { $0.number < $1.number }) {
            pump(follower, in: dataset, into: &effects)
        }
    }

    private func pump(_ follower: Follower, in dataset: Dataset, into effects: inout HubEffects) {
        guard outbox.lanes.isOpen, follower.isPoked, follower.state == .idle else { return }
        follower.isPoked = false
        follower.state = .asking
        let client = follower.record.client
        let isAdministrator = configuration.administrators.allow(client: client, in: dataset.id)
        let query = FeedQuery(
            dataset: dataset.id, since: follower.record.since, limit: Page.maximum, bytes: Self.feedPageBytes,
            reader: isAdministrator ? nil : client)
        effects.queries.append(
            StoreQuery(
                kind: .feed(query),
                reply: ReplyContext(topic: "", request: "changes/follow", dataset: dataset.id, client: client),
                feedUse: .stream(follower.number)))
    }

    /// The store's answer to a follower.
    func stream(_ finding: StoreFinding, to number: UInt32, into effects: inout HubEffects) {
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
            return pump(follower, in: dataset, into: &effects)
        }
        follower.page &+= 1
        follower.state = .sending(through: message.last, isPart: message.isPart)
        effects.messages.append(
            topic: "geomatch/\(dataset.id)/\(follower.record.client)/changes", prefix: configuration.topicsPrefix, qos: 1,
            retain: false, token: FollowerToken(number: number, page: follower.page).token, payload: message.bytes)
    }

    /// The broker took a page, or refused it for good.
    func followerAcknowledged(_ token: FollowerToken, into effects: inout HubEffects) {
        guard let (follower, dataset) = followers[token.number], follower.page == token.page,
            case .sending(let through, let isPart) = follower.state
        else { return }
        follower.record.since = through
        follower.state = .idle
        if isPart { follower.isPoked = true }
        pump(follower, in: dataset, into: &effects)
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
    func resumeFollowers(into effects: inout HubEffects) {
        for (follower, dataset) in followers.values.sorted(by: { $0.0.number < $1.0.number }) {
            if follower.state != .asking {
                follower.state = .idle
                follower.isPoked = true
            }
            pump(follower, in: dataset, into: &effects)
        }
    }

    // MARK: Time

    /// Once a second: leases that are over, how far each is, and questions that the store could not answer.
    func advanceFollowers(to now: Int64, into effects: inout HubEffects) {
        guard !followers.isEmpty else { return }
        for (follower, dataset) in followers.values.sorted(by: { $0.0.number < $1.0.number }) {
            guard follower.record.leaseUntil > now else {
                unfollow(follower, in: dataset, into: &effects)
                continue
            }
            if follower.record.since != follower.sinceTold {
                follower.sinceTold = follower.record.since
                effects.changes.append(.putFollower(follower.record))
            }
            pump(follower, in: dataset, into: &effects)
        }
    }
}
