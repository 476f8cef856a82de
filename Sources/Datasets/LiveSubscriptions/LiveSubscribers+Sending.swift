import LiveTopics
import Records
import Wire

// News go out at once, or are held: the newest of each topic.

extension LiveSubscribers {
    /// Sends news, or holds them where they may not go out yet.
    func deliver(_ news: LiveNews, of state: LiveState, to subscription: LiveSubscription, _ turn: inout Turn) {
        let number = state.topicNumber
        guard !subscription.isBeingCounted else { return }
        if subscription.held[number] != nil {
            hold(news, number, of: subscription, until: nil)
        } else if backlog + turn.effects.output.items.count >= limits.liveBacklog {
            hold(news, number, of: subscription, until: turn.now + max(subscription.record.minInterval, 1))
        } else {
            if subscription.followers.isEmpty {
                send(news, of: state, to: subscription, &turn)
            } else {
                sendToAll(news, of: state, of: subscription, &turn)
            }
            pause(number, of: subscription, after: news, at: turn.now)
        }
    }

    func send(_ news: LiveNews, of state: LiveState, to subscription: LiveSubscription, _ turn: inout Turn) {
        subscription.delivered += 1
        if news.isLeft { leftRecently(news, state, subscription) }
        post(news, of: state.topicNumber, to: subscription, &turn)
    }

    /// What a subscription that is not yet durable hears of follows the reply to who asked for it.
    func post(_ news: LiveNews, of topicNumber: UInt32, to subscription: LiveSubscription, _ turn: inout Turn) {
        let token = LiveToken(subscription: subscription.handle, topicNumber: topicNumber).token
        let notification = Notification(
            recipient: subscription.recipient, token: token, isAssured: subscription.record.qos > 0)
        guard !subscription.isDurable else { return turn.effects.output.append(news, .notification(notification)) }
        guard subscription.early.count < Self.earlyMaximum else {
            failed(LiveToken(subscription: subscription.handle, topicNumber: topicNumber))
            return
        }
        subscription.early.append((news, notification))
    }

    /// So many messages wait for a subscription to become durable; what is beyond counts as dropped.
    private static let earlyMaximum = 10_000

    /// From now on the topic is reported at the end of the interval, where the subscription has one.
    func pause(_ number: UInt32, of subscription: LiveSubscription, after news: LiveNews, at now: Int64) {
        guard subscription.record.minInterval > 0 else { return }
        if subscription.held[number] != nil {
            // What is held is older than what was just reported.
            subscription.held[number]?.message = nil
        } else {
            // Without room for one more the interval is not kept: better early than lost.
            guard heldTopicCount < limits.heldLiveTopics else { return }
            hold(nil, number, of: subscription, until: now + subscription.record.minInterval)
        }
        subscription.held[number]?.hasLeft = news.isLeft
    }

    /// - Parameter instant: nil where the topic is held already.
    func hold(_ news: LiveNews?, _ number: UInt32, of subscription: LiveSubscription, until instant: Int64?) {
        guard let instant else {
            if subscription.held[number]?.message != nil {
                subscription.conflated += 1
                for follower in subscription.followers where follower.held[number] == nil { follower.conflated += 1 }
            }
            // What came back and left again meanwhile was not seen.
            let isSaid = news?.isLeft == true && subscription.held[number]?.hasLeft == true
            if !subscription.followers.isEmpty { replaceHeld(number, of: subscription, by: news, isSaid: isSaid) }
            subscription.held[number]?.message = isSaid ? nil : news
            return
        }
        guard heldTopicCount < limits.heldLiveTopics else {
            for dropping in [subscription] + subscription.followers {
                dropping.dropped += 1
                dropping.needsSnapshot = dropping.record.snapshot
            }
            return
        }
        heldTopicCount += 1
        subscription.held[number] = LiveSubscription.HeldUpdate(message: news)
        subscription.heldOrder.append(LiveSubscription.HeldTopic(at: instant, topicNumber: number))
        hasHeld(subscription)
    }

    func hasHeld(_ subscription: LiveSubscription) {
        guard !subscription.isHolding else { return }
        subscription.isHolding = true
        holders.append(subscription)
    }

    /// Sends what was held long enough.
    func releaseHeld(_ turn: inout Turn) {
        guard isOpen, !holders.isEmpty else { return }
        for subscription in holders {
            while let first = subscription.heldOrder.first, first.at <= turn.now || first.at > turn.now + subscription.longestHold
            {
                guard backlog + turn.effects.output.items.count < limits.liveBacklog else { return }
                subscription.heldOrder.removeFirst()
                guard let update = subscription.held.removeValue(forKey: first.topicNumber) else { continue }
                heldTopicCount -= 1
                if waitsForLeader(update, first.topicNumber, of: subscription) {
                    hold(update.message, first.topicNumber, of: subscription, until: turn.now + subscription.longestHold)
                    subscription.held[first.topicNumber]?.isReady = true
                    subscription.held[first.topicNumber]?.isSeen = update.isSeen
                    subscription.held[first.topicNumber]?.hasLeft = update.hasLeft
                    continue
                }
                guard let news = update.message, let state = subscription.dataset.liveTopics[first.topicNumber] else { continue }
                deliver(news, of: state, to: subscription, &turn)
            }
        }
        holders.removeAll { subscription in
            if subscription.heldOrder.isEmpty { subscription.isHolding = false }
            return !subscription.isHolding
        }
    }

    /// Sends all that is held: a subscriber has the newest before the daemon ends.
    func releaseAll(_ turn: inout Turn) {
        guard isOpen else { return }
        for subscription in holders {
            for (number, update) in subscription.held {
                guard let news = update.message, let state = subscription.dataset.liveTopics[number] else { continue }
                let followers = subscription.followers.filter { follower in
                    guard let own = follower.held[number] else { return true }
                    return own.message == nil && !own.knows(news)
                }
                for receiver in [subscription] + followers { send(news, of: state, to: receiver, &turn) }
                subscription.held[number]?.message = nil
            }
        }
    }

    /// Forgets what is held for a subscription that is gone.
    func forgetHeld(of subscription: LiveSubscription) {
        heldTopicCount -= subscription.held.count
        subscription.held.removeAll()
        subscription.heldOrder.removeAll()
        if subscription.isHolding { holders.removeAll { $0 === subscription } }
        subscription.isHolding = false
    }

    // MARK: What doors say

    /// A message could not be handed over, or was refused for good.
    func failed(_ token: LiveToken) {
        guard let subscription = handles[token.subscription] else { return }
        if subscription.delivered > 0 { subscription.delivered -= 1 }
        subscription.dropped += 1
        subscription.needsSnapshot = subscription.record.snapshot
    }

    /// A door left out a message for a newer one of its topic.
    func conflated(_ token: LiveToken) { handles[token.subscription]?.conflated += 1 }
}

extension LiveSubscription {
    /// Nothing is held longer than this; what seems so was held by a clock that has been put back since.
    fileprivate var longestHold: Int64 { max(record.minInterval, 1) }
}

extension OutputBatch {
    mutating func append(_ news: LiveNews, _ kind: Output.Kind) {
        append(kind) { bytes in
            if news.isLeft {
                LiveMessage.appendLeft(news.payload, to: &bytes)
            } else {
                bytes.append(contentsOf: news.payload)
            }
        }
    }
}
