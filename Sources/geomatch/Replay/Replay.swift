import GeomatchClient
import Wire

/// Publishes a trace, as fast as the socket takes it or at a multiple of real time.
///
/// Nothing is queued beyond a small bound: what the broker does not take yet stays in the trace. Guarded by the connection's lock
/// until it is done.
final class Replay: ConnectionWorker, @unchecked Sendable {
    private let configuration: GeomatchConfiguration
    private let trace: Trace
    private let topics: [String]
    private let qos: Int32
    private let speed: Double?
    private let endsNow: Bool
    private var progress: ProgressLine

    /// The next point.
    private var place = 0
    private var startedAt: Int64?
    private var finishedAt: Int64?
    private var shift: Int64 = 0
    private var acknowledgedCount = 0
    private var refusedCount = 0
    private var lossCount = 0
    /// Until when a lost connection is waited for.
    private var deadline = Int64.max

    /// Messages that wait for the socket (QoS 0), or for their acknowledgement (QoS 1).
    private static let waitingMax = 512
    private static let unacknowledgedMax = 100
    /// Publishes in one turn of the loop, so that it also reads and writes.
    private static let burst = 256

    init(
        _ configuration: GeomatchConfiguration, trace: Trace, domain: String, qos: Int32, speed: Double?, endsNow: Bool,
        progress: ProgressLine
    ) {
        self.trace = trace
        self.configuration = configuration
        topics = trace.devices.map { configuration.topics.update(["-", "-", "-", "-", $0, domain]) }
        self.qos = qos
        self.speed = speed
        self.endsNow = endsNow
        self.progress = progress
    }

    private var seconds: Double {
        Double(max(1, (finishedAt ?? WallClock.now()) - (startedAt ?? WallClock.now()))) / 1000
    }

    /// One line for standard error.
    func summary(isComplete: Bool) -> String {
        var text = "\(isComplete ? "published" : "interrupted after") \(place) of \(trace.points.count) positions of "
        text += "\(trace.devices.count) devices in \(PlainText.decimal(seconds, 1)) s "
        text += "(\(PlainText.decimal(Double(place) / seconds, 0))/s)"
        if qos == 1 { text += ", \(acknowledgedCount) acknowledged" }
        if refusedCount > 0 { text += ", \(refusedCount) refused by the broker" }
        if trace.refusedCount > 0 { text += ", \(trace.refusedCount) rows left out" }
        if lossCount > 0 { text += ", connection lost \(lossCount) times" }
        return text
    }

    /// The same for programs.
    func figures(isComplete: Bool) -> JSONValue {
        [
            "complete": .bool(isComplete), "published": .integer(Int64(place)), "positions": .integer(Int64(trace.points.count)),
            "devices": .integer(Int64(trace.devices.count)), "seconds": .double(seconds),
            "acknowledged": .integer(Int64(acknowledgedCount)), "refused": .integer(Int64(refusedCount)),
            "rowsLeftOut": .integer(Int64(trace.refusedCount)), "connectionsLost": .integer(Int64(lossCount)),
        ]
    }

    func connected() {
        deadline = .max
        guard startedAt == nil else { return }
        let now = WallClock.now()
        startedAt = now
        if endsNow, let last = trace.points.last { shift = due(last, start: now) - last.timestamp }
    }

    func lost(_ error: GeomatchError) {
        lossCount += 1
        if deadline == .max { deadline = WallClock.now() + configuration.requestTimeout.milliseconds }
    }

    func acknowledged(token: UInt64, reason: UInt8) {
        if reason >= 0x80 { refusedCount += 1 } else { acknowledgedCount += 1 }
    }

    func turn(_ link: WorkerLink, now: Int64) throws(GeomatchError) -> Int64? {
        if now >= deadline {
            progress.finish()
            let went = "\(place) of \(trace.points.count) positions went out"
            throw GeomatchError(.timeout, "\(configuration.brokerName): no connection; \(went)")
        }
        guard let startedAt, link.isConnected else { return deadline }
        let before = place
        let wanted = try publish(link, start: startedAt, now: now)
        progress.show(place, startedAt: startedAt, now: now)
        if place == trace.points.count, link.queuedMessages == 0, link.unacknowledged == 0 {
            finishedAt = now
            progress.finish()
            return nil
        }
        // What was published is written after this; only then the bound shows whether the broker takes more.
        return place > before ? now : min(wanted, progress.next)
    }

    /// Publishes what is due and has room.
    ///
    /// - Returns: When the next point is due; never where the socket or an acknowledgement says it first.
    private func publish(_ link: WorkerLink, start: Int64, now: Int64) throws(GeomatchError) -> Int64 {
        let end = min(trace.points.count, place + Self.burst)
        while place < end {
            let point = trace.points[place]
            let due = due(point, start: start)
            if due > now, speed != nil { return due }
            guard qos == 0 ? link.queuedMessages < Self.waitingMax : link.unacknowledged < Self.unacknowledgedMax else { break }
            guard try link.publish(topic: topics[point.device], payload: payload(of: point), qos: qos, token: UInt64(place))
            else { return .max }
            place += 1
        }
        return .max
    }

    /// When a point goes out; at once without a speed.
    private func due(_ point: Trace.Point, start: Int64) -> Int64 {
        guard let speed, let first = trace.points.first else { return start }
        let offset = Double(point.timestamp - first.timestamp) / speed
        return offset < 1e15 ? start + Int64(offset) : .max / 2
    }

    private func payload(of point: Trace.Point) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("latitude")
        writer.double(point.latitude)
        writer.key("longitude")
        writer.double(point.longitude)
        if let altitude = point.altitude {
            writer.key("altitude")
            writer.double(altitude)
        }
        if let accuracy = point.accuracy {
            writer.key("horizontalAccuracy")
            writer.double(accuracy)
        }
        writer.key("timestamp")
        writer.integer(point.timestamp + shift)
        writer.endObject()
        return writer.bytes
    }
}
