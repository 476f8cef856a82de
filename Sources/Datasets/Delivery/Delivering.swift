import Records

/// What events are delivered for, with their counters: a subscription, or a geofence.
protocol Delivering: AnyObject {
    var dataset: String { get }
    var delivery: Delivery { get set }
    /// Its counters changed since they were last made durable.
    var deliveryChanged: Bool { get set }
    var pushers: [Pusher] { get }
    /// It is deleted: its events still on their way are counted for nobody.
    var isGone: Bool { get }
    /// Makes its counters durable.
    var deliveryChange: DurableChange { get }
}

extension Subscription: Delivering {
    var dataset: String { record.dataset }
    var delivery: Delivery {
        get { record.delivery }
        set { record.delivery = newValue }
    }
    var deliveryChange: DurableChange {
        .putDelivery(dataset: record.dataset, subscriptionId: record.id, record.delivery)
    }
}
