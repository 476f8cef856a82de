import ArgumentParser

/// `geomatch places …`: what is where.
struct PlacesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "places", abstract: "Look at places on the command line.",
        discussion: """
            Example:
              geomatch --dataset city places near 43.7312 7.4197
            """,
        subcommands: [PlacesNearCommand.self])
}
