import DaemonCore
import Datasets
import LiveTopics
import Wire

// What leaves for clients that listen.

/// A live subscription that was made on a socket: what it hears goes there alone.
struct SocketSubscription: Hashable {
    var key: StreamKey
    var id: String
}

extension HTTPDoor {
    /// Why a stream cannot be opened; nil: it can.
    func refusal(of stream: EventStream, since cursor: Int64?) -> WireError? {
        guard Name.isClient(stream.client) else {
            return WireError(.unauthorized, "`\(stream.client.prefix(80))` can be no client: 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        guard Name.isDataset(stream.dataset) else {
            return WireError(.invalid, "`\(stream.dataset.prefix(80))` can be no dataset", field: "dataset")
        }
        guard mayName(stream.dataset, stream.client) else {
            return WireError(.unauthorized, "`\(stream.client)` may not name the dataset `\(stream.dataset)`")
        }
        guard callers.isGood(stream.caller) else { return WireError(.unauthorized, "the key has expired or was deleted") }
        // What a store gives from now on must not be skipped by who comes from another.
        if let cursor, cursor > core.hub.lastDeliveryNumber {
            return WireError(.invalid, "\(cursor) is no cursor that was given here: it is beyond the last one", field: "since")
        }
        let open = streams[StreamKey(dataset: stream.dataset, client: stream.client)]?.count ?? 0
        guard open < Self.streamsPerClient else {
            return WireError(.limit, "`\(stream.client)` has \(Self.streamsPerClient) streams, the maximum")
        }
        return nil
    }

    /// Opens a stream, with what came after a cursor first.
    ///
    /// - Returns: Why it cannot be.
    func open(_ stream: EventStream, since cursor: Int64?) -> WireError? {
        if let refusal = refusal(of: stream, since: cursor) { return refusal }
        let key = StreamKey(dataset: stream.dataset, client: stream.client)
        streams[key, default: []].append(stream)
        guard let cursor else { return nil }
        let (isGap, messages) = durable.messages(after: cursor, for: key)
        if isGap {
            stream.append(.message(StreamMessage(path: "gap", payload: Array("{\"since\":\"\(cursor)\"}".utf8))))
        }
        for var message in messages where stream.wants(message.path) {
            message.isResumed = true
            stream.append(.message(message))
        }
        return nil
    }

    private static let streamsPerClient = 1000

    /// A stream's connection is gone: its live subscriptions end with it.
    func close(_ stream: EventStream) {
        stream.end(.gone)
        let key = StreamKey(dataset: stream.dataset, client: stream.client)
        streams[key]?.removeAll { $0 === stream }
        if streams[key]?.isEmpty == true { streams[key] = nil }
        endWatching(stream)
        for subscription in subscriptionsOfSockets.removeValue(forKey: ObjectIdentifier(stream)) ?? [] {
            if socketSubscriptions[subscription] === stream { unsubscribe(subscription) }
        }
    }

    /// No stream outlives the daemon.
    func endStreams() {
        sendOpenFrames()
        for stream in streams.values.joined() { stream.end(.goingAway) }
        for stream in matchSockets.streams { stream.end(.goingAway) }
        feedWaits.end()
        configuration.forwarding?.endStreams()
    }

    func advanceStreams(at now: Int64) {
        endStreamsOfLostKeys(at: now)
        endStreamsWithoutAccess()
        durable.advance(to: core.clock.now())
        if now >= matchSockets.keepAt { keepHeard() }
        guard !streams.isEmpty else { return }
        if now >= eventSignOfLifeAt {
            eventSignOfLifeAt = now + Self.eventSignOfLifeMilliseconds
            for stream in streams.values.joined() where !stream.isSocket { stream.append(.signOfLife) }
        }
        if now >= socketSignOfLifeAt {
            socketSignOfLifeAt = now + Self.socketSignOfLifeMilliseconds
            for stream in streams.values.joined() where stream.isSocket { stream.append(.signOfLife) }
        }
    }

    /// At once where keys were removed, within a second where they expired.
    private func endStreamsOfLostKeys(at now: Int64) {
        let removals = callers.removalCount
        guard removals != keyRemovalsSeen || now >= keysCheckedAt + 1000 else { return }
        (keyRemovalsSeen, keysCheckedAt) = (removals, now)
        endStreams { caller, _ in !callers.isGood(caller) }
    }

    /// Those of clients that may name their dataset no longer.
    private func endStreamsWithoutAccess() {
        let version = accessVersion()
        guard version != accessSeen else { return }
        accessSeen = version
        // A socket of an old client may have nobody's name.
        endStreams { caller, dataset in !caller.client.isEmpty && !mayName(dataset, caller.client) }
    }

    private func endStreams(where isLost: (_ caller: Caller, _ dataset: String) -> Bool) {
        for stream in streams.values.joined() where isLost(stream.caller, stream.dataset) { stream.end(.notAllowed) }
        for stream in matchSockets.streams where isLost(stream.caller, stream.dataset) { stream.end(.notAllowed) }
        feedWaits.end(where: isLost)
    }

    private func mayName(_ dataset: String, _ client: String) -> Bool { core.hub.configuration.mayName(dataset, client) }

    static let eventSignOfLifeMilliseconds: Int64 = 15_000
    static let socketSignOfLifeMilliseconds: Int64 = 20_000

    // MARK: Messages

    func notify(_ notification: Notification, _ payload: ArraySlice<UInt8>) {
        if notification.isLive { sendOpenFrames() }
        let recipient = notification.recipient
        let key = StreamKey(dataset: recipient.dataset, client: recipient.client)
        if let number = notification.deliveryNumber {
            let bytes = Array(payload)
            let (now, last) = (core.clock.now(), durable.lastNumber)
            guard durable.append(recipient.path, bytes, number: number, for: key, at: now) else { return }
            messageFile?.append(
                MessageFile.Stored(number: number, at: now, key: key, path: recipient.path, payload: bytes), after: last)
            noteDelay(of: bytes, on: recipient.path)
            tell(StreamMessage(path: recipient.path, payload: bytes, cursor: number), to: key)
            if !matchSockets.isEmpty { tellMatchSockets(recipient, bytes, number: number) }
            tellWatchers(StreamMessage(path: recipient.path, payload: bytes), of: key)
            return
        }
        guard !streams.isEmpty else { return }
        if notification.isLive, let route = socketRoute(of: recipient), let stream = route.stream {
            let message = StreamMessage(path: recipient.path, payload: Array(payload), frameHead: route.frameHead)
            return send(live: message, notification.token, to: stream)
        }
        guard let streams = streams[key] else { return }
        let message = StreamMessage(path: recipient.path, payload: Array(payload))
        for stream in streams where stream.wants(message.path) {
            if notification.isLive {
                send(live: message, notification.token, to: stream)
            } else {
                stream.append(.message(message))
            }
        }
    }

    /// A match says when it came about.
    private func noteDelay(of payload: [UInt8], on path: String) {
        guard path.hasPrefix("match/"), let name = payload.firstRange(of: Array("\"createdAt\":".utf8)) else { return }
        let digits = payload[name.upperBound...].prefix { (48...57).contains($0) }.prefix(15)
        let createdAt = digits.reduce(Int64(0)) { $0 * 10 + Int64($1) - 48 }
        if createdAt > 0 { matchDelay.note(Double(core.clock.now() - createdAt) / 1000) }
    }

    private func tell(_ message: StreamMessage, to key: StreamKey) {
        for stream in streams[key] ?? [] where stream.wants(message.path) { stream.append(.message(message)) }
    }

    /// Sends a reply to those streams of the calling client that name it.
    func tell(_ reply: ArraySlice<UInt8>, to address: ReturnAddress) {
        guard !streams.isEmpty, let recipient = core.recipient(of: address),
            let streams = streams[StreamKey(dataset: recipient.dataset, client: recipient.client)]
        else { return }
        let named = streams.filter { $0.names(recipient.path) }
        guard !named.isEmpty else { return }
        let payload = Array(reply)
        // A key is shown to its maker alone: a stream's own key may be for less.
        guard !ReplyStatus.isResult(payload, of: "key/create") else { return }
        // What they say depends on more datasets than a key for one of them is good for.
        let isWide = Self.wideRequests.contains { ReplyStatus.isResult(payload, of: $0) }
        for stream in named where !isWide || stream.caller.dataset == nil {
            stream.append(.message(StreamMessage(path: recipient.path, payload: payload)))
        }
    }

    private static let wideRequests = ["dataset/list", "cluster/status", "key/list"]

    func send(live message: StreamMessage, _ token: UInt64, to stream: EventStream) {
        if stream.append(.message(message), replacing: token) == .conflated { core.hub.conflated(token) }
    }

    // MARK: Live subscriptions of sockets

    /// Where a live subscription leads, as it was looked up.
    struct SocketRoute {
        /// Kept, so that no other one has its address.
        let recipient: Recipient
        /// nil: to no socket.
        let stream: EventStream?
        let frameHead: [UInt8]?
    }

    /// A live subscription has one recipient for all its messages.
    func socketRoute(of recipient: Recipient) -> SocketRoute? {
        guard !socketSubscriptions.isEmpty, let id = recipient.liveSubscription else { return nil }
        if let route = socketRoutes[ObjectIdentifier(recipient)] { return route }
        let key = StreamKey(dataset: recipient.dataset, client: recipient.client)
        let stream = socketSubscriptions[SocketSubscription(key: key, id: id)]
        let route = SocketRoute(
            recipient: recipient, stream: stream, frameHead: stream.map { _ in StreamMessage.frameHead(path: recipient.path) })
        socketRoutes[ObjectIdentifier(recipient)] = route
        return route
    }

    public func keepsForItself(_ notification: Notification) -> Bool {
        notification.isLive && socketRoute(of: notification.recipient)?.stream != nil
    }

    public func subscriptionEnded(_ recipient: Recipient) {
        socketRoutes[ObjectIdentifier(recipient)] = nil
        audienceRoutes.removeAll(keepingCapacity: true)
        guard !socketSubscriptions.isEmpty, let id = recipient.liveSubscription else { return }
        let key = StreamKey(dataset: recipient.dataset, client: recipient.client)
        forget(SocketSubscription(key: key, id: id))
    }

    private func forget(_ subscription: SocketSubscription) {
        guard let stream = socketSubscriptions[subscription] else { return }
        socketSubscriptions[subscription] = nil
        subscriptionsOfSockets[ObjectIdentifier(stream)]?.remove(subscription)
        if subscriptionsOfSockets[ObjectIdentifier(stream)]?.isEmpty == true {
            subscriptionsOfSockets[ObjectIdentifier(stream)] = nil
        }
    }

    public func forget(_ forgotten: Forgotten) {
        let messages = ForgottenMessages(forgotten)
        durable.forget(messages)
        messageFile?.forget(messages, through: durable.lastNumber, at: core.clock.now())
    }

    /// A request that came on a socket; its reply goes there.
    func receive(_ request: APIRequest, on stream: EventStream) {
        guard !stream.isEnded else { return }
        send(request, for: .socket(stream, request: request.name))
    }

    /// The reply to a subscription comes before anything that it brings.
    func subscribed(_ reply: [UInt8], on stream: EventStream) {
        guard case .object(let object)? = try? JSONValue.parse(reply), let id = object["result"]?.asObject?["id"]?.asString else {
            return
        }
        let key = StreamKey(dataset: stream.dataset, client: stream.client)
        let subscription = SocketSubscription(key: key, id: id)
        forget(subscription)
        socketSubscriptions[subscription] = stream
        if stream.isEnded { return unsubscribe(subscription) }
        subscriptionsOfSockets[ObjectIdentifier(stream), default: []].insert(subscription)
    }

    private func unsubscribe(_ subscription: SocketSubscription) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", subscription.id)
        writer.endObject()
        let request = APIRequest(
            dataset: subscription.key.dataset, client: subscription.key.client, name: "live/unsubscribe", body: writer.bytes)
        send(request, for: .unsubscription(subscription, socketSubscriptions[subscription]))
    }
}
