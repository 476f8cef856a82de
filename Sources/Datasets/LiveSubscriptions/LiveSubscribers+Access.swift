import Records

// Who may read what may change while subscriptions are active.

extension LiveSubscribers {
    /// Access has changed: a subscription whose client may read nothing by now ends, any other shows what its client may see.
    func reviewAccess(_ turn: inout Turn) {
        for subscription in handles.all {
            guard mayRead(subscription.record) else {
                end(subscription, &turn)
                continue
            }
            let view = view(of: subscription.record.client, in: subscription.dataset)
            guard view != subscription.view else { continue }
            part(subscription)
            subscription.view = view
            if view.showsOwnOnly {
                withdraw(from: subscription, &turn)
            } else {
                subscription.needsSnapshot = subscription.record.snapshot
            }
        }
    }

    /// What a subscription may show no longer leaves its area, and is not sent where it was held.
    private func withdraw(from subscription: LiveSubscription, _ turn: inout Turn) {
        for number in subscription.held.keys {
            guard let state = subscription.dataset.liveTopics[number], !includes(state, subscription) else { continue }
            subscription.held[number]?.message = nil
        }
        // While nothing can be sent, what left is found when the door opens.
        for number in isOpen ? subscription.inside.sorted : [] {
            guard let state = subscription.dataset.liveTopics[number], !includes(state, subscription) else { continue }
            subscription.inside.remove(number)
            deliver(LiveNews(payload: emptyMessage(of: state), isLeft: true), of: state, to: subscription, &turn)
        }
    }
}
