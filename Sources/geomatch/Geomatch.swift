import ArgumentParser

/// The command-line client.
@main
struct Geomatch: AsyncParsableCommand {
    static let release = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "geomatch",
        abstract: "Talks to geomatchd over MQTT, and tries things out without it.",
        usage: """
            geomatch [--context NAME | --broker URL] [--dataset D] [--client C]
                     RESOURCE VERB [key=value ... | JSON]
            geomatch SUBCOMMAND ...
            """,
        discussion: """
            Everything that is no subcommand is a request:

              geomatch device create deviceType=PinDevice id=door \\
                  location.latitude=48.1 location.longitude=11.5
              geomatch --dataset city device list limit=10

            `geomatch device --help` lists the verbs of a resource, `geomatch device create --help` the parameters of a request. \
            `geomatch help topics`, `selectors`, `expressions` and `errors` are a page each.

            `--context NAME` takes broker, dataset and client from a section of ~/.config/geomatch/contexts:

              [museum]
              broker = mqtts://guide:secret@museum.example
              dataset = museum

            Options may come before or after the words; `--` ends them. Every subcommand takes --json, which makes its result or \
            each of its messages one line of JSON on standard output.

            Exit codes: 0 done, 1 an error was the answer, 64 wrong arguments, 69 no broker, no daemon or refused by the broker, \
            70 internal, 78 wrong configuration in the environment.
            """,
        version: release,
        subcommands: [
            RequestCommand.self, WatchCommand.self, PublishCommand.self, ReplayCommand.self, StatusCommand.self,
            ExplainCommand.self, ImportCommand.self, PlacesCommand.self, BeaconsCommand.self, SyncCommand.self, DemoCommand.self,
            BenchCommand.self, EvalCommand.self, DoctorCommand.self, BackupCommand.self, RestoreCommand.self, StoreCommand.self,
            RoomsCommand.self, GeofenceCommand.self,
        ],
        defaultSubcommand: RequestCommand.self)

    static func main() async {
        do {
            if let script = RequestCompletions.asked(for: Array(CommandLine.arguments.dropFirst())) { return print(script) }
            if let sheet = CheatSheet.asked(for: Array(CommandLine.arguments.dropFirst())) { return print(sheet) }
            if let help = RequestHelp.asked(for: Array(CommandLine.arguments.dropFirst())) { return print(help) }
            var command = try parseAsRoot(Invocation.arranged(Array(CommandLine.arguments.dropFirst())))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch let failure as CommandFailure {
            StandardError.line("\(failure.isReply ? "" : "geomatch: ")\(failure.message)")
            exit(withError: ExitCode(failure.code))
        } catch {
            exit(withError: error)
        }
    }
}
