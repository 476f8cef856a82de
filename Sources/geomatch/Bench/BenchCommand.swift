import ArgumentParser
import Wire

/// `geomatch bench`: how fast a running daemon is, as a client of it sees that.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure how long a running daemon takes from a position to its live update and to a match.",
        discussion: """
            Makes devices of its own with a publication each and a pin with a subscription, moves them, one time in ten past the \
            pin, waits for what comes of it, and deletes them again. Everything goes through the broker, so its time counts, too.

            Without --rate as many updates are on their way as --window allows, which shows what throughput can be reached; the \
            time one takes is measured best with a --rate well below that. With --json: {"requests":{"objects","seconds"},\
            "updates":{"sent","missing","seconds","perSecond","p50","p99","most"},"matches":{"expected","missing","p50","p99",\
            "most"}}, p50, p99 and most in milliseconds, null where nothing came.

            Examples:
              geomatch --dataset demo bench
              geomatch --dataset demo bench --rate 1000 --updates 10000
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Positions to publish.", valueName: "N"))
    var updates = 10_000

    @Option(help: ArgumentHelp("Devices that move in turn.", valueName: "N"))
    var devices = 100

    @Option(help: ArgumentHelp("Positions a second. (default: as fast as the daemon answers)", valueName: "N"))
    var rate: Double?

    @Option(help: ArgumentHelp("Positions at most on their way at a time.", valueName: "N"))
    var window = 256

    func validate() throws {
        guard (1...10_000_000).contains(updates) else {
            throw ValidationError("--updates is \(updates): 1 to 10000000 are allowed")
        }
        guard (1...Bench.devicesMax).contains(devices) else {
            throw ValidationError("--devices is \(devices): 1 to \(Bench.devicesMax) are allowed")
        }
        guard (1...100_000).contains(window) else { throw ValidationError("--window is \(window): 1 to 100000 are allowed") }
        if let rate, !(1...1e6).contains(rate) {
            throw ValidationError("--rate is \(rate): 1 to 1000000 are allowed")
        }
    }

    func run() async throws {
        let bench = Bench(updates: updates, devices: devices, rate: rate, window: window)
        let figures = try await withClient(try connection.configuration(needsBroker: true)) { try await bench.run($0) }
        guard let figures else { throw CommandFailure.unavailable("interrupted") }
        if output.json {
            StandardOutput.print(json: figures.object)
        } else {
            for line in figures.lines { StandardOutput.print(line) }
        }
        if figures.updates.count == 0 {
            throw CommandFailure.unavailable("no live update came back; `geomatch status` shows whether the daemon is online")
        }
    }
}
