import ArgumentParser
import Circumstances
import Glibc
import Places

/// The engine of circumstances alone, on one core.
struct CircumstanceBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "circumstances",
        abstract: "Measures what circumstances cost a position update.",
        discussion: """
            Places and devices are spread evenly over a square, in which each place has one of 200 categories and one of 2,000 chains and \
            every second one is always open. A hundred clients have the circumstances: two of three are at one place, the third is near \
            one; of the broad ones two of three are at any open place of a category, the third near one of a chain. A \
            tenth of the devices is nobody's, so that all circumstances see it. Updates are of random devices, every ten seconds: some \
            do not move, with 3 m of noise, some go 10 m, some 140 m, each in a direction of its own. Each update is timed alone, from \
            its JSON on, with and without circumstances; what takes a millisecond is the machine's and left out.
            """)

    @Option(help: "Devices.")
    var devices = 1_000_000

    @Option(help: "Circumstances.")
    var circumstances = 100_000

    @Option(help: "Places.")
    var places = 1_000_000

    @Option(help: "Places on a square kilometre.")
    var density = 200.0

    @Option(help: "Circumstances in a hundred that are about a category or a chain.")
    var broad = 5

    @Option(help: "Updates of each kind.")
    var updates = 2_000_000

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        for (name, number) in [("devices", devices), ("circumstances", circumstances), ("places", places), ("updates", updates)] {
            guard (100...10_000_000).contains(number) else { throw ValidationError("--\(name) must be 100 to 10,000,000") }
        }
        guard (0...100).contains(broad) else { throw ValidationError("--broad must be 0 to 100") }
        guard (0.1...10_000).contains(density) else { throw ValidationError("--density must be 0.1 to 10,000") }
    }

    func run() throws {
        var report = Report()
        var load = try CircumstanceLoad(
            devices: devices, circumstances: circumstances, places: places, density: density, broad: broad)
        load.register(into: &report)
        load.settle(into: &report)
        for gait in CircumstanceLoad.Gait.allCases { load.measure(gait, updates: updates, into: &report) }
        print(json ? report.json : report.table)
    }
}
