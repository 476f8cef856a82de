import LiveTopics
import Matching
import Wire

extension LiveBook {
    /// Whether a live state that somebody keeps is of a dataset that was deleted.
    ///
    /// - Parameter isGone: There is none of its name again.
    func isOfDeleted(_ message: IncomingUpdate, of live: LiveTopic, isGone: Bool) -> Bool {
        guard let deletedAt = shared.deletedDatasets[live.dataset] else { return false }
        if isGone { return true }
        guard states[live.encoded] == nil, case .object(let reported)? = try? JSONValue.parse(message.payload, using: parser),
            let receivedAt = reported["receivedAt"]?.asInt64
        else { return false }
        return receivedAt <= deletedAt
    }

    /// Restores a live state that somebody keeps and that a crash made us forget: live state is written behind, so the store may lack
    /// the last second before a kill, or a whole topic.
    ///
    /// Only the daemon reports live states, so what is kept is as good as the state itself; what is known and as new stays. It makes no
    /// device: a request that was to make one reports its position before the store has it, and may be repeated.
    func adopt(_ message: IncomingUpdate, of live: LiveTopic, in dataset: Dataset, _ turn: inout Turn) {
        let canonical = live.encoded
        let known = states[canonical]
        if live.domain == KnownDomain.presence.rawValue {
            // It follows from what is known of devices; what is kept is replaced.
            if let known { publish(known, &turn) } else { clearPublished(canonical, &turn) }
            return
        }
        let state = known ?? LiveState(dataset: dataset, live: live, topic: canonical)
        // It was retained before its dataset kept positions private.
        if state.isPrivate { return clearPublished(canonical, &turn) }
        if let payload = known?.payload, payload.count == message.payload.count, payload.elementsEqual(message.payload) { return }
        // The daemon never reported a time so far ahead: a later update must not be late for ever.
        let latest = turn.now + Self.skewMaximumMilliseconds
        guard let reported = ReportedState(message.payload, using: parser), reported.timestamp <= latest,
            reported.receivedAt <= latest
        else {
            if !state.isKnown { clearPublished(canonical, &turn) }
            return
        }
        guard !state.isKnown || reported.receivedAt > state.receivedAt else { return }
        let current = currentPosition(of: state)
        let isOutdated = reported.timestamp < max(state.time(at: turn.now), current?.time(at: turn.now) ?? .min)
        guard !isOutdated, (try? admit(state, instead: current, makesDevice: false, &turn)) != nil else {
            if !state.isKnown { clearPublished(canonical, &turn) }
            return
        }
        reportMoves(&turn)
        properties = reported.properties
        let found = store(reported.update, at: reported.timestamp, for: state, receivedAt: reported.receivedAt, &turn)
        reportMove(
            of: state, reported.update, found: found, at: reported.timestamp, knownSince: reported.receivedAt, &turn)
        reportMoves(knownSince: reported.receivedAt, &turn)
        if state.tellsSightings { restoreSightings(of: state, at: turn.now) }
    }
}

/// A `live/…` message read back.
private struct ReportedState {
    var timestamp: Int64
    var receivedAt: Int64
    var properties: [UInt8]
    var update: LiveUpdate

    /// nil where the daemon cannot have written it.
    init?(_ payload: UnsafeRawBufferPointer, using parser: JSONParser) {
        guard case .object(let message)? = try? JSONValue.parse(payload, using: parser),
            let timestamp = message["timestamp"]?.asInt64, let receivedAt = message["receivedAt"]?.asInt64,
            case .object(let properties)? = message["properties"],
            let update = LiveMessage.update(inPayload: Array(payload), using: parser)
        else { return nil }
        self.timestamp = timestamp
        self.receivedAt = receivedAt
        self.properties = JSONValue.object(properties).serialised()
        self.update = update
    }
}
