import Geodesy
import LiveTopics
import Matching
import Wire

extension Hub {
    /// The largest payload of a live update.
    static let liveUpdateMaximumBytes = 64 << 10
    /// How far ahead of ours a timestamp may be.
    static let skewMaximumMilliseconds: Int64 = 300_000

    func receiveLive(_ topic: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64, into effects: inout HubEffects) {
        let published = String(decoding: topic, as: UTF8.self)
        if let state = liveStates[published] {
            receiveUpdate(of: state, published: published, message, at: now, into: &effects)
            return
        }
        let live: LiveTopic
        do throws(LiveTopicError) {
            live = try LiveTopic(encoded: topic)
        } catch {
            if !message.retained { datasets[String(published.prefix { $0 != "/" })]?.counters.received += 1 }
            refuse(
                WireError(.invalid, error.message, field: error.field), published: published, at: now, into: &effects)
            return
        }
        // Percent-codes in lower case, empty levels or a domain in capitals name a topic that may be known.
        let canonical = live.encoded
        if let state = liveStates[canonical] {
            receiveUpdate(of: state, published: published, message, at: now, into: &effects)
        } else if let dataset = datasets[live.dataset] {
            if !message.retained { dataset.counters.received += 1 }
            receiveFirstUpdate(of: live, encoded: canonical, in: dataset, published: published, message, at: now, into: &effects)
        } else {
            receiveUpdateOfUnknownDataset(live, encoded: canonical, published: published, message, at: now, into: &effects)
        }
    }

    /// A first live update creates its dataset where that is allowed, but only if nothing is wrong with it.
    private func receiveUpdateOfUnknownDataset(
        _ live: LiveTopic, encoded: String, published: String, _ message: Inbound, at now: Int64, into effects: inout HubEffects
    ) {
        do throws(WireError) {
            guard mayCreateDataset(live.dataset, replayed: message.retained) else { throw .unknownDataset(live.dataset) }
            guard !message.payload.isEmpty else { return }
            _ = try decode(message, domain: live.domain)
            let dataset = try createDataset(live.dataset, at: now, into: &effects)
            dataset.counters.received += message.retained ? 0 : 1
            receiveFirstUpdate(of: live, encoded: encoded, in: dataset, published: published, message, at: now, into: &effects)
        } catch {
            if !message.retained { refuse(error, published: published, at: now, into: &effects) }
        }
    }

    private func receiveFirstUpdate(
        of live: LiveTopic, encoded: String, in dataset: Dataset, published: String, _ message: Inbound, at now: Int64,
        into effects: inout HubEffects
    ) {
        guard !message.payload.isEmpty else {
            // Nothing is known; what a broker may still retain from earlier days goes all the same.
            dataset.counters.accepted += 1
            publishLive(topic: encoded, payload: [], into: &effects)
            return
        }
        do throws(WireError) {
            let update = try decode(message, domain: live.domain)
            let state = LiveState(
                dataset: dataset, topic: encoded, domain: live.domain, itemID: live.itemID, timestamp: .min, receivedAt: .min,
                number: 0, payload: nil)
            try admit(state, at: now, into: &effects)
            accept(update, for: state, published: published, at: now, into: &effects)
        } catch {
            refuse(error, published: published, at: now, into: &effects)
        }
    }

    private func receiveUpdate(
        of state: LiveState, published: String, _ message: Inbound, at now: Int64, into effects: inout HubEffects
    ) {
        if !message.retained { state.dataset.counters.received += 1 }
        if message.payload.isEmpty {
            state.dataset.counters.accepted += 1
            clear(state, at: now, into: &effects)
            return
        }
        do throws(WireError) {
            let update = try decode(message, domain: state.domain)
            if message.retained {
                // The broker gives back what it kept: it never replaces what is known by something not newer.
                guard let timestamp = update.timestamp, timestamp > state.timestamp else { return }
            }
            try admit(state, at: now, into: &effects)
            accept(update, for: state, published: published, at: now, into: &effects)
        } catch {
            refuse(error, published: published, at: now, into: &effects)
        }
    }

    /// Checks that there is room for the state, and finds the device that a position names.
    private func admit(_ state: LiveState, at now: Int64, into effects: inout HubEffects) throws(WireError) {
        if state.payload == nil, state.dataset.liveTopicCount >= configuration.limits.liveTopics {
            throw WireError(.limit, "the dataset has \(configuration.limits.liveTopics) live topics, the maximum")
        }
        if state.device == nil, state.domain == "position", state.itemIsLocation {
            state.device = try device(state.itemID, movedIn: state.dataset, at: now, into: &effects)
        }
    }

    private func decode(_ message: Inbound, domain: String) throws(WireError) -> LiveUpdate {
        guard message.payload.count <= Self.liveUpdateMaximumBytes else {
            throw WireError(
                .tooLarge, "a live update has at most \(Self.liveUpdateMaximumBytes) bytes, not \(message.payload.count)")
        }
        properties.removeAll(keepingCapacity: true)
        return try decoder.decode(message.payload, padded: message.padded, domain: domain, properties: &properties)
    }

    /// Takes a decoded update in; its properties stand in the scratch buffer.
    private func accept(
        _ update: LiveUpdate, for state: LiveState, published: String, at now: Int64, into effects: inout HubEffects
    ) {
        let dataset = state.dataset
        var timestamp = update.timestamp ?? now
        let isSkewed = timestamp > now + Self.skewMaximumMilliseconds
        if isSkewed { timestamp = now }
        let newest = state.device?.positionTopic.map { max($0.timestamp, state.timestamp) } ?? state.timestamp
        guard timestamp >= newest else {
            dataset.counters.late += 1
            let message = "the update of \(timestamp) is older than the state of \(newest)"
            report(
                .init(kind: .late, topic: published, error: "late", message: message, field: "timestamp", count: 1),
                of: dataset, at: now, into: &effects)
            return
        }
        dataset.counters.accepted += 1
        if isSkewed {
            dataset.counters.skewed += 1
            let message = "the timestamp is more than 5 minutes ahead: the time of arrival was taken"
            report(
                .init(kind: .skewed, topic: published, error: "skewed", message: message, field: "timestamp", count: 1),
                of: dataset, at: now, into: &effects)
        }
        store(update, at: timestamp, for: state, receivedAt: now, into: &effects)
        if let device = state.device, let position = update.position {
            if dataset.moves.isEmpty { moved.append(dataset) }
            dataset.moves.append(Move(device: device.reference, position: position))
        }
    }

    /// Makes an update the known state, tells it, and remembers to make it durable.
    func store(
        _ update: LiveUpdate, at timestamp: Int64, for state: LiveState, receivedAt now: Int64, into effects: inout HubEffects
    ) {
        let dataset = state.dataset
        if state.payload == nil {
            dataset.countLiveTopic(state.domain, by: 1)
            if state.number == 0 { liveStates[state.topic] = state }
        }
        liveNumber += 1
        state.number = liveNumber
        state.timestamp = timestamp
        state.receivedAt = now
        var payload: [UInt8] = []
        payload.reserveCapacity(properties.count + state.topic.utf8.count + 160)
        LiveMessage.encode(
            topic: state.topic, domain: state.domain, itemID: state.itemID, timestamp: timestamp, receivedAt: now,
            properties: properties, originSourceId: update.originSourceId, derived: false, into: &payload)
        publishLive(topic: state.topic, payload: payload, into: &effects)
        state.payload = payload
        markDirty(state)
        if state.device == nil, state.domain == "position" { dataset.positionsWithoutDevice[state.itemID] = state }
        if let device = state.device, device.positionTopic !== state {
            // A device has one position: the one on another topic is no longer true.
            if let former = device.positionTopic { forgetState(former, at: now, into: &effects) }
            device.positionTopic = state
        }
    }

    /// Clears a state on demand: the device of a position stands nowhere from now on.
    func clear(_ state: LiveState, at now: Int64, into effects: inout HubEffects) {
        forgetState(state, at: now, into: &effects)
        guard let device = state.device, device.positionTopic === state else { return }
        showMoves(at: now, into: &effects)
        device.positionTopic = nil
        engineEffects.removeAll(keepingCapacity: true)
        state.dataset.engine.move(device.reference, to: nil, at: now, into: &engineEffects)
        handleEngineEffects(of: state.dataset, at: now, into: &effects)
    }

    func forgetState(_ state: LiveState, at now: Int64, into effects: inout HubEffects) {
        if state.payload != nil { state.dataset.countLiveTopic(state.domain, by: -1) }
        if state.dataset.positionsWithoutDevice[state.itemID] === state {
            state.dataset.positionsWithoutDevice[state.itemID] = nil
        }
        liveNumber += 1
        state.number = liveNumber
        state.timestamp = now
        state.receivedAt = now
        state.payload = nil
        markDirty(state)
        publishLive(topic: state.topic, payload: [], into: &effects)
    }

    private func markDirty(_ state: LiveState) {
        guard !state.dirty else { return }
        state.dirty = true
        dirty.append(state)
    }

    func publishLive(topic: String, payload: [UInt8], into effects: inout HubEffects) {
        effects.messages.append(
            topic: topic, prefix: livePrefix, qos: configuration.liveQoS, retain: true, payload: payload)
    }

    /// The device a position names; an unknown one is made where the dataset allows it, else the position is live state only.
    private func device(
        _ id: String, movedIn dataset: Dataset, at now: Int64, into effects: inout HubEffects
    ) throws(WireError) -> Device? {
        if let device = dataset.devices[id] {
            // A beacon is known by proximity only.
            return device.record.type == .beacon ? nil : device
        }
        guard dataset.record.autoCreateDevices else { return nil }
        guard dataset.devices.count < configuration.limits.devices else {
            throw WireError(.limit, "the dataset has \(configuration.limits.devices) devices, the maximum", field: "location")
        }
        var record = DeviceRecord(
            dataset: dataset.id, id: id, type: .mobile, owner: nil, createdAt: now, updatedAt: now, revision: "")
        record.revision = Revision.next(after: nil, content: record.encoded())
        let device = Device(record, reference: dataset.engine.addDevice())
        dataset.register(device)
        effects.changes.append(.putDevice(record))
        return device
    }

    // MARK: Telling

    private func refuse(
        _ error: WireError, published topic: String, at now: Int64, into effects: inout HubEffects
    ) {
        let level = String(topic.prefix { $0 != "/" })
        if let dataset = datasets[level] {
            dataset.counters.refused += 1
            report(.init(topic: topic, refused: error), of: dataset, at: now, into: &effects)
        } else if Name.isDataset(level) {
            reportStranger(.init(topic: topic, refused: error), dataset: level, at: now, into: &effects)
        } else {
            malformedDatasets += 1
        }
    }

    private func report(
        _ diagnostic: DiagnosticsWindow.Diagnostic, of dataset: Dataset, at now: Int64, into effects: inout HubEffects
    ) {
        if let told = dataset.diagnostics.report(diagnostic, at: now) { tell(told, of: dataset.id, into: &effects) }
    }

    /// Datasets that do not exist have diagnostics too, of at most a thousand of them in a second.
    private func reportStranger(
        _ diagnostic: DiagnosticsWindow.Diagnostic, dataset: String, at now: Int64, into effects: inout HubEffects
    ) {
        guard strangers[dataset] != nil || strangers.count < 1000 else { return }
        if let told = strangers[dataset, default: DiagnosticsWindow()].report(diagnostic, at: now) {
            tell(told, of: dataset, into: &effects)
        }
    }

    func advanceStrangers(to now: Int64, into effects: inout HubEffects) {
        for name in strangers.keys.sorted() {
            for diagnostic in strangers[name]?.end(at: now) ?? [] { tell(diagnostic, of: name, into: &effects) }
            if strangers[name]?.isIdle == true { strangers[name] = nil }
        }
        if malformedDatasets > 0, now - lastTickAt >= 1000 {
            effects.notices.append(.malformedDataset(count: malformedDatasets))
            malformedDatasets = 0
        }
    }

    func tell(_ diagnostic: DiagnosticsWindow.Diagnostic, of dataset: String, into effects: inout HubEffects) {
        effects.messages.append(
            topic: "geomatch/\(dataset)/diagnostics/\(diagnostic.kind.rawValue)", prefix: configuration.topicsPrefix, qos: 0,
            retain: false, payload: diagnostic.encode())
    }

    /// `live/` below the configured prefix.
    var livePrefix: String { configuration.topicsPrefix.isEmpty ? "live/" : configuration.topicsPrefix + "live/" }
}

extension LiveState {
    /// The `location` level names the item.
    var itemIsLocation: Bool {
        var level = 0
        var location = topic.utf8[...]
        while level < 5, let slash = location.firstIndex(of: UInt8(ascii: "/")) {
            location = location[location.index(after: slash)...]
            level += 1
        }
        let end = location.firstIndex(of: UInt8(ascii: "/")) ?? location.endIndex
        return !location[..<end].elementsEqual("-".utf8)
    }
}

extension WireError {
    static func unknownDataset(_ name: String) -> WireError {
        WireError(.unknownDataset, "there is no dataset `\(name)`", field: "dataset")
    }
}
