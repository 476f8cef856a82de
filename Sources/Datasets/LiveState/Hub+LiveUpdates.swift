import LiveTopics
import Matching
import Wire
import Records

// A live update from its bytes to the known state: what is accepted, and what becomes of the rest.

extension Hub {
    /// The largest payload of a live update.
    static let liveUpdateMaximumBytes = 64 << 10
    /// How far ahead of ours a timestamp may be.
    static let skewMaximumMilliseconds: Int64 = 300_000

    func receiveLive(_ topic: UnsafeRawBufferPointer, _ message: IncomingUpdate, _ turn: inout Turn) {
        if let state = liveStates[topic] {
            receiveUpdate(of: state, published: topic, message, &turn)
        } else {
            receiveFirst(topic, message, &turn)
        }
    }

    private func receiveFirst(_ topic: UnsafeRawBufferPointer, _ message: IncomingUpdate, _ turn: inout Turn) {
        let live: LiveTopic
        do throws(LiveTopicError) {
            // The generic form, which also says what is wrong with bytes that are no text, is some times slower.
            if let text = String(validating: topic, as: UTF8.self) {
                live = try LiveTopic(encoded: text)
            } else {
                live = try LiveTopic(encoded: topic)
            }
        } catch {
            let error = WireError(.invalid, error.message, field: error.field)
            refuse(error, published: topic, &turn)
            return
        }
        // Percent-codes in lower case, empty levels or a domain in capitals name a topic that may be known.
        receiveUpdate(of: live, published: topic, message, &turn)
    }

    /// - Parameter topic: As published, which may be no live topic.
    func receiveUpdate(of live: LiveTopic, published topic: UnsafeRawBufferPointer, _ message: IncomingUpdate, _ turn: inout Turn)
    {
        let canonical = live.encoded
        if let state = liveStates[canonical] {
            receiveUpdate(of: state, published: topic, message, &turn)
        } else if let dataset = datasets[live.dataset] {
            let state = LiveState(dataset: dataset, live: live, topic: canonical)
            receiveUpdate(of: state, published: topic, message, &turn)
        } else {
            receiveUpdateOfUnknownDataset(live, canonical: canonical, published: topic, message, &turn)
        }
    }

    /// A first live update creates its dataset where that is allowed, but only if nothing is wrong with it.
    private func receiveUpdateOfUnknownDataset(
        _ live: LiveTopic, canonical: String, published: UnsafeRawBufferPointer, _ message: IncomingUpdate, _ turn: inout Turn
    ) {
        if waiting.isWaiting(live.dataset) { return wait(message, of: canonical, in: live.dataset, &turn) }
        do throws(WireError) {
            guard mayCreateDataset(live.dataset, replayed: message.isRepeated) else { throw .unknownDataset(live.dataset) }
            guard !message.payload.isEmpty else { return }
            _ = try decode(message, domain: live.domain)
            let dataset = try createDataset(live.dataset, &turn)
            let state = LiveState(dataset: dataset, live: live, topic: canonical)
            receiveUpdate(of: state, published: published, message, &turn)
        } catch {
            if message.isRepeated { return }
            refuse(error, published: published, of: live.dataset, &turn)
        }
    }

    /// Handles an update of a known topic, or the first one of a topic whose state is not in the table yet.
    private func receiveUpdate(
        of state: LiveState, published: UnsafeRawBufferPointer, _ message: IncomingUpdate, _ turn: inout Turn
    ) {
        let dataset = state.dataset
        if dataset.isSuspended { return wait(message, of: state.topic, in: dataset.id, &turn) }
        do throws(WireError) {
            let outcome = try take(message, of: state, published: published, &turn)
            dataset.updateCounters.count(outcome)
            answered?.note(outcome, of: state)
        } catch {
            // Of what is repeated only that counts which has an effect.
            if message.isRepeated, state.isKnown { return }
            refuse(error, published: published, of: dataset.id, &turn)
        }
    }

    /// - Returns: What became of it.
    private func take(
        _ message: IncomingUpdate, of state: LiveState, published: UnsafeRawBufferPointer, _ turn: inout Turn
    ) throws(WireError) -> UpdateCounters.Outcome {
        guard state.domain != KnownDomain.presence.rawValue else {
            throw WireError(.invalid, "`presence` follows from geofences and is not published by clients", field: "domain")
        }
        guard !message.payload.isEmpty else {
            clear(state, &turn)
            return .accepted
        }
        try state.dataset.checkDeclared(state)
        if let device = state.device { state.dataset.circumstances.engine.expect(device.reference.index) }
        let update = try decode(message, domain: state.domain)
        if state.tellsSightings { return try receiveSightings(update, of: state, published: published, message, &turn) }
        var timestamp = update.timestamp ?? turn.now
        let isSkewed = timestamp > turn.now + Self.skewMaximumMilliseconds
        if isSkewed { timestamp = turn.now }
        if message.isRepeated, state.isKnown {
            // Its source kept it and sends it again: only by its own timestamp can that be newer than what is known.
            guard update.timestamp != nil, !isSkewed, timestamp > state.time(at: turn.now), timestamp != state.timestamp else {
                return .ignored
            }
        }
        let current = currentPosition(of: state)
        // What was sent is never late beside what the daemon worked out.
        let newest = max(state.sentTime(at: turn.now), current?.sentTime(at: turn.now) ?? .min)
        guard timestamp >= newest else {
            if message.isRepeated { return .ignored }
            state.dataset.diagnostics.reportLate(timestamp, newest: newest, published: published, &turn)
            return .late
        }
        try admit(state, instead: current, &turn)
        if isSkewed { reportSkewed(state, published, &turn) }
        let found = store(update, at: timestamp, for: state, receivedAt: turn.now, &turn)
        showMove(of: state, update, found: found, at: timestamp, &turn)
        return .accepted
    }

    func reportSkewed(_ state: LiveState, _ published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        state.dataset.updateCounters.countSkewed()
        answered?.isSkewed = true
        state.dataset.diagnostics.reportSkewed(published: published, &turn)
    }

    /// Counts and reports a refusal.
    ///
    /// - Parameter name: The dataset it is about, where that is not the first level of the topic.
    func refuse(_ error: WireError, published: UnsafeRawBufferPointer, of name: String? = nil, _ turn: inout Turn) {
        answered?.error = error
        let topic = String(decoding: published, as: UTF8.self)
        let level = name ?? String(topic.prefix { $0 != "/" })
        let diagnostic = DiagnosticsWindow.Diagnostic(topic: topic, refused: error)
        guard let dataset = datasets[level] else { return unknownDatasets.report(diagnostic, of: level, &turn) }
        dataset.updateCounters.count(.refused)
        dataset.diagnostics.report(diagnostic, &turn)
    }

    private func decode(_ message: IncomingUpdate, domain: String) throws(WireError) -> LiveUpdate {
        guard message.payload.count <= Self.liveUpdateMaximumBytes else {
            throw WireError(
                .tooLarge, "a live update has at most \(Self.liveUpdateMaximumBytes) bytes, not \(message.payload.count)")
        }
        properties.removeAll(keepingCapacity: true)
        return try decoder.decode(message.payload, padded: message.isPadded, domain: domain, properties: &properties)
    }

    /// Has the properties of a live message written to the scratch buffer.
    @discardableResult
    func writeProperties<Result>(_ write: (inout JSONWriter) -> Result) -> Result {
        properties.removeAll(keepingCapacity: true)
        var writer = JSONWriter()
        swap(&writer.bytes, &properties)
        defer { swap(&writer.bytes, &properties) }
        return write(&writer)
    }

    /// Checks that there is room for the state, and finds or makes the device that a position names.
    ///
    /// - Parameter instead: The state that goes when this one comes.
    func admit(_ state: LiveState, instead current: LiveState?, _ turn: inout Turn) throws(WireError) {
        if state.payload == nil, current == nil { try checkRoomForLiveTopic(of: state.item, in: state.dataset) }
        try checkRoom(
            forLiveBytes: properties.count + state.topic.utf8.count + LiveMessage.frameBytes,
            insteadOf: (state.payload ?? current?.payload)?.count ?? 0, in: state.dataset)
        if state.namesDevice, state.device == nil {
            state.device = try device(state.itemID, movedIn: state.dataset, &turn)
        }
    }

    /// Where positions come from devices or from the daemon: shows the engine where a device is by now.
    ///
    /// - Parameters:
    ///   - found: Where the structure finds it.
    ///   - instant: When it was there.
    func showMove(
        of state: LiveState, _ update: LiveUpdate, found: Whereabouts?, at instant: Int64, knownSince: Int64 = .max,
        _ turn: inout Turn
    ) {
        guard let device = state.device, let position = update.position else { return }
        let dataset = state.dataset
        noteMove(of: device, at: state, update, found: found, instant: instant, now: turn.now, knownSince: knownSince)
        dataset.circumstances.move(device, update, at: instant, &turn)
        let floor = dataset.structure.floor(of: state, index: update.floorIndex, found: found, &turn)
        showGeofences(device, update, floor: floor, at: instant, in: dataset, &turn)
        let move = Move(device: device.reference, position: position, floor: floor)
        if dataset.geomatching.note(move) { moved.append(dataset) }
    }

    /// Remembers a move for as long as requests before it may be refused.
    func noteMove(
        of device: Device, at state: LiveState, _ update: LiveUpdate?, found: Whereabouts? = nil, instant: Int64, now: Int64,
        knownSince: Int64 = .max
    ) {
        guard recentMoves.isAwaited || !recentMoves.isEmpty else { return }
        let former = state.dataset.geomatching.engine.position(of: device.reference)
        recentMoves.note(
            RecentMoves.Move(
                state: state, former: former, update: update, found: found, instant: instant, now: now, knownSince: knownSince))
    }

    /// The device a position names; an unknown one is made where the dataset allows it, else the position is live state only.
    func device(_ id: String, movedIn dataset: Dataset, _ turn: inout Turn) throws(WireError) -> Device? {
        if let device = dataset.devices[id] {
            // A beacon is known by proximity only.
            return device.record.type == .beacon ? nil : device
        }
        guard dataset.record.autoCreateDevices else { return nil }
        try checkRoomForDevice(of: nil, in: dataset, field: "location")
        var record = DeviceRecord(
            dataset: dataset.id, id: id, type: .mobile, owner: nil, createdAt: turn.now, updatedAt: turn.now, revision: "")
        record.revision = Revision.next(after: nil, content: record.encoded())
        let device = dataset.add(record)
        turn.keep(.put(record))
        takeOverPosition(device, in: dataset)
        followDevice(device, in: dataset)
        return device
    }
}
