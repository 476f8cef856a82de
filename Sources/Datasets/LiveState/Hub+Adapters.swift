import Wire

// Messages of other ecosystems: what an adapter read of them goes the way of any live update.

extension Hub {
    /// Handles a message that an adapter read. Batches end with ``endBatch(_:)``.
    ///
    /// - Parameters:
    ///   - published: The message's topic, which refusals name.
    ///   - isRepeated: It is no news: the source kept it and says it again.
    public func receive(_ adapted: AdaptedMessage, published: UnsafeRawBufferPointer, isRepeated: Bool, _ turn: inout Turn) {
        begin(&turn)
        switch adapted.updates {
        case .success(let updates):
            for update in updates {
                update.payload.withUnsafeBytes { payload in
                    let message = IncomingUpdate(topic: published, payload: payload, isRepeated: isRepeated)
                    receiveUpdate(of: update.topic, published: published, message, &turn)
                }
                if update.topic.domain == Self.waypointDomain, !isRepeated {
                    receiveWaypoint(update, published: published, &turn)
                }
            }
        case .failure(let error):
            refuse(error, published: published, of: adapted.dataset, &turn)
        }
    }

    /// A waypoint is a geofence, too.
    private func receiveWaypoint(_ update: AdaptedMessage.Update, published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        guard let dataset = datasets[update.topic.dataset], !dataset.isSuspended else { return }
        do throws(WireError) {
            try dataset.geofences.receiveWaypoint(update.payload, &turn)
        } catch {
            refuse(error, published: published, of: dataset.id, &turn)
        }
    }

    private static let waypointDomain = "waypoint"
}
