import ArgumentParser
import Foundation
import Synchronization

/// `geomatch-bench hostile`: what one client that asks without end costs all others.
struct HostileBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hostile",
        abstract: "What one client that asks without end costs all others.",
        discussion: """
            Many clients make a request now and then and send live data, first alone, then beside one that asks as fast as it can: \
            long pages of the change feed, lists, pushes, selectors that search long texts, outlines of thousands of vertices, \
            messages of a megabyte for a session that is away, connections that never log in, and the daemon's own client id. It \
            reads no reply.
            """)

    @Option(help: "Clients that behave.") var clients = 1000
    @Option(help: "Seconds of each measurement.") var seconds = 10.0
    @Flag(help: "Ten minutes of each measurement.") var long = false
    @Option(help: "Requests a second, of all clients that behave.") var requests = 100.0
    @Option(help: "Live updates a second.") var updates = 1000.0
    @Flag(help: "Only asks for pages of the change feed.") var readsOnly = false

    func run() throws {
        let seconds = long ? 600 : seconds
        var report = Report()
        try BenchDaemon.run { port, daemon in
            let load = try PoliteLoad(port: port, clients: clients)
            try Attacker.prepare(port: port)
            let quiet = try measure(load, seconds, daemon, port, attacker: nil)
            let attacked = try measure(load, seconds, daemon, port, attacker: Attacker(port: port, readsOnly: readsOnly))
            for (name, figures) in [("alone", quiet), ("attacked", attacked)] {
                report.add("\(name): request p50", figures.requests.percentile(0.5), "ms")
                report.add("\(name): request p99", figures.requests.percentile(0.99), "ms", note: "at most 250")
                report.add("\(name): request max", figures.requests.percentile(1), "ms")
                report.add("\(name): without reply", Double(figures.requests.missing), "requests", note: "none")
                report.add("\(name): live p99", figures.live.percentile(0.99), "ms", note: "at most 50")
                report.add("\(name): live max", figures.live.percentile(1), "ms")
                report.add("\(name): missing", Double(figures.live.expected - figures.live.received), "updates", note: "none")
                report.add("\(name): memory", Double(figures.resident) / 1_048_576, "MiB", note: "highest seen")
            }
            report.add(
                "memory beyond", Double(attacked.resident - quiet.resident) / 1_048_576, "MiB", note: "at most 256")
            report.add("attacker's requests", Double(attacked.attacks), "")
        }
        print(report.table)
    }

    private struct Figures {
        var requests = PoliteLoad.Result()
        var live: FanOutLoad.Result
        var resident = 0
        var attacks = 0
    }

    private func measure(
        _ load: PoliteLoad, _ seconds: Double, _ daemon: Program, _ port: Int, attacker: Attacker?
    ) throws -> Figures {
        // Others each time: what is retained of the former ones would count as received.
        let topics = (0..<100).map { "bench/-/-/-/-/\(attacker == nil ? "p" : "q")\($0)/count" }
        let live = try FanOutLoad(port: port, topics: topics, filters: [["live/bench/-/-/-/-/+/count"]])
        attacker?.start()
        // The threads write what is read when they were joined.
        nonisolated(unsafe) var asked = PoliteLoad.Result()
        let watch = MemoryWatch()
        let asking = JoinedThread { asked = (try? load.run(rate: requests, seconds: seconds)) ?? asked }
        let watching = JoinedThread {
            while !watch.isOver.load(ordering: .relaxed) {
                watch.highest.max(daemon.usage().resident, ordering: .relaxed)
                usleep(20_000)
            }
        }
        asking.start()
        watching.start()
        let result = try live.run(rate: updates, seconds: seconds)
        asking.join()
        watch.isOver.store(true, ordering: .relaxed)
        watching.join()
        let attacks = attacker?.stop() ?? 0
        return Figures(requests: asked, live: result, resident: watch.highest.load(ordering: .relaxed), attacks: attacks)
    }
}

/// The most memory that a program was seen to have.
private final class MemoryWatch: Sendable {
    let isOver = Atomic<Bool>(false)
    let highest = Atomic<Int>(0)
}

/// Clients that make a request now and then, each on a connection of its own, and wait for its reply.
///
/// `@unchecked Sendable`: one thread at a time has it, which runs a measurement and is joined before the next.
private final class PoliteLoad: @unchecked Sendable {
    struct Result {
        /// Milliseconds, sorted.
        var latencies: [Double] = []
        var missing = 0

        func percentile(_ share: Double) -> Double {
            latencies.isEmpty ? .nan : latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
        }
    }

    private let connections: [LeanClient]
    private let sink: LeanClient
    private var serial = 0

    init(port: Int, clients: Int) throws {
        connections = try (0..<clients).map { try LeanClient(port: port, clientID: "bench-polite-\($0)") }
        sink = try LeanClient(port: port, clientID: "bench-replies")
        for index in 0..<clients { try sink.subscribe("geomatch/bench/polite-\(index)/reply", qos: 0) }
    }

    /// Requests that are due keep their time, however late they are sent.
    func run(rate: Double, seconds: Double) throws -> Result {
        let start = Load.nanoseconds()
        let end = start + UInt64(seconds * 1e9)
        var result = Result()
        var waiting: [Int: UInt64] = [:]
        var sent = 0
        while Load.nanoseconds() < end || (!waiting.isEmpty && Load.nanoseconds() < end + 20_000_000_000) {
            let elapsed = Double(min(Load.nanoseconds(), end) - start) / 1e9
            while sent < Int(elapsed * rate) {
                let client = serial % connections.count
                waiting[serial] = start + UInt64(Double(sent) / rate * 1e9)
                connections[client].publish(
                    topic: "geomatch/bench/polite-\(client)/request/device/create",
                    payload: Array(#"{"requestId":"r\#(serial)","deviceType":"MobileDevice","id":"polite\#(serial)"}"#.utf8),
                    qos: 1)
                try connections[client].flush()
                sent += 1
                serial += 1
            }
            _ = try sink.receive(milliseconds: 1) { _, payload in
                guard let number = Self.number(in: payload), let due = waiting.removeValue(forKey: number) else { return }
                result.latencies.append(Double(Load.nanoseconds() - due) / 1e6)
            }
        }
        result.latencies.sort()
        result.missing = waiting.count
        return result
    }

    /// Of `{"requestId":"r17"…`.
    private static func number(in payload: UnsafeRawBufferPointer) -> Int? {
        let head = #"{"requestId":"r"#.utf8.count
        guard payload.count > head else { return nil }
        return Int(String(decoding: payload[head...].prefix { $0 >= 48 && $0 <= 57 }, as: UTF8.self))
    }
}
