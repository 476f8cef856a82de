import LiveTopics
import Wire
import Records

// A live update on its way to its dataset: whether there is one, and whether it takes updates in.

extension Hub {
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
            dataset.diagnostics.reportNearDomain(of: state, published: topic, &turn)
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
            try self.live.checkPublished(domain: live.domain)
            _ = try self.live.decode(message, domain: live.domain)
            let dataset = try createDataset(live.dataset, &turn)
            let state = LiveState(dataset: dataset, live: live, topic: canonical)
            receiveUpdate(of: state, published: published, message, &turn)
            dataset.diagnostics.reportNearDomain(of: state, published: published, &turn)
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
        if dataset.holdsUpdates { return wait(message, of: state.topic, in: dataset.id, &turn) }
        do throws(WireError) {
            let outcome = try live.receive(message, of: state, published: published, &turn)
            dataset.updateCounters.count(outcome)
            live.answered?.note(outcome, of: state)
        } catch {
            // Of what is repeated only that counts which has an effect.
            if message.isRepeated, state.isKnown { return }
            refuse(error, published: published, of: dataset.id, &turn)
        }
        if message.isWaypoint { receiveWaypoint(message, published: published, of: dataset, &turn) }
    }

    /// Counts and reports a refusal.
    ///
    /// - Parameter name: The dataset it is about, where that is not the first level of the topic.
    func refuse(_ error: WireError, published: UnsafeRawBufferPointer, of name: String? = nil, _ turn: inout Turn) {
        live.answered?.error = error
        let topic = String(decoding: published, as: UTF8.self)
        let level = name ?? String(topic.prefix { $0 != "/" })
        let diagnostic = DiagnosticsWindow.Diagnostic(topic: topic, refused: error)
        guard let dataset = datasets[level] else { return unknownDatasets.report(diagnostic, of: level, &turn) }
        dataset.updateCounters.count(.refused)
        dataset.diagnostics.report(diagnostic, &turn)
    }

    // MARK: Doors

    /// Handles a live update and says what became of it. Batches end with ``endBatch(_:)``.
    ///
    /// - Parameter dataset: The first level of its topic.
    public func receiveAnswered(_ update: IncomingUpdate, of dataset: String, _ turn: inout Turn) -> UpdateAnswer {
        if holdsUpdates(dataset) { return .suspended }
        live.answered = AnsweredUpdate()
        defer { live.answered = nil }
        receive(update, &turn)
        guard let answered = live.answered else { return .suspended }
        if let error = answered.error { return .refused(error) }
        return .known(
            topic: answered.topic ?? String(decoding: update.topic, as: UTF8.self), timestamp: answered.timestamp ?? turn.now,
            isLate: answered.isLate, isSkewed: answered.isSkewed)
    }

    /// A live state that a door keeps. What a deleted dataset left is cleared, paced.
    ///
    /// - Parameter restores: What is missing here comes back from it, see ``LiveBook/adopt(_:of:in:_:)``.
    public func adopt(_ message: IncomingUpdate, restores: Bool = true, _ turn: inout Turn) {
        guard !message.payload.isEmpty, let topic = try? LiveTopic(encoded: message.topic) else { return }
        guard !live.isOfDeleted(message, of: topic, isGone: datasets[topic.dataset] == nil) else {
            return live.resync.clear(topic.encoded, of: topic.dataset)
        }
        guard restores, let dataset = datasets[topic.dataset] else { return }
        if dataset.holdsUpdates { return wait(message, of: topic.encoded, in: dataset.id, isAdopted: true, &turn) }
        live.adopt(message, of: topic, in: dataset, &turn)
    }
}
