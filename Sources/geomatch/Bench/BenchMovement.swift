import GeomatchClient
import Glibc
import MQTTLink
import Wire

/// The positions of a measurement, and what comes of them.
///
/// Each update carries its number, which its live message shows again. Every match of a device belongs to its oldest update in
/// range without one: the subscription's `matchTTL` is 0, and matches of one pair come in order. Guarded by the connection's lock
/// until it is done.
final class BenchMovement: ConnectionWorker, @unchecked Sendable {
    let filters: [String]
    private let name: String
    private let devices: [String]
    private let topics: [String]
    private let updateCount: Int
    private let rate: Double?
    private let window: Int
    private let patience: Int64
    private(set) var figures = BenchFigures()

    private var startedAt: Int64 = 0
    /// When what did not come counts as missing, monotonic nanoseconds.
    private var deadline = Int64.max
    /// When each update went out, monotonic nanoseconds; 0 once its live message came.
    private var sentAt: [Int64] = []
    /// Of each device, when its updates in range went out that no match came for yet.
    private var inRange: [String: ArraySlice<Int64>]

    /// One update in so many is in range.
    private static let passing = 10
    /// Publishes in one turn of the loop, so that it also reads and writes.
    private static let burst = 256

    init(
        _ configuration: GeomatchConfiguration, name: String, devices: [String], updates: Int, rate: Double?, window: Int
    ) {
        let topics = configuration.topics
        filters = [topics.matches(name), topics.state(topics.dataset + "/-/-/-/-/+/position")]
        self.name = name
        self.devices = devices
        self.topics = devices.map { topics.update(["-", "-", "-", "-", $0, "position"]) }
        updateCount = updates
        self.rate = rate
        self.window = window
        patience = configuration.requestTimeout.milliseconds * 1_000_000
        inRange = Dictionary(uniqueKeysWithValues: devices.map { ($0, []) })
        sentAt.reserveCapacity(updates)
    }

    func connected() {
        if startedAt == 0 { startedAt = Self.nanoseconds() }
        awaitMore()
    }

    func turn(_ link: WorkerLink, now: Int64) throws(GeomatchError) -> Int64? {
        let time = Self.nanoseconds()
        guard time < deadline, !isComplete else { return nil }
        // A little later than it is due does no harm.
        let wanted = now + (deadline - time) / 1_000_000 + 1
        guard link.isConnected else { return wanted }
        var due = updateCount
        if let rate { due = min(due, Int(Double(time - startedAt) / 1e9 * rate) + 1) }
        let last = min(due, sentAt.count + Self.burst, figures.updates.count + window)
        while sentAt.count < last {
            guard try publish(sentAt.count, on: link) else { return wanted }
        }
        // What is received opens the window; only a rate has to be waited for.
        guard sentAt.count < updateCount, sentAt.count < figures.updates.count + window else { return wanted }
        return sentAt.count < due ? now : now + 1
    }

    private var isComplete: Bool {
        figures.updates.count == updateCount && figures.matches.count == figures.matchesExpected
    }

    /// - Returns: False where the connection takes no more.
    private func publish(_ number: Int, on link: WorkerLink) throws(GeomatchError) -> Bool {
        let device = number % devices.count
        let isInRange = number % Self.passing == 0
        // Never where it was before.
        let step = Double(number % 800) * 1e-6
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("latitude")
        writer.double(Bench.latitude + (isInRange ? 0 : 0.1) + step)
        writer.key("longitude")
        writer.double(Bench.latitude)
        writer.key("n")
        writer.integer(Int64(number))
        writer.endObject()
        let time = Self.nanoseconds()
        guard try link.publish(topic: topics[device], payload: writer.bytes) else { return false }
        sentAt.append(time)
        figures.updatesSent += 1
        awaitMore()
        guard isInRange else { return true }
        inRange[devices[device]]?.append(time)
        figures.matchesExpected += 1
        return true
    }

    func received(_ message: InboundMessage) {
        guard !message.retain, !message.payload.isEmpty, case .object(let object)? = try? JSONValue.parse(message.payload) else {
            return
        }
        let time = Self.nanoseconds()
        if let device = object["publication"]?.asObject?["deviceId"]?.asString {
            guard let sent = inRange[device]?.popFirst() else { return }
            figures.matches.add(time - sent)
            awaitMore()
        } else if let number = object["properties"]?.asObject?["n"]?.asInt64,
            object["itemId"]?.asString?.hasPrefix(name) == true, let number = Int(exactly: number),
            sentAt.indices.contains(number),
            sentAt[number] > 0
        {
            figures.updates.add(time - sentAt[number])
            figures.updateSeconds = Double(time - startedAt) / 1e9
            sentAt[number] = 0
            awaitMore()
        }
    }

    private func awaitMore() { deadline = Self.nanoseconds() + patience }

    /// Monotonic.
    private static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
