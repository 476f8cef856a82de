import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch store`: what a daemon keeps, without a daemon.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Move what a daemon keeps between SQLite and PostgreSQL.",
        discussion: """
            Example:
              geomatch store copy ./geomatch-data postgres://geomatch@db/geomatch
            """,
        subcommands: [StoreCopyCommand.self])
}

/// `geomatch store copy FROM TO`: everything durable, into an empty store.
struct StoreCopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy everything that a stopped daemon keeps into an empty store.",
        usage: "geomatch store copy FROM TO",
        discussion: """
            FROM and TO are each a data directory (SQLite) or postgres://USER:PASSWORD@HOST[:PORT]/DB. No daemon may use either. \
            Objects, places, documents with all their revisions, matches that are still owed, replies that are remembered, numbers, \
            names and filters are copied as they are; FROM stays as it was, but for being brought to the version of this program. TO \
            gets all or nothing, and must have no objects yet.

            The password may be in PGPASSWORD or ~/.pgpass instead. What the embedded broker holds in a data directory is not \
            copied: keep using that directory beside PostgreSQL.

            Do not run a daemon on FROM afterwards: to the broker both are the same.

            Example:
              geomatch store copy ./geomatch-data postgres://geomatch@db/geomatch
            """)

    @Argument(help: ArgumentHelp("The store to copy.", valueName: "FROM"))
    var source: String

    @Argument(help: ArgumentHelp("The store to fill.", valueName: "TO"))
    var target: String

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        let (from, to) = (try StoreLocation(source), try StoreLocation(target))
        var line = ProgressLine(total: nil, isWanted: false)
        let begun = WallClock.now()
        let tally = try from.copy(to: to) { line.show(rows: $0, startedAt: begun, now: WallClock.now()) }
        line.finish()
        let tables = tally.tables.sorted { $0.key < $1.key }
        if output.json {
            let counts = tables.map { ($0.key, JSONValue.integer(Int64($0.value))) }
            StandardOutput.print(
                json: ["from": .string(from.name), "to": .string(to.name), "rows": .object(JSONObject(counts))])
        } else {
            StandardOutput.print("\(from.name) to \(to.name): \(tally.total) rows")
            for (table, count) in tables { StandardOutput.print("  \(table) \(count)") }
        }
    }
}
