import LiveTopics
import Selectors
import Wire
import Records

// From a changed live state to the messages of those who subscribed to it.
//
// For each subscription there is one stream of news about a topic: updates that its criteria and conditions let through, and the
// last one about what left. What cannot go out at once (an interval is not over, the broker cannot keep up) is held, the
// newest only for each topic. While the broker is away nothing is made at all: afterwards every topic that changed is looked at.

extension Hub {
    /// A live state has changed: tells whoever wants it.
    ///
    /// - Parameters:
    ///   - former: The message that a cleared state had before.
    ///   - formerNumber: The number of that message.
    func tellSubscribers(of state: LiveState, former: [UInt8]? = nil, formerNumber: Int64 = 0, _ turn: inout Turn) {
        guard !state.dataset.liveSubscriptions.isEmpty else { return }
        guard outbox.isOpen else {
            // What left meanwhile is told with its last properties.
            if state.payload != nil { state.lastPayload = nil } else if let former { state.lastPayload = former }
            return
        }
        var subject = LiveSubject(state, former: former, formerNumber: formerNumber)
        for handle in subscribers(of: state) {
            guard let subscription = liveHandles[handle], subscription.record.leaseUntil > turn.now else { continue }
            if let news = news(of: &subject, for: subscription) {
                tell(news, of: state, to: subscription, &turn)
            }
        }
    }

    /// The handles of the subscriptions whose criteria want a topic, in rising order.
    func subscribers(of state: LiveState) -> [UInt32] {
        var found: [UInt32] = []
        let dataset = state.dataset
        dataset.liveSubscriptions.index.find(
            dataset.liveTopics.keys(of: state), topic: state.topic, remembering: &state.subscribers, into: &found)
        return found
    }

    /// What a subscription is to be told of a state as it is now, if anything.
    func news(of subject: inout LiveSubject, for subscription: LiveSubscription) -> LiveNews? {
        let number = subject.state.topicNumber
        guard let payload = subject.state.payload else {
            guard let former = subject.former, sawFormer(&subject, subscription) else {
                return subscription.inside.remove(number) ? LiveNews(payload: emptyMessage(of: subject.state), isLeft: true) : nil
            }
            return LiveNews(payload: former, isLeft: true)
        }
        if passes(&subject, subscription) {
            if subscription.area != nil { subscription.inside.insert(number) }
            return LiveNews(payload: payload, isLeft: false)
        }
        return subscription.inside.remove(number) ? LiveNews(payload: payload, isLeft: true) : nil
    }

    /// Whether a subscription was shown what is cleared by now.
    private func sawFormer(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        if subscription.area != nil { return subscription.inside.remove(subject.state.topicNumber) }
        guard subscription.record.snapshot || subject.formerNumber > subscription.record.number else { return false }
        return passes(&subject, subscription)
    }

    /// Whether the conditions of a subscription let a state through, as it is or, where it is cleared, as it was.
    func passes(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        guard subscription.isConditional else { return true }
        if subscription.showsOwnOnly, !isOwn(subject.state, of: subscription.record.client) { return false }
        guard subscription.selector != nil || subscription.area != nil else { return true }
        guard let facts = facts(of: &subject) else { return false }
        if let selector = subscription.selector, !selector.matches(facts.properties) { return false }
        guard let area = subscription.area else { return true }
        guard let position = facts.position else { return false }
        return area.contains(latitude: position.latitude, longitude: position.longitude)
    }

    /// Whether a topic is of a client's name, or of a device of its.
    private func isOwn(_ state: LiveState, of client: String) -> Bool {
        guard state.hasLocation else { return false }
        return state.itemID == client || state.dataset.devices[state.itemID]?.record.owner == client
    }

    /// Read once for all subscriptions of one change.
    private func facts(of subject: inout LiveSubject) -> LiveMessage.Facts? {
        if subject.isRead { return subject.facts }
        subject.isRead = true
        guard let payload = subject.state.payload ?? subject.former else { return nil }
        subject.facts = LiveMessage.facts(inPayload: payload, using: parser)
        let state = subject.state
        if subject.facts?.position == nil, state.hasLocation, state.domain != KnownDomain.position.rawValue {
            // It is where the device is whose id it has.
            let standing =
                state.dataset.devices[state.itemID]?.positionTopic ?? state.dataset.positionsWithoutDevice[state.itemID]
            subject.facts?.position = standing?.payload.flatMap { LiveMessage.position(inPayload: $0, using: parser) }
        }
        return subject.facts
    }

    /// What is told as left where the last properties are not known any more.
    private func emptyMessage(of state: LiveState) -> [UInt8] {
        var message: [UInt8] = []
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: state.timestamp,
            receivedAt: state.receivedAt, properties: Array("{}".utf8), originSourceId: nil, derived: false, into: &message)
        return message
    }

    // MARK: Sending

    /// Sends news, or holds them where they may not go out yet.
    func tell(_ news: LiveNews, of state: LiveState, to subscription: LiveSubscription, _ turn: inout Turn) {
        let number = state.topicNumber
        if subscription.held[number] != nil {
            hold(news, number, of: subscription, until: nil)
        } else if liveBacklog + turn.effects.output.items.count >= configuration.limits.liveBacklog {
            hold(news, number, of: subscription, until: turn.now + max(subscription.record.minInterval, 1))
        } else {
            send(news, of: state, to: subscription, &turn)
            pause(number, of: subscription, at: turn.now)
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
        guard !subscription.isDurable else { return turn.effects.output.append(news, notification) }
        guard subscription.early.count < Self.earlyMaximum else {
            liveMessageFailed(LiveToken(subscription: subscription.handle, topicNumber: topicNumber))
            return
        }
        subscription.early.append((news, notification))
    }

    /// So many messages wait for a subscription to become durable; what is beyond counts as dropped.
    private static let earlyMaximum = 10_000

    /// From now on the topic is told at the end of the interval, where the subscription has one.
    func pause(_ number: UInt32, of subscription: LiveSubscription, at now: Int64) {
        guard subscription.record.minInterval > 0 else { return }
        guard subscription.held[number] == nil else {
            // What is held is older than what was just told.
            subscription.held[number]?.message = nil
            return
        }
        // Without room for one more the interval is not kept: better early than lost.
        guard heldTopicCount < configuration.limits.heldLiveTopics else { return }
        hold(nil, number, of: subscription, until: now + subscription.record.minInterval)
    }

    /// - Parameter instant: nil where the topic is held already.
    private func hold(_ news: LiveNews?, _ number: UInt32, of subscription: LiveSubscription, until instant: Int64?) {
        guard let instant else {
            if subscription.held[number]?.message != nil { subscription.conflated += 1 }
            subscription.held[number]?.message = news
            return
        }
        guard heldTopicCount < configuration.limits.heldLiveTopics else {
            subscription.dropped += 1
            subscription.needsSnapshot = subscription.record.snapshot
            return
        }
        heldTopicCount += 1
        subscription.held[number] = LiveSubscription.HeldUpdate(message: news)
        subscription.heldOrder.append(LiveSubscription.HeldTopic(at: instant, topicNumber: number))
        guard !subscription.isHolding else { return }
        subscription.isHolding = true
        holders.append(subscription)
    }

    /// Sends what was held long enough.
    func releaseHeld(_ turn: inout Turn) {
        guard outbox.isOpen, !holders.isEmpty else { return }
        for subscription in holders {
            while let first = subscription.heldOrder.first, first.at <= turn.now || first.at > turn.now + subscription.longestHold
            {
                guard liveBacklog + turn.effects.output.items.count < configuration.limits.liveBacklog else { return }
                subscription.heldOrder.removeFirst()
                guard let update = subscription.held.removeValue(forKey: first.topicNumber) else { continue }
                heldTopicCount -= 1
                guard let news = update.message, let state = subscription.dataset.liveTopics[first.topicNumber] else { continue }
                tell(news, of: state, to: subscription, &turn)
            }
        }
        holders.removeAll { subscription in
            if subscription.heldOrder.isEmpty { subscription.isHolding = false }
            return !subscription.isHolding
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

    // MARK: What the link says

    /// A message was not taken, or the broker refused it.
    func liveMessageFailed(_ token: LiveToken) {
        guard let subscription = liveHandles[token.subscription] else { return }
        if subscription.delivered > 0 { subscription.delivered -= 1 }
        subscription.dropped += 1
        subscription.needsSnapshot = subscription.record.snapshot
    }
}

/// A live state that changed, with what conditions look at, read when first needed.
struct LiveSubject {
    let state: LiveState
    /// The message of a cleared state before it was.
    let former: [UInt8]?
    let formerNumber: Int64
    fileprivate(set) var isRead = false
    fileprivate(set) var facts: LiveMessage.Facts?

    init(_ state: LiveState, former: [UInt8]? = nil, formerNumber: Int64 = 0) {
        self.state = state
        self.former = former
        self.formerNumber = formerNumber
    }
}

/// What a message for a live subscriber is known by at the link: never the token of a match, which is a positive number.
struct LiveToken {
    var subscription: UInt32
    var topicNumber: UInt32

    init(subscription: UInt32, topicNumber: UInt32) {
        self.subscription = subscription
        self.topicNumber = topicNumber
    }

    init?(_ token: UInt64) {
        guard token >> 63 == 1 else { return nil }
        subscription = UInt32(token >> 32 & 0x7FFF_FFFF)
        topicNumber = UInt32(token & 0xFFFF_FFFF)
    }

    var token: UInt64 { 1 << 63 | UInt64(subscription) << 32 | UInt64(topicNumber) }
}

extension LiveSubscription {
    /// Nothing is held longer than this; what seems so was held by a clock that has been put back since.
    fileprivate var longestHold: Int64 { max(record.minInterval, 1) }
}

extension OutputBatch {
    mutating func append(_ news: LiveNews, _ notification: Notification) {
        append(.notification(notification)) { bytes in
            if news.isLeft {
                LiveMessage.appendLeft(news.payload, to: &bytes)
            } else {
                bytes.append(contentsOf: news.payload)
            }
        }
    }
}
