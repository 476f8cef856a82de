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

    func receiveLive(_ topic: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64, into effects: inout HubEffects) {
        if let state = liveStates[topic] {
            receiveUpdate(of: state, published: topic, message, at: now, into: &effects)
        } else {
            receiveFirst(topic, message, at: now, into: &effects)
        }
    }

    private func receiveFirst(
        _ topic: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64, into effects: inout HubEffects
    ) {
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
            refuse(error, published: topic, counts: true, at: now, into: &effects)
            return
        }
        // Percent-codes in lower case, empty levels or a domain in capitals name a topic that may be known.
        receiveUpdate(of: live, published: topic, message, at: now, into: &effects)
    }

    /// - Parameter topic: As published, which may be no live topic.
    func receiveUpdate(
        of live: LiveTopic, published topic: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64,
        into effects: inout HubEffects
    ) {
        let canonical = live.encoded
        if let state = liveStates[canonical] {
            receiveUpdate(of: state, published: topic, message, at: now, into: &effects)
        } else if let dataset = datasets[live.dataset] {
            let state = LiveState(dataset: dataset, live: live, topic: canonical)
            receiveUpdate(of: state, published: topic, message, at: now, into: &effects)
        } else {
            receiveUpdateOfUnknownDataset(live, canonical: canonical, published: topic, message, at: now, into: &effects)
        }
    }

    /// A first live update creates its dataset where that is allowed, but only if nothing is wrong with it.
    private func receiveUpdateOfUnknownDataset(
        _ live: LiveTopic, canonical: String, published: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64,
        into effects: inout HubEffects
    ) {
        do throws(WireError) {
            guard mayCreateDataset(live.dataset, replayed: message.retained) else { throw .unknownDataset(live.dataset) }
            guard !message.payload.isEmpty else { return }
            _ = try decode(message, domain: live.domain)
            let dataset = try createDataset(live.dataset, at: now, into: &effects)
            let state = LiveState(dataset: dataset, live: live, topic: canonical)
            receiveUpdate(of: state, published: published, message, at: now, into: &effects)
        } catch {
            if message.retained { return }
            refuse(error, published: published, of: live.dataset, counts: true, at: now, into: &effects)
        }
    }

    /// Handles an update of a known topic, or the first one of a topic whose state is not in the table yet.
    private func receiveUpdate(
        of state: LiveState, published: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64, into effects: inout HubEffects
    ) {
        let dataset = state.dataset
        // Of what a broker replays only that counts as received which has an effect.
        if !message.retained { dataset.counters.received += 1 }
        guard !message.payload.isEmpty else {
            if message.retained { dataset.counters.received += 1 }
            dataset.counters.accepted += 1
            clear(state, at: now, into: &effects)
            return
        }
        do throws(WireError) {
            try checkDeclared(state)
            if let device = state.device { dataset.circumstances.engine.expect(device.reference.index) }
            let update = try decode(message, domain: state.domain)
            if state.tellsSightings {
                return try receiveSightings(update, of: state, published: published, message, at: now, into: &effects)
            }
            var timestamp = update.timestamp ?? now
            let isSkewed = timestamp > now + Self.skewMaximumMilliseconds
            if isSkewed { timestamp = now }
            if message.retained, state.isKnown {
                // The broker gives back what it kept: only by its own word can that be newer than what is known.
                guard update.timestamp != nil, !isSkewed, timestamp > state.timestamp else { return }
            }
            let standing = standing(of: state)
            // What was sent is never late beside what the daemon worked out.
            let newest = max(state.sentAt, standing?.sentAt ?? .min)
            guard timestamp >= newest else {
                if !message.retained { refuseLate(timestamp, newest, state, published, at: now, into: &effects) }
                return
            }
            try admit(state, instead: standing, at: now, into: &effects)
            if message.retained { dataset.counters.received += 1 }
            dataset.counters.accepted += 1
            if isSkewed { tellSkewed(state, published, at: now, into: &effects) }
            let found = store(update, at: timestamp, for: state, receivedAt: now, into: &effects)
            showMove(of: state, update, found: found, at: timestamp, now: now, into: &effects)
        } catch {
            if message.retained, state.isKnown { return }
            refuse(error, published: published, of: dataset.id, counts: message.retained, at: now, into: &effects)
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

    /// Checks that there is room for the state, and finds or makes the device that a position names.
    ///
    /// - Parameter instead: The state that goes when this one comes.
    func admit(
        _ state: LiveState, instead standing: LiveState?, at now: Int64, into effects: inout HubEffects
    ) throws(WireError) {
        if state.payload == nil, standing == nil { try checkRoomForLiveTopic(in: state.dataset) }
        if state.namesDevice, state.device == nil {
            state.device = try device(state.itemID, movedIn: state.dataset, at: now, into: &effects)
        }
    }

    /// Where positions come from devices or from the daemon: shows the engine where a device stands by now.
    ///
    /// - Parameters:
    ///   - found: Where the structure finds it.
    ///   - instant: When it stood there.
    func showMove(
        of state: LiveState, _ update: LiveUpdate, found: Whereabouts?, at instant: Int64, now: Int64,
        into effects: inout HubEffects
    ) {
        guard let device = state.device, let position = update.position else { return }
        let dataset = state.dataset
        showCircumstances(device, update, at: instant, in: dataset, now: now, into: &effects)
        if dataset.moves.isEmpty { moved.append(dataset) }
        let floor = floor(of: state, index: update.floorIndex, found: found, into: &effects)
        dataset.moves.append(Move(device: device.reference, position: position, floor: floor))
    }

    func checkRoomForLiveTopic(in dataset: Dataset) throws(WireError) {
        guard dataset.liveTopicCount < configuration.limits.liveTopics else {
            throw WireError(.limit, "the dataset has \(configuration.limits.liveTopics) live topics, the maximum")
        }
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
        takeOverPosition(device, in: dataset)
        return device
    }
}
