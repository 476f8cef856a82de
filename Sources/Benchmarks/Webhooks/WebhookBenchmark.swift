import ArgumentParser
import Foundation
import WebhookReceiver

/// Matches posted to an endpoint at a fixed rate, alone and beside an endpoint that is dead.
struct WebhookBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Matches posted to a local endpoint, alone and beside a dead one.",
        discussion: """
            Each case starts a daemon of its own. The time counts from when the position that makes a match was due to be published, to \
            when the endpoint has read the post.
            """)

    @Option(help: "Matches a second for the endpoint that answers.")
    var rate = 1000.0

    @Option(help: "Matches a second for the dead endpoint.")
    var deadRate = 100.0

    @Option(help: "Seconds of each case.")
    var seconds = 30.0

    @Option(help: "Moving devices for each endpoint.")
    var devices = 100

    /// The endpoints beside the one that answers.
    private enum Neighbour: String, CaseIterable {
        case none = "alone"
        case refusing = "beside a closed port"
        case silent = "beside one that never answers"
    }

    func run() throws {
        print("case                             sent   taken    lost   twice   p50 ms   p99 ms   µs/match")
        for neighbour in Neighbour.allCases { try run(beside: neighbour) }
    }

    private func run(beside neighbour: Neighbour) throws {
        let tally = PostTally()
        let endpoint = try WebhookReceiver { post in
            tally.note(post, at: Load.nanoseconds())
            return .status(204)
        }
        defer { endpoint.stop() }
        let dead = try WebhookReceiver { _ in .silence }
        if neighbour == .refusing { dead.stop() }
        defer { if neighbour != .refusing { dead.stop() } }
        try BenchDaemon.run { port, daemon in
            try prepare(port: port, client: "owner", kind: "live", hook: "http://127.0.0.1:\(endpoint.port)/hook")
            if neighbour != .none {
                try prepare(port: port, client: "other", kind: "dead", hook: "http://127.0.0.1:\(dead.port)/hook")
            }
            let before = daemon.usage().seconds
            let sent = try send(port: port, tally: tally, withDead: neighbour != .none)
            tally.waitForAll(sent)
            let result = tally.result(sent: sent)
            let cost = (daemon.usage().seconds - before) / Double(sent) * 1e6
            print(
                neighbour.rawValue.padding(toLength: 30, withPad: " ", startingAt: 0)
                    + String(
                        format: "%7d %7d %7d %7d %8.2f %8.2f %10.0f", sent, result.taken, sent - result.taken, result.twice,
                        result.median, result.late, cost))
        }
    }

    /// Devices of a client, each with a subscription that every one of its positions meets.
    private func prepare(port: Int, client: String, kind: String, hook: String) throws {
        let asking = try LeanClient(port: port, clientID: "bench-\(client)")
        try asking.subscribe("geomatch/bench/\(client)/reply", qos: 1)
        func ask(_ request: String, _ parameters: String) throws {
            try asking.ask(request, parameters, dataset: "bench", client: client)
        }
        try ask(
            "device/create",
            "{\"deviceType\":\"PinDevice\",\"id\":\"pin-\(kind)\",\"location\":{\"latitude\":43.73,\"longitude\":7.43}}")
        try ask("publication/create", "{\"deviceId\":\"pin-\(kind)\",\"topic\":\"\(kind)\",\"range\":5000,\"duration\":86400}")
        for index in 0..<devices {
            try ask("device/create", "{\"deviceType\":\"MobileDevice\",\"id\":\"\(kind)-\(index)\"}")
            try ask(
                "subscription/create",
                "{\"deviceId\":\"\(kind)-\(index)\",\"topic\":\"\(kind)\",\"range\":5000,\"duration\":86400,\"matchTTL\":0,"
                    + "\"pushers\":[\"\(hook)\"]}")
        }
    }

    /// - Returns: How many positions were published for the endpoint that answers.
    private func send(port: Int, tally: PostTally, withDead: Bool) throws -> Int {
        let source = try LeanClient(port: port, clientID: "bench-source")
        let start = Load.nanoseconds()
        let end = start + UInt64(seconds * 1e9)
        var sent = 0
        var sentDead = 0
        while true {
            let now = Load.nanoseconds()
            guard now < end else { return sent }
            let elapsed = Double(now - start) / 1e9
            while Double(sent) < elapsed * rate {
                tally.due(start + UInt64(Double(sent) / rate * 1e9))
                publish(source, "live-\(sent % devices)", number: sent)
                sent += 1
            }
            while withDead, Double(sentDead) < elapsed * deadRate {
                publish(source, "dead-\(sentDead % devices)", number: sentDead)
                sentDead += 1
            }
            try source.flush()
            usleep(200)
        }
    }

    /// The number comes back as the altitude of the match.
    private func publish(_ source: LeanClient, _ device: String, number: Int) {
        let latitude = 43.72 + Double(number % 1000) * 1e-5
        source.publish(
            topic: "bench/-/-/-/-/\(device)/position",
            payload: Array("{\"latitude\":\(latitude),\"longitude\":7.43,\"altitude\":\(number + 1)}".utf8))
    }
}
