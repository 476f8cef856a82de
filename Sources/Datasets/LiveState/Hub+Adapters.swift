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
                    var message = IncomingUpdate(topic: published, payload: payload, isRepeated: isRepeated)
                    message.isWaypoint = update.topic.domain == Self.waypointDomain && !isRepeated
                    receiveUpdate(of: update.topic, published: published, message, &turn)
                }
            }
        case .failure(let error):
            refuse(error, published: published, of: adapted.dataset, &turn)
        }
    }

    /// A waypoint is a geofence, too.
    func receiveWaypoint(
        _ message: IncomingUpdate, published: UnsafeRawBufferPointer, of dataset: Dataset, _ turn: inout Turn
    ) {
        do throws(WireError) {
            try dataset.geofences.receiveWaypoint(Array(message.payload), &turn)
        } catch {
            refuse(error, published: published, of: dataset.id, &turn)
        }
    }

    private static let waypointDomain = "waypoint"
}
