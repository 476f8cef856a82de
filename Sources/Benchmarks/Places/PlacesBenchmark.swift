import ArgumentParser

/// The table of places alone, on one core: no payloads, no broker, no store.
struct PlacesBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "places",
        abstract: "Measures the table of places on one core.",
        discussion: """
            Places lie evenly over square towns, a twentieth of them as outlines of eight corners, and every eighth has opening \
            hours. Queries are at random positions of all towns.
            """)

    @Option(help: "Places in the table.")
    var places = 10_000_000

    @Option(help: "Places in a square kilometre of a town, as a list.")
    var density = "1000,3000"

    @Option(
        help: ArgumentHelp(
            "Instead, the places of GeoJSON files, queried at random positions up to 100 m north, south, east and west of them.",
            valueName: "FILE,…"))
    var town: String?

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard places >= 1000 && places <= 40_000_000 else { throw ValidationError("--places must be 1,000 to 40,000,000") }
        guard !densities.isEmpty && densities.allSatisfy({ $0 > 0 }) else {
            throw ValidationError("--density must be numbers above 0, separated by commas")
        }
    }

    private var densities: [Double] {
        let parts = density.split(separator: ",").map { Double($0) }
        return parts.contains(nil) ? [] : parts.compactMap { $0 }
    }

    func run() throws {
        var report = Report()
        if let town {
            let file = try TownFile(paths: town.split(separator: ",").map(String.init))
            try PlacesMeasurement(places: file.places.count, density: 0).measure(file, into: &report)
            print(json ? report.json : report.table)
            return
        }
        for density in densities { try PlacesMeasurement(places: places, density: density).measure(into: &report) }
        print(json ? report.json : report.table)
    }
}
