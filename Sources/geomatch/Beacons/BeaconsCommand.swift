import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch beacons …`
struct BeaconsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beacons",
        abstract: "Beacons: which there are, who sees them, and how well a receiver measures.",
        discussion: """
            Examples:
              geomatch --dataset museum beacons list
              geomatch --dataset museum beacons watch
              geomatch beacons calibrate walk.csv
            """,
        subcommands: [BeaconListCommand.self, BeaconWatchCommand.self, CalibrateCommand.self])
}

/// `geomatch beacons list`
struct BeaconListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "The beacons that are registered.",
        usage: "geomatch beacons list",
        discussion: """
            One line each: UUID, major, minor and device.

            Example:
              geomatch --dataset museum beacons list
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    func run() async throws {
        let beacons = try await answer(try connection.configuration()) { client in
            try await client.pages(of: "beacon/list", [:], asJSON: output.json).merged
        }
        guard !output.json else { return StandardOutput.print(json: beacons) }
        for beacon in beacons.member("beacons")?.asArray ?? [] { StandardOutput.print(BeaconText.identity(beacon, "deviceId")) }
    }
}

/// `geomatch beacons watch`
struct BeaconWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Who sees which beacons, nearest first, one line for each message, until Ctrl-C.",
        usage: "geomatch beacons watch [CRITERIA] [--count N]",
        discussion: """
            A live subscription kept by the daemon, over the domain `proximity`. CRITERIA is a topic with + and #, or a JSON object \
            of levels.

            Examples:
              geomatch --dataset museum beacons watch
              geomatch beacons watch 'museum/+/+/+/+/gate-3/proximity' --json
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: "Whose sightings. (default: everybody's in the dataset)")
    var criteria: String?

    @Option(help: ArgumentHelp("End after so many messages.", valueName: "N"))
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is \(count): 1 or more is allowed") }
    }

    func run() async throws {
        let isTopic = criteria.map { !$0.hasPrefix("{") } ?? false
        let configuration = try connection.configuration(criteria: isTopic ? criteria.map(LiveSelection.topic) : nil)
        let selection = try LiveSelection(
            criteria: criteria ?? #"{"domain":"proximity"}"#, condition: nil, within: nil, minInterval: nil,
            dataset: configuration.dataset)
        let lines: any LiveOutput = output.json ? LiveLines(asJSON: true) : BeaconLines()
        try await selection.watch(configuration, count: count, asJSON: output.json, lines: lines)
    }
}
