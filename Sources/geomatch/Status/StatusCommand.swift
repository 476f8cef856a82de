import ArgumentParser
import Wire

/// `geomatch status`: whether the daemon is there, and the dataset's counters.
struct StatusCommand: AsyncParsableCommand {
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

    func run() async throws {
        let configuration = try connection.configuration(needsBroker: true)
        let reading = StatusReading(configuration.topics)
        let read: Void? = try await withClient(configuration) { try await $0.run(reading) }
        guard read != nil else { throw CommandFailure.unavailable("interrupted") }
        if output.json {
            let found: JSONObject = ["status": reading.status ?? .null, "dataset": reading.dataset ?? .null]
            StandardOutput.print(json: .object(found))
        } else {
            let isNamed = try connection.namesDataset()
            for line in StatusText.lines(
                status: reading.status, dataset: reading.dataset, of: configuration, isNamed: isNamed)
            {
                StandardOutput.print(line)
            }
        }
        if reading.status?.asObject?["state"]?.asString != "online" { throw ExitCode(69) }
    }
}
