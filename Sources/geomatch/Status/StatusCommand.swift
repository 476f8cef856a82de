import ArgumentParser
import Wire

/// `geomatch status`: whether the daemon is there, and the dataset's counters.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say whether geomatchd is online, with the counters of the dataset.",
        usage: "geomatch status",
        discussion: """
            Exit code 0 means online; 69 offline, never seen at this broker, or no broker. With --json: \
            {"status":…,"dataset":…}, each as it was published or null.

            Example:
              geomatch --dataset city status
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        let destination = try connection.destination()
        let reading = StatusReading(destination)
        guard try reading.run() else { throw CommandFailure.unavailable("interrupted") }
        if output.json {
            let found: JSONObject = ["status": reading.status ?? .null, "dataset": reading.dataset ?? .null]
            StandardOutput.print(String(decoding: JSONValue.object(found).serialised(), as: UTF8.self))
        } else {
            for line in StatusText.lines(status: reading.status, dataset: reading.dataset, of: destination) {
                StandardOutput.print(line)
            }
        }
        if reading.status?.asObject?["state"]?.asString != "online" { throw ExitCode(69) }
    }
}
