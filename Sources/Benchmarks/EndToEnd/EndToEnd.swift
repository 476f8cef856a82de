import ArgumentParser
import Foundation
import MQTTLink

/// Positions through a real broker: the daemon against a relay that does nothing.
struct EndToEnd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end-to-end",
        abstract: "Positions through a real broker: the daemon against a relay that does nothing.",
        discussion: """
            Each round runs every case on a fresh mosquitto with the daemon's own configuration and unix socket: a relay that only passes \
            bytes on, one that retains them as the daemon does, one that also makes them as long as the daemon's, and the daemon. The \
            relays' mosquitto is as it is; the daemon's has the daemon's plugin. Ratios are to the plain relay of the same round.
            """)

    @Option(help: "Rounds; the median counts.")
    var rounds = 3

    @Option(help: "Seconds of each measurement.")
    var seconds = 4.0

    @Option(help: "Devices.")
    var devices = 10_000

    @Option(help: "Fixed rates for latency, updates a second.")
    var rates = "1000,5000,10000"

    @Option(help: "One device in so many has a subscription that each of its updates meets; 0 for none.")
    var matchEvery = 10

    @Option(
        help: """
            Publications in reach of all devices, each of which has a subscription whose selector none of them meets: what circles cost \
            that do not match.
            """)
    var circles = 0

    @Option(help: "The QoS at which updates go in, as far as the relay or the daemon: 0 or 1.")
    var qos: UInt8 = 0

    @Option(
        help: """
            Geofences of 100 m among the devices, which then stay within some metres until they come to another place, in a case of their \
            own; 0 for none.
            """)
    var geofences = 0

    @Option(
        help: """
            With geofences, one update in so many is that of a device that came to another place. A walker who reports every ten seconds \
            crosses a circle of 100 m in a dozen updates; most do not walk.
            """)
    var arrivalEvery = 50

    private enum Case: String, CaseIterable {
        case relay, retaining = "retaining relay", growing = "retaining relay, daemon's size", daemon
        case fenced = "daemon with geofences"

        var isDaemon: Bool { self == .daemon || self == .fenced }

        /// Arguments of the relay.
        var options: [String] {
            switch self {
            case .relay, .daemon, .fenced: []
            case .retaining: ["--retain"]
            case .growing: ["--retain", "--grow", "\(EndToEnd.growth)"]
            }
        }
    }

    /// A `live/…` message is that much longer than the position in it.
    fileprivate static let growth = 170

    private var cases: [Case] { Case.allCases.filter { $0 != .fenced || geofences > 0 } }

    func validate() throws {
        guard rounds > 0, devices > 0, arrivalEvery > 0, matchEvery >= 0, circles >= 0, geofences >= 0 else {
            throw ValidationError(
                "--rounds, --devices and --arrival-every must be above 0, --match-every, --circles and --geofences at least 0")
        }
    }

    func run() throws {
        let fixed = rates.split(separator: ",").compactMap { Double($0) }
        var found: [String: [Load.Result]] = [:]
        var cost: [Case: [Double]] = [:]
        for round in 1...rounds {
            for kind in cases {
                try withCase(kind) { port, program in
                    let before = program.usage().seconds
                    let load = Load(
                        port: port, dataset: "bench", devices: devices, arrivalEvery: geofences > 0 ? arrivalEvery : nil, qos: qos
                    )
                    let most = try load.run(rate: nil, window: 2000, warmUp: geofences > 0 ? 8 : 1, seconds: seconds)
                    cost[kind, default: []].append((program.usage().seconds - before) / Double(most.sent) * 1e6)
                    found["\(kind.rawValue) max", default: []].append(most)
                    for rate in fixed {
                        let result = try load.run(rate: rate, window: 0, warmUp: 1, seconds: seconds)
                        found["\(kind.rawValue) \(Int(rate))", default: []].append(result)
                    }
                    FileHandle.standardError.write(Data("round \(round): \(kind.rawValue) done\n".utf8))
                }
            }
        }
        report(found, cost, fixed)
    }

    // MARK: Cases

    private func withCase(_ kind: Case, _ body: (Int, Program) throws -> Void) throws {
        guard !kind.isDaemon else {
            return try BenchDaemon.run(configuration: "live:\n  input-qos: \(qos)\n") { port, daemon in
                try subscribe(port: port)
                if kind == .fenced { try fence(port: port) }
                try body(port, daemon)
            }
        }
        try BenchDaemon.withFolder { folder, port in
            let broker = EmbeddedBroker(EmbeddedBrokerConfiguration(dataDirectory: folder, port: port, log: { _ in }))
            try broker.start(timeoutSeconds: 10)
            defer { broker.stop() }
            guard let socket = broker.endpoint.unixPath else { return }
            let relay = try Program(
                CommandLine.arguments[0], ["noop-relay", "--socket", socket, "--qos", "\(qos)"] + kind.options, until: "ready")
            defer { relay.stop() }
            try body(port, relay)
        }
    }

    /// One pin in the middle, and devices that meet it with each of their updates.
    private func subscribe(port: Int) throws {
        let client = try LeanClient(port: port, clientID: "bench-owner")
        try client.subscribe("geomatch/bench/owner/reply", qos: 1)
        func ask(_ request: String, _ parameters: String) throws {
            try client.ask(request, parameters, dataset: "bench", client: "owner")
        }
        try ask(
            "device/create", "{\"deviceType\":\"PinDevice\",\"id\":\"pin\",\"location\":{\"latitude\":43.73,\"longitude\":7.43}}")
        try ask(
            "publication/create",
            "{\"deviceId\":\"pin\",\"topic\":\"bench\",\"range\":5000,\"duration\":86400,\"properties\":{\"price\":3}}")
        for index in 0..<circles {
            try ask(
                "publication/create",
                "{\"deviceId\":\"pin\",\"topic\":\"circles\",\"range\":5000,\"duration\":86400,\"properties\":{\"price\":\(index + 5)}}"
            )
        }
        for index in 0..<(circles > 0 ? devices : 0) {
            try ask("device/create", "{\"deviceType\":\"MobileDevice\",\"id\":\"device-\(index)\"}")
            try ask(
                "subscription/create",
                "{\"deviceId\":\"device-\(index)\",\"topic\":\"circles\",\"range\":5000,\"duration\":86400,\"selector\":\"price < 5\"}"
            )
        }
        guard matchEvery > 0 else { return }
        for index in stride(from: 0, to: devices, by: matchEvery) {
            if circles == 0 { try ask("device/create", "{\"deviceType\":\"MobileDevice\",\"id\":\"device-\(index)\"}") }
            try ask(
                "subscription/create",
                "{\"deviceId\":\"device-\(index)\",\"topic\":\"bench\",\"range\":5000,\"duration\":86400,\"selector\":\"price < 5\",\"matchTTL\":0}"
            )
        }
    }

    /// Geofences where the devices are.
    private func fence(port: Int) throws {
        let client = try LeanClient(port: port, clientID: "bench-fences")
        try client.subscribe("geomatch/bench/fences/reply", qos: 1)
        for index in 0..<geofences {
            let (latitude, longitude) = Load.position(random: Load.scrambled(index + devices))
            try client.ask(
                "geofence/create",
                #"{"id":"f\#(index)","area":{"circle":{"latitude":\#(latitude),"longitude":\#(longitude),"radius":100}}}"#,
                dataset: "bench", client: "fences")
        }
    }

    // MARK: Report

    private func report(_ found: [String: [Load.Result]], _ cost: [Case: [Double]], _ fixed: [Double]) {
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        func row(_ name: String, _ columns: [String]) {
            let cells = columns.map { $0.count < 12 ? String(repeating: " ", count: 12 - $0.count) + $0 : $0 }
            print(name.padding(toLength: 52, withPad: " ", startingAt: 0) + cells.joined())
        }
        func number(_ value: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }
        row("case", ["updates/s", "ratio", "µs/update", "live p50", "live p99", "match p50", "match p99"])
        let yardstick = (found["\(Case.relay.rawValue) max"] ?? []).map(\.liveRate)
        for kind in cases {
            let results = found["\(kind.rawValue) max"] ?? []
            let ratios = zip(results, yardstick).map { $0.liveRate / $1 }
            row(
                "\(kind.rawValue), as fast as it goes",
                [
                    number(median(results.map(\.liveRate)), 0), number(median(ratios)), number(median(cost[kind] ?? [0]), 1), "",
                    "", "", "",
                ])
            for rate in fixed {
                let results = found["\(kind.rawValue) \(Int(rate))"] ?? []
                func latency(_ latencies: KeyPath<Load.Result, [Double]>, _ share: Double) -> String {
                    number(median(results.map { Load.Result.percentile($0[keyPath: latencies], share) }))
                }
                row(
                    "\(kind.rawValue), \(Int(rate))/s",
                    [
                        number(median(results.map(\.liveRate)), 0), "", "", latency(\.liveLatencies, 0.5),
                        latency(\.liveLatencies, 0.99),
                        kind.isDaemon ? latency(\.matchLatencies, 0.5) : "",
                        kind.isDaemon ? latency(\.matchLatencies, 0.99) : "",
                    ])
            }
        }
        if geofences > 0 {
            let (with, without) = (found["\(Case.fenced.rawValue) max"] ?? [], found["\(Case.daemon.rawValue) max"] ?? [])
            let ratios = zip(with, without).map { $0.liveRate / $1.liveRate }
            row("with \(geofences) geofences, to without (at least 0.95)", ["", number(median(ratios))])
        }
        print(
            "latencies in ms, medians of \(rounds) rounds; ratio to the relay of the same round, on a mosquitto without our plugin"
        )
    }
}
