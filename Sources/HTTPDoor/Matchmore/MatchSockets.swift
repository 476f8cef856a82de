import DequeModule

/// The sockets of old clients by device, and how far each device has heard.
struct MatchSockets {
    struct Device: Hashable, Sendable {
        var world: String
        var id: String
    }

    /// The last match that a device heard of.
    struct Heard {
        var id: String
        /// No match up to this number waits.
        var number: Int64
    }

    /// Of one device.
    static let perDeviceMax = 100

    private var byDevice: [Device: [MatchSocket]] = [:]
    private var heard: [Device: Heard] = [:]
    /// Those of `heard`, oldest first.
    private var order = Deque<Device>()
    /// Of so many devices it is known how far they have heard; the others hear again of all that is kept.
    private let heardMax: Int
    /// Something was noted since it was last kept.
    private var hasNews = false
    /// When that is due again, on the monotonic clock.
    private(set) var keepAt: Int64 = 0

    private static let keepMilliseconds: Int64 = 60_000

    /// - Parameter heard: Of a former life of the daemon.
    init(_ heard: [(Device, Heard)] = [], heardMax: Int = 200_000) {
        self.heardMax = heardMax
        for (device, last) in heard { note(last, of: device) }
        hasNews = false
    }

    var isEmpty: Bool { byDevice.isEmpty }
    var streams: some Sequence<EventStream> { byDevice.values.joined().lazy.map(\.stream) }

    func of(_ device: Device) -> [MatchSocket] { byDevice[device] ?? [] }

    mutating func add(_ socket: MatchSocket) { byDevice[socket.device, default: []].append(socket) }

    mutating func remove(_ stream: EventStream, of device: Device) {
        byDevice[device]?.removeAll { $0.stream === stream }
        if byDevice[device]?.isEmpty == true { byDevice[device] = nil }
    }

    func heard(_ device: Device) -> Heard? { heard[device] }

    /// What is to be kept, oldest first; nil where nothing is new.
    mutating func takeHeard(at now: Int64) -> [(Device, Heard)]? {
        keepAt = now + Self.keepMilliseconds
        guard hasNews else { return nil }
        hasNews = false
        return order.compactMap { device in heard[device].map { (device, $0) } }
    }

    mutating func note(_ last: Heard, of device: Device) {
        // A former connection may end behind its successor.
        if let known = heard[device], last.number > 0, known.number >= last.number { return }
        hasNews = true
        if heard.updateValue(last, forKey: device) == nil { order.append(device) }
        if order.count > heardMax, let oldest = order.popFirst() { heard[oldest] = nil }
    }
}

/// An open socket of a device: it carries ids of matches, each once. It belongs to the core's thread.
final class MatchSocket {
    let device: MatchSockets.Device
    let stream: EventStream
    /// For whom what waits is read.
    let client: String
    /// The newest match when it was opened; nil: none waited.
    private let newest: Int64?
    /// What came about while that which waits is read.
    private var early: [(id: String, number: Int64)]?
    /// What waited, as long as it may be sent once more.
    private var waited: Set<String> = []

    init(_ device: MatchSockets.Device, _ stream: EventStream, client: String, newest: Int64?) {
        self.device = device
        self.stream = stream
        self.client = client
        self.newest = newest
        early = newest == nil ? nil : []
    }

    func tellWaiting(_ ids: [String], isLast: Bool) {
        for (index, id) in ids.enumerated() {
            waited.insert(id)
            append(id, number: isLast && index == ids.count - 1 ? newest : nil)
        }
        guard isLast, let early else { return }
        self.early = nil
        for (id, number) in early { tell(id, number: number) }
    }

    func tell(_ id: String, number: Int64) {
        guard early == nil else {
            early?.append((id, number))
            return
        }
        guard !waited.contains(id) else { return }
        // Numbers rise: nothing that waited comes behind this.
        if !waited.isEmpty { waited = [] }
        append(id, number: number)
    }

    private func append(_ id: String, number: Int64?) {
        stream.append(.message(StreamMessage(path: "", payload: Array(id.utf8), cursor: number)))
    }
}
