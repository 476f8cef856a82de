import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch rooms`: how many people are where.
struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "List rooms with how many people are in them.",
        usage: "geomatch rooms [--venue ID] [--building ID] [--floor ID] [--occupied]",
        discussion: """
            The rooms of the dataset's structure, and others whose occupancy is known: from sensors, or counted by the daemon \
            (`geomatch --client admin dataset update derivedOccupancy=true`). The age is that of the occupancy.

            With --json: {"rooms":[{"venue"?,"building"?,"floor"?,"room","name"?,"people"?,"capacity"?,"timestamp"?}]}.

            Examples:
              geomatch --dataset demo rooms
              geomatch --dataset demo rooms --floor 1 --occupied
              geomatch --dataset demo --json rooms | jq '[.rooms[].people // 0] | add'
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("Only of this venue.", valueName: "ID"))
    var venue: String?

    @Option(help: ArgumentHelp("Only of this building.", valueName: "ID"))
    var building: String?

    @Option(help: ArgumentHelp("Only of this floor.", valueName: "ID"))
    var floor: String?

    @Flag(help: "Only those with somebody in them.")
    var occupied = false

    func run() async throws {
        var parents = JSONObject()
        for (level, id) in [("venue", venue), ("building", building), ("floor", floor)] {
            parents[level] = id.map { .string($0) }
        }
        var structure: JSONObject = ["level": "room"]
        if !parents.isEmpty { structure["parents"] = .object(parents) }
        var criteria = parents
        criteria["domain"] = "occupancy"
        let asJSON = output.json
        let (rooms, updates) = try await answer(try connection.configuration()) { [structure, criteria] client in
            (
                try await client.pages(of: "structure/list", structure, asJSON: asJSON).merged,
                try await client.pages(of: "live/snapshot", ["criteria": .object(criteria)], asJSON: asJSON).merged
            )
        }
        var table = RoomTable(structure: rooms, occupancy: updates)
        if occupied { table.keepOccupied() }
        guard !output.json else { return StandardOutput.print(json: table.json) }
        for line in table.lines(now: WallClock.now()) { StandardOutput.print(line) }
        if table.rows.isEmpty {
            StandardError.line(
                occupied ? "nobody is in a room" : "no rooms: import a structure, or publish on DATASET/…/ROOM/-/occupancy")
        }
    }
}
