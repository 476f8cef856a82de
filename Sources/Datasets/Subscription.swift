import Matching
import Records

/// A subscription as the hub holds it.
final class Subscription {
    var record: SubscriptionRecord
    let reference: SubscriptionRef
    /// Of its matches.
    let recipient: Recipient
    /// What its `pushers` name beside that.
    var pushers: [Pusher]
    /// The ids of its visits under way, by the publication's number; empty: a stay that may become one.
    var visits: [UInt32: String] = [:]
    /// Its delivery counters changed since they were last made durable.
    var deliveryChanged = false
    /// Deleted, expired or never stored: its matches still on their way are counted for the dataset only, also where
    /// another subscription has its id by now.
    var isGone = false
    /// The first instant at which it no longer lives.
    var expiresAt: Int64 { deadline(from: record.createdAt, duration: record.duration) }

    init(_ record: SubscriptionRecord, pushers: [Pusher], reference: SubscriptionRef) {
        self.record = record
        self.pushers = pushers
        self.reference = reference
        recipient = record.recipient
    }
}
