import ArgumentParser

/// The engine alone, on one core: no payloads, no broker, no store.
struct EngineBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine",
        abstract: "Measures the matching engine on one core.",
        discussion: """
            Without --moves, --register, --selectors or --memory everything is measured. Devices are spread evenly over a square on one \
            topic, half of them with a publication and half with a subscription, ranges 250 m each, so that two meet within \
            500 m; the square is as large as makes the wanted number of entries of the other side lie within that reach. All \
            move, in random order, 10 m at a time in a random direction. Fifty selectors, of which a pair's is TRUE in 1 % of \
            all cases.
            """)

    @Option(help: "Devices in the world.")
    var devices = 1_000_000

    @Option(help: "Entries of the other side within reach, as a list.")
    var reach = "10,100,1000"

    @Option(help: "Updates to measure at each reach; by default a million, and a quarter of that above 300 within reach.")
    var updates: Int?

    @Flag(help: "Only position updates.")
    var moves = false

    @Flag(help: "Only the rate of new publications and subscriptions.")
    var register = false

    @Flag(help: "Only the evaluation of selectors.")
    var selectors = false

    @Flag(help: "Only the memory of a device with a publication and a subscription.")
    var memory = false

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard devices >= 1000 && devices <= 20_000_000 else { throw ValidationError("--devices must be 1,000 to 20,000,000") }
        guard !reaches.isEmpty && reaches.allSatisfy({ $0 > 0 }) else {
            throw ValidationError("--reach must be numbers above 0, separated by commas")
        }
    }

    private var reaches: [Double] {
        let parts = reach.split(separator: ",").map { Double($0) }
        return parts.contains(nil) ? [] : parts.compactMap { $0 }
    }

    func run() throws {
        let all = !moves && !register && !selectors && !memory
        var report = Report()
        // First, while the process holds nothing else.
        if all || memory { MemoryMeasurement(devices: min(devices, 300_000)).measure(into: &report) }
        if all || selectors { try SelectorMeasurement().measure(into: &report) }
        if all || moves {
            for reach in reaches {
                let updates = updates ?? (reach > 300 ? 250_000 : 1_000_000)
                try UpdateMeasurement(devices: devices, reach: reach, updates: updates).measure(into: &report)
            }
        }
        if all || register { try RegisterMeasurement(devices: devices, reach: 1000, count: 20_000).measure(into: &report) }
        print(json ? report.json : report.table)
    }
}
