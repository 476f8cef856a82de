internal import Wire

/// Live data by criteria: connects with the first subscription, disconnects after the last, and recovers by itself.
///
/// ```swift
/// let manager = try LiveDataManager(broker: "mqtt://127.0.0.1:1883", dataset: "museum", client: "guide")
/// let updates = manager.updates
/// try await manager.subscribe(to: LiveCriteria().venue("louvre").floor("2").domain(.position))
/// for try await update in updates {
///     print(update.itemID, update.value)
/// }
/// ```
///
/// After a connection or the daemon was lost, the subscriptions that had succeeded are made again, and no other. Each
/// then sends its state anew; what is gone meanwhile is reported with ``LiveUpdate/hasLeft``. A subscription error is final.
/// Credentials that the broker refuses end everything with an error instead of a loop.
///
/// Letting the last reference go ends its subscriptions, as ``close()`` does.
public final class LiveDataManager: Sendable {
    private let session: Session
    /// Keeps a client made for this manager alone, or the shared one.
    let client: GeomatchClient
    private let number: Int
    private let delegation = Delegation<LiveDataEvent>()

    /// On the connection of a client; both keep it as long as they need it.
    public init(_ client: GeomatchClient) {
        self.client = client
        session = client.session
        number = session.change { core in
            let live = LiveDataCore()
            live.number = core.add(live)
            return live.number
        }
    }

    /// With a connection of its own.
    ///
    /// - Throws: `invalid` for what cannot be a broker's address, a dataset or a client. Nothing is connected yet.
    public convenience init(_ configuration: GeomatchConfiguration) throws(GeomatchError) {
        self.init(try GeomatchClient(configuration))
    }

    /// With a connection of its own; the parameters are those of ``GeomatchClient/init(broker:dataset:client:)``.
    public convenience init(broker: String, dataset: String, client: String? = nil) throws(GeomatchError) {
        try self.init(GeomatchConfiguration(broker: broker, dataset: dataset, client: client))
    }

    deinit { end() }

    // MARK: State

    /// The state of this manager: closed while it has no subscription, whatever else its client does.
    public var state: ConnectionState { withLive { live, _ in live.state } ?? .closed }

    /// The active subscriptions, in the order in which they were made.
    public var subscriptions: [LiveSubscription] {
        withLive { live, _ in live.sortedEntries.filter { $0.phase != .subscribing }.map(\.subscription) } ?? []
    }

    /// The last update of each topic a subscription let through and has not seen leave, in the order of topics.
    ///
    /// At most the first 100,000 topics of a subscription are remembered.
    public func current(of subscription: LiveSubscription) -> [LiveUpdate] {
        let known = withLive { live, _ in live.entries[subscription.id]?.known } ?? nil
        return (known ?? [:]).values.sorted { $0.topic.encoded < $1.topic.encoded }
    }

    // MARK: Subscribing

    /// Asks the daemon for live data and returns when it said yes. What is known comes first, then what changes.
    ///
    /// - Throws: A subscription error, which is final: `invalid` (with `field`, and `position` in a condition), `forbidden`,
    ///   `notFound`, `unknownDataset`, `unauthorized`, `limit`, `topicRefused`; or `timeout`, `refused`, `cancelled`.
    @discardableResult
    public func subscribe(to criteria: LiveCriteria) async throws(GeomatchError) -> LiveSubscription {
        let number = number
        return try await session.wait { core, done in
            guard let live = core.components[number] as? LiveDataCore else {
                done(.failure(.closed))
                return { _ in }
            }
            let id = live.subscribe(criteria, core, done)
            return { ($0.components[number] as? LiveDataCore)?.giveUp(id, $0) }
        }
    }

    /// Ends a subscription and returns when the daemon said so. After the last one the connection ends.
    ///
    /// - Throws: The unsubscription error, which is final. Where the daemon refused, the subscription remains; where it did
    ///   not answer, it is forgotten here, and by the daemon when its lease ends.
    public func unsubscribe(_ subscription: LiveSubscription) async throws(GeomatchError) {
        let number = number
        let _: LiveSubscription = try await session.wait { core, done in
            guard let live = core.components[number] as? LiveDataCore else {
                done(.failure(.closed))
                return { _ in }
            }
            live.unsubscribe(subscription.id, core, done)
            return { ($0.components[number] as? LiveDataCore)?.giveUp(subscription.id, $0) }
        }
    }

    /// Ends all active subscriptions.
    ///
    /// - Throws: The first error; the others are tried all the same.
    public func unsubscribeAll() async throws(GeomatchError) {
        var first: GeomatchError?
        for subscription in subscriptions {
            do throws(GeomatchError) {
                try await unsubscribe(subscription)
            } catch {
                first = first ?? error
            }
        }
        if let first { throw first }
    }

    /// What is known now, without a subscription, in pages the daemon chooses.
    ///
    /// - Parameter criteria: Its levels, condition and area; what it says of delivery is not used.
    public func snapshot(of criteria: LiveCriteria) async throws(GeomatchError) -> [LiveUpdate] {
        let holder = session.change { $0.nextHolder() }
        // Several pages on one connection, which is given back at the end.
        session.change { $0.hold(holder) }
        defer { session.change { $0.release(holder) } }
        return try await client.snapshot(of: criteria, holder: holder)
    }

    /// Ends all subscriptions without asking, and this manager for good: its sequences end, its delegate hears nothing more.
    public func close() { end() }

    private func end() { withLive { live, core in live.close(core) } }

    // MARK: What comes

    /// The updates from now on. Each call gives a consumer of its own.
    ///
    /// It throws when the connection ends for good (`refused`, `topicRefused`), and ends with ``close()``.
    public var updates: BufferedSequence<LiveUpdate, GeomatchError> {
        let mailbox = Mailbox<LiveUpdate, GeomatchError>(capacity: session.configuration.bufferSize)
        if withLive({ live, _ in live.updates.add(mailbox) }) == nil { mailbox.finish(nil) }
        return BufferedSequence(mailbox: mailbox)
    }

    /// Everything from now on, in order. Each call gives a consumer of its own; where it is slow, updates are left out, and
    /// nothing else as long as there are any.
    public var events: BufferedSequence<LiveDataEvent, Never> { BufferedSequence(mailbox: eventMailbox()) }

    private func eventMailbox() -> Mailbox<LiveDataEvent, Never> {
        let mailbox = Mailbox<LiveDataEvent, Never>(capacity: session.configuration.bufferSize) { $0.isUpdate }
        if withLive({ live, _ in live.events.add(mailbox) }) == nil { mailbox.finish(nil) }
        return mailbox
    }

    /// Is notified of everything from now on. Held weakly; the one before hears nothing more.
    public var delegate: (any LiveDataManagerDelegate)? {
        get { delegation.delegate as? any LiveDataManagerDelegate }
        set {
            delegation.replace(by: newValue, reading: eventMailbox) { [weak self, weak newValue] event in
                guard let self, let newValue else { return false }
                await newValue.take(event, of: self)
                return true
            }
        }
    }

    @discardableResult
    func withLive<Result>(_ body: (LiveDataCore, SessionCore) -> Result) -> Result? {
        session.change { core in (core.components[number] as? LiveDataCore).map { body($0, core) } }
    }
}

extension LiveDataManagerDelegate {
    fileprivate func take(_ event: LiveDataEvent, of manager: LiveDataManager) async {
        switch event {
        case .received(let update): await liveDataManager(manager, didReceive: update)
        case .stateChanged(let state): await liveDataManager(manager, didChange: state)
        case .subscribed(let subscription): await liveDataManager(manager, didSubscribe: subscription)
        case .unsubscribed(let subscription): await liveDataManager(manager, didUnsubscribe: subscription)
        case .subscriptionFailed(let subscription, let error):
            await liveDataManager(manager, didFailToSubscribe: subscription, error: error)
        case .unsubscriptionFailed(let subscription, let error):
            await liveDataManager(manager, didFailToUnsubscribe: subscription, error: error)
        case .failed(let error): await liveDataManager(manager, didFail: error)
        }
    }
}

extension GeomatchClient {
    /// What is known now about the levels, condition and area of some criteria.
    public func snapshot(of criteria: LiveCriteria) async throws(GeomatchError) -> [LiveUpdate] {
        try await snapshot(of: criteria, holder: holder)
    }

    func snapshot(of criteria: LiveCriteria, holder: Int) async throws(GeomatchError) -> [LiveUpdate] {
        var updates: [LiveUpdate] = []
        var after: JSONValue?
        repeat {
            var question = criteria.question
            question["after"] = after
            let page = try await send("live/snapshot", question, holder: holder)
            for update in try ObjectReader(page).elements("updates") { updates.append(try LiveUpdate(update)) }
            // A page without progress would never end.
            guard page["next"] != after else { break }
            after = page["next"]
        } while after != nil && after != .null
        return updates
    }
}
