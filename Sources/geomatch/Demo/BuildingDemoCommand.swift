import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch demo building`: a day of a building.
struct BuildingDemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "building",
        abstract: "A day of an office building: people, desks and rooms.",
        usage: "geomatch demo building [OPTION]…",
        discussion: """
            The building's structure is imported first, which an administrator may; without a name the client is `admin`. Then \
            people come in by the lobby, sit down at desks, meet, eat and go home (position), desks report whether they are free \
            (availability) and rooms how many people are in them (occupancy) and how the air is (temperature, humidity, co2). \
            One sensor falls silent in the middle of the day and one flaps.

            The day begins at 8; an update's timestamp is the moment it goes out. The same seed makes the same day. Ctrl-C ends \
            early. Watch it from another terminal, a floor or all of it:

              geomatch watch live 'default/hq/main/1/#'

            Examples:
              geomatch demo building
              geomatch --dataset museum demo building --speed 300 --people 50 --floors 5
              geomatch demo building --hours 1 --seed 7 --no-structure
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Times real time.", valueName: "X"))
    var speed = 60.0

    @Option(help: ArgumentHelp("How many people come.", valueName: "N"))
    var people = 30

    @Option(help: ArgumentHelp("How many floors there are.", valueName: "N"))
    var floors = 3

    @Option(help: ArgumentHelp("How long the day is, simulated hours.", valueName: "H"))
    var hours = DemoDay.usualHours

    @Option(help: ArgumentHelp("Which of all days, a whole number. (default: another one each time)", valueName: "S"))
    var seed: UInt64?

    @Flag(inversion: .prefixedNo, help: "Import the building's structure first.")
    var structure = true

    @Flag(help: "Report the progress each second, also where standard error is no terminal.")
    var progress = false

    func validate() throws {
        guard speed > 0, speed.isFinite else { throw ValidationError("--speed is \(speed): a number above 0 is allowed") }
        guard (0...10_000).contains(people) else { throw ValidationError("--people is \(people): 0 to 10000 are allowed") }
        guard (1...100).contains(floors) else { throw ValidationError("--floors is \(floors): 1 to 100 are allowed") }
        guard hours > 0, hours <= 24 else { throw ValidationError("--hours is \(hours): more than 0 and at most 24 are allowed") }
    }

    func run() async throws {
        let configuration = try connection.configuration(defaultClient: "admin", needsBroker: true)
        let seed = seed ?? .random(in: 0...999_999)
        let day = DemoDay(people: people, floors: floors, hours: hours, seed: seed)
        if structure { try await importStructure(day.building, configuration) }
        StandardError.line(
            "geomatch: a day of \(PlainText.decimal(hours, 1)) hours, seed \(seed); "
                + "geomatch watch live '\(configuration.dataset)/\(DemoBuilding.venue)/#' shows it, Ctrl-C ends")
        StandardError.line("geomatch: " + DemoPage.hint(configuration))
        let publishing = DemoPublishing(
            configuration.topics, day: day, speed: speed, progress: ProgressLine(total: day.seconds, isWanted: progress))
        let done: Void? = try await withClient(configuration, drain: configuration.requestTimeout) {
            try await $0.run(publishing)
        }
        if output.json { StandardOutput.print(json: publishing.result(isComplete: done != nil, seed: seed)) }
        StandardError.line("geomatch: " + publishing.summary(isComplete: done != nil))
    }

    private func importStructure(_ building: DemoBuilding, _ configuration: GeomatchConfiguration) async throws {
        let importer = StructureImporter(features: building.features.map { $0.serialised() })
        let tally: ImportTally?
        do {
            tally = try await withClient(configuration) { try await importer.run($0) }
        } catch var failure as CommandFailure where failure.isReply {
            failure.message +=
                "\nThe structure is imported by an administrator of the dataset: --client names one; --no-structure goes without."
            throw failure
        }
        guard let tally else { throw CommandFailure.unavailable("interrupted") }
        for refusal in tally.refused { StandardError.line("geomatch: refused: \(PlainText.of(refusal))") }
        StandardError.line(
            "geomatch: structure of \(building.floors) floors: \(tally.imported) imported, \(tally.replaced) replaced")
    }
}
