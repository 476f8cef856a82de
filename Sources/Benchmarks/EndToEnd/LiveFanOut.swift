import ArgumentParser
import Foundation
import Synchronization

/// Live updates to many subscribers: the daemon's managed subscriptions against the broker's own.
struct LiveFanOut: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-fanout",
        abstract: "Live updates to many subscribers: managed subscriptions against the broker's own.",
        discussion: """
            Ten clients with a subscription for each of a hundred rooms: a thousand, of which ten want each update. First as native \
            subscriptions of the broker, on topics the daemon does not read, then as managed ones, both on the daemon's own mosquitto.
            """)

    @Option(help: "Rounds; the median counts.")
    var rounds = 3

    @Option(help: "Seconds of each measurement.")
    var seconds = 4.0

    @Option(help: "The fixed rate for latency, updates a second.")
    var rate = 2000.0

    private static let clients = 10
    private static let rooms = 100

    func run() throws {
        var native: [FanOutLoad.Result] = []
        var managed: [FanOutLoad.Result] = []
        var fixed: [FanOutLoad.Result] = []
        for round in 1...rounds {
            try BenchDaemon.run { port, _ in
                // Eight levels of a dataset that nobody knows are no live topic.
                let plain = try FanOutLoad(
                    port: port, topics: Self.topics("plain/x"),
                    filters: (0..<Self.clients).map { _ in (0..<Self.rooms).map { "plain/x/v/b/0/room-\($0)/#" } })
                native.append(try plain.run(rate: nil, seconds: seconds))
                try subscribe(port: port)
                let live = try FanOutLoad(
                    port: port, topics: Self.topics("bench"),
                    filters: (0..<Self.clients).map { ["geomatch/bench/client-\($0)/live/#"] })
                managed.append(try live.run(rate: nil, seconds: seconds))
                fixed.append(try live.run(rate: rate, seconds: seconds))
            }
            FileHandle.standardError.write(Data("round \(round) done\n".utf8))
        }
        report(native, managed, fixed)
    }

    private static func topics(_ prefix: String) -> [String] {
        (0..<rooms * 10).map { "\(prefix)/v/b/0/room-\($0 % rooms)/desk-\($0 / rooms)/count" }
    }

    private func subscribe(port: Int) throws {
        for client in 0..<Self.clients {
            let connection = try LeanClient(port: port, clientID: "bench-asking-\(client)")
            try connection.subscribe("geomatch/bench/client-\(client)/reply", qos: 1)
            for room in 0..<Self.rooms {
                try connection.ask(
                    "live/subscribe", "{\"criteria\":\"bench/v/b/0/room-\(room)/#\",\"id\":\"room-\(room)\",\"snapshot\":false}",
                    dataset: "bench", client: "client-\(client)")
            }
        }
    }

    private func report(_ native: [FanOutLoad.Result], _ managed: [FanOutLoad.Result], _ fixed: [FanOutLoad.Result]) {
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        var report = Report()
        report.add("native, as fast as it goes", median(native.map(\.rate)), "messages/s", note: "delivered, ten for each update")
        report.add("managed, as fast as it goes", median(managed.map(\.rate)), "messages/s")
        report.add("ratio", median(zip(managed, native).map { $0.rate / $1.rate }), "", note: "of the same round")
        let name = "managed, \(Int(rate)) updates/s"
        report.add("\(name): p50", median(fixed.map { $0.percentile(0.5) }), "ms")
        report.add("\(name): p99", median(fixed.map { $0.percentile(0.99) }), "ms")
        report.add(
            "\(name): missing", median(fixed.map { Double($0.expected - $0.received) }), "messages",
            note: "of \(Int(median(fixed.map { Double($0.expected) })))")
        print(report.table)
    }
}

/// Updates out of one connection, and what comes of them into several.
final class FanOutLoad: Sendable {
    struct Result {
        var seconds: Double
        /// In the time measured.
        var delivered = 0
        /// In all.
        var received = 0
        var expected = 0
        /// Milliseconds, sorted.
        var latencies: [Double] = []

        var rate: Double { Double(delivered) / seconds }

        func percentile(_ share: Double) -> Double {
            latencies.isEmpty ? .nan : latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
        }
    }

    private let port: Int
    private let topics: [String]
    private let filters: [[String]]
    /// When the n-th update was due, in nanoseconds: written by the sender before a number goes out, read by the sink when it comes back.
    nonisolated(unsafe) private let dueTimes: UnsafeMutablePointer<UInt64>
    private static let capacity = 1_000_000
    private static let window = 200
    private let seen = Atomic<Int>(0)

    init(port: Int, topics: [String], filters: [[String]]) throws {
        self.port = port
        self.topics = topics
        self.filters = filters
        dueTimes = .allocate(capacity: Self.capacity)
        dueTimes.initialize(repeating: 0, count: Self.capacity)
    }

    deinit { dueTimes.deallocate() }

    /// - Parameter rate: Updates a second; nil sends as long as few are on their way.
    func run(rate: Double?, seconds: Double) throws -> Result {
        seen.store(0, ordering: .relaxed)
        let sinks = try filters.enumerated().map { index, filters in
            let sink = try LeanClient(port: port, clientID: "bench-sink-\(index)")
            for filter in filters { try sink.subscribe(filter, qos: 0) }
            return sink
        }
        let start = Load.nanoseconds()
        let measureFrom = start + 1_000_000_000
        let end = measureFrom + UInt64(seconds * 1e9)
        // The sender alone writes it, and it is read when that thread has been joined.
        nonisolated(unsafe) var sent = 0
        let sender = JoinedThread { try? self.send(rate: rate, from: start, to: end, sent: &sent) }
        sender.start()
        var result = Result(seconds: seconds)
        var lastSeen = start
        while Load.nanoseconds() < end || Load.nanoseconds() - lastSeen < 500_000_000 {
            var count = 0
            for sink in sinks {
                count += try sink.receive(milliseconds: 0) { _, payload in
                    let now = Load.nanoseconds()
                    result.received += 1
                    guard let number = Self.number(in: payload), number < Self.capacity else { return }
                    if now >= measureFrom, now < end { result.delivered += 1 }
                    let due = self.dueTimes[number]
                    if due >= measureFrom { result.latencies.append(Double(now - due) / 1e6) }
                }
            }
            seen.store(result.received / sinks.count, ordering: .relaxed)
            if count > 0 { lastSeen = Load.nanoseconds() } else { usleep(100) }
        }
        sender.join()
        result.expected = sent * sinks.count
        result.latencies.sort()
        return result
    }

    private func send(rate: Double?, from start: UInt64, to end: UInt64, sent: inout Int) throws {
        let client = try LeanClient(port: port, clientID: "bench-source")
        while sent < Self.capacity - 1 {
            let now = Load.nanoseconds()
            guard now < end else { break }
            var target = min(Self.capacity - 1, seen.load(ordering: .relaxed) + Self.window, sent + 8)
            if let rate { target = min(Self.capacity - 1, Int(Double(now - start) / 1e9 * rate) + 1) }
            guard target > sent else {
                usleep(50)
                continue
            }
            while sent < target {
                dueTimes[sent] = rate.map { start + UInt64(Double(sent) / $0 * 1e9) } ?? now
                client.publish(topic: topics[sent % topics.count], payload: Array("{\"count\":\(sent)}".utf8))
                sent += 1
            }
            try client.flush()
        }
    }

    /// The digits behind `"count":`.
    private static func number(in payload: UnsafeRawBufferPointer) -> Int? {
        let key = Array("\"count\":".utf8)
        guard payload.count > key.count else { return nil }
        // Near the end of the managed message, at the begin of the plain one.
        for start in (0..<payload.count - key.count).reversed() where payload[start] == key[0] && payload[start + 1] == key[1] {
            guard payload[start..<start + key.count].elementsEqual(key) else { continue }
            var number = 0
            var at = start + key.count
            while at < payload.count, payload[at] >= 48, payload[at] <= 57, number < 1 << 40 {
                number = number * 10 + Int(payload[at] - 48)
                at += 1
            }
            return number
        }
        return nil
    }
}
