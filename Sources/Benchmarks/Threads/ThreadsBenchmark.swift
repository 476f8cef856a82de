import ArgumentParser
import Foundation

/// `geomatch-bench threads`: live updates with matching of two datasets, on one thread and on two.
struct ThreadsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "threads",
        abstract: "Measures what two datasets gain from a thread each.",
        discussion: """
            Half of each dataset's devices have a publication and half a subscription; all move in small steps. Updates are decoded, \
            matched and published by the daemon's core, without a broker and with a log that keeps everything at once: first both \
            datasets in one core on one thread, then each in a core on a thread of its own, as nodes of a cluster run their shards. \
            Of each the fastest round counts. It needs two cores that do nothing else.
            """)

    @Option(help: "Devices of each dataset.") var devices = 20_000
    @Option(help: "Updates of each dataset in a round.") var updates = 200_000
    @Option(help: "Rounds.") var rounds = 5
    @Flag(help: "Print JSON instead of a table.") var json = false

    func validate() throws {
        guard (2...1_000_000).contains(devices), (1...10_000_000).contains(updates), (1...1000).contains(rounds) else {
            throw ValidationError("--devices must be 2 to 1,000,000, --updates 1 to 10,000,000 and --rounds 1 to 1000")
        }
    }

    func run() throws {
        let walks = (1...2).map { DatasetWalk(dataset: "d\($0)", devices: devices, updates: updates, seed: UInt64($0)) }
        let together = CoreLoad(walks)
        let apart = walks.map { CoreLoad([$0]) }
        var (one, two) = (Double.infinity, Double.infinity)
        for _ in 0..<rounds {
            one = min(one, elapsed { together.run() })
            two = min(
                two,
                elapsed {
                    let threads = apart.map { load in JoinedThread { load.run() } }
                    for thread in threads { thread.start() }
                    for thread in threads { thread.join() }
                })
        }
        var report = Report()
        let count = Double(2 * updates)
        report.add("two datasets on one thread", count / one, "updates/s", note: "\(together.matches / rounds) matches a round")
        report.add(
            "two datasets on two threads", count / two, "updates/s",
            note: "\(apart.reduce(0) { $0 + $1.matches } / rounds) matches a round")
        report.add("ratio", one / two, "", note: "at least 1.7")
        print(json ? report.json : report.table)
    }

    private func elapsed(_ work: () -> Void) -> Double {
        let start = Load.nanoseconds()
        work()
        return Double(Load.nanoseconds() - start) / 1e9
    }
}

/// The devices of a dataset, and the updates that they publish in each round.
struct DatasetWalk {
    let dataset: String
    let devices: Int
    private(set) var updates: [(topic: [UInt8], payload: [UInt8])] = []

    private static let range = 100
    /// Entries of the other side within reach of each, on average.
    private static let reach = 10.0
    private static let metresPerDegree = 111_200.0

    init(dataset: String, devices: Int, updates count: Int, seed: UInt64) {
        self.dataset = dataset
        self.devices = devices
        var random = SplitMix64(seed: seed)
        let reachMetres = Double(2 * Self.range)
        let side = (Double(devices) / 2 * .pi * reachMetres * reachMetres / Self.reach).squareRoot() / Self.metresPerDegree
        var places = (0..<devices).map { _ in
            (latitude: Double.random(in: 0..<side, using: &random), longitude: Double.random(in: 0..<side, using: &random))
        }
        let step = 10 / Self.metresPerDegree
        for _ in 0..<count {
            let number = Int.random(in: 0..<devices, using: &random)
            places[number].latitude += Double.random(in: -step...step, using: &random)
            places[number].longitude += Double.random(in: -step...step, using: &random)
            updates.append(
                (
                    Array("\(dataset)/-/-/-/-/u\(number)/position".utf8),
                    Array(#"{"lat":\#(places[number].latitude),"lon":\#(places[number].longitude)}"#.utf8)
                ))
        }
    }

    /// What makes its devices, half of them with a publication and half with a subscription.
    var requests: [(name: String, body: String)] {
        (0..<devices).flatMap { number in
            let entry =
                number.isMultiple(of: 2)
                ? (
                    "publication/create",
                    #"{"deviceId":"u\#(number)","topic":"fleet","range":\#(Self.range),"duration":86400,"properties":{"kind":\#(number % 100)}}"#
                )
                : (
                    "subscription/create",
                    #"{"deviceId":"u\#(number)","topic":"fleet","range":\#(Self.range),"duration":86400,"selector":"kind < 50"}"#
                )
            return [("device/create", #"{"id":"u\#(number)","deviceType":"MobileDevice"}"#), entry]
        }
    }
}
