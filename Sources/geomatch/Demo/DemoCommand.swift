import ArgumentParser

/// `geomatch demo …`: something to look at.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Publish a simulation, for something to look at.",
        discussion: """
            Examples:
              geomatch demo building
              geomatch --dataset museum demo building --speed 300 --people 50
              geomatch demo city
            """,
        subcommands: [BuildingDemoCommand.self, CityDemoCommand.self])
}
