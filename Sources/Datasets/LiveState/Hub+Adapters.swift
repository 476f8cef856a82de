import Wire

// Messages of other ecosystems: what an adapter read of them goes the way of any live update.

extension Hub {
    /// Handles a message that an adapter read. Batches end with ``endBatch(at:into:)``.
    ///
    /// - Parameters:
    ///   - published: The message's topic, which refusals name.
    ///   - retained: The broker replayed it from what it retains.
    public func receive(
        _ adapted: AdaptedMessage, published: UnsafeRawBufferPointer, retained: Bool, at now: Int64,
        into effects: inout HubEffects
    ) {
        begin(at: now, into: &effects)
        switch adapted.updates {
        case .success(let updates):
            for update in updates {
                update.payload.withUnsafeBytes { payload in
                    let message = Inbound(topic: published, payload: payload, retained: retained)
                    receiveUpdate(of: update.topic, published: published, message, at: now, into: &effects)
                }
            }
        case .failure(let error):
            refuse(error, published: published, of: adapted.dataset, counts: true, at: now, into: &effects)
        }
    }
}
