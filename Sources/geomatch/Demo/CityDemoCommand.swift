import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch demo city`: people and taxis in the streets.
struct CityDemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "city",
        abstract: "People and taxis in the streets of a city, with shops they match.",
        usage: "geomatch demo city [OPTION]…",
        discussion: """
            Blocks, shops, publications and subscriptions are made first, which an administrator may; without a name the client \
            is `admin`. Then walkers and taxis move through the streets (position). Cafés and bakeries publish `food`, and some \
            walkers subscribe to it; taxis publish `taxi`, and some walkers wait for one. A circumstance is reported when \
            somebody arrives at a pharmacy.

            Made again, what exists stays. The same seed makes the same city. Ctrl-C ends. The page of the daemon shows it:

              http://localhost:8080/?client=admin#default

            Examples:
              geomatch demo city
              geomatch --dataset town demo city --walkers 5000 --vehicles 1000 --minutes 5
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("How many people walk.", valueName: "N"))
    var walkers = 2000

    @Option(help: ArgumentHelp("How many taxis drive.", valueName: "N"))
    var vehicles = 300

    @Option(help: ArgumentHelp("Times real time.", valueName: "X"))
    var speed = 1.0

    @Option(help: ArgumentHelp("How long, simulated minutes.", valueName: "M"))
    var minutes = 60.0

    @Option(help: ArgumentHelp("Which of all cities, a whole number. (default: another one each time)", valueName: "S"))
    var seed: UInt64?

    @Flag(inversion: .prefixedNo, help: "Make blocks, shops, publications and subscriptions first.")
    var objects = true

    @Flag(help: "Report the progress each second, also where standard error is no terminal.")
    var progress = false

    func validate() throws {
        guard speed > 0, speed.isFinite else { throw ValidationError("--speed is \(speed): a number above 0 is allowed") }
        guard (0...100_000).contains(walkers) else {
            throw ValidationError("--walkers is \(walkers): 0 to 100000 are allowed")
        }
        guard (0...100_000).contains(vehicles) else {
            throw ValidationError("--vehicles is \(vehicles): 0 to 100000 are allowed")
        }
        guard minutes > 0, minutes <= 1440 else {
            throw ValidationError("--minutes is \(minutes): more than 0 and at most 1440 are allowed")
        }
    }

    func run() async throws {
        let configuration = try connection.configuration(defaultClient: "admin")
        let seed = seed ?? .random(in: 0...999_999)
        let city = DemoCity(walkers: walkers, vehicles: vehicles, seconds: Int((minutes * 60).rounded(.up)), seed: seed)
        if objects { try await make(city, configuration) }
        StandardError.line("geomatch: a city with \(city.outcome), seed \(seed); Ctrl-C ends")
        StandardError.line("geomatch: " + DemoPage.hint(configuration))
        let publishing = DemoPublishing(
            configuration.topics, day: city, speed: speed, progress: ProgressLine(total: city.seconds, isWanted: progress))
        let done: Void? = try await withClient(configuration, drain: configuration.requestTimeout) {
            try await $0.run(publishing)
        }
        if output.json { StandardOutput.print(json: publishing.result(isComplete: done != nil, seed: seed)) }
        StandardError.line("geomatch: " + publishing.summary(isComplete: done != nil))
    }

    private func make(_ city: DemoCity, _ configuration: GeomatchConfiguration) async throws {
        let importer = StructureImporter(features: DemoCity.features.map { $0.serialised() })
        let requests = DemoCityObjects(city).requests
        let counts: (made: Int, refused: [JSONValue])?
        do {
            counts = try await withClient(configuration) { client in
                _ = try await importer.run(client)
                var counts: (made: Int, refused: [JSONValue]) = (0, [])
                for (name, parameters) in requests {
                    let result = try await client.result(of: name, parameters, asJSON: false)
                    let items = (result.asObject?["items"]?.asArray ?? []).compactMap(\.asObject)
                    counts.made += items.count { $0["error"] == nil }
                    counts.refused += items.compactMap { $0["error"] }.filter { $0.asObject?["error"] != "conflict" }
                }
                return counts
            }
        } catch var failure as CommandFailure where failure.isReply {
            failure.message +=
                "\nThe city is made by an administrator of the dataset: --client names one; --no-objects goes without."
            throw failure
        }
        guard let counts else { throw CommandFailure.unavailable("interrupted") }
        for refusal in counts.refused.prefix(5) { StandardError.line("geomatch: refused: \(PlainText.of(refusal))") }
        StandardError.line("geomatch: \(counts.made) devices, publications and subscriptions made")
    }
}
