import Glibc
import Synchronization

/// Positions out of one connection, what comes of them into another, and how long that took.
///
/// Each update carries its number as `altitude`, which comes back in its `live/…` message and in the matches it makes. At a fixed rate
/// the time counts from when an update was due, so a late sender is charged too.
final class Load: Sendable {
    struct Result {
        var seconds: Double
        var sent: Int
        var live: Int
        var matches: Int
        /// Milliseconds, sorted.
        var liveLatencies: [Double]
        var matchLatencies: [Double]

        var liveRate: Double { Double(live) / seconds }

        static func percentile(_ sorted: [Double], _ share: Double) -> Double {
            sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
    }

    private let port: Int
    private let topics: [String]
    /// When the n-th update was due, in nanoseconds.
    /// Written by the sender before a number goes out, read by the sink when it comes back.
    nonisolated(unsafe) private let dueTimes: UnsafeMutablePointer<UInt64>
    private let capacity: Int
    private let seenLive = Atomic<Int>(0)

    /// Each device stays within some metres, and one update in so many is that of one that came to another place; as fast as it goes, all
    /// come to their first one before. Nil: each update is of anywhere.
    private let arrivalEvery: Int?
    /// How often each device came to another place, over all runs. The sender of the run has it.
    nonisolated(unsafe) private var arrivals: [Int]
    /// Of the updates.
    private let qos: UInt8

    init(port: Int, dataset: String, devices: Int, arrivalEvery: Int? = nil, qos: UInt8 = 0, capacity: Int = 4_000_000) {
        self.port = port
        self.arrivalEvery = arrivalEvery
        self.qos = qos
        self.capacity = capacity
        topics = (0..<devices).map { "\(dataset)/-/-/-/-/device-\($0)/position" }
        arrivals = Array(repeating: 0, count: devices)
        dueTimes = .allocate(capacity: capacity)
        dueTimes.initialize(repeating: 0, count: capacity)
    }

    deinit { dueTimes.deallocate() }

    /// - Parameters:
    ///   - rate: Updates a second; nil sends as long as fewer than `window` are on their way.
    func run(rate: Double?, window: Int, warmUp: Double, seconds: Double) throws -> Result {
        seenLive.store(0, ordering: .relaxed)
        let sink = try LeanClient(port: port, clientID: "bench-sink")
        try sink.subscribe("live/bench/#", qos: 0)
        try sink.subscribe("geomatch/bench/+/match/#", qos: 1)
        let start = Load.nanoseconds()
        let measureFrom = start + UInt64(warmUp * 1e9)
        let end = measureFrom + UInt64(seconds * 1e9)
        // The sender alone writes it, and it is read when that thread has been joined.
        nonisolated(unsafe) var sent = 0
        let sender = JoinedThread { try? self.send(rate: rate, window: window, from: start, to: end, sent: &sent) }
        sender.start()
        var result = Result(seconds: seconds, sent: 0, live: 0, matches: 0, liveLatencies: [], matchLatencies: [])
        var lastSeen = start
        // After the end, what is still on its way is waited for as long as something comes.
        while Load.nanoseconds() < end || Load.nanoseconds() - lastSeen < 300_000_000 {
            let count = try sink.receive(milliseconds: 20) { topic, payload in
                let now = Load.nanoseconds()
                guard let number = Self.number(in: payload), number < self.capacity else { return }
                let due = self.dueTimes[number]
                let isLive = topic[0] == UInt8(ascii: "l")
                if isLive { self.seenLive.add(1, ordering: .relaxed) }
                guard due >= measureFrom, due < end else { return }
                let latency = Double(now - due) / 1e6
                if isLive {
                    result.liveLatencies.append(latency)
                    if now < end { result.live += 1 }
                } else {
                    result.matchLatencies.append(latency)
                    result.matches += 1
                }
            }
            if count > 0 { lastSeen = Load.nanoseconds() }
        }
        sender.join()
        result.sent = sent
        result.liveLatencies.sort()
        result.matchLatencies.sort()
        return result
    }

    private func send(rate: Double?, window: Int, from start: UInt64, to end: UInt64, sent: inout Int) throws {
        let client = try LeanClient(port: port, clientID: "bench-source")
        var random: UInt64 = 0x9E37_79B9_7F4A_7C15
        while sent < capacity - 1 {
            let now = Load.nanoseconds()
            guard now < end else { break }
            let target: Int
            if let rate {
                target = min(capacity - 1, Int(Double(now - start) / 1e9 * rate) + 1)
            } else {
                target = min(capacity - 1, seenLive.load(ordering: .relaxed) + window, sent + 8)
            }
            guard target > sent else {
                usleep(rate == nil ? 20 : 50)
                continue
            }
            while sent < target {
                dueTimes[sent] = rate.map { start + UInt64(Double(sent) / $0 * 1e9) } ?? now
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                var device = Int(random >> 33) % topics.count
                if arrivalEvery != nil, rate == nil, sent < topics.count {
                    device = sent
                } else if let arrivalEvery, sent.isMultiple(of: arrivalEvery) {
                    arrivals[device] += 1
                }
                let spot = arrivalEvery != nil ? Self.scrambled(device + arrivals[device] * 1_000_003) : random
                client.publish(topic: topics[device], payload: payload(number: sent, spot: spot, random: random), qos: qos)
                sent += 1
            }
            try client.flush()
            // Acknowledgements.
            if qos > 0 { _ = try client.receive(milliseconds: 0) { _, _ in } }
        }
    }

    /// About 150 bytes, as phones send them.
    private func payload(number: Int, spot: UInt64, random: UInt64) -> [UInt8] {
        var (latitude, longitude) = Self.position(random: spot)
        if arrivalEvery != nil { latitude += Double(random >> 40 & 0x7F) * 1e-6 }
        return Array(
            "{\"latitude\":\(latitude),\"longitude\":\(longitude),\"altitude\":\(number),\"horizontalAccuracy\":8.5,\"speed\":1.25,\"course\":270,\"battery\":87,\"originSourceId\":\"bench\"}"
                .utf8)
    }

    /// A number that looks random.
    static func scrambled(_ number: Int) -> UInt64 {
        let mixed = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed << 29
    }

    /// Somewhere in a square of about seven kilometres.
    static func position(random: UInt64) -> (latitude: Double, longitude: Double) {
        (43.7 + Double(random >> 40 & 0xFFFF) * 1e-6, 7.4 + Double(random >> 20 & 0xFFFF) * 1e-6)
    }

    /// The digits behind the first `"altitude":`.
    private static func number(in payload: UnsafeRawBufferPointer) -> Int? {
        let key: StaticString = "\"altitude\":"
        let length = key.utf8CodeUnitCount
        var at = 0
        while at + length < payload.count {
            guard let base = payload.baseAddress, let quote = memchr(base + at, Int32(UInt8(ascii: "\"")), payload.count - at)
            else { return nil }
            at = UnsafeRawPointer(quote) - base
            guard at + length < payload.count else { return nil }
            if memcmp(quote, key.utf8Start, length) == 0 { return digits(payload, from: at + length) }
            at += 1
        }
        return nil
    }

    private static func digits(_ payload: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var at = start
        var number = 0
        while at < payload.count, payload[at] >= UInt8(ascii: "0"), payload[at] <= UInt8(ascii: "9"), number < 1 << 40 {
            number = number * 10 + Int(payload[at] - UInt8(ascii: "0"))
            at += 1
        }
        return at > start ? number : nil
    }

    static func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// A thread that can be joined.
final class JoinedThread {
    private let body: () -> Void
    private var handle = pthread_t()

    init(_ body: @escaping () -> Void) { self.body = body }

    func start() {
        let context = Unmanaged.passRetained(self).toOpaque()
        pthread_create(
            &handle, nil,
            { context in
                Unmanaged<JoinedThread>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, context)
    }

    func join() { pthread_join(handle, nil) }
}
