import LiveTopics
import Wire
import Records

// live/subscribe · renew · unsubscribe · list

extension LiveSubscribers {
    private static let leaseDefault = 3600.0
    private static let intervalMaximum = 86_400_000

    /// It is there from now on, and begins when what its snapshot will show is counted, for the reply.
    ///
    /// - Returns: What counts.
    func subscribe(_ call: Call, _ turn: inout Turn) throws(WireError) -> (Call) throws(WireError) -> any Search {
        try call.checkReader()
        let parameters = call.parameters
        let dataset = call.dataset
        let filter = try parameters.liveFilter(in: dataset)
        try dataset.checkDeclared(levels: [dataset.id] + filter.criteria.levels)
        let interval = try parameters.optionalInteger("minInterval", in: 0...Self.intervalMaximum, unit: "milliseconds") ?? 0
        let qos = try parameters.optionalInteger("qos", in: 0...1) ?? 0
        let lease = try parameters.lease("lease", maximum: limits.leaseSeconds) ?? Self.leaseDefault
        let snapshot = try parameters.optionalBool("snapshot") ?? true
        let id = try parameters.optionalID("id")
        let former = id.flatMap { dataset.liveSubscriptions[call.client.name, $0] }
        guard former != nil || dataset.liveSubscriptions.count(of: call.client.name) < limits.liveSubscriptions
        else {
            throw WireError(.limit, "the client has \(limits.liveSubscriptions) live subscriptions, the maximum")
        }
        let record = LiveSubscriptionRecord(
            dataset: dataset.id, client: call.client.name, id: id ?? turn.newID(), criteria: filter.criteria.encoded,
            condition: filter.condition, within: filter.within, minInterval: Int64(interval), qos: UInt8(qos),
            snapshot: snapshot, lease: lease, leaseUntil: deadline(from: call.now, duration: lease), createdAt: call.now,
            number: states.lastNumber)
        if let former { remove(former) }
        let subscription = try add(record, in: dataset)
        subscription.isBeingCounted = true
        return { call throws(WireError) in
            try call.checkReader()
            return SnapshotCount(of: subscription, self, hints: filter.hints(in: dataset))
        }
    }

    /// What a new subscription will be shown first is counted: it becomes durable, and begins then.
    fileprivate func counted(_ subscription: LiveSubscription, _ turn: inout Turn) {
        // Ended, or replaced meanwhile.
        guard !subscription.isGone else { return }
        subscription.isBeingCounted = false
        subscription.inside = TopicNumbers()
        turn.keep(.put(subscription.record))
        turn.effects.sequels.append(.liveSubscription(subscription.handle, serial: subscription.serial))
        if subscription.record.snapshot { beginSnapshot(of: subscription) }
    }

    func renew(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        try call.checkReader()
        let subscription = try subscription(call)
        var record = subscription.record
        if let lease = try call.parameters.lease("lease", maximum: limits.leaseSeconds) { record.lease = lease }
        record.leaseUntil = deadline(from: call.now, duration: record.lease)
        subscription.record = record
        renewed(subscription)
        turn.keep(.put(record))
        return encodeReply(record, snapshot: 0)
    }

    func unsubscribe(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let subscription = try subscription(call)
        let record = subscription.record
        remove(subscription)
        turn.keep(.deleteLiveSubscription(dataset: record.dataset, client: record.client, id: record.id))
        return deleted(record.id)
    }

    func list(_ call: Call) throws(WireError) -> [UInt8] {
        let page = try Page(call.parameters)
        let own = call.dataset.liveSubscriptions.all(of: call.client.name).filter { $0.record.leaseUntil > call.now }
        return page.encode("subscriptions", sorting: own, id: \.record.id, item: { self.describe($0) })
    }

    // MARK: Parts

    private func subscription(_ call: Call) throws(WireError) -> LiveSubscription {
        let id = try call.parameters.id("id")
        let client = call.client.name
        let all = call.dataset.liveSubscriptions
        guard let subscription = all[client, id], subscription.record.leaseUntil > call.now else {
            let own = all.count <= Call.nearMax ? all.all(of: client).map(\.record.id) : []
            throw call.absent("live subscription", id, " of `\(client)`", of: own) { _ in nil }
        }
        return subscription
    }

    fileprivate func encodeReply(_ record: LiveSubscriptionRecord, snapshot: Int, hints: [String] = []) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", record.id)
            writer.member("topic", naming.name(of: record.recipient))
            writer.member("criteria", record.criteria)
            writer.member("leaseUntil", record.leaseUntil)
            writer.member("snapshot", snapshot)
            if !hints.isEmpty { writer.member("hints", hints) }
        }
    }

    private func describe(_ subscription: LiveSubscription) -> [UInt8] {
        let record = subscription.record
        return JSONWriter.object { writer in
            writer.member("id", record.id)
            writer.member("topic", naming.name(of: record.recipient))
            writer.member("criteria", record.criteria)
            writer.member("where", optional: record.condition)
            if let within = record.within {
                writer.key("within")
                writer.raw(Array(within.utf8))
            }
            writer.member("minInterval", record.minInterval)
            writer.member("qos", Int(record.qos))
            writer.member("lease", record.lease)
            writer.member("leaseUntil", record.leaseUntil)
            writer.member("createdAt", record.createdAt)
            writer.member("delivered", subscription.delivered)
            writer.member("conflated", subscription.conflated)
            writer.member("dropped", subscription.dropped)
        }
    }
}

/// How many topics a new live subscription will be shown first, for its reply; what it would hear of until then it is shown.
private final class SnapshotCount: Search {
    private let subscription: LiveSubscription
    private let subscribers: LiveSubscribers
    private let hints: [String]
    private var walk = TopicWalk()
    private var count = 0

    init(of subscription: LiveSubscription, _ subscribers: LiveSubscribers, hints: [String]) {
        self.subscription = subscription
        self.subscribers = subscribers
        self.hints = hints
    }

    func goOn(_ effort: inout Int) -> [UInt8]? {
        defer { subscription.dataset.shared.noteExceeded(subscription.dataset.matchAccount) }
        while subscription.record.snapshot, !subscription.isGone, !walk.isOver(for: subscription) {
            guard effort > 0 else { return nil }
            guard let state = walk.next(for: subscription, &effort), let payload = state.payload else { continue }
            walk.noteTest(of: payload, by: subscription, &effort)
            var subject = LiveSubject(state)
            if subscribers.passes(&subject, subscription) { count += 1 }
        }
        return subscribers.encodeReply(subscription.record, snapshot: count, hints: hints)
    }

    func end(_ turn: inout Turn) { subscribers.counted(subscription, &turn) }
}
