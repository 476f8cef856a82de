import Geodesy
import LiveTopics
import Records
import Selectors
import Wire

// What a change of live state is to each of its subscribers.

extension LiveSubscribers {
    /// A live state has changed: its subscribers are notified.
    ///
    /// - Parameters:
    ///   - former: The message that a cleared state had before.
    ///   - formerNumber: The number of that message.
    func report(_ state: LiveState, former: [UInt8]? = nil, formerNumber: Int64 = 0, _ turn: inout Turn) {
        guard isOpen else {
            // What left meanwhile is reported with its last properties.
            if state.payload != nil { state.lastPayload = nil } else if let former { state.lastPayload = former }
            return
        }
        var subject = LiveSubject(state, former: former, formerNumber: formerNumber)
        for handle in subscribers(of: state) {
            guard let subscription = active(handle, at: turn.now) else { continue }
            if let news = news(of: &subject, for: subscription) {
                deliver(news, of: state, to: subscription, &turn)
            }
        }
        reportCompanions(of: state, &turn)
    }

    /// Where the state is the position of an item, what else the item sends comes into areas with it, and leaves them.
    ///
    /// - Parameter number: What changed after the message with this number is reported by itself.
    func reportCompanions(of position: LiveState, through number: Int64 = .max, _ turn: inout Turn) {
        let dataset = position.dataset
        guard position.namesDevice, dataset.liveSubscriptions.areaCount > 0 else { return }
        let companions = dataset.liveTopics.companions(of: position.itemID)
        guard !companions.isEmpty else { return }
        let current = dataset.position(of: position.itemID, using: parser)
        // More than a device sends, and no more than a turn may cost.
        for topic in companions.prefix(Self.companionsMax) {
            guard let state = dataset.liveTopics[topic], state.payload != nil, state.number <= number else { continue }
            var subject = LiveSubject(state, itemPosition: .some(current))
            for handle in subscribers(of: state) {
                guard let subscription = active(handle, at: turn.now), subscription.area != nil else { continue }
                // Its snapshot comes to it.
                if let snapshot = subscription.snapshot, snapshot.cursor <= topic, state.number <= snapshot.number { continue }
                let wasInside = subscription.inside.contains(topic)
                guard wasInside || isOwed(state, to: subscription) else { continue }
                if let news = news(of: &subject, for: subscription), news.isLeft || !wasInside {
                    deliver(news, of: state, to: subscription, &turn)
                }
            }
        }
    }

    static let companionsMax = 64

    /// A state is about to become private: its subscribers that may not see it any more are sent that it left.
    func hide(_ state: LiveState, _ turn: inout Turn) {
        // From now on it depends on the client what is shown.
        dissolveAudiences(of: state.dataset)
        guard isOpen, let payload = state.payload else { return }
        var subject = LiveSubject(state, former: payload, formerNumber: state.number)
        for handle in subscribers(of: state) {
            guard let subscription = handles[handle], subscription.record.leaseUntil > turn.now,
                !shows(state.item, subscription), sawFormer(&subject, subscription)
            else { continue }
            deliver(LiveNews(payload: payload, isLeft: true), of: state, to: subscription, &turn)
        }
    }

    /// The handles of the subscriptions whose criteria want a topic, in rising order.
    func subscribers(of state: LiveState) -> [UInt32] {
        var found: [UInt32] = []
        let dataset = state.dataset
        if dataset.hidesPositions { dissolveAudiences(of: dataset) }
        dataset.liveSubscriptions.index.find(
            dataset.liveTopics.keys(of: state), topic: state.topic, remembering: &state.subscribers, into: &found)
        return found
    }

    /// What is to be reported to a subscription of a state as it is now, if anything.
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
        guard subscription.inside.remove(number) else { return nil }
        let isShown =
            includes(subject.state, subscription) && (!subject.state.isPrivate || shows(subject.state.item, subscription))
        return LiveNews(payload: isShown ? payload : emptyMessage(of: subject.state), isLeft: true)
    }

    /// Whether a subscription was shown what is cleared by now.
    private func sawFormer(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        if subscription.area != nil { return subscription.inside.remove(subject.state.topicNumber) }
        guard subscription.record.snapshot || subject.formerNumber > subscription.record.number else { return false }
        return passes(&subject, subscription)
    }

    /// Whether the conditions of a subscription let a state through, as it is or, where it is cleared, as it was.
    func passes(_ subject: inout LiveSubject, _ subscription: LiveSubscription) -> Bool {
        guard mayShow(subject.state, subscription) else { return false }
        guard subscription.selector != nil || subscription.area != nil else { return true }
        guard let facts = facts(of: &subject) else { return false }
        if let selector = subscription.selector, !selector.matches(facts.properties) { return false }
        guard let area = subscription.area else { return true }
        guard let position = facts.position else { return false }
        // Where a device is must not come out by what it sends from there.
        if subject.isWhereItsDeviceIs, subscription.dataset.hidesPositions, !shows(subject.state.item, subscription) {
            return false
        }
        return area.contains(latitude: position.latitude, longitude: position.longitude)
    }

    /// Whether a subscription may show a state, whatever its conditions are.
    func mayShow(_ state: LiveState, _ subscription: LiveSubscription) -> Bool {
        (!state.isPrivate || shows(state.item, subscription)) && includes(state, subscription)
    }

    /// Whether a subscription may show where an item is that is private.
    private func shows(_ item: String?, _ subscription: LiveSubscription) -> Bool {
        if subscription.view.showsPrivate { return true }
        return item.flatMap { subscription.dataset.devices[$0] }?.record.owner == subscription.record.client
    }

    /// Whether a topic is among those that the client of a subscription may see: where these are its own, of its name, or of a device
    /// of its.
    func includes(_ state: LiveState, _ subscription: LiveSubscription) -> Bool {
        guard subscription.view.showsOwnOnly else { return true }
        guard state.hasLocation else { return false }
        let client = subscription.record.client
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
            subject.facts?.position = subject.itemPosition ?? state.dataset.position(of: state.itemID, using: parser)
            subject.isWhereItsDeviceIs = subject.facts?.position != nil
        }
        if subject.facts != nil, subject.facts?.position == nil {
            subject.facts?.position = state.dataset.structure.position(ofTopic: state.topic)
        }
        return subject.facts
    }

    /// What is reported as left where the last properties are not known any more.
    func emptyMessage(of state: LiveState) -> [UInt8] {
        var message: [UInt8] = []
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: state.timestamp,
            receivedAt: state.receivedAt, properties: Array("{}".utf8), originSourceId: nil, derived: false, into: &message)
        return message
    }
}

extension Dataset {
    /// The state that says where an item is.
    func positionState(of item: String) -> LiveState? { devices[item]?.positionTopic ?? positionsWithoutDevice[item] }

    fileprivate func position(of item: String, using parser: JSONParser) -> Position? {
        positionState(of: item)?.payload.flatMap { LiveMessage.position(inPayload: $0, using: parser) }
    }
}
