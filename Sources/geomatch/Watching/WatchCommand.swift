import ArgumentParser
import LiveTopics

/// `geomatch watch …`: what the daemon publishes, as it comes.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print what comes in, one line for each message, until Ctrl-C.",
        discussion: """
              matches         this client's matches; --device: those of one device
              live            accepted live updates; CRITERIA is a topic with + and #
              diagnostics     why input of the dataset was refused
              circumstances   this client's circumstances
              changes         this client's change feed

            With --json each line is the message as it came; state that was cleared is {"topic":…,"cleared":true} and what is \
            not JSON {"topic":…,"payload":…}. Reconnects when the broker comes back.

            Examples:
              geomatch watch matches --device phone
              geomatch watch live 'default/hq/+/+/+/+/occupancy' --json
              geomatch watch diagnostics --count 1
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: "matches, live, diagnostics, circumstances or changes.")
    var subject: WatchSubject

    @Argument(help: "For live: which topics. (default: all of the dataset)")
    var criteria: String?

    @Option(help: ArgumentHelp("For matches: the id of the subscribing device.", valueName: "ID"))
    var device: String?

    @Option(help: ArgumentHelp("End after so many messages.", valueName: "N"))
    var count: Int?

    func validate() throws {
        if criteria != nil, subject != .live { throw ValidationError("only `watch live` takes criteria") }
        if device != nil, subject != .matches { throw ValidationError("only `watch matches` takes --device") }
        if let device, !Name.isID(device) { throw ValidationError("--device is no id: 1 to 128 bytes, not `-`") }
        if let count, count < 1 { throw ValidationError("--count is \(count): 1 or more is allowed") }
    }

    func run() throws {
        let destination = try connection.destination()
        let watching = Watching(
            destination, subject: subject, filter: try filter(destination.topics), count: count, asJSON: output.json)
        try watching.run()
    }

    private func filter(_ topics: Topics) throws(CommandFailure) -> String {
        switch subject {
        case .matches: return topics.matches(device: device)
        case .diagnostics: return topics.diagnostics
        case .circumstances: return topics.circumstances
        case .changes: return topics.changes
        case .live:
            let criteria = criteria.map { $0.hasPrefix("live/") ? String($0.dropFirst(5)) : $0 }
            do throws(TopicFilterError) {
                if let criteria { _ = try TopicFilter(criteria) }
            } catch {
                throw .usage("the criteria are no topic filter: \(error.message)")
            }
            return topics.live(criteria)
        }
    }
}

/// What can be watched.
enum WatchSubject: String, ExpressibleByArgument, CaseIterable {
    case matches, live, diagnostics, circumstances, changes
}
