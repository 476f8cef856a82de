import LiveTopics

// Live subscriptions that are sent the same are evaluated once. One of them leads: criteria, conditions and intervals are looked at for
// it alone, and what it is sent goes to those that follow it, too. A subscription follows once its snapshot is complete, and is by
// itself again with the next one, or where its client may see something else.

/// What two subscriptions have in common that are sent the same, once they have seen the same.
struct AudienceKey: Hashable {
    var criteria: String
    var condition: String?
    var within: String?
    var minInterval: Int64
    var qos: UInt8
    /// Where each client sees its own only.
    var client: String?
}

extension LiveSubscription {
    fileprivate var audienceKey: AudienceKey {
        AudienceKey(
            criteria: record.criteria, condition: record.condition, within: record.within, minInterval: record.minInterval,
            qos: record.qos, client: view.showsOwnOnly ? record.client : nil)
    }

    /// Whether it may be evaluated with others. Without a snapshot each has seen what came since it began.
    fileprivate var mayShare: Bool {
        record.snapshot && isDurable && snapshot == nil && !needsSnapshot && !isGone && !dataset.hidesPositions
    }
}

extension LiveSubscribers {
    // MARK: Joining and parting

    /// Has a subscription whose snapshot is complete follow another one that has seen the same, or lead.
    func join(_ subscription: LiveSubscription) {
        guard subscription.mayShare, subscription.leader == nil, subscription.followers.isEmpty else { return }
        let (dataset, key) = (subscription.dataset, subscription.audienceKey)
        guard let leader = dataset.liveSubscriptions.leaders[key] else {
            dataset.liveSubscriptions.leaders[key] = subscription
            return
        }
        guard leader !== subscription, leader.mayShare, subscription.area == nil || leader.inside == subscription.inside else {
            return
        }
        // Without room to note what it has seen, it stays by itself.
        guard heldTopicCount + leader.held.count <= limits.heldLiveTopics else { return }
        for (number, theirs) in leader.held {
            if let news = theirs.message { noteSeen(news, number, by: subscription, leader) }
        }
        dataset.liveSubscriptions.index.remove(subscription.pattern, subscription.handle)
        subscription.inside = TopicNumbers()
        subscription.leader = leader
        leader.followers.append(subscription)
        leader.audience = nil
    }

    /// What the leader still holds, a new follower has seen, or holds itself; what left was never there for it, or has left already.
    private func noteSeen(
        _ news: LiveNews, _ number: UInt32, by subscription: LiveSubscription, _ leader: LiveSubscription
    ) {
        if let own = subscription.held[number] {
            if own.message == nil { subscription.held[number]?.isSeen = true }
        } else {
            let until = [leader, subscription].compactMap(\.heldOrder.last?.at).max()
            hold(nil, number, of: subscription, until: until ?? .min)
            subscription.held[number]?.isSeen = true
            subscription.held[number]?.hasLeft = news.isLeft
        }
    }

    /// Has a subscription be evaluated by itself. Those that follow it are led by one of them.
    func part(_ subscription: LiveSubscription) {
        if let leader = subscription.leader {
            leader.followers.removeAll { $0 === subscription }
            leader.audience = nil
            inherit(subscription, from: leader)
            return
        }
        guard subscription.dataset.liveSubscriptions.leaders[subscription.audienceKey] === subscription else { return }
        subscription.audience = nil
        var followers = subscription.followers
        subscription.followers = []
        guard !followers.isEmpty else {
            subscription.dataset.liveSubscriptions.leaders[subscription.audienceKey] = nil
            return
        }
        // One that holds nothing by itself is where all the others are.
        guard let index = followers.firstIndex(where: \.held.isEmpty) else {
            subscription.dataset.liveSubscriptions.leaders[subscription.audienceKey] = nil
            for follower in followers { inherit(follower, from: subscription) }
            for follower in followers { join(follower) }
            return
        }
        let next = followers.remove(at: index)
        inherit(next, from: subscription)
        subscription.dataset.liveSubscriptions.leaders[next.audienceKey] = next
        next.followers = followers
        for follower in followers { follower.leader = next }
    }

    /// A follower goes on from where its leader is.
    private func inherit(_ subscription: LiveSubscription, from leader: LiveSubscription) {
        let dataset = subscription.dataset
        subscription.leader = nil
        subscription.inside = leader.inside
        dataset.liveSubscriptions.index.insert(subscription.pattern, subscription.handle)
        let own = subscription.held
        for number in own.keys {
            subscription.held[number]?.isSeen = false
            subscription.held[number]?.isReady = false
        }
        for (number, theirs) in leader.held {
            let known = own[number]
            if known == nil { heldTopicCount += 1 }
            var message = theirs.message ?? known?.message
            if let known, let news = theirs.message, known.knows(news) { message = nil }
            subscription.held[number] = LiveSubscription.HeldUpdate(message: message, hasLeft: known?.hasLeft ?? theirs.hasLeft)
        }
        // Where its own interval is over, it is in the leader's.
        let isLeaders = { (number: UInt32) -> Bool in
            guard leader.held[number] != nil else { return false }
            return own[number]?.isReady ?? true
        }
        var order = Array(subscription.heldOrder)
        order.removeAll { isLeaders($0.topicNumber) }
        for topic in leader.heldOrder where isLeaders(topic.topicNumber) { order.append(topic) }
        order.sort { $0.at < $1.at }
        subscription.heldOrder.removeAll()
        subscription.heldOrder.append(contentsOf: order)
        hasHeld(subscription)
    }

    /// Has all of a dataset be evaluated by themselves.
    func dissolveAudiences(of dataset: Dataset) {
        guard !dataset.liveSubscriptions.leaders.isEmpty else { return }
        for subscription in dataset.liveSubscriptions.values { part(subscription) }
    }

    /// The subscription of a handle, where its lease holds; of a leader whose lease is over, who leads from now on.
    func active(_ handle: UInt32, at now: Int64) -> LiveSubscription? {
        var found = handles[handle]
        while let subscription = found, subscription.record.leaseUntil <= now {
            found = subscription.followers.first
            part(subscription)
        }
        return found
    }

    // MARK: Sending

    /// Sends news to a subscription and to all that follow it.
    func sendToAll(_ news: LiveNews, of state: LiveState, of leader: LiveSubscription, _ turn: inout Turn) {
        let now = turn.now
        var receivers = leader.followers
        let isWhole = receivers.allSatisfy { $0.record.leaseUntil > now && !isApart($0, news, of: state) }
        if !isWhole {
            receivers.removeAll { follower in
                guard isApart(follower, news, of: state) else { return follower.record.leaseUntil <= now }
                holdApart(news, of: state, for: follower)
                return true
            }
        }
        for receiver in receivers {
            if !receiver.held.isEmpty {
                // Newer than what waited for this.
                receiver.held[state.topicNumber]?.message = nil
                receiver.held[state.topicNumber]?.hasLeft = news.isLeft
            }
            receiver.delivered += 1
            if news.isLeft { leftRecently(news, state, receiver) }
        }
        leader.delivered += 1
        if news.isLeft { leftRecently(news, state, leader) }
        let known = isWhole ? leader.audience : nil
        let audience = known ?? Audience([leader] + receivers, isPassing: !isWhole)
        if isWhole { leader.audience = audience }
        turn.effects.output.append(news, .audience(audience, topicNumber: state.topicNumber))
    }

    /// Whether a follower does not receive news with the others: its own interval is not over, or it knows them.
    private func isApart(_ follower: LiveSubscription, _ news: LiveNews, of state: LiveState) -> Bool {
        guard let own = follower.held[state.topicNumber] else { return false }
        return !own.isReady || own.knows(news)
    }

    private func holdApart(_ news: LiveNews, of state: LiveState, for follower: LiveSubscription) {
        let isSeen = follower.held[state.topicNumber]?.isSeen == true
        follower.held[state.topicNumber]?.isSeen = false
        if isSeen, !news.isLeft { return }
        hold(news, state.topicNumber, of: follower, until: nil)
    }

    /// What a leader holds of a topic gives way to newer news: nobody has seen these.
    ///
    /// - Parameter isSaid: They are that it left, which was the last that the leader was sent.
    func replaceHeld(_ number: UInt32, of leader: LiveSubscription, by news: LiveNews?, isSaid: Bool) {
        for follower in leader.followers where follower.held[number] != nil {
            follower.held[number]?.isSeen = false
            // It may have seen what came back meanwhile.
            if isSaid { hold(news, number, of: follower, until: nil) }
        }
    }

    /// Whether a follower goes on to hold a topic though its own interval is over: it is sent what its leader sends next, so that they
    /// have one interval from then on, and has seen what its leader still holds.
    func waitsForLeader(_ update: LiveSubscription.HeldUpdate, _ number: UInt32, of subscription: LiveSubscription) -> Bool {
        guard let theirs = subscription.leader?.held[number] else { return false }
        if theirs.message != nil { return update.message != nil || update.isSeen || update.hasLeft != theirs.hasLeft }
        return update.message != nil && !update.isReady
    }
}

extension LiveSubscription.HeldUpdate {
    /// Whether news that the leader held are none to a follower.
    func knows(_ news: LiveNews) -> Bool { news.isLeft ? hasLeft : isSeen }
}

extension Audience {
    fileprivate convenience init(_ subscriptions: [LiveSubscription], isPassing: Bool) {
        let record = subscriptions[0].record
        self.init(
            members: subscriptions.map { Member(recipient: $0.recipient, subscription: $0.handle) }, isAssured: record.qos > 0,
            minInterval: record.minInterval, isPassing: isPassing)
    }
}
