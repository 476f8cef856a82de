import Wire
import Records

/// What a dataset counted since the daemon started.
struct DatasetCounters: Equatable {
    var received = 0
    var accepted = 0
    var refused = 0
    var late = 0
    var skewed = 0
    var conflated = 0
    var requests = 0
    var failedRequests = 0
    var matched = 0
    var delivered = 0
    var retried = 0
    var expired = 0
    var dropped = 0
    /// Matches that wait for the broker: a gauge.
    var pending = 0
}

/// What `geomatch/{dataset}/status` says but the time, which alone is no news.
struct StatusFigures: Equatable {
    var counters: DatasetCounters
    var devices: Int
    var publications: Int
    var subscriptions: Int
    var liveSubscriptions: Int
    var circumstances: Int
    var places: Int

    func encode(into writer: inout JSONWriter) {
        writer.key("updates")
        writer.beginObject()
        writer.member("received", counters.received)
        writer.member("accepted", counters.accepted)
        writer.member("refused", counters.refused)
        writer.member("late", counters.late)
        writer.member("skewed", counters.skewed)
        writer.member("conflated", counters.conflated)
        writer.endObject()
        writer.key("requests")
        writer.beginObject()
        writer.member("received", counters.requests)
        writer.member("failed", counters.failedRequests)
        writer.endObject()
        writer.key("matches")
        writer.beginObject()
        writer.member("matched", counters.matched)
        writer.member("delivered", counters.delivered)
        writer.member("retried", counters.retried)
        writer.member("expired", counters.expired)
        writer.member("dropped", counters.dropped)
        writer.member("pending", counters.pending)
        writer.endObject()
        writer.member("devices", devices)
        writer.member("publications", publications)
        writer.member("subscriptions", subscriptions)
        writer.member("liveSubscriptions", liveSubscriptions)
        writer.member("circumstances", circumstances)
        writer.member("places", places)
    }
}

extension Dataset {
    var statusFigures: StatusFigures {
        StatusFigures(
            counters: counters, devices: devices.count, publications: publications.count, subscriptions: subscriptions.count,
            liveSubscriptions: liveSubscriptions.count, circumstances: circumstances.count, places: places.table.count)
    }
}
