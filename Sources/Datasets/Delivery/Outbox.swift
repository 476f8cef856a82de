import DequeModule
import Records
import Wire

/// Matches and events on their way to those they are for: numbered, durable, sent, counted, over all datasets.
///
/// One enters with its number and leaves when each target is complete. Nothing goes out before it is durable.
final class Outbox {
    private let limits: HubLimits
    private let naming: Naming
    private let numbering: Numbering
    /// The last number given.
    private(set) var lastNumber: Int64 = 0
    private(set) var pending: [Int64: PendingDelivery] = [:]
    /// What goes out by doors: to recipients and `mqtt:` pushers.
    private var queues = ClientQueues()
    /// What goes to webhooks and push services.
    private(set) var posts = PostQueues()
    /// Not yet durable, in order.
    private var held = Deque<Int64>()
    /// Matches up to here are durable and may go out.
    private var durableThrough: Int64 = 0
    /// Matches up to here wait for a commit, or are past it.
    private var announcedThrough: Int64 = 0
    /// How many wait, for each client of each dataset.
    private var waiting: [String: Int] = [:]
    /// Matches that left the newest hundred of their device before they were delivered.
    private(set) var outdated: Set<Int64> = []
    /// Matches all of whose targets are complete, not yet made durable: recorded together with the counters they change.
    private var completedMatches: [Int64] = []
    /// Matches some of whose targets are complete, since that was last made durable.
    private var progressedMatches: Set<Int64> = []
    /// Events that were delivered, not yet made durable.
    private var completedEvents: [Int64] = []
    /// Those whose delivery counters changed since they were last made durable.
    private var changedSources: [any Delivering] = []

    /// How many matches of a device are kept.
    static let matchesPerDevice = 100

    init(limits: HubLimits, naming: Naming, numbering: Numbering) {
        self.limits = limits
        self.naming = naming
        self.numbering = numbering
    }

    /// Notifications can leave.
    var isOpen: Bool { queues.isOpen }
    /// How many were sent and are not known to have arrived.
    var inflight: Int { queues.inflight }

    // MARK: Entering

    /// Numbers a match, makes it durable, and has it delivered if there is room.
    ///
    /// - Parameter device: The subscription's: it keeps its newest matches.
    func send(
        _ message: MatchMessage, _ publication: Publication, _ subscription: Subscription, of device: Device,
        _ account: MatchAccount, _ turn: inout Turn
    ) {
        let body = message.encode(publication.record, subscription.record)
        account.counters.matched += 1
        subscription.record.delivery.matched += 1
        subscription.record.delivery.lastMatchAt = message.at
        deliveryChanged(subscription)
        lastNumber = numbering.next(after: lastNumber)
        let targets = Targets(subscription.pushers, about: device.record)
        var delivery = PendingDelivery(
            number: lastNumber, account: account, source: subscription, id: message.id, createdAt: message.at, body: body,
            recipient: subscription.recipient, pushers: targets.pushers, secret: subscription.record.secret)
        delivery.add(targets, publication.record.id) {
            PushMessage(message, publication.record, subscription.record, device: device.record)
        }
        let obstacle = obstacle(to: delivery)
        var record = MatchRecord(
            number: lastNumber, dataset: subscription.record.dataset, id: message.id, deviceId: device.record.id,
            subscriptionId: subscription.record.id, publicationId: publication.record.id, owner: subscription.record.owner,
            createdAt: message.at, body: body, pending: obstacle == nil)
        if obstacle == nil, !targets.pushers.isEmpty {
            record.pushers = targets.pushers.map { $0.text(naming) }
            (record.secret, record.push) = (subscription.record.secret, delivery.push)
            (record.completed, record.fate) = (delivery.completed, delivery.fate)
        }
        turn.keep(.put(record))
        keepNewest(lastNumber, of: device, &turn)
        if let obstacle {
            drop(delivery, because: obstacle, &turn)
        } else {
            account.counters.pending += 1
            insert(delivery)
            for (slot, reason) in targets.lost { report(.dropped, delivery, slot, because: reason, &turn) }
        }
    }

    /// Numbers an event, makes it durable and has it delivered, if there is room.
    ///
    /// - Parameters:
    ///   - record: Its number is given here.
    ///   - geofence: Whose event it is; nil for circumstances and beacons.
    ///   - targets: Where it goes beside its topic.
    ///   - message: What is sent to push services.
    func send(
        _ record: EventRecord, of geofence: Geofence? = nil, to targets: Targets = Targets(),
        saying message: () -> PushMessage? = { nil }, _ account: MatchAccount, _ turn: inout Turn
    ) {
        var record = record
        record.number = numbering.next(after: lastNumber)
        if !targets.pushers.isEmpty {
            record.pushers = targets.pushers.map { $0.text(naming) }
            record.secret = geofence?.record.secret
        }
        var delivery = PendingDelivery(record, account, source: geofence, pushers: targets.pushers)
        delivery.add(targets, nil, message)
        (record.push, record.completed, record.fate) = (delivery.push, delivery.completed, delivery.fate)
        if let geofence {
            geofence.delivery.matched += 1
            geofence.delivery.lastMatchAt = record.createdAt
            deliveryChanged(geofence)
        }
        guard waiting(of: delivery.client) < limits.pendingMatchesPerClient else {
            let reason = "\(limits.pendingMatchesPerClient) messages of the client wait for delivery, the maximum"
            geofence?.delivery.dropped += 1
            geofence?.delivery.lastError = reason
            account.diagnostics.reportLoss(
                .dropped, naming.name(of: delivery.recipient), "the event \(record.id) is lost: \(reason)",
                to: delivery.recipient.client, &turn)
            return
        }
        lastNumber = record.number
        turn.keep(.put(record))
        insert(delivery)
        for (slot, reason) in targets.lost { report(.dropped, delivery, slot, because: reason, &turn) }
    }

    /// Counts matches that were not made, and says why.
    func countUnmade(
        _ count: Int, of subscription: Subscription, _ account: MatchAccount, because reason: String, _ turn: inout Turn
    ) {
        account.counters.matched += count
        account.counters.dropped += count
        account.noteDropped(count)
        subscription.record.delivery.matched += Int64(count)
        subscription.record.delivery.dropped += Int64(count)
        subscription.record.delivery.lastError = reason
        deliveryChanged(subscription)
        let recipient = subscription.recipient
        account.diagnostics.reportOverload(
            naming.name(of: recipient), reason, count: count, to: recipient.client, &turn)
    }

    private func insert(_ delivery: PendingDelivery) {
        pending[delivery.number] = delivery
        waiting[delivery.client, default: 0] += 1
        held.append(delivery.number)
    }

    /// How many messages of a client wait.
    private func waiting(of client: String) -> Int { waiting[client] ?? 0 }

    /// Why there is no room for one more that waits; nil where there is.
    private func obstacle(to delivery: PendingDelivery) -> String? {
        if delivery.account.counters.pending >= limits.pendingMatches {
            return "\(limits.pendingMatches) matches of the dataset wait for delivery, the maximum"
        }
        if waiting(of: delivery.client) >= limits.pendingMatchesPerClient {
            return "\(limits.pendingMatchesPerClient) matches of the client wait for delivery, the maximum"
        }
        return nil
    }

    private func drop(_ delivery: PendingDelivery, because reason: String, _ turn: inout Turn) {
        delivery.account.counters.dropped += 1
        delivery.account.noteDropped(1)
        delivery.source?.delivery.dropped += 1
        delivery.source?.delivery.lastError = reason
        delivery.account.diagnostics.reportLoss(
            .dropped, naming.name(of: delivery.recipient), "the match \(delivery.id) is lost: \(reason)",
            to: delivery.recipient.client, &turn)
    }

    /// Keeps the newest hundred of a device; one that still waits is forgotten when it was delivered.
    private func keepNewest(_ number: Int64, of device: Device, _ turn: inout Turn) {
        device.matches.append(number)
        while device.matches.count > Self.matchesPerDevice {
            let oldest = device.matches.removeFirst()
            if pending[oldest] == nil {
                turn.keep(.forgetMatch(number: oldest))
            } else {
                outdated.insert(oldest)
            }
        }
    }

    // MARK: Restoring

    /// Restores a match; one that was pending may have been sent before, and is sent again under the same id.
    ///
    /// - Parameter isKnown: Whether it is pending is known here better: only its device and subscription are others by now.
    func restore(
        _ record: MatchRecord, of device: Device?, _ subscription: Subscription?, _ account: MatchAccount, isKnown: Bool
    ) throws(WireError) {
        noteNumber(record.number)
        if let device, device.matches.last.map({ $0 < record.number }) ?? true {
            device.matches.append(record.number)
            if device.matches.count > Self.matchesPerDevice {
                let oldest = device.matches.removeFirst()
                if pending[oldest] != nil { outdated.insert(oldest) }
            }
        }
        pending[record.number]?.source = subscription
        guard record.pending, !isKnown, pending[record.number] == nil else { return }
        let recipient = Recipient(record.dataset, record.owner, .match, record.deviceId, record.subscriptionId)
        insert(
            PendingDelivery(
                number: record.number, account: account, source: subscription, id: record.id, createdAt: record.createdAt,
                body: record.body, recipient: recipient,
                pushers: try [Pusher](reading: record.pushers, of: recipient, naming: naming), secret: record.secret,
                push: record.push, pair: PendingDelivery.pair(recipient, record.publicationId),
                completed: record.completed, fate: record.fate))
    }

    /// Restores an event that is still to be delivered.
    func restore(_ record: EventRecord, of geofence: Geofence?, _ account: MatchAccount) throws(WireError) {
        noteNumber(record.number)
        guard pending[record.number] == nil else { return }
        let recipient = PendingDelivery.recipient(of: record)
        insert(
            PendingDelivery(
                record, account, source: geofence, pushers: try [Pusher](reading: record.pushers, of: recipient, naming: naming)))
    }

    /// All that waits is back, and will be sent again.
    func endRestoration() {
        for delivery in pending.values {
            delivery.source?.delivery.retried += 1
            guard !delivery.isEvent else { continue }
            delivery.account.counters.matched += 1
            delivery.account.counters.pending += 1
            delivery.account.counters.retried += 1
        }
        noteDurable(through: lastNumber)
    }

    /// Some targets of what waits have it.
    func restoreProgress(of number: Int64, _ completed: UInt32, _ fate: MatchFate) {
        pending[number]?.completed = completed
        pending[number]?.fate = fate
    }

    /// All targets have it, or it was deleted with its dataset.
    func restoreEnd(of number: Int64) { _ = remove(number) }

    /// A match left the newest hundred of its device.
    func restoreDeleted(match number: Int64) { outdated.remove(number) }

    /// Numbers go on behind this one.
    func noteNumber(_ number: Int64) { lastNumber = max(lastNumber, number) }

    // MARK: Sending

    /// A door opened: what waits goes out, and again what left before and is not known to have arrived.
    func open(_ turn: inout Turn) {
        queues.isOpen = true
        for token in queues.restoreAll() { countRetry(of: token) }
        send(&turn)
    }

    func close() { queues.isOpen = false }

    /// Has what was numbered since the last time sent once the changes of this turn are durable.
    func announce(_ turn: inout Turn) {
        guard lastNumber > announcedThrough else { return }
        announcedThrough = lastNumber
        turn.effects.sequels.append(.matches(through: lastNumber))
    }

    /// Whether the match with this number can be read in the store.
    func isDurable(_ number: Int64) -> Bool { number <= durableThrough }

    /// What has numbers up to this one is durable, and may go out.
    func noteDurable(through number: Int64) {
        durableThrough = max(durableThrough, number)
        while let first = held.first, first <= durableThrough {
            held.removeFirst()
            guard let delivery = pending[first] else { continue }
            for token in delivery.outstanding {
                switch delivery.target(token.slot) {
                case .match, .path: queues.append(token, of: delivery.client)
                case .webhook(let url): posts.append(token, to: .webhook(url), of: delivery.client)
                case .push(let target): posts.append(token, to: .push(target), of: delivery.client)
                // Lost from the beginning.
                case .device: break
                }
            }
        }
    }

    /// Sends what may go out now.
    func send(_ turn: inout Turn) {
        while let token = queues.next(maximum: limits.inflightMatches) {
            guard let delivery = pending[token.number], delivery.isOutstanding(token.slot) else {
                queues.end(token)
                continue
            }
            let recipient = if case .path(let recipient) = delivery.target(token.slot) { recipient } else { delivery.recipient }
            turn.effects.output.append(
                .notification(Notification(recipient: recipient, token: token.raw)), payload: delivery.body)
        }
        sendPosts(&turn)
    }

    private func sendPosts(_ turn: inout Turn) {
        while let (token, target, attempts) = posts.next(at: turn.now) {
            guard let delivery = pending[token.number], delivery.isOutstanding(token.slot) else {
                _ = posts.end(token, .silence, at: turn.now)
                posts.forget(token)
                continue
            }
            if attempts > 0 { countRetry(of: token) }
            switch target {
            case .webhook(let url):
                turn.effects.posts.append(
                    WebhookPost(token: token.raw, url: url, matchID: delivery.id, body: delivery.body, secret: delivery.secret))
            case .push(let target):
                turn.effects.pushes.append(
                    PushPost(
                        token: token.raw, target: target, id: delivery.id, message: Array((delivery.push ?? "{}").utf8),
                        pair: delivery.pair, expiresAt: delivery.givesUpAt))
            }
        }
    }

    /// Posts: those due again, and those whose hour is over.
    func advance(secondIsOver: Bool, _ turn: inout Turn) {
        if secondIsOver {
            let (pending, now) = (pending, turn.now)
            let over = posts.removeAll { token in
                pending[token.number].map { now >= $0.givesUpAt || !$0.isOutstanding(token.slot) } ?? true
            }
            for token in over {
                complete(token, as: .expired, because: "it did not take the match within an hour", &turn)
                posts.forget(token)
            }
        }
        posts.advance(to: turn.now)
        sendPosts(&turn)
        recordProgress(ofThoseMadeBy: turn.now - Self.progressMilliseconds, &turn)
    }

    // MARK: What became of it

    /// A notification arrived, or was refused for good.
    func delivered(_ token: DeliveryToken, refusal: String?, _ turn: inout Turn) {
        queues.end(token)
        complete(token, as: refusal == nil ? .delivered : .dropped, because: refusal, &turn)
        send(&turn)
    }

    /// A notification could not be handed over.
    func returned(_ token: DeliveryToken) { queues.restore(token) }

    /// What became of a post.
    func posted(_ token: DeliveryToken, _ outcome: PostOutcome, _ turn: inout Turn) {
        switch outcome {
        case .taken:
            guard posts.end(token, .success, at: turn.now) else { return }
            complete(token, as: .delivered, &turn)
        case .refused(let reason):
            guard posts.end(token, .silence, at: turn.now) else { return }
            complete(token, as: .dropped, because: reason, &turn)
        case .failed(let reason, let retryAfter):
            fail(token, reason, retryAfter: retryAfter ?? 0, &turn)
        case .misconfigured(let reason):
            fail(token, reason, retryAfter: PostQueues.pauseMaximum, &turn)
        case .gone(let reason):
            let others = posts.removeAll(beside: token)
            guard posts.end(token, .silence, at: turn.now) else { return }
            for token in [token] + others { complete(token, as: .dropped, because: reason, &turn) }
        }
        send(&turn)
    }

    /// What a post under way is for; nil where that is over.
    func underWay(_ token: DeliveryToken) -> (delivery: PendingDelivery, target: Pusher)? {
        guard let delivery = pending[token.number], delivery.isOutstanding(token.slot) else { return nil }
        return (delivery, delivery.target(token.slot))
    }

    private func fail(_ token: DeliveryToken, _ reason: String, retryAfter: Int64, _ turn: inout Turn) {
        guard let delivery = pending[token.number], delivery.isOutstanding(token.slot) else {
            _ = posts.end(token, .failure, at: turn.now)
            return
        }
        guard turn.now < delivery.givesUpAt else {
            guard posts.end(token, .failure, at: turn.now) else { return }
            complete(token, as: .expired, because: reason, &turn)
            return
        }
        let notBefore = turn.now + min(max(retryAfter, 0), PendingDelivery.givesUpAfterMilliseconds)
        guard posts.end(token, .again(notBefore: notBefore, chance: turn.identifiers.fraction()), at: turn.now),
            let source = delivery.source
        else { return }
        source.delivery.lastError = "\(delivery.target(token.slot).shown): \(reason); it is tried again"
        deliveryChanged(source)
    }

    /// One target of a match has it, or never will. The match counts when all are complete: dropped before expired before delivered.
    private func complete(_ token: DeliveryToken, as fate: MatchFate, because reason: String? = nil, _ turn: inout Turn) {
        guard let delivery = markComplete(token, as: fate) else { return }
        posts.forget(token)
        let account = delivery.account
        // One that a request deleted counts on: it is there again where the store refuses that.
        let source = delivery.source
        if let reason { report(fate, delivery, token.slot, because: reason, &turn) }
        if let source, reason != nil || delivery.isComplete { deliveryChanged(source) }
        guard delivery.isComplete else {
            progressedMatches.insert(delivery.number)
            return
        }
        progressedMatches.remove(delivery.number)
        if let source, source.delivery.pending > 0 { source.delivery.count(delivery.fate) }
        if delivery.isEvent {
            completedEvents.append(delivery.number)
            return
        }
        completedMatches.append(delivery.number)
        account.counters.pending -= 1
        account.counters.count(delivery.fate)
        if delivery.fate == .dropped { account.noteDropped(1) }
    }

    /// A target never gets a message.
    private func report(
        _ fate: MatchFate, _ delivery: PendingDelivery, _ slot: Int, because reason: String, _ turn: inout Turn
    ) {
        let target = delivery.target(slot).shown
        delivery.source?.delivery.lastError = "\(target): \(reason)"
        delivery.account.diagnostics.reportLoss(
            fate, naming.name(of: delivery.recipient),
            "the \(delivery.isEvent ? "event" : "match") \(delivery.id) is lost for \(target): \(reason)",
            to: delivery.recipient.client, &turn)
    }

    /// - Returns: The match as it is then; nil where that target was complete before, or the match is gone.
    private func markComplete(_ token: DeliveryToken, as fate: MatchFate) -> PendingDelivery? {
        guard var delivery = pending[token.number], delivery.isOutstanding(token.slot) else { return nil }
        delivery.completed |= 1 << UInt32(token.slot)
        delivery.fate = max(delivery.fate, fate)
        if delivery.isComplete { _ = remove(token.number) } else { pending[token.number] = delivery }
        return delivery
    }

    private func countRetry(of token: DeliveryToken) {
        guard let delivery = pending[token.number], delivery.isOutstanding(token.slot) else { return }
        if !delivery.isEvent { delivery.account.counters.retried += 1 }
        guard let source = delivery.source else { return }
        source.delivery.retried += 1
        deliveryChanged(source)
    }

    private func deliveryChanged(_ source: any Delivering) {
        guard !source.deliveryChanged, !source.isGone else { return }
        source.deliveryChanged = true
        changedSources.append(source)
    }

    /// Makes durable which targets have those matches, made up to an instant, that wait for others.
    ///
    /// Most are complete soon after, and then need not be recorded twice.
    func recordProgress(ofThoseMadeBy instant: Int64, _ turn: inout Turn) {
        for number in progressedMatches.sorted() {
            if let delivery = pending[number] {
                // One that is of the future was made before the clock was put back.
                guard delivery.createdAt <= instant || delivery.createdAt > turn.now else { continue }
                turn.keep(
                    delivery.isEvent
                        ? .eventProgress(number: number, completed: delivery.completed, fate: delivery.fate)
                        : .matchProgress(number: number, completed: delivery.completed, fate: delivery.fate))
            }
            progressedMatches.remove(number)
        }
    }

    /// How old a match is whose progress is recorded.
    private static let progressMilliseconds: Int64 = 1000

    /// Makes the delivery counters durable together with what changed them.
    func record(_ turn: inout Turn) {
        for number in completedEvents { turn.keep(.eventCompleted(number: number)) }
        completedEvents.removeAll(keepingCapacity: true)
        for number in completedMatches {
            turn.keep(.matchCompleted(number: number))
            if outdated.remove(number) != nil { turn.keep(.forgetMatch(number: number)) }
        }
        completedMatches.removeAll(keepingCapacity: true)
        for source in changedSources {
            source.deliveryChanged = false
            if !source.isGone { turn.keep(source.deliveryChange) }
        }
        changedSources.removeAll(keepingCapacity: true)
    }

    // MARK: Removing

    /// Removes what will not go to anybody any more.
    private func remove(_ number: Int64) -> PendingDelivery? {
        guard let delivery = pending.removeValue(forKey: number) else { return nil }
        for slot in 0...delivery.pushers.count { queues.end(DeliveryToken(number: number, slot: slot)) }
        let left = (waiting[delivery.client] ?? 1) - 1
        waiting[delivery.client] = left > 0 ? left : nil
        return delivery
    }

    /// Removes all of a dataset that was deleted.
    func removeAll(of dataset: String, _ account: MatchAccount) {
        for number in pending.filter({ $0.value.account === account }).map(\.key) {
            _ = remove(number)
            outdated.remove(number)
        }
        forgetChanges(of: dataset)
    }

    /// The delivery counters of a dataset are read anew.
    func forgetChanges(of dataset: String) {
        changedSources.removeAll { $0.dataset == dataset }
    }

    /// A match that did not become durable never was.
    ///
    /// - Returns: Whether it was still to be delivered.
    func discard(match number: Int64, _ account: MatchAccount?) -> Bool {
        let isPending = remove(number) != nil
        outdated.remove(number)
        account?.counters.matched -= 1
        if isPending { account?.counters.pending -= 1 } else { account?.counters.dropped -= 1 }
        return isPending
    }

    /// An event that did not become durable never was.
    func discard(event number: Int64) {
        guard let source = remove(number)?.source else { return }
        source.delivery.matched -= 1
        deliveryChanged(source)
    }
}

extension PendingDelivery {
    fileprivate init(_ record: EventRecord, _ account: MatchAccount, source: Geofence?, pushers: [Pusher]) {
        let recipient = Self.recipient(of: record)
        self.init(
            number: record.number, account: account, source: source, id: record.id, createdAt: record.createdAt,
            body: record.body, recipient: recipient, pushers: pushers, secret: record.secret, push: record.push,
            pair: Self.pair(recipient, record.push.flatMap(PushMessage.device)), isEvent: true, completed: record.completed,
            fate: record.fate)
    }

    fileprivate static func recipient(of record: EventRecord) -> Recipient {
        let kind: Recipient.Kind =
            switch record.source {
            case .circumstance: .circumstance
            case .beacon: .beacon
            case .geofence: .geofence
            }
        return Recipient(record.dataset, record.owner, kind, record.sourceID)
    }

    /// Whose message it is, and what it is about.
    fileprivate static func pair(_ recipient: Recipient, _ other: String?) -> String { "\(recipient.path) \(other ?? "")" }

    /// Some of its targets are lost from the beginning, and push services are sent what `message` says.
    fileprivate mutating func add(_ targets: Targets, _ other: String?, _ message: () -> PushMessage?) {
        if !targets.lost.isEmpty { (completed, fate) = (targets.completed, .dropped) }
        guard targets.isPushed, let message = message() else { return }
        let push = message.encoded()
        self.push = push
        pair = Self.pair(recipient, other ?? PushMessage.device(of: push))
    }
}

extension Delivery {
    fileprivate mutating func count(_ fate: MatchFate) {
        switch fate {
        case .delivered: delivered += 1
        case .expired: expired += 1
        case .dropped: dropped += 1
        }
    }
}
