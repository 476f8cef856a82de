import Matching
import Selectors
import Wire
import Records

// subscription/create · get · list · update · delete

extension Geomatching {
    func createSubscription(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let id = try call.parameters.optionalID("id")
        var record = SubscriptionRecord(
            dataset: dataset, id: id ?? "", deviceId: device.record.id,
            topic: try call.parameters.string("topic", bytes: 1...256), range: try call.parameters.range("range"),
            duration: try call.parameters.duration("duration"), owner: call.owner, createdAt: call.createdAt,
            updatedAt: call.updatedAt, revision: "")
        let selector = try applyOptions(call.parameters, to: &record)
        if let id, liveSubscription(id, at: call.now) != nil {
            throw WireError(.conflict, "the subscription `\(id)` exists", field: "id")
        }
        guard
            record.duration == 0
                || subscriptions(of: device).count < shared.limits.attachmentsPerDevice
        else {
            throw WireError(
                .limit, "the device has \(shared.limits.attachmentsPerDevice) subscriptions, the maximum",
                field: "deviceId")
        }
        if id == nil { record.id = turn.newID() }
        let pushers = try shared.configuration.readPushers(
            record.pushers, of: record.recipient, on: device, areNew: call.parameters.has("pushers"))
        record.hints = selector.hints
        record.revision = call.revision(after: nil, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        let subscription = add(record, selector, pushers, on: device, &turn)
        forgetGone(of: device, &turn)
        return describe(subscription)
    }

    func getSubscription(_ call: Call) throws(WireError) -> [UInt8] {
        describe(try subscription(call))
    }

    func listSubscriptions(_ call: Call) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let page = try Page(call.parameters)
        let visible = subscriptions(of: device).filter {
            $0.expiresAt > call.now && call.client.reaches(owner: $0.record.owner)
        }
        return page.encode("subscriptions", sorting: visible, id: \.record.id, item: { self.describe($0) })
    }

    func updateSubscription(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let subscription = try subscription(call)
        var record = subscription.record
        try call.parameters.checkRevision(record.revision)
        try call.parameters.refuse("deviceId", "a subscription stays on its device")
        if call.parameters.has("topic") { record.topic = try call.parameters.string("topic", bytes: 1...256) }
        if call.parameters.has("range") { record.range = try call.parameters.range("range") }
        if call.parameters.has("duration") { record.duration = try call.parameters.duration("duration") }
        let former = record.selector
        let selector = try applyOptions(call.parameters, to: &record)
        if record.selector != former { record.hints = selector.hints }
        let device = devices[record.deviceId]
        let pushers = try shared.configuration.readPushers(
            record.pushers, of: record.recipient, on: device, areNew: call.parameters.has("pushers"))
        record.createdAt = call.stamp?.createdAt == nil ? record.createdAt : call.createdAt
        record.updatedAt = call.updatedAt
        record.revision = call.revision(after: record.revision, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        update(subscription, to: record, selector, pushers, &turn)
        if let device { forgetGone(of: device, &turn) }
        return describe(subscription)
    }

    func deleteSubscription(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let subscription = try subscription(call)
        try call.parameters.checkRevision(subscription.record.revision)
        delete(subscription, &turn)
        shared.live.recentMoves.note(removed: subscription, of: dataset)
        if let device = devices[subscription.record.deviceId] { forgetGone(of: device, &turn) }
        return deleted(subscription.record.id)
    }

    // MARK: Parts

    /// Reads what is optional, where it is given; `null` brings the default back.
    private func applyOptions(_ parameters: Parameters, to record: inout SubscriptionRecord) throws(WireError) -> Selector {
        if parameters.has("selector") {
            record.selector = try parameters.optionalString("selector") ?? ""
        }
        let selector = try Selector(checking: record.selector)
        if parameters.has("matchTTL") { record.matchTTL = try parameters.optionalNumber("matchTTL", in: 0..., unit: "seconds") }
        if parameters.has("matchDTL") { record.matchDTL = try parameters.optionalNumber("matchDTL", in: 0..., unit: "metres") }
        if parameters.has("excludeSelf") { record.excludeSelf = try parameters.optionalBool("excludeSelf") ?? false }
        if parameters.has("homeAssistant") { record.homeAssistant = try parameters.optionalBool("homeAssistant") ?? false }
        if parameters.has("pushers") { record.pushers = try parameters.pushers("pushers") }
        try applyMatching(parameters, to: &record)
        if parameters.has("secret") { record.secret = try parameters.optionalString("secret", bytes: 1...1024) }
        if parameters.has("notification") { record.notification = try parameters.notification("notification") }
        return selector
    }

    /// How it is matched beside its circle, topic and selector. What belongs to visits is kept in mode `once` too, for a later change of mode.
    private func applyMatching(_ parameters: Parameters, to record: inout SubscriptionRecord) throws(WireError) {
        if parameters.has("mode") { record.mode = try parameters.optionalChoice("mode") ?? .once }
        if parameters.has("accuracy") { record.accuracy = try parameters.optionalChoice("accuracy") ?? .centre }
        if record.accuracy == .likely, record.mode == .once {
            throw WireError(
                .invalid, "`accuracy` `likely` takes the mode `visit`: a match of mode `once` has no end that could be likely",
                field: parameters.has("accuracy") ? "accuracy" : "mode")
        }
        if parameters.has("floor") { record.floor = try parameters.optionalChoice("floor") ?? .any }
        if parameters.has("exitMargin") {
            record.exitMargin =
                try parameters.optionalNumber("exitMargin", in: 0...100_000, unit: "metres")
                ?? SubscriptionRecord.defaultExitMargin
        }
        if parameters.has("dwell") { record.dwell = try parameters.optionalNumber("dwell", in: 0..., unit: "seconds") ?? 0 }
        if parameters.has("staleAfter") {
            record.staleAfter = try parameters.optionalNumber("staleAfter", in: 0..., unit: "seconds")
            guard record.staleAfter != 0 else {
                throw parameters.error("staleAfter", "must be above 0 seconds", not: parameters.value("staleAfter"))
            }
        }
    }

    private func subscription(_ call: Call) throws(WireError) -> Subscription {
        let id = try call.parameters.id("id")
        guard let subscription = liveSubscription(id, at: call.now) else {
            throw call.absent("subscription", id, of: subscriptions.keys) { self.subscriptions[$0]?.record.owner }
        }
        try call.checkOwner(subscription.record.owner, of: "subscription", id)
        return subscription
    }

    /// A subscription whose time is over is gone, also before its timer says so.
    private func liveSubscription(_ id: String, at now: Int64) -> Subscription? {
        subscriptions[id].flatMap { $0.expiresAt > now ? $0 : nil }
    }

    /// The subscription with how far its matches have come.
    private func describe(_ subscription: Subscription) -> [UInt8] {
        JSONWriter.object { writer in
            subscription.record.encodeMembers(into: &writer)
            writer.key("delivery")
            subscription.record.delivery.encode(into: &writer)
            if !subscription.record.hints.isEmpty { writer.member("hints", subscription.record.hints) }
        }
    }
}
